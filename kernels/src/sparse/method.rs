//! Products as a method of the backend.

use super::{Candidate, Format, Packing, PlacedProduct, Product, SparseError};
use crate::backend::{Failure, Method, Task};
use crate::job::Job;
use crate::relayout::{Place, Relayout, Word};
use cp2_host::{Buffer, Element, Options};
use cp2_machine::{Cycles, Machine};
use cp2_problems::sparse::{Coefficients, SparseMatrix, SpmvProblem};
use cp2_problems::{Data, Problem};
use cp2_reference::{Figures, SparseNumbers, SparseProduct};
use num_complex::Complex32;
use std::ops::Range;
use std::sync::Arc;

/// A matrix times vectors, if it is the problem.
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
/// Several vectors lie by turns in the user's arrays. They are multiplied one by one, or two at a time by a matrix packed for that, whichever
/// takes the fewest cycles with what takes them apart and puts the results together.
#[derive(Debug)]
pub struct Products {
    problem: SpmvProblem,
    machine: Arc<Machine>,
    one: Product,
    /// Of several vectors: what multiplies two at a time, where the machine has room for it.
    two: Option<Product>,
    /// Whether that is used.
    paired: bool,
}

/// Words of a row of several vectors at most, found by trying lengths and formats, not proved: a relayout's kernel has seven pointers, and must reach with them the parts of a page that
/// come from so many arrays.
const MOST_WORDS: usize = 16;

impl Products {
    /// Packs the matrix of a problem, in a format or in the one that is the fastest.
    ///
    /// # Errors
    /// See [`Product::new`] and [`Products::check`].
    pub fn new(
        problem: &SpmvProblem,
        machine: &Arc<Machine>,
        format: Option<Format>,
    ) -> Result<Self, SparseError> {
        let matrix = problem.matrix();
        Self::check(matrix, problem.vectors())?;
        let pairs = problem.vectors() > 1
            && !matrix.is_complex()
            && format.is_none_or(|format| format == Format::Gather);
        let mut products = Self {
            problem: problem.clone(),
            machine: machine.clone(),
            one: Product::new(matrix, machine, format)?,
            two: pairs
                .then(|| Product::of_two(matrix, machine).ok())
                .flatten(),
            paired: false,
        };
        if products.two.is_some() {
            let alone = products.price()?;
            products.paired = true;
            products.paired = products.price()? < alone;
        }
        Ok(products)
    }

    /// Whether so many vectors can be multiplied at a time.
    ///
    /// # Errors
    /// More than 16 vectors, or 8 complex ones.
    pub fn check(matrix: &SparseMatrix, vectors: usize) -> Result<(), SparseError> {
        let most = MOST_WORDS / if matrix.is_complex() { 2 } else { 1 };
        match vectors > most {
            true => Err(SparseError::Vectors {
                found: vectors,
                most,
            }),
            false => Ok(()),
        }
    }

    /// What all products take, by their own commands.
    fn price(&self) -> Result<Cycles, SparseError> {
        let x = vec![0.0f32; self.problem.matrix().cols() * self.problem.vectors()];
        Ok(self.job(&x, Options::default())?.job.price()?)
    }

    /// The packed matrix, or the two of which one multiplies two vectors at a time and the other the last one.
    pub fn products(&self) -> impl Iterator<Item = &Product> {
        let two = self.two.iter().filter(|_| self.paired);
        let one = !self.paired || !self.problem.vectors().is_multiple_of(2);
        two.chain(one.then_some(&self.one))
    }

    /// The one that multiplies most of the vectors.
    #[must_use]
    pub fn product(&self) -> &Product {
        self.products().next().unwrap_or(&self.one)
    }

    /// What all products take, but for taking vectors apart and putting results together.
    #[must_use]
    pub fn expected(&self) -> Cycles {
        self.groups().iter().fold(Cycles(0), |sum, (_, product)| {
            Cycles(sum.0 + product.expected().0)
        })
    }

