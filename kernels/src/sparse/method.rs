//! Products as a method of the backend.

use super::{Format, Packing, Product, SparseError};
use crate::backend::{Failure, Method, Task};
use crate::job::Job;
use crate::relayout::{Place, Relayout, Word};
use cp2_host::{Buffer, Element, Options};
use cp2_machine::Machine;
use cp2_problems::sparse::{Coefficients, SpmvProblem};
use cp2_problems::{Data, Problem};
use cp2_reference::{Figures, SparseNumbers, SparseProduct};
use num_complex::Complex32;
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
#[derive(Debug)]
pub struct Products {
    problem: SpmvProblem,
    machine: Arc<Machine>,
    product: Product,
}

/// Vectors that relayouts take at a time: arrays have numbers of 8 bits.
const MOST_VECTORS: usize = 255;

impl Products {
    /// Packs the matrix of a problem, in a format or in the one that is the fastest.
    ///
    /// # Errors
    /// See [`Product::new`]; more than 255 vectors.
    pub fn new(
        problem: &SpmvProblem,
        machine: &Arc<Machine>,
        format: Option<Format>,
    ) -> Result<Self, SparseError> {
        if problem.vectors() > MOST_VECTORS {
            return Err(SparseError::Vectors {
                found: problem.vectors(),
                most: MOST_VECTORS,
            });
        }
        Ok(Self {
            problem: problem.clone(),
            machine: machine.clone(),
            product: Product::new(problem.matrix(), machine, format)?,
        })
    }

    /// The packed matrix.
    #[must_use]
    pub fn product(&self) -> &Product {
        &self.product
    }

    /// What packing costs, and products without it.
    #[must_use]
    pub fn packing(&self) -> Packing {
        Packing::new(self.problem.matrix(), &self.product, &self.machine)
    }

    /// What any program must move, and the least of known ways.
    #[must_use]
    pub fn figures(&self) -> Figures {
        reference(&self.problem).figures(&self.machine)
    }

    /// The products as a method, whose input is the array `x` of the problem.
    #[must_use]
    pub fn into_method(self) -> Method {
        let operations = (0..self.problem.vectors()).map(|_| self.product.operations());
        let costs = (self.figures(), operations.collect());
        let recipe = Some(self.product.recipe());
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
        let placed = self.product.place(&mut job)?;
        if vectors == 1 {
            placed.pass(&mut job, x.address(), y.address());
        } else {
            let own = |job: &mut Job, count: usize| -> Result<Vec<Buffer<T>>, SparseError> {
                let all = (0..vectors).map(|_| job.temporary::<T>(count as u64));
                Ok(all.collect::<Result<_, _>>()?)
            };
            let (from, to) = (own(&mut job, cols)?, own(&mut job, rows)?);
            let words = T::BYTES as u64 / 4;
            for (k, from) in from.iter().enumerate() {
                apart(&mut job, (x, words), (k as u64, vectors as u64), *from)?;
            }
            for (from, to) in from.iter().zip(&to) {
                placed.pass(&mut job, from.address(), to.address());
            }
            together(&mut job, &to, (y, words))?;
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

/// One of several vectors whose numbers, of so many words, lie by turns.
fn apart<T: Element>(
    job: &mut Job,
    (x, words): (Buffer<T>, u64),
    (k, vectors): (u64, u64),
    to: Buffer<T>,
) -> Result<(), SparseError> {
    let all = to.len() * words;
    let granule = job.machine().dma.granule.0.max(4);
    let padded = (4 * all).next_multiple_of(granule);
    let word = |at: u64| match at < all {
        true => Word::Of(0, (at / words * vectors + k) * words + at % words),
        false => Word::Any,
    };
    job.relayouted(&Relayout {
        name: "a vector of several",
        from: &[Place::new(
            x.address(),
            (4 * all * vectors).next_multiple_of(granule),
        )],
        to: Place::new(to.address(), padded),
        words: all,
        word: &word,
    })?;
    Ok(())
}

/// Vectors as one array, in which their numbers lie by turns.
fn together<T: Element>(
    job: &mut Job,
    from: &[Buffer<T>],
    (y, words): (Buffer<T>, u64),
) -> Result<(), SparseError> {
    let vectors = from.len() as u64;
    let all = y.len() * words;
    let granule = job.machine().dma.granule.0.max(4);
    let places = from.iter().map(|from| {
        let bytes = (4 * words * from.len()).next_multiple_of(granule);
        Place::new(from.address(), bytes)
    });
    let places: Vec<Place> = places.collect();
    let word = |at: u64| {
        let (number, word) = (at / words, at % words);
        match at < all {
            true => Word::Of((number % vectors) as u8, number / vectors * words + word),
            false => Word::Any,
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
