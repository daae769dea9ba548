//! The planner of real FFTs: every method priced for a batch.

use super::error::FftError;
use super::fft_trait::Fft;
use super::four_step::{FourStepReal, FourStepRecipe};
use super::mixed_radix::{ComplexToReal, LongReal, RealFftPlan, RealToComplex};
use super::planner::{FftPlanner, priced_batch};
use super::real_bound::{complex_floor, copies};
use super::ring4096_real::Ring4096RealFft;
use crate::fft::TransformDirection;
use crate::job::by_price;
use std::sync::Arc;

/// Search for the methods of a real transform: those found so far, with their prices.
#[derive(Debug)]
struct RealFftSearch<'a> {
    planner: &'a FftPlanner,
    n: usize,
    direction: TransformDirection,
    /// True to find all methods, false to leave out those that cannot be the cheapest.
    all: bool,
    /// Expected cycles of the part of the batch that system memory holds, its number of transforms, and the
    /// plan.
    found: Vec<(u64, usize, RealFftPlan)>,
    refused: FftError,
}

impl RealFftSearch<'_> {
    /// Adds a plan, unless the machine has no room for it.
    fn consider(&mut self, way: Result<RealFftPlan, FftError>) -> Result<(), FftError> {
        let batch = self.planner.batch;
        let priced = way.and_then(|way| {
            let most = way.max_batch().min(batch);
            // A memory that holds no transform is reported when there is an input.
            Ok((way.estimate(most.max(1))?.0, most, way))
        });
        match priced {
            Ok(priced) => self.found.push(priced),
            Err(e) if e.is_refusal() => {
                let before = std::mem::replace(&mut self.refused, FftError::Empty);
                self.refused = before.choose_more_specific(e);
            }
            Err(e) => return Err(e),
        }
        Ok(())
    }

    /// True if a method that takes `floor` cycles at least may still be the cheapest, or all are wanted.
    fn may_pay(&self, floor: u64) -> bool {
        let batch = self.planner.batch;
        let whole = self.found.iter().filter(|(_, held, _)| *held == batch);
        let best = whole.map(|(cycles, ..)| *cycles).min();
        self.all || best.is_none_or(|best| floor < best)
    }

    /// Plans the cheapest complex transform of a length.
    fn complex(&self, n: usize) -> Result<Arc<dyn Fft>, FftError> {
        let found = self.planner.candidates(n, self.direction)?;
        let first = found.into_iter().next();
        first.map(|c| c.fft).ok_or(FftError::Length { n })
    }

    /// Considers the methods in local memory, where a transform lies in one section.
    fn local(&mut self) -> Result<(), FftError> {
        let (n, direction, machine) = (self.n, self.direction, self.planner.machine.clone());
        for local in RealFftPlan::locals(n, direction, &machine) {
            self.consider(local)?;
        }
        if Ring4096RealFft::supports_length(n) {
            let ring = Ring4096RealFft::new(machine, direction);
            self.consider(ring.map(|fft| RealFftPlan::Ring(Box::new(fft))))?;
        }
        Ok(())
    }

    /// Considers the methods over system memory: passes that divide a transform among the sections, and
    /// passes around complex transforms.
    fn long(&mut self) -> Result<(), FftError> {
        let (n, direction, machine) = (self.n, self.direction, self.planner.machine.clone());
        let (batch, m) = (self.planner.batch, n / 2);
        let copies = |count| copies(count, n, batch, &machine);
        if FourStepReal::supports_length(n) && self.may_pay(copies(4)) {
            let large = FourStepReal::new(n, direction, machine.clone());
            self.consider(large.map(|fft| RealFftPlan::Large(Box::new(fft))))?;
        }
        let half = n % 2 == 0 && LongReal::has_halves(m);
        if half && self.may_pay(complex_floor(m, batch, &machine) + copies(2)) {
            let half = self.complex(m).map(LongReal::Halves);
            self.consider(half.map(RealFftPlan::Long))?;
        }
        if self.may_pay(complex_floor(n, batch, &machine)) {
            let whole = self.complex(n).map(LongReal::Whole);
            self.consider(whole.map(RealFftPlan::Long))?;
        }
        Ok(())
    }
}

