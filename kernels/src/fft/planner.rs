//! The FFT planner: prices all recipes for a length and takes the cheapest.

use super::choice::{ChoiceReason, FftChoice};
use super::error::{FftError, LONGEST};
use super::fft_trait::Fft;
use super::four_step::{CrossSectionFft, FourStepFft, FourStepRecipe};
use super::mixed_radix::{
    BluesteinFft, BluesteinRecipe, LongBluestein, MixedFft, MixedRecipe, TwoPassFft,
};
use super::power_of_two::{LocalFft, butterfly_floor};
use super::power_of_two_recipe::{MAX_LENGTH, PowerOfTwoRecipe};
use crate::fft::TransformDirection;
use crate::job::by_price;
use cp2_machine::{Cycles, Machine};
use cp2_reference::Figures;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Plans FFTs for a machine and caches the plans.
///
/// ```
/// use cp2_kernels::fft::{Fft as _, FftPlanner};
/// use cp2_machine::Machine;
/// use num_complex::Complex32;
/// use std::sync::Arc;
///
/// let vm7 = Arc::new(Machine::builtin("vm7").unwrap());
/// let fft = FftPlanner::new(vm7).plan_forward(64)?;
/// // Three transforms of a tone.
/// let tone = |j: usize| Complex32::from_polar(1.0, std::f32::consts::TAU * 5.0 * j as f32 / 64.0);
/// let x: Vec<Complex32> = (0..3 * 64).map(tone).collect();
/// let done = fft.process(&x)?;
/// let y = done.output.unwrap();
/// assert!((y[64 + 5].re - 64.0).abs() < 1e-4);
/// assert!(done.run.report.cycles > 0);
/// # Ok::<(), cp2_kernels::fft::FftError>(())
/// ```
#[derive(Debug)]
pub struct FftPlanner {
    pub(super) machine: Arc<Machine>,
    pub(super) batch: usize,
    made: HashMap<(usize, TransformDirection), Arc<dyn Fft>>,
}

/// Transforms in the batch for which recipes are compared, unless [`FftPlanner::with_batch`] says another.
pub const TYPICAL_BATCH: usize = 1024;

/// A plan of a transform and its expected cost.
#[derive(Clone, Debug)]
pub struct FftCandidate {
    /// The plan.
    pub fft: Arc<dyn Fft>,
    /// Estimated cycles of the planner's batch ([`Fft::estimate`]).
    pub estimate: Cycles,
    /// Lower bound of any program and the time of the best known one for that batch.
    pub figures: Figures,
}

/// A recipe that the machine has no room for.
#[derive(Debug)]
pub struct RefusedRecipe {
    /// Kind of the recipe.
    pub kind: RecipeKind,
    /// Lack of the machine that rules the recipe out.
    pub reason: FftError,
}

/// The kinds of recipes of a planner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecipeKind {
    /// The hand-written kernel of a power of two, in local memory.
    Local,
    /// Passes of small radices, in local memory or twice over system memory.
    MixedRadix,
    /// Columns and rows of powers of two, over system memory.
    Large,
    /// A power of two divided among sections that exchange registers.
    CrossSection,
    /// Bluestein's algorithm in local memory.
    Bluestein,
    /// Bluestein's algorithm over system memory.
    LongBluestein,
}

impl fmt::Display for RecipeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Local => "hand-written kernel",
            Self::MixedRadix => "mixed radix",
            Self::Large => "columns and rows",
            Self::CrossSection => "across sections",
            Self::Bluestein => "Bluestein",
            Self::LongBluestein => "Bluestein in passes",
        })
    }
}

/// Share of the expected cycles that butterflies alone must take for no other recipe to be compared.
/// Hand-written kernels reach 0.95 to 0.99 (tables of `docs/fft.md`), so that another recipe could save 5 %
/// at most.
const BUTTERFLY_BOUND_SHARE: f64 = 0.95;

/// A plan, or the reason why there is none.
type PlannedFft = Result<Arc<dyn Fft>, FftError>;

