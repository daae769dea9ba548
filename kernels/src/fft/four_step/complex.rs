//! The planned four-step FFT of complex numbers, in two or three passes.

use super::axis_pass::AxisPass;
use super::column_and_row_pages::section_rows;
use super::column_and_row_ring;
use super::line_batch::{COMPLEX, LineBatch};
use super::program_prefetch::PrefetchedPasses;
use super::recipe::FourStepRecipe;
use crate::assembly::{Unfit, moves};
use crate::fft::TransformDirection;
use crate::fft::error::FftError;
use crate::fft::fft_trait::Fft;
use crate::fft::program::{large_program, large_program_at, parts_program, source};
use crate::job::{self, Job, data_end, image, load};
use cp2_asm::Program;
use cp2_host::PlacedProgram;
use cp2_host::paging::{PassEstimate, Ring, RingPass};
use cp2_machine::{Class, Cycles, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// Formula of a recipe's own lower bound, for reports.
pub(super) const RECIPE_FLOOR: &str = "image / bandwidth + sum over passes of max(T(load) + pages A + T(store), pages (T(load) + T(store)))";

/// Greatest number of divisions whose programs are assembled and priced. It bounds the time of planning.
const MOST_PRICED_DIVISIONS: usize = 6;

/// A planned FFT of more numbers than fit in DMEM.
#[derive(Debug)]
pub struct FourStepFft {
    recipe: FourStepRecipe,
    machine: Arc<Machine>,
    /// Programs of columns and rows: one for both where pages are whole and there is room.
    programs: [Arc<Program>; 2],
    rings: [Ring; 2],
    /// Pass along N0 before columns and rows, where there are three passes.
    outer: Option<AxisPass>,
    /// Both passes with the second kernel prefetched while the first runs, where there is room.
    followed: Option<PrefetchedPasses>,
}

impl FourStepFft {
    /// Plans the FFT of length `n` on `machine`.
    ///
    /// # Errors
    /// A length that is no power of two from 2^10 to 2^22, or a machine that no division fits.
    pub fn new(
        n: usize,
        direction: TransformDirection,
        machine: Arc<Machine>,
    ) -> Result<Self, FftError> {
        let refused = || FourStepRecipe::make_refusal(n, &machine);
        let mut unfit = None;
        let mut best: Option<(f64, Self)> = None;
        let mut priced = 0;
        for recipe in FourStepRecipe::candidates(n, direction, &machine) {
            if let Some((_, best)) = &best {
                // The first candidate of a kind should be the fastest, so that others are compared only among
                // like ones.
                if !recipe.has_same_passes(&best.recipe) || priced >= MOST_PRICED_DIVISIONS {
                    break;
                }
            }
            let Some(programs) = unless_large(programs(&recipe, &machine), &mut unfit)? else {
                continue;
            };
            let ends = [data_end(&programs[0]), data_end(&programs[1])];
            let Some(rings) = recipe.rings(ends, machine.cp2.dmem.0) else {
                continue;
            };
            let outer = match recipe.outer() {
                None => None,
                Some(length) => {
                    let axis =
                        AxisPass::new(length, (1, (n / length) as u64), direction, &machine)?;
                    let Some(axis) = axis else { continue };
                    Some(axis)
                }
            };
            let mut passes = recipe.passes(rings.clone(), 1, [0; 3], [0; 2]).into_iter();
            if let Err(e) = passes.try_for_each(|p| moves(&recipe.to_string(), &p, &machine)) {
                unfit.get_or_insert(e);
                continue;
            }
            let plan = Self {
                recipe,
                programs,
                rings,
                outer,
                followed: None,
                machine: machine.clone(),
            };
            priced += 1;
            let weight = plan.weight();
            if best.as_ref().is_none_or(|(least, _)| weight < *least) {
                best = Some((weight, plan));
            }
        }
        let Some((_, mut best)) = best else {
            return Err(unfit.map_or_else(refused, FftError::Unfit));
        };
        best.followed = unless_large(plan_prefetch(&best.recipe, &machine), &mut None)?.flatten();
        Ok(best)
    }

    /// Returns the figure by which plans are compared: cycles of a transform alone, plus those of one in
    /// four.
    fn weight(&self) -> f64 {
        let each = |batch: usize| self.price_without_prefetch(batch).cycles / batch as f64;
        each(1) + each(4)
    }

    /// Returns the columns of the pass before the two, where there are three passes.
    #[must_use]
    pub fn outer(&self) -> Option<&LineBatch> {
        self.outer.as_ref().map(AxisPass::lines)
    }

    /// Prices the pass before the two; 0 where there is none.
    fn outer_expected(&self, batch: usize) -> PassEstimate {
        let outer = self.outer.as_ref();
        outer.map_or(PassEstimate::default(), |axis| {
            axis.expect(&self.machine, batch as u64)
        })
    }

    /// Returns the division of the transform into columns and rows.
    #[must_use]
    pub fn division(&self) -> &FourStepRecipe {
        &self.recipe
    }

    fn bytes(&self) -> u64 {
        self.recipe.len() as u64 * COMPLEX
    }

    /// Returns the DMA cycles of the loads of the programs and their tables.
    fn image(&self) -> f64 {
        let bytes = distinct_programs(&self.programs)
            .map(|program| image(program))
            .sum();
        load(bytes, &self.machine)
    }

    /// Prices a batch without prefetch: the second kernel is loaded with the first, or between the passes.
    fn price_without_prefetch(&self, batch: usize) -> PassEstimate {
        let image = self.image();
        let image = PassEstimate {
            cycles: image,
            least: image,
        };
        let passes = self
            .recipe
            .passes(self.rings.clone(), batch as u64, [0; 3], [0; 2]);
        let [columns, rows] = passes;
        let [columns, rows] = [
            columns.price_by_kernel(&self.programs[0], "columns"),
            rows.price_by_kernel(&self.programs[1], "rows"),
        ];
        let passes = [columns, rows].map(|pass| pass.expect(&self.machine));
        let [columns, rows] = passes;
        self.outer_expected(batch).and(image).and(columns).and(rows)
    }

    /// Returns the prefetched passes and their price, where prefetching the second kernel takes less time.
    fn choose_prefetch(&self, batch: usize) -> Option<(&PrefetchedPasses, PassEstimate)> {
        let followed = self.followed.as_ref()?;
        let passes =
            |rings, arrays, factors| self.recipe.passes(rings, batch as u64, arrays, factors);
        let expected = followed.expect(passes, &self.machine)?;
        (expected.cycles < self.price_without_prefetch(batch).cycles)
            .then_some((followed, expected))
    }

    fn expect(&self, batch: usize) -> PassEstimate {
        let followed = self.choose_prefetch(batch);
        followed.map_or_else(
            || self.price_without_prefetch(batch),
            |(_, expected)| expected,
        )
    }

    /// Computes the factors of columns that follow the pass along N0.
    fn shifts(&self) -> Vec<Complex32> {
        let (columns, matrices) = (self.recipe.columns(), self.recipe.outer().unwrap_or(1));
        (0..matrices)
            .flat_map(|matrix| columns.column_factors(matrix, matrices))
            .collect()
    }

    /// Computes the factors of all pages of rows, in the order of pages and sections.
    fn factors(&self) -> Vec<Complex32> {
        let (recipe, sections) = (&self.recipe, self.machine.cp2.sections);
        if recipe.is_in_parts(1) {
            return column_and_row_ring::all_factors(
                recipe.rows(),
                recipe.height(),
                recipe.len(),
                sections,
            );
        }
        let per = recipe.rows().per_section();
        let pages = recipe.height() / (per * sections);
        (0..pages * sections)
            .flat_map(|i| {
                let rows = section_rows(i / sections, i % sections, sections, per);
                recipe.rows().factors(&rows, recipe.len())
            })
            .collect()
    }
}

/// Assembles the programs of columns and rows: one for both where program memory and DMEM have room.
fn programs(recipe: &FourStepRecipe, machine: &Machine) -> Result<[Arc<Program>; 2], FftError> {
    let direction = recipe.direction();
    let lines = [recipe.columns(), recipe.rows()];
    let shifted = recipe.outer().is_some();
    if lines.into_iter().all(|lines| !lines.is_in_parts()) {
        let both = large_program(Some(lines[0]), Some(lines[1]), shifted, direction, machine);
        if let Some(both) = unless_large(both, &mut None)? {
            let both = Arc::new(both.program);
            return Ok([both.clone(), both]);
        }
    }
    let program = |pass: usize| {
        let assembly = match (recipe.is_in_parts(pass), pass) {
            (true, _) => parts_program(lines[pass], pass == 1, direction, machine),
            (_, 0) => large_program(Some(lines[0]), None, shifted, direction, machine),
            _ => large_program(None, Some(lines[1]), shifted, direction, machine),
        };
        Ok::<_, FftError>(Arc::new(assembly?.program))
    };
    Ok([program(0)?, program(1)?])
}

/// Plans the prefetch of the second kernel while the first runs; none with three passes or pages in parts.
fn plan_prefetch(
    recipe: &FourStepRecipe,
    machine: &Machine,
) -> Result<Option<PrefetchedPasses>, FftError> {
    if recipe.outer().is_some() || recipe.is_in_parts(0) || recipe.is_in_parts(1) {
        return Ok(None);
    }
    let program = |pass: usize, tables| {
        let lines = [recipe.columns(), recipe.rows()];
        let of = |this: usize| (this == pass).then_some(lines[this]);
        let assembly = large_program_at(tables, of(0), of(1), false, recipe.direction(), machine)?;
        Ok(Arc::new(assembly.program))
    };
    let rings = |ends| recipe.rings(ends, machine.cp2.dmem.0);
    let passes = |rings, arrays, factors| recipe.passes(rings, 1, arrays, factors);
    PrefetchedPasses::new(program, rings, passes, machine)
}

/// Returns what was made, or none where it is too large and smaller pages may fit; `unfit` keeps the first
/// such reason.
pub(super) fn unless_large<T>(
    made: Result<T, FftError>,
    unfit: &mut Option<Unfit>,
) -> Result<Option<T>, FftError> {
    match made {
        Err(FftError::Unfit(e)) if e.is_size() => {
            unfit.get_or_insert(e);
            Ok(None)
        }
        made => made.map(Some),
    }
}

/// Returns the programs of columns and rows in the order of their loads: one program for both comes once.
pub(super) fn distinct_programs(
    [columns, rows]: &[Arc<Program>; 2],
) -> impl Iterator<Item = &Arc<Program>> {
    let second = (!Arc::ptr_eq(columns, rows)).then_some(rows);
    std::iter::once(columns).chain(second)
}

/// Places the programs of columns and rows in a job, under `name`.
pub(super) fn place(
    job: &mut Job,
    name: &str,
    programs: &[Arc<Program>; 2],
) -> Result<Vec<PlacedProgram>, FftError> {
    let each = distinct_programs(programs).map(|program| Ok(job.program(name, program)?));
    each.collect()
}

/// Adds the passes of columns and rows, whose programs have been placed, to a job.
pub(super) fn add_passes(
    job: &mut Job,
    placed: &[PlacedProgram],
    passes: [RingPass; 2],
) -> Result<(), FftError> {
    let placed = [placed.first(), placed.last()].into_iter().flatten();
    for ((pass, name), program) in passes.into_iter().zip(["columns", "rows"]).zip(placed) {
        job.ring(program, name, pass)?;
    }
    Ok(())
}

impl Fft for FourStepFft {
    fn len(&self) -> usize {
        self.recipe.len()
    }

    fn direction(&self) -> TransformDirection {
        self.recipe.direction()
    }

    fn recipe(&self) -> String {
        self.recipe.to_string()
    }

    fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// Includes what the problem's bound leaves out: the load of the program and its tables, the products of
    /// the last row pass, the factors of the rows, set-ups and runs of the DMA, and in each pass the first
    /// load and the last store (`docs/fft-large.md`).
    fn recipe_floor(&self, batch: usize) -> Option<(f64, &'static str)> {
        Some((self.expect(batch).least, RECIPE_FLOOR))
    }

    fn program(&self, batch: usize) -> Result<Option<Arc<Program>>, FftError> {
        let followed = self.choose_prefetch(batch);
        let program = followed.map_or(&self.programs[0], |(followed, _)| &followed.both);
        Ok(Some(program.clone()))
    }

    fn source(&self, file: &str) -> Option<String> {
        source(file).map(str::to_owned)
    }

    /// Counts input, tiles and output, beside factors and programs.
    fn max_batch(&self) -> usize {
        let rows = self.recipe.rows();
        let each = rows.factor_bytes() / rows.per_section() as u64;
        let shifts = self.recipe.outer().unwrap_or(0) as u64 * self.recipe.column_factor_bytes();
        let factors = each * self.recipe.height() as u64 + shifts;
        let rest = distinct_programs(&self.programs)
            .skip(1)
            .map(|program| image(program))
            .sum::<u64>();
        let image = rest + self.outer.as_ref().map_or(0, AxisPass::image);
        let free = job::room(&self.machine, &self.programs[0]).saturating_sub(factors + image);
        usize::try_from(free / (3 * self.bytes())).unwrap_or(usize::MAX)
    }

    fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        let halves = (self.recipe.len() / 2 * batch) as u64;
        let butterflies = |length: usize| (Class::Butterfly, halves * u64::from(length.ilog2()));
        // An iteration of the last pass has eight products for two columns of eight: one for two numbers.
        let products = (Class::Madd, halves);
        let outer = self.recipe.outer().map(|length| vec![butterflies(length)]);
        let two = [
            vec![butterflies(self.recipe.columns().len())],
            vec![butterflies(self.recipe.rows().len()), products],
        ];
        outer.into_iter().chain(two).collect()
    }

    fn append(&self, job: &mut Job, batch: usize, from: u64, to: u64) -> Result<(), FftError> {
        let (batch, mut from) = (batch as u64, from);
        let tiles = job.temporary::<Complex32>(batch * self.recipe.len() as u64)?;
        let factors = job.table(&self.factors())?;
        if let Some((followed, _)) = self.choose_prefetch(batch as usize) {
            let arrays = [from, tiles.address(), to];
            let factors = [0, factors.address()];
            let passes = self.recipe.passes(followed.rings(), batch, arrays, factors);
            return followed.add_passes(job, &self.recipe.to_string(), passes);
        }
        let placed = place(job, &self.recipe.to_string(), &self.programs)?;
        let mut shifts = 0;
        if let Some(outer) = &self.outer {
            // The output array is free until the last pass.
            outer.add(job, batch, [from, to])?;
            from = to;
            shifts = job.table(&self.shifts())?.address();
        }
        let passes = self.recipe.passes(
            self.rings.clone(),
            batch,
            [from, tiles.address(), to],
            [shifts, factors.address()],
        );
        add_passes(job, &placed, passes)
    }

    fn estimate(&self, batch: usize) -> Result<Cycles, FftError> {
        Ok(Cycles(self.expect(batch).cycles.ceil() as u64))
    }
}
