//! Products as methods of the backend.

use super::multi_vector::{InterleavedVectors, MultiVectorMethod, PANEL_WORDS, VectorSet, panels};
use super::product::recipe;
use super::{
    FormatCost, PackedFormat, PackedMatrix, Packing, PackingWork, PlacedProduct, SparseError,
};
use crate::backend::{Failure, Method, Task};
use crate::job::Job;
use crate::sections::{choose_sections, describe_idle};
use cp2_host::{DeviceOptions, MemoryElement};
use cp2_machine::{Cycles, Machine};
use cp2_problems::sparse::{MatrixEntries, SparseMatrix, SpmvProblem};
use cp2_problems::{NamedArrays, Problem};
use cp2_reference::{Figures, SparseNumbers, SparseProduct};
use num_complex::Complex32;
use std::ops::Range;
use std::sync::Arc;

/// Returns the method that multiplies a matrix with vectors; none for other problems.
pub(crate) fn product(
    machine: &Arc<Machine>,
    problem: &dyn Problem,
) -> Option<Result<Method, Failure>> {
    let problem = problem.downcast_ref::<SpmvProblem>()?;
    let made = Products::new(problem, machine, None);
    Some(made.map(Products::into_method).map_err(Into::into))
}

/// A problem of products planned for a machine.
///
/// Several vectors are interleaved in the user's arrays. They are multiplied one by one, or two at a time by
/// a matrix packed for that. Panels of so many words of a row are split and merged at a time. The combination
/// that takes the fewest cycles is chosen.
#[derive(Debug)]
pub struct Products {
    problem: SpmvProblem,
    machine: Arc<Machine>,
    /// Machine with the sections that take part.
    used: Arc<Machine>,
    one: PackedMatrix,
    /// Matrix packed for two vectors at a time, if there are several vectors and the machine has room for it.
    two: Option<PackedMatrix>,
    way: MultiVectorMethod,
    /// Cycles of all products one by one, and two at a time, including splitting and merging; only for
    /// several vectors.
    prices: [Option<Cycles>; 2],
    /// Cycles of all products in the chosen way.
    price: Cycles,
    /// Operations that it took to pack the matrix, in all formats and for all numbers of sections that were
    /// tried.
    packed_by: u64,
}

/// Number of vectors that are priced to find the cheapest way. Of more vectors, so many and the remainder of
/// a panel are priced.
const MOST_PRICED_VECTORS: usize = 256;

impl Products {
    /// Packs the matrix of a problem, in a given format or in the fastest one.
    ///
    /// # Errors
    /// See [`PackedMatrix::new`] and [`Products::check`].
    pub fn new(
        problem: &SpmvProblem,
        machine: &Arc<Machine>,
        format: Option<PackedFormat>,
    ) -> Result<Self, SparseError> {
        Self::check(problem.matrix(), problem.vectors(), machine)?;
        let work = PackingWork::default();
        let plan =
            |used: &Arc<Machine>| Self::with_sections(problem, machine, (used, &work), format);
        let mut products = choose_sections(machine, plan, |plan| Some(plan.price.0))?;
        products.packed_by = work.operations();
        Ok(products)
    }

    /// Packs the matrix for the sections that take part.
    fn with_sections(
        problem: &SpmvProblem,
        machine: &Arc<Machine>,
        (used, work): (&Arc<Machine>, &PackingWork),
        format: Option<PackedFormat>,
    ) -> Result<Self, SparseError> {
        let matrix = problem.matrix();
        let pairs = problem.vectors() > 1
            && !matrix.is_complex()
            && format.is_none_or(|format| format == PackedFormat::Gather);
        let mut products = Self {
            problem: problem.clone(),
            machine: machine.clone(),
            used: used.clone(),
            one: PackedMatrix::new(matrix, (used, work), format)?,
            two: pairs
                .then(|| PackedMatrix::pack_for_two(matrix, used, work).ok())
                .flatten(),
            way: MultiVectorMethod {
                paired: false,
                panel: PANEL_WORDS[0],
                vectors: problem.vectors(),
            },
            prices: [None; 2],
            price: Cycles(0),
            packed_by: 0,
        };
        products.price = products.one.expected();
        if problem.vectors() > 1 {
            products.choose(work)?;
        }
        Ok(products)
    }

