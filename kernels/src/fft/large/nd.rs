//! Transforms of two and more dimensions: passes over memory, each along one axis or several.

mod floor;
mod shape;

use super::axis::Axis;
use super::lines::COMPLEX;
use super::pair::Pair;
use super::plan::OWN_BOUND;
use super::split::Split;
use crate::fft::error::{FftError, NoShape};
use crate::fft::plan::LocalFft;
use crate::fft::program::source;
use crate::fft::recipe::{Direction, Recipe};
use crate::fft::transform::Fft;
use crate::job::{self, Job, Least, image, load};
use crate::ring::Expected;
use cp2_asm::Program;
use cp2_host::{Buffer, Options};
use cp2_machine::{Class, Cycles, Machine};
use num_complex::Complex32;
use shape::possible;
use std::sync::Arc;

/// A planned FFT over all axes of an array, the last axis contiguous.
///
/// The rows along the last axis are a batch of local transforms; every other
/// axis is a pass of columns, in place in system memory. There are other ways: planes of the last axis and
/// another that are small, of which a section holds three, are transformed there, one in each section; of narrow
/// planes of the last two the columns, of low and wide ones the rows may be divided between two passes; two axes
/// that follow each other may share a pass of columns.
///
/// ```
/// use cp2_kernels::fft::{Direction, Fft as _, FftNd};
/// use cp2_machine::Machine;
/// use num_complex::Complex32;
///
/// let vm7 = Machine::builtin("vm7").unwrap();
/// let fft = FftNd::new(&[32, 64], Direction::Forward, vm7.into())?;
/// let done = fft.process(&[Complex32::new(1.0, 0.0); 32 * 64])?;
/// assert_eq!(done.output.unwrap()[0].re, 2048.0);
/// # Ok::<(), cp2_kernels::fft::FftError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FftNd {
    shape: Vec<usize>,
    direction: Direction,
    machine: Arc<Machine>,
    rows: Arc<LocalFft>,
    /// All axes but the last, as far as there are kernels for them alone.
    axes: Vec<Option<Axis>>,
    /// The ways to take planes of one of these and of the last as wholes, where they fit.
    whole: Vec<(usize, Axis)>,
    /// The passes along an axis and the next one, but for the last.
    pairs: Vec<(usize, Pair)>,
    /// The last two axes of which one is divided, where they are narrow, or low and wide, or the last three.
    splits: Vec<Split>,
    /// The one way that is taken, in words, where the planner has decided.
    only: Option<String>,
}