/// The hand-written kernel, or the reason for which the machine has no room for it; none where the length has
/// no such kernel.
type LocalFftResult = Option<PlannedFft>;

/// Least length, in numbers, for which the hand-written kernel is judged by a long batch: from here on a
/// short batch costs other recipes as much as it does this kernel.
const MIN_LENGTH_JUDGED_BY_BATCH: usize = 64;

/// Least length, in numbers, for which it may pay to divide one transform among the sections. Chosen by hand:
/// a lower limit only prices more plans, of which the cheapest is taken.
const MIN_DIVIDED_LENGTH: usize = 1000;

/// Transforms for each section below which passes over system memory may be cheaper: pages that fill or drain
/// the pipeline, or that use fewer sections than there are, still weigh. A higher limit only prices more
/// plans.
const FEW_TRANSFORMS_PER_SECTION: usize = 8;

/// Least length, in numbers, for which a transform by two columns at a time is considered. Two shorter
/// transforms fit local memory with a second page (`docs/fft-mixed.md`), so that columns save nothing.
const MIN_LENGTH_BY_COLUMNS: usize = 512;

/// Bytes of DMEM for each number below which two pages by columns may not fit, with working space and tables:
/// 8 bytes for each of two pages and the working space, and 4 for tables.
const TIGHT_DMEM_BYTES_PER_NUMBER: u64 = 28;

/// Plans the mixed-radix transforms of a length: two transforms at a time, and two columns at a time. Where
/// nothing else is to be had, local memory is tight or a transform is to be `divided`, there is also one in
/// two passes over system memory.
pub(super) fn mixed(
    n: usize,
    direction: TransformDirection,
    machine: &Arc<Machine>,
    divided: bool,
) -> Vec<PlannedFft> {
    // Many short transforms fit local memory, so that two columns at a time save nothing.
    let dmem = machine.cp2.dmem.0;
    let columns = MixedRecipe::columns(n, direction, dmem).filter(|_| n >= MIN_LENGTH_BY_COLUMNS);
    let recipes = [MixedRecipe::new(n, direction), columns];
    let made = recipes.into_iter().flatten().map(|recipe| {
        let fft = MixedFft::new(recipe, machine.clone())?;
        Ok(Arc::new(fft) as Arc<dyn Fft>)
    });
    let mut all: Vec<_> = made.collect();
    // Transfers and arithmetic cannot overlap where a page and working space take most of DMEM.
    let tight = TIGHT_DMEM_BYTES_PER_NUMBER.saturating_mul(n as u64) > machine.cp2.dmem.0;
    if !n.is_power_of_two() && (divided || tight || all.iter().all(Result::is_err)) {
        all.push(TwoPassFft::new(n, direction, machine).map(|fft| Arc::new(fft) as _));
    }
    all
}

/// Plans the transform of a length by passes of radices, in local memory or over system memory, with the
/// smallest expected time for a batch. Convolutions use these transforms.
pub(super) fn plan_radices(
    n: usize,
    direction: TransformDirection,
    machine: &Arc<Machine>,
    batch: usize,
) -> Result<Arc<dyn Fft>, FftError> {
    let mut all: Vec<PlannedFft> = Vec::new();
    if !n.is_power_of_two() {
        all = mixed(n, direction, machine, batch < machine.cp2.sections);
    } else if let Ok(recipe) = PowerOfTwoRecipe::new(n, direction) {
        all.push(LocalFft::new(recipe, machine.clone()).map(|fft| Arc::new(fft) as _));
    }
    all.extend(
        shared(n, direction, machine)
            .into_iter()
            .map(|(_, fft)| fft),
    );
    cheapest(n, all, batch)
}