    /// Chooses the way that takes the fewest cycles.
    fn choose(&mut self, work: &PackingWork) -> Result<(), SparseError> {
        let vectors = self.way.vectors;
        let rest = PANEL_WORDS[0] as usize;
        let words = if self.one.is_complex() { 2 } else { 1 };
        let priced = match vectors > MOST_PRICED_VECTORS {
            true => MOST_PRICED_VECTORS + vectors % rest,
            false => vectors,
        };
        let (mut best, mut refused): (Option<(Cycles, MultiVectorMethod)>, _) = (None, None);
        for paired in [false, true] {
            if paired && self.two.is_none() {
                continue;
            }
            for panel in panels(priced as u64 * words) {
                let way = MultiVectorMethod {
                    paired,
                    panel,
                    vectors: priced,
                };
                for (_, product) in self.groups(way) {
                    product.forecast(work);
                }
                // Panels may be too wide for local memory.
                let cycles = match self.price(way) {
                    Ok(cycles) => cycles,
                    Err(error) => {
                        refused = Some(error);
                        continue;
                    }
                };
                let own = &mut self.prices[usize::from(paired)];
                *own = Some(own.map_or(cycles, |least| least.min(cycles)));
                if best.is_none_or(|(least, _)| cycles < least) {
                    best = Some((cycles, way));
                }
            }
        }
        match (best, refused) {
            (Some((cycles, way)), _) => {
                self.way = MultiVectorMethod { vectors, ..way };
                self.price = cycles;
            }
            (None, Some(error)) => return Err(error),
            (None, None) => {}
        }
        // With more vectors than are priced, prices grow in proportion.
        let all = |cycles: Cycles| {
            let cycles = u128::from(cycles.0) * vectors as u128 / priced as u128;
            Cycles(u64::try_from(cycles).unwrap_or(u64::MAX))
        };
        self.prices = self.prices.map(|own| own.map(all));
        Ok(())
    }

    /// Checks that system memory holds so many vectors and their products.
    ///
    /// # Errors
    /// It does not.
    pub fn check(
        matrix: &SparseMatrix,
        vectors: usize,
        machine: &Machine,
    ) -> Result<(), SparseError> {
        let number = if matrix.is_complex() { 8 } else { 4 };
        let numbers = (matrix.rows() as u64 + matrix.cols() as u64).saturating_mul(number);
        let bytes = numbers.saturating_mul(vectors as u64);
        match bytes > machine.host.memory.0 {
            true => Err(SparseError::Vectors {
                found: vectors,
                most: machine.host.memory.0 / numbers.max(1),
                memory: machine.host.memory.0,
            }),
            false => Ok(()),
        }
    }

    /// Returns the cycles of all products, by their own commands.
    fn price(&self, way: MultiVectorMethod) -> Result<Cycles, SparseError> {
        let count = self.problem.matrix().cols() * way.vectors;
        let options = DeviceOptions::default();
        let task = match self.problem.matrix().is_complex() {
            true => self.job(&vec![Complex32::default(); count], way, options),
            false => self.job(&vec![0.0f32; count], way, options),
        };
        Ok(task?.job.price()?)
    }

    /// Returns the cycles of all products in the format of a candidate, including splitting and merging. For
    /// candidates that are not used, splitting and merging cost as much as for those that are.
    #[must_use]
    pub fn price_of(&self, candidate: &FormatCost) -> Option<Cycles> {
        let cycles = candidate.cycles.as_ref().ok()?.0;
        let own = match candidate.vectors {
            1 => &self.one,
            _ => self.two.as_ref()?,
        };
        let Some(all) = self.prices[candidate.vectors - 1] else {
            return Some(Cycles(cycles));
        };
        let count = (self.way.vectors / candidate.vectors) as u64;
        let beside = all.0.saturating_sub(count * own.expected().0);
        Some(Cycles(beside + count * cycles))
    }

    /// Returns the packed matrices used: one, or one that multiplies two vectors at a time and another for
    /// the last vector.
    pub fn products(&self) -> impl Iterator<Item = &PackedMatrix> {
        let two = self.two.iter().filter(|_| self.way.paired);
        let one = !self.way.paired || !self.way.vectors.is_multiple_of(2);
        two.chain(one.then_some(&self.one))
    }

    /// Returns the packed matrix that multiplies most of the vectors.
    #[must_use]
    pub fn product(&self) -> &PackedMatrix {
        self.products().next().unwrap_or(&self.one)
    }

    /// Returns the cycles of all products, without splitting vectors and merging results.
    #[must_use]
    pub fn expected(&self) -> Cycles {
        let groups = self.groups(self.way);
        groups.iter().fold(Cycles(0), |sum, (_, product)| {
            Cycles(sum.0 + product.expected().0)
        })
    }