    /// Bytes of all packed matrices.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.products().map(Product::bytes).sum()
    }

    /// What was chosen from, and whether it was.
    pub fn candidates(&self) -> impl Iterator<Item = (&Candidate, bool)> {
        let all = self.two.iter().chain([&self.one]);
        let all = all.flat_map(Product::candidates);
        all.map(|found| {
            let mut used = self.products();
            let chosen =
                used.any(|own| own.format() == found.format && own.vectors() == found.vectors);
            (found, chosen)
        })
    }

    /// What packing costs, and products without it.
    #[must_use]
    pub fn packing(&self) -> Packing {
        Packing::new(self.problem.matrix(), self.bytes(), &self.machine)
    }

    /// How it is packed, in words.
    #[must_use]
    pub fn recipe(&self) -> String {
        let recipes: Vec<String> = self.products().map(Product::recipe).collect();
        recipes.join("; and ")
    }

    /// What any program must move, and the least of known ways.
    #[must_use]
    pub fn figures(&self) -> Figures {
        reference(&self.problem).figures(&self.machine)
    }

    /// The vectors of each product, in order.
    fn groups(&self) -> Vec<(Range<usize>, &Product)> {
        let mut groups = Vec::new();
        let mut first = 0;
        for product in self.products() {
            while first + product.vectors() <= self.problem.vectors() {
                groups.push((first..first + product.vectors(), product));
                first += product.vectors();
            }
        }
        groups
    }

    /// The vectors of each product, and what multiplies them, in the system memory of a job.
    fn placed(&self, job: &mut Job) -> Result<Vec<(Range<usize>, PlacedProduct)>, SparseError> {
        let mut placed: Vec<(Range<usize>, PlacedProduct)> = Vec::new();
        for (group, product) in self.groups() {
            // The same matrix is there once.
            let own = match placed.last() {
                Some((before, own)) if before.len() == group.len() => own.clone(),
                _ => product.place(job)?,
            };
            placed.push((group, own));
        }
        Ok(placed)
    }

    /// The products as a method, whose input is the array `x` of the problem.
    #[must_use]
    pub fn into_method(self) -> Method {
        let groups = self.groups();
        let operations = groups.iter().map(|(_, product)| product.operations());
        let costs = (self.figures(), operations.collect());
        let recipe = Some(self.recipe());
        let machine = self.machine.clone();
        Method::new(&machine, recipe, costs, move |input, options| {
            Ok(self.task(input, options)?)
        })
    }

    /// The products of the vectors of an input as a job; nothing of it is done yet.
    ///
    /// # Errors
    /// Another input than the problem's, or system memory is used up.
    pub fn task(&self, input: &Data, options: Options) -> Result<Task, SparseError> {
        let count = self.problem.matrix().cols() * self.problem.vectors();
        match self.problem.matrix().is_complex() {
            true => self.job(input.sized::<Complex32>("x", count)?, options),
            false => self.job(input.sized::<f32>("x", count)?, options),
        }
    }

    fn job<T: Element + cp2_problems::Element>(
        &self,
        x: &[T],
        options: Options,
    ) -> Result<Task, SparseError> {
        let [rows, cols] = [self.problem.matrix().rows(), self.problem.matrix().cols()];
        let vectors = self.problem.vectors();
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
        let mut job = Job::new(self.machine.clone(), options);
        let x = job.input("x", x, &sides(cols))?;
        let y = job.output::<T>("y", &sides(rows))?;
        let groups = self.placed(&mut job)?;
        if let [(_, all)] = groups.as_slice() {
            all.pass(&mut job, x.address(), y.address());
        } else {
            let own = |job: &mut Job, count: usize| -> Result<Vec<Buffer<T>>, SparseError> {
                let all = groups
                    .iter()
                    .map(|(group, _)| job.temporary::<T>((count * group.len()) as u64));
                Ok(all.collect::<Result<_, _>>()?)
            };
            let (from, to) = (own(&mut job, cols)?, own(&mut job, rows)?);
            let words = T::BYTES as u64 / 4;
            let spans: Vec<Range<u64>> = groups
                .iter()
                .map(|(group, _)| words * group.start as u64..words * group.end as u64)
                .collect();
            let row = words * vectors as u64;
            for (span, from) in spans.iter().zip(&from) {
                apart(&mut job, x, (span.clone(), row), *from)?;
            }
            for ((_, placed), (from, to)) in groups.iter().zip(from.iter().zip(&to)) {
                placed.pass(&mut job, from.address(), to.address());
            }
            together(&mut job, (&to, &spans), (y, row))?;
        }
        let sides = shape(rows);
        Ok(Task::reading(job, move |run| {
            Ok(Data::of("y", &sides, run.read(y)?))
        }))
    }
}

/// What the product of a problem is judged by.
fn reference(problem: &SpmvProblem) -> SparseProduct {
    let matrix = problem.matrix();
    let numbers = match matrix.coefficients() {
        Coefficients::Pattern => SparseNumbers::Ones,
        Coefficients::Real(_) => SparseNumbers::Real,
        Coefficients::Complex(_) => SparseNumbers::Complex,
    };
    let sides = [matrix.rows(), matrix.cols()];
    SparseProduct::new(
        sides,
        matrix.nnz(),
        matrix.triangle_nnz(),
        numbers,
        problem.vectors(),
    )
}

/// Some words of each row of an array, whose rows have `row` words: vectors of several whose numbers lie by turns.
fn apart<T: Element>(
    job: &mut Job,
    x: Buffer<T>,
    (span, row): (Range<u64>, u64),
    to: Buffer<T>,
) -> Result<(), SparseError> {
    let words = |buffer: Buffer<T>| buffer.len() * T::BYTES as u64 / 4;
    let (all, own) = (words(to), span.end - span.start);
    let granule = job.machine().dma.granule.0.max(4);
    let word = |at: u64| match at < all {
        true => Word::Of(0, at / own * row + span.start + at % own),
        false => Word::Any,
    };
    job.relayouted(&Relayout {
        name: "vectors of several",
        from: &[Place::new(
            x.address(),
            (4 * words(x)).next_multiple_of(granule),
        )],
        to: Place::new(to.address(), (4 * all).next_multiple_of(granule)),
        words: all,
        word: &word,
    })?;
    Ok(())
}

/// Arrays as one, whose rows of `row` words have the rows of each in its span.
fn together<T: Element>(
    job: &mut Job,
    (from, spans): (&[Buffer<T>], &[Range<u64>]),
    (y, row): (Buffer<T>, u64),
) -> Result<(), SparseError> {
    let words = |buffer: &Buffer<T>| buffer.len() * T::BYTES as u64 / 4;
    let all = words(&y);
    let granule = job.machine().dma.granule.0.max(4);
    let places = from
        .iter()
        .map(|from| Place::new(from.address(), (4 * words(from)).next_multiple_of(granule)));
    let places: Vec<Place> = places.collect();
    let word = |at: u64| {
        let (number, word) = (at / row, at % row);
        let group = spans.iter().position(|span| span.contains(&word));
        match group.filter(|_| at < all) {
            Some(group) => {
                let span = &spans[group];
                Word::Of(
                    group as u8,
                    number * (span.end - span.start) + word - span.start,
                )
            }
            None => Word::Any,
        }
    };
    job.relayouted(&Relayout {
        name: "several vectors as one array",
        from: &places,
        to: Place::new(y.address(), (4 * all).next_multiple_of(granule)),
        words: all,
        word: &word,
    })?;
    Ok(())
}