/// Plans the transforms of a length that all sections share: columns and rows over system memory, and columns
/// across sections where these exchange registers.
fn shared(
    n: usize,
    direction: TransformDirection,
    machine: &Arc<Machine>,
) -> Vec<(RecipeKind, PlannedFft)> {
    if !FourStepRecipe::lengths().contains(&n) {
        return Vec::new();
    }
    let passes = FourStepFft::new(n, direction, machine.clone());
    let across = CrossSectionFft::new(n, direction, machine).transpose();
    let across = across.map(|fft| fft.map(|fft| Arc::new(fft) as _));
    let passes = (RecipeKind::Large, passes.map(|fft| Arc::new(fft) as _));
    let across = across.map(|fft| (RecipeKind::CrossSection, fft));
    std::iter::once(passes).chain(across).collect()
}

/// Plans the transform of a length that all sections share with the smallest expected time for a batch.
pub(super) fn plan_shared(
    n: usize,
    direction: TransformDirection,
    machine: &Arc<Machine>,
    batch: usize,
) -> Result<Arc<dyn Fft>, FftError> {
    let all = shared(n, direction, machine).into_iter();
    cheapest(n, all.map(|(_, fft)| fft).collect(), batch)
}

/// Returns the plan with the smallest expected time for a batch, or the most specific refusal.
fn cheapest(n: usize, all: Vec<PlannedFft>, batch: usize) -> Result<Arc<dyn Fft>, FftError> {
    let mut best: Option<(Cycles, Arc<dyn Fft>)> = None;
    let mut refused = FftError::Length { n };
    for made in all {
        let priced = made.and_then(|fft| {
            let most = fft.max_batch().min(batch).max(1);
            Ok((fft.estimate(most)?, fft))
        });
        match priced {
            Ok((cycles, _)) if best.as_ref().is_some_and(|(least, _)| *least <= cycles) => {}
            Ok(priced) => best = Some(priced),
            Err(e) if e.is_refusal() || matches!(e, FftError::Unfit(_)) => {
                refused = refused.choose_more_specific(e)
            }
            Err(e) => return Err(e),
        }
    }
    best.map(|(_, fft)| fft).ok_or(refused)
}

/// Greatest number of complex numbers in a batch that is priced: larger batches take as long for each number.
const MOST_PRICED_NUMBERS: usize = 1 << 20;

/// Returns how many transforms of `n` numbers are priced for a batch.
pub(super) fn priced_batch(n: usize, batch: usize) -> usize {
    batch.min((MOST_PRICED_NUMBERS / n.max(1)).max(1))
}

impl FftPlanner {
    /// Makes a planner for `machine` with a batch of [`TYPICAL_BATCH`].
    #[must_use]
    pub fn new(machine: Arc<Machine>) -> Self {
        Self::with_batch(machine, TYPICAL_BATCH)
    }

    /// Makes a planner of transforms that come `batch` at a time: fewer than the machine has sections are
    /// cheaper by a recipe that divides each among them.
    #[must_use]
    pub fn with_batch(machine: Arc<Machine>, batch: usize) -> Self {
        Self {
            machine,
            // More transforms than a typical batch do not change the order of the recipes.
            batch: batch.clamp(1, TYPICAL_BATCH),
            made: HashMap::new(),
        }
    }

    /// Returns all plans of the FFT of length `n`, the cheapest first.
    ///
    /// # Errors
    /// There is no plan: no kernel for that length, or none that fits the machine.
    pub fn candidates(
        &self,
        n: usize,
        direction: TransformDirection,
    ) -> Result<Vec<FftCandidate>, FftError> {
        Ok(self.all(n, direction)?.0)
    }

    /// Returns all plans as [`FftPlanner::candidates`] does, and the recipes that the machine has no room
    /// for. Further recipes were not tried: Bluestein's algorithm, for one, is tried only where there is
    /// nothing else.
    ///
    /// # Errors
    /// See [`FftPlanner::candidates`].
    pub fn all(
        &self,
        n: usize,
        direction: TransformDirection,
    ) -> Result<(Vec<FftCandidate>, Vec<RefusedRecipe>), FftError> {
        self.with_local(n, direction, self.local(n, direction))
    }