    /// Returns the bytes of all packed matrices.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.products().map(PackedMatrix::bytes).sum()
    }

    /// Returns the candidates, each with true if it was chosen.
    pub fn candidates(&self) -> impl Iterator<Item = (&FormatCost, bool)> {
        let all = self.two.iter().chain([&self.one]);
        let all = all.flat_map(PackedMatrix::candidates);
        all.map(|found| {
            let mut used = self.products();
            let chosen =
                used.any(|own| own.format() == found.format && own.vectors() == found.vectors);
            (found, chosen)
        })
    }

    /// Returns the cost of packing, and of products without it.
    #[must_use]
    pub fn packing(&self) -> Packing {
        let packed = [self.bytes(), self.packed_by];
        Packing::new(self.problem.matrix(), packed, &self.machine)
    }

    /// Says how the matrix is packed.
    #[must_use]
    pub fn recipe(&self) -> String {
        recipe(
            &self.products().collect::<Vec<_>>(),
            describe_idle(&self.machine, &self.used),
        )
    }

    /// Returns what any program must move, and the least time of known methods.
    #[must_use]
    pub fn figures(&self) -> Figures {
        reference(&self.problem).figures(&self.machine)
    }

    /// Returns the vectors of each product, in order, and its packed matrix.
    fn groups(&self, way: MultiVectorMethod) -> Vec<(Range<usize>, &PackedMatrix)> {
        let mut groups = Vec::new();
        let mut first = 0;
        let two = self.two.as_ref().filter(|_| way.paired);
        for product in two.into_iter().chain([&self.one]) {
            while first + product.vectors() <= way.vectors {
                groups.push((first..first + product.vectors(), product));
                first += product.vectors();
            }
        }
        groups
    }

    /// Returns the vectors of each product, and its packed matrix in the system memory of a job.
    fn placed(
        &self,
        way: MultiVectorMethod,
        job: &mut Job,
    ) -> Result<Vec<(Range<usize>, PlacedProduct)>, SparseError> {
        let mut placed: Vec<(Range<usize>, PlacedProduct)> = Vec::new();
        for (group, product) in self.groups(way) {
            // Products by one matrix share its copy in system memory.
            let own = match placed.last() {
                Some((before, own)) if before.len() == group.len() => own.clone(),
                _ => product.place(job)?,
            };
            placed.push((group, own));
        }
        Ok(placed)
    }

    /// Returns the products as a method, whose input is the array `x` of the problem.
    #[must_use]
    pub fn into_method(self) -> Method {
        let groups = self.groups(self.way);
        let operations = groups.iter().map(|(_, product)| product.operations());
        let costs = (self.figures(), operations.collect());
        let recipe = Some(self.recipe());
        let machine = self.used.clone();
        Method::new(&machine, recipe, costs, move |input, options| {
            Ok(self.task(input, options)?)
        })
    }

    /// Returns the job of the products with the vectors of an input, not yet run.
    ///
    /// # Errors
    /// Another input than the problem's, or system memory is used up.
    pub fn task(&self, input: &NamedArrays, options: DeviceOptions) -> Result<Task, SparseError> {
        let count = self.problem.matrix().cols() * self.problem.vectors();
        match self.problem.matrix().is_complex() {
            true => self.job(input.get_sized::<Complex32>("x", count)?, self.way, options),
            false => self.job(input.get_sized::<f32>("x", count)?, self.way, options),
        }
    }

    fn job<T: MemoryElement + cp2_problems::Element>(
        &self,
        x: &[T],
        way: MultiVectorMethod,
        options: DeviceOptions,
    ) -> Result<Task, SparseError> {
        let [rows, cols] = [self.problem.matrix().rows(), self.problem.matrix().cols()];
        let vectors = way.vectors;
        let shape = |count: usize| match vectors {
            1 => vec![count],
            several => vec![count, several],
        };
        let sides = |count: usize| {
            shape(count)
                .into_iter()
                .map(|n| n as u64)
                .collect::<Vec<_>>()
        };
        let mut job = Job::new(self.used.clone(), options);
        let x = job.input("x", x, &sides(cols))?;
        let y = job.output::<T>("y", &sides(rows))?;
        let groups = self.placed(way, &mut job)?;
        if let [(_, all)] = groups.as_slice() {
            all.pass(&mut job, x.address(), y.address());
        } else {
            let words = T::BYTES as u64 / 4;
            let spans: Vec<Range<u64>> = groups
                .iter()
                .map(|(group, _)| words * group.start as u64..words * group.end as u64)
                .collect();
            let several = |address: u64, rows: usize| VectorSet {
                address,
                rows: rows as u64,
            };
            let arrays = (several(x.address(), cols), several(y.address(), rows));
            let mut turns = InterleavedVectors::new(&job, words * vectors as u64, way.panel);
            turns.pass(&mut job, arrays, &spans, |job, group, [from, to]| {
                groups[group].1.pass(job, from, to);
            })?;
        }
        let sides = shape(rows);
        Ok(Task::reading(job, move |run| {
            Ok(NamedArrays::from_array("y", &sides, run.read(y)?))
        }))
    }
}

/// Returns the reference that the product of a problem is compared with.
fn reference(problem: &SpmvProblem) -> SparseProduct {
    let matrix = problem.matrix();
    let numbers = match matrix.coefficients() {
        MatrixEntries::Pattern => SparseNumbers::Ones,
        MatrixEntries::Real(_) => SparseNumbers::Real,
        MatrixEntries::Double(_) => SparseNumbers::Double,
        MatrixEntries::DoubleSingle(_) => SparseNumbers::DoubleSingle,
        MatrixEntries::Complex(_) => SparseNumbers::Complex,
    };
    let found = matrix.significant();
    SparseProduct::new(
        [matrix.rows(), found.columns],
        found.entries,
        found.values,
        numbers,
        problem.vectors(),
    )
}