impl FftPlanner {
    /// Returns the plans to transform `n` real numbers, the cheapest first; unless `all`, those that cannot
    /// be the cheapest are left out.
    fn real_ways(
        &self,
        n: usize,
        direction: TransformDirection,
        all: bool,
    ) -> Result<Vec<RealFftPlan>, FftError> {
        let mut ways = RealFftSearch {
            planner: self,
            n,
            direction,
            all,
            found: Vec::new(),
            refused: FftError::RealLength { n },
        };
        // Pairs of real numbers are half as many complex ones; no machine has a recipe for anything longer.
        if (1..=2 * FourStepRecipe::lengths().into_iter().max().unwrap_or(0)).contains(&n) {
            ways.local()?;
            ways.long()?;
        }
        let RealFftSearch {
            mut found, refused, ..
        } = ways;
        // Plans are compared by the largest part of the batch that any of them holds: the cycles of a smaller
        // part are not comparable.
        found.sort_by_key(|(cycles, held, _)| (std::cmp::Reverse(*held), *cycles));
        let most = found.first().map(|(_, held, _)| *held);
        found.retain(|(_, held, _)| Some(*held) == most);
        let inverse = direction == TransformDirection::Inverse;
        let batch = priced_batch(n, self.batch).min(most.unwrap_or(1)).max(1);
        by_price(
            &mut found,
            |(cycles, ..)| *cycles as f64,
            |(.., way)| way.expected(inverse, batch).ok().map(|price| price.0),
        );
        if found.is_empty() {
            return Err(refused);
        }
        Ok(found.into_iter().map(|(.., way)| way).collect())
    }

    fn real_way(&self, n: usize, direction: TransformDirection) -> Result<RealFftPlan, FftError> {
        let first = self.real_ways(n, direction, false)?.into_iter().next();
        first.ok_or(FftError::RealLength { n })
    }

    /// Returns all plans to transform `n` real numbers to half a spectrum, the cheapest for the planner's
    /// batch first.
    ///
    /// # Errors
    /// See [`FftPlanner::plan_real_forward`].
    pub fn real_forward_candidates(&self, n: usize) -> Result<Vec<Arc<RealToComplex>>, FftError> {
        let ways = self
            .real_ways(n, TransformDirection::Forward, true)?
            .into_iter();
        Ok(ways.map(|way| Arc::new(RealToComplex::new(way))).collect())
    }

    /// Returns all plans to transform half a spectrum to `n` real numbers, the cheapest for the planner's
    /// batch first.
    ///
    /// # Errors
    /// See [`FftPlanner::plan_real_forward`].
    pub fn real_inverse_candidates(&self, n: usize) -> Result<Vec<Arc<ComplexToReal>>, FftError> {
        let ways = self
            .real_ways(n, TransformDirection::Inverse, true)?
            .into_iter();
        Ok(ways.map(|way| Arc::new(ComplexToReal::new(way))).collect())
    }

    /// Plans the transform of `n` real numbers to the n/2 + 1 numbers of their half spectrum, by the cheapest
    /// method for the planner's batch: never dearer than the complex transform of as many numbers.
    ///
    /// # Errors
    /// No method for the length fits the machine.
    pub fn plan_real_forward(&self, n: usize) -> Result<Arc<RealToComplex>, FftError> {
        let way = self.real_way(n, TransformDirection::Forward)?;
        Ok(Arc::new(RealToComplex::new(way)))
    }

    /// Plans the transform of the n/2 + 1 numbers of a half spectrum to `n` real numbers, not scaled.
    ///
    /// # Errors
    /// See [`FftPlanner::plan_real_forward`].
    pub fn plan_real_inverse(&self, n: usize) -> Result<Arc<ComplexToReal>, FftError> {
        let way = self.real_way(n, TransformDirection::Inverse)?;
        Ok(Arc::new(ComplexToReal::new(way)))
    }
}