    /// Plans the hand-written kernel where there is one for the length.
    fn local(&self, n: usize, direction: TransformDirection) -> LocalFftResult {
        let recipe = PowerOfTwoRecipe::new(n, direction).ok()?;
        Some(LocalFft::new(recipe, self.machine.clone()).map(|fft| Arc::new(fft) as _))
    }

    /// Compares the recipes for [`FftPlanner::all`]; `local` is the result of [`FftPlanner::local`], which is
    /// made once.
    fn with_local(
        &self,
        n: usize,
        direction: TransformDirection,
        local: LocalFftResult,
    ) -> Result<(Vec<FftCandidate>, Vec<RefusedRecipe>), FftError> {
        let price = |fft: Arc<dyn Fft>| {
            let priced = fft
                .estimate(self.batch)
                .map(|estimate| (self.batch, estimate));
            // A batch too large for system memory is priced as the part of it that fits.
            let (batch, estimate) = priced.or_else(|e| {
                let most = fft.max_batch().min(self.batch);
                match most {
                    0 => Err(e),
                    most => Ok((most, fft.estimate(most)?)),
                }
            })?;
            let figures = fft.figures(batch);
            Ok(FftCandidate {
                fft,
                estimate,
                figures,
            })
        };
        let mut found: Vec<FftCandidate> = Vec::new();
        let mut refused: Vec<RefusedRecipe> = Vec::new();
        let mut consider = |kind: RecipeKind, fft: PlannedFft| match fft.and_then(price) {
            Ok(candidate) => {
                found.push(candidate);
                Ok(true)
            }
            // A recipe that the machine has no room for is no candidate.
            Err(e) if e.is_refusal() || matches!(e, FftError::Unfit(_)) => {
                let reason = e.with_length(n);
                refused.push(RefusedRecipe { kind, reason });
                Ok(false)
            }
            Err(e) => Err(e),
        };
        let mut any = false;
        if let Some(local) = local {
            any |= consider(RecipeKind::Local, local)?;
        }
        // Passes over system memory divide a transform among the sections.
        let few = self.batch < self.machine.cp2.sections;
        for fft in mixed(n, direction, &self.machine, few && n >= MIN_DIVIDED_LENGTH) {
            any |= consider(RecipeKind::MixedRadix, fft)?;
        }
        if !any && !n.is_power_of_two() {
            let fft = TwoPassFft::new(n, direction, &self.machine);
            any |= consider(RecipeKind::MixedRadix, fft.map(|fft| Arc::new(fft) as _))?;
        }
        if n > MAX_LENGTH || !any || self.may_divide(n) {
            for (kind, fft) in shared(n, direction, &self.machine) {
                any |= consider(kind, fft)?;
            }
        }
        // Bluestein's algorithm is never the cheapest where there is another recipe.
        if let Some(recipe) = BluesteinRecipe::new(n, direction).filter(|_| !any) {
            let fft = BluesteinFft::new(recipe, self.machine.clone());
            any |= consider(RecipeKind::Bluestein, fft.map(|fft| Arc::new(fft) as _))?;
        }
        if !any {
            let fft = LongBluestein::new(n, direction, &self.machine, self.batch);
            consider(RecipeKind::LongBluestein, fft.map(|fft| Arc::new(fft) as _))?;
        }
        found.sort_by_key(|c| c.estimate.0);
        let batch = priced_batch(n, self.batch);
        let price = |c: &FftCandidate| {
            let batch = batch.min(c.fft.max_batch()).max(1);
            c.fft.expected(batch).ok().map(|price| price.0)
        };
        by_price(&mut found, |c| c.estimate.0 as f64, price);
        if found.is_empty() {
            // A length that no machine has is refused without a reason of this machine.
            return Err(match n == 0 || n > LONGEST && n != 2 * LONGEST {
                true => FftError::Length { n },
                false => {
                    let reasons = refused.into_iter().map(|refused| refused.reason);
                    reasons.fold(FftError::Length { n }, FftError::choose_more_specific)
                }
            });
        }
        Ok((found, refused))
    }