/// How the last axis is transformed, and another with it.
#[derive(Debug)]
enum Way<'a> {
    /// Alone.
    Rows,
    /// Alone, then this one and the next in one pass.
    Pair(usize, &'a Pair),
    /// Planes of it and of this one as wholes.
    Whole(usize, &'a Axis),
    /// With the last but one or two, one of them divided between two passes.
    Split(&'a Split),
}

/// The fastest way for a batch.
struct Fastest<'a> {
    way: Way<'a>,
    /// The axes that have passes of their own.
    others: Vec<&'a Axis>,
    /// Where the tables of the only one are in DMEM if its program comes while planes are transformed.
    tables: Option<u64>,
    expected: Expected,
}

impl FftNd {
    /// The FFT of arrays of `shape`, at least two axes, on `machine`.
    ///
    /// # Errors
    /// An axis without a kernel (powers of two: the last from 16 to 4096, the others from 4 to 2048), an array too
    /// narrow or too large for the machine, or a machine with other granules or sections than the kernels': [`NoShape`].
    pub fn new(
        shape: &[usize],
        direction: Direction,
        machine: Arc<Machine>,
    ) -> Result<Self, FftError> {
        let refused = |cause| FftError::Shape {
            shape: shape.to_vec(),
            machine: machine.name.clone(),
            cause,
        };
        possible(shape, &machine).map_err(refused)?;
        let last = shape.len() - 1;
        let width = shape[last];
        let of = |axes: &[usize]| axes.iter().product::<usize>() as u64;
        let (mut axes, mut whole, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
        for (i, &length) in shape[..last].iter().enumerate() {
            let outer = of(&shape[..i]);
            let around = (outer, of(&shape[i + 1..]));
            axes.push(Axis::new(length, around, direction, &machine)?);
            let around = (outer, of(&shape[i + 1..last]));
            let ways = Axis::whole((length, width), around, direction, &machine)?;
            whole.extend(ways.into_iter().map(|way| (i, way)));
            if i + 1 < last {
                let around = (outer, of(&shape[i + 2..]));
                let pair = Pair::new([length, shape[i + 1]], around, direction, &machine)?;
                pairs.extend(pair.map(|pair| (i, pair)));
            }
        }
        let splits = Split::all(shape, direction, &machine)?;
        let fft = Self {
            shape: shape.to_vec(),
            direction,
            rows: LocalFft::new(Recipe::new(width, direction)?, machine.clone())?.into(),
            axes,
            whole,
            pairs,
            splits,
            only: None,
            machine: machine.clone(),
        };
        if fft.ways().is_empty() {
            return Err(refused(NoShape::Pages {
                sections: machine.cp2.sections,
            }));
        }
        Ok(fft)
    }

    /// The shape of an array.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// What `split` takes as arrays in so many: arrays of their last axes.
    fn parts(&self, batch: usize, split: &Split) -> u64 {
        let outer = &self.shape[..self.shape.len() - split.axes()];
        batch.saturating_mul(outer.iter().product()) as u64
    }

    /// The axes that have passes of their own, the last ones first; none if one of them has no kernel.
    fn others(&self, way: &Way<'_>) -> Option<Vec<&Axis>> {
        let taken = self.taken(way);
        let axes = self.axes.iter().enumerate().rev();
        let others = axes.filter(|(i, _)| !taken.contains(i));
        others.map(|(_, axis)| axis.as_ref()).collect()
    }

    /// The axes that a way transforms together with the last, or with each other.
    fn taken(&self, way: &Way<'_>) -> std::ops::Range<usize> {
        let axes = self.axes.len();
        match way {
            Way::Rows => axes..axes,
            Way::Whole(i, _) => *i..i + 1,
            Way::Pair(i, _) => *i..i + 2,
            Way::Split(split) => axes + 1 - split.axes()..axes,
        }
    }

    /// All ways, with the axes that have passes of their own.
    fn ways(&self) -> Vec<(Way<'_>, Vec<&Axis>)> {
        let whole = self.whole.iter().map(|(i, axis)| Way::Whole(*i, axis));
        let pairs = self.pairs.iter().map(|(i, pair)| Way::Pair(*i, pair));
        let splits = self.splits.iter().map(Way::Split);
        let ways = std::iter::once(Way::Rows).chain(pairs).chain(splits);
        let ways = ways.chain(whole);
        ways.filter_map(|way| {
            let others = self.others(&way)?;
            let wanted = |only: &String| *only == self.in_words(&way, &others);
            self.only
                .as_ref()
                .is_none_or(wanted)
                .then_some((way, others))
        })
        .collect()
    }

    /// Its ways one by one, that which should take the least time for `batch` arrays first.
    ///
    /// # Errors
    /// Rows that cannot be paged.
    pub fn plans(&self, batch: usize) -> Result<Vec<Self>, FftError> {
        let batch = batch.clamp(1, self.max_batch().max(1));
        let mut plans: Vec<(Cycles, Self)> = Vec::new();
        for (way, others) in self.ways() {
            let words = self.in_words(&way, &others);
            // Those that differ in pieces alone are one.
            if plans
                .iter()
                .all(|(_, plan)| plan.only.as_ref() != Some(&words))
            {
                let plan = Self {
                    only: Some(words),
                    ..self.clone()
                };
                plans.push((plan.expected(batch)?, plan));
            }
        }
        plans.sort_by_key(|(expected, _)| *expected);
        Ok(plans.into_iter().map(|(_, plan)| plan).collect())
    }

    /// What the rows alone should take.
    fn rows_alone(&self, batch: usize) -> Result<Expected, FftError> {
        let rows = batch.saturating_mul(self.len() / self.rows.len());
        let kernel = load(image(self.rows.kernel()), &self.machine);
        Ok(Expected {
            cycles: self.rows.expected(rows)?.0 as f64,
            least: self.rows.bound(rows).0 as f64 + kernel,
        })
    }

    /// The fastest way for a batch, and what it should take.
    fn way(&self, batch: usize) -> Result<Fastest<'_>, FftError> {
        let mut fastest: Option<Fastest<'_>> = None;
        for (way, others) in self.ways() {
            let own = match &way {
                Way::Rows => Some(self.rows_alone(batch)?),
                Way::Pair(_, pair) => {
                    let rows = self.rows_alone(batch)?;
                    let pair = pair.expect(&self.machine, batch as u64);
                    pair.map(|pair| rows.and(pair))
                }
                Way::Whole(_, axis) => Some(axis.expect(&self.machine, batch as u64)),
                Way::Split(split) => split.expect(&self.machine, self.parts(batch, split)),
            };
            let passes = others.iter();
            let passes = passes.map(|axis| axis.expect(&self.machine, batch as u64));
            let Some(mut expected) = own.map(|own| passes.fold(own, Expected::and)) else {
                continue;
            };
            let mut tables = None;
            if let (Way::Whole(_, whole), [next]) = (&way, &others[..])
                && let Some((at, both)) = whole.followed(next, &self.machine, batch as u64)
                && both.cycles < expected.cycles
            {
                (tables, expected) = (Some(at), both);
            }
            let slower = |fastest: &Fastest<'_>| expected.cycles < fastest.expected.cycles;
            if fastest.as_ref().is_none_or(slower) {
                fastest = Some(Fastest {
                    way,
                    others,
                    tables,
                    expected,
                });
            }
        }
        fastest.ok_or_else(|| FftError::Shape {
            shape: self.shape.clone(),
            machine: self.machine.name.clone(),
            cause: NoShape::Pages {
                sections: self.machine.cp2.sections,
            },
        })
    }

    /// A way in words.
    fn in_words(&self, way: &Way<'_>, others: &[&Axis]) -> String {
        let first = match way {
            Way::Rows => format!("rows by {}", self.rows.recipe()),
            Way::Pair(_, pair) => format!("rows by {}, {}", self.rows.recipe(), pair.name()),
            Way::Split(split) => split.recipe(),
            Way::Whole(i, _) => {
                let sections = self.machine.cp2.sections;
                let what = match self.axes.len() {
                    1 => "of many arrays".to_owned(),
                    n if n == i + 1 => "planes".to_owned(),
                    n => format!("planes of axes {} and {}", i + 1, n + 1),
                };
                format!("{what} {sections} at a time, one a section and page")
            }
        };
        let others = others.iter().map(|axis| {
            let (length, per) = (axis.lines().len(), axis.lines().per_section());
            format!(", columns of {length}, {per} a section and page")
        });
        first + &others.collect::<String>()
    }
}

impl Fft for FftNd {
    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    fn direction(&self) -> Direction {
        self.direction
    }

    fn recipe(&self) -> String {
        let shape: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let mut ways = Vec::new();
        for (way, others) in self.ways() {
            // Those that differ in pieces alone are one.
            let words = self.in_words(&way, &others);
            if ways.last() != Some(&words) {
                ways.push(words);
            }
        }
        format!("fft {}: {}", shape.join(" x "), ways.join("; or "))
    }

    fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// None: every pass has its own.
    fn program(&self, _batch: usize) -> Result<Option<Arc<Program>>, FftError> {
        Ok(None)
    }

    fn source(&self, file: &str) -> Option<String> {
        source(file).map(str::to_owned)
    }

    /// Input and output, and what lies between passes.
    fn max_batch(&self) -> usize {
        let whole = self.whole.iter().map(|(_, axis)| axis);
        let images = self.axes.iter().flatten().chain(whole);
        let images = images.map(Axis::image).sum::<u64>();
        let images = images + self.splits.iter().map(Split::image).sum::<u64>();
        let images = images + self.pairs.iter().map(|(_, pair)| pair.image()).sum::<u64>();
        let free = job::room(&self.machine, self.rows.kernel()).saturating_sub(images);
        let arrays = 2 + u64::from(!self.splits.is_empty());
        usize::try_from(free / (arrays * self.len() as u64 * COMPLEX)).unwrap_or(usize::MAX)
    }

    /// All butterflies, and every number in and out of DMEM: once where a section takes arrays as wholes, if one could
    /// hold them; twice where the sections share them. Of a batch as many arrays go once as is best: as many in every section,
    /// or all, when some sections have one more than others and these wait.
    fn least(&self, batch: usize) -> Least {
        let (n, batch) = (self.len() as u128, batch as u128);
        let sections = self.machine.cp2.sections.max(1) as u128;
        let levels: u32 = self.shape.iter().map(|d| d.ilog2()).sum();
        let of = |computed: u128, visits: u128| Least {
            butterflies: computed * (n / 2) * u128::from(levels),
            bytes: visits * 2 * u128::from(COMPLEX) * n,
            ..Least::default()
        };
        if n * u128::from(COMPLEX) >= u128::from(self.machine.cp2.dmem.0) {
            return of(batch, 2 * batch);
        }
        let even = of(batch, 2 * batch - batch / sections * sections);
        let all = of(batch.next_multiple_of(sections), batch);
        match all.cycles(&self.machine) < even.cycles(&self.machine) {
            true => all,
            false => even,
        }
    }

    /// The recipe costs what the bound leaves out: programs and tables, in each pass set-ups and runs of the DMA, and the
    /// first load and the last store, beside which a pass over a few pages has nothing to do.
    fn own_bound(&self, batch: usize) -> Option<(f64, &'static str)> {
        let fastest = self.way(batch).ok()?;
        Some((fastest.expected.least, OWN_BOUND))
    }

    fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        let halves = (self.len() / 2 * batch) as u64;
        let of = |levels: u32| vec![(Class::Butterfly, halves * u64::from(levels))];
        let level = |i: usize| self.shape[i].ilog2();
        let last = self.axes.len();
        let (mut passes, taken) = match self.way(batch) {
            Ok(Fastest { way, .. }) => {
                let passes = match &way {
                    Way::Split(split) => split.operations(halves),
                    Way::Whole(i, _) => vec![of(level(*i) + level(last))],
                    Way::Rows => vec![of(level(last))],
                    Way::Pair(i, _) => vec![of(level(last)), of(level(*i) + level(i + 1))],
                };
                (passes, self.taken(&way))
            }
            Err(_) => (vec![of(level(last))], last..last),
        };
        let others = (0..last).rev().filter(|i| !taken.contains(i));
        passes.extend(others.map(level).map(of));
        passes
    }

    fn append(&self, job: &mut Job, batch: usize, from: u64, to: u64) -> Result<(), FftError> {
        let Fastest {
            way,
            others,
            tables,
            ..
        } = self.way(batch)?;
        if let (Way::Whole(_, whole), [next], Some(tables)) = (&way, &others[..], tables) {
            return whole.add_followed(next, tables, job, batch as u64, [from, to]);
        }
        match way {
            Way::Rows | Way::Pair(..) => {
                let rows = batch * (self.len() / self.rows.len());
                self.rows.pass(job, rows, from, to)?;
                if let Way::Pair(_, pair) = way {
                    pair.add(job, batch as u64, to)?;
                }
            }
            Way::Whole(_, whole) => whole.add(job, batch as u64, [from, to])?,
            Way::Split(split) => split.add(job, self.parts(batch, split), [from, to])?,
        }
        for axis in others {
            axis.add(job, batch as u64, [to; 2])?;
        }
        Ok(())
    }

    fn job(
        &self,
        input: &[Complex32],
        options: Options,
    ) -> Result<(Job, Buffer<Complex32>), FftError> {
        let batch = self.batch_of(input.len())?;
        let mut job = Job::new(self.machine.clone(), options);
        let x = job.input(input)?;
        let shape: Vec<u64> = self.shape.iter().map(|&d| d as u64).collect();
        let y = job.output("y", &[&[batch as u64], shape.as_slice()].concat())?;
        self.append(&mut job, batch, x.address(), y.address())?;
        Ok((job, y))
    }

    fn expected(&self, batch: usize) -> Result<Cycles, FftError> {
        let fastest = self.way(batch)?;
        Ok(Cycles(fastest.expected.cycles.ceil() as u64))
    }
}