    /// Plans the FFT of length `n` in a direction by the cheapest recipe.
    ///
    /// # Errors
    /// See [`FftPlanner::candidates`].
    pub fn plan(
        &mut self,
        n: usize,
        direction: TransformDirection,
    ) -> Result<Arc<dyn Fft>, FftError> {
        if let Some(fft) = self.made.get(&(n, direction)) {
            return Ok(fft.clone());
        }
        let fft = self.choice(n, direction)?.fft;
        self.made.insert((n, direction), fft.clone());
        Ok(fft)
    }

    /// Returns the plan that [`FftPlanner::plan`] takes, and the reason for it.
    ///
    /// # Errors
    /// See [`FftPlanner::candidates`].
    pub fn choice(&self, n: usize, direction: TransformDirection) -> Result<FftChoice, FftError> {
        let local = self.local(n, direction);
        if let Some(choice) = self.near_the_floor(local.as_ref()) {
            return Ok(choice);
        }
        let (candidates, _) = self.with_local(n, direction, local)?;
        let why = match candidates.len() {
            1 => ChoiceReason::Only,
            _ => ChoiceReason::Cheapest,
        };
        let first = candidates.into_iter().next();
        let fft = first.ok_or(FftError::Length { n })?.fft;
        Ok(FftChoice { fft, why })
    }

    /// True if a short batch of a long length might be cheaper in passes over system memory.
    fn may_divide(&self, n: usize) -> bool {
        FourStepRecipe::lengths().contains(&n)
            && self.batch < FEW_TRANSFORMS_PER_SECTION * self.machine.cp2.sections
    }

    /// Returns the hand-written kernel where its expected time is so near the butterflies' lower bound that
    /// comparing recipes would cost more than it could gain.
    fn near_the_floor(&self, local: Option<&PlannedFft>) -> Option<FftChoice> {
        let fft = local?.as_ref().ok()?.clone();
        // The kernel's pages can be as small as one transform a section, and no other recipe has smaller
        // ones: the first load and the last store, which a short batch adds, cost others as much.
        let fine = fft.len() >= MIN_LENGTH_JUDGED_BY_BATCH
            && self.batch >= self.machine.cp2.sections
            && !self.may_divide(fft.len());
        let batch = if fine { TYPICAL_BATCH } else { self.batch };
        let floor = butterfly_floor(fft.len(), batch, &self.machine);
        let expected = fft.estimate(batch).ok()?;
        let share = floor.0 as f64 / expected.0.max(1) as f64;
        let why = ChoiceReason::NearFloor(1.0 - share);
        (share >= BUTTERFLY_BOUND_SHARE).then_some(FftChoice { fft, why })
    }

    /// Plans the FFT of length `n` by the hand-written kernels for powers of two.
    ///
    /// # Errors
    /// There is no kernel for that length, or it does not fit the machine.
    pub fn plan_local(
        &self,
        n: usize,
        direction: TransformDirection,
    ) -> Result<Arc<LocalFft>, FftError> {
        let recipe = PowerOfTwoRecipe::new(n, direction)?;
        Ok(Arc::new(LocalFft::new(recipe, self.machine.clone())?))
    }

    /// Plans the forward FFT, with exp(-2 pi i jk/n).
    ///
    /// # Errors
    /// See [`FftPlanner::plan`].
    pub fn plan_forward(&mut self, n: usize) -> Result<Arc<dyn Fft>, FftError> {
        self.plan(n, TransformDirection::Forward)
    }

    /// Plans the inverse FFT, with exp(+2 pi i jk/n), not scaled.
    ///
    /// # Errors
    /// See [`FftPlanner::plan`].
    pub fn plan_inverse(&mut self, n: usize) -> Result<Arc<dyn Fft>, FftError> {
        self.plan(n, TransformDirection::Inverse)
    }
}
