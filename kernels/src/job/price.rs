//! Prices: the cycles that a job should take, without running it on data.

use super::items::{CommandIssue, JobItem};
use super::pass::{Pass, PassPaging};
use super::{Job, JobError};
use cp2_emu::cycles::Uncounted;
use cp2_host::paging::KernelEntryPoint;
use cp2_host::{Device, KernelSteps};
use cp2_machine::Cycles;
use cp2_reference::{Count, Figures, Traffic};

impl Job {
    /// Returns the cycles that the job should take.
    ///
    /// The device's own control CPU carries out the job's commands, with the counted cycles of its kernels
    /// and the times of its transfers. None if values that are computed decide how often something is done.
    #[must_use]
    pub fn expected(&self) -> Option<Cycles> {
        self.price().ok()
    }

    /// Returns the cycles that the job should take, or why they are unknown.
    ///
    /// # Errors
    /// See [`Job::prices`].
    pub(crate) fn price(&self) -> Result<Cycles, Unpriced> {
        let ends = self.prices()?;
        ends.last().copied().map(Cycles).ok_or(Unpriced::Decided)
    }

    /// Returns the cycles from the beginning to the end of each part, and of the whole job.
    ///
    /// # Errors
    /// The cycles of a kernel cannot be counted, or computed values decide how often something is done.
    pub(crate) fn prices(&self) -> Result<Vec<u64>, Unpriced> {
        let ends = self.forecast()?.expected().map_err(JobError::from)?;
        ends.ok_or(Unpriced::Decided)
    }

    /// Returns the cycles that each pass should take, in order.
    ///
    /// A pass lasts from the end of the kernel before it to the end of its own kernel; the first begins with
    /// the job, the last ends with it. So the sum is [`Job::expected`]. None if the job has no price.
    #[must_use]
    pub fn expected_of_passes(&self) -> Option<Vec<Cycles>> {
        let ends = self.forecast().ok()?.expected_of_kernels().ok()??;
        let begins = std::iter::once(0).chain(ends.iter().copied());
        let passes = ends.iter().zip(begins);
        Some(passes.map(|(end, begin)| Cycles(end - begin)).collect())
    }

    /// Gives the commands of the job to a device that counts time and computes nothing.
    fn forecast(&self) -> Result<Device, Unpriced> {
        let mut device = self.forecast_device()?;
        let mut issue = CommandIssue::default();
        issue.submit_alone(&mut device, &self.passes, &self.items)?;
        Ok(device)
    }

    /// Returns a device that computes nothing, with the steps of the job's kernels.
    pub(super) fn forecast_device(&self) -> Result<Device, Unpriced> {
        let kernels = self.items.iter().filter_map(|item| match item {
            JobItem::Pass(pass) => self.passes.get(*pass),
            _ => None,
        });
        let steps = kernels.map(|pass| self.steps(pass));
        let steps: Vec<KernelSteps> = steps.collect::<Result<_, _>>()?;
        Ok(Device::forecast(self.machine().clone(), steps))
    }

    /// Returns figures for a job of which only the arrays are known: each moved once over the DMA channel.
    pub(crate) fn moved(&self) -> Figures {
        let arrays = self.inputs.iter().chain(&self.outputs);
        let bytes: u128 = arrays.map(|array| u128::from(array.bytes)).sum();
        let traffic = Traffic::bytes(bytes);
        Figures::of(
            self.machine(),
            traffic,
            Count::default(),
            "inputs and outputs once over the DMA channel",
            "definition",
        )
    }

    /// Returns the cycles of the steps of a pass's kernel.
    fn steps(&self, pass: &Pass) -> Result<KernelSteps, Unpriced> {
        let machine = self.machine();
        let filled = pass.fills.iter().map(|(_, fill)| {
            let bytes = u32::try_from(fill.run).unwrap_or(u32::MAX);
            (fill.local, fill.local.saturating_add(bytes))
        });
        let kernel = KernelEntryPoint::new(&pass.placed.program, pass.entry).filled(filled);
        Ok(match &pass.work {
            PassPaging::Ring(ring, _) => Box::new(ring.steps(&kernel, machine)?),
            PassPaging::Paged(plan, _) => Box::new(kernel.paged(plan, machine)?),
            PassPaging::Nest(nest, _) => Box::new(nest.steps(&kernel)?.steps()),
            PassPaging::Listed(listed) => {
                let steps = listed.steps.clone();
                Box::new((0..steps.len()).map(move |i| steps[i]))
            }
        })
    }
}

/// The reason why a job has no price.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unpriced {
    /// Data decide the control flow of a kernel.
    #[error(transparent)]
    Kernel(#[from] Uncounted),
    /// Computed values decide the control flow of the job.
    #[error("what the job computes decides how often something is done")]
    Decided,
    /// The job cannot be carried out.
    #[error(transparent)]
    Job(#[from] JobError),
}

/// Factor by which estimates may be off: a candidate estimated above `CLOSE` times the cheapest is not the
/// fastest.
const CLOSE: f64 = 1.3;

/// Cycles by which estimates may be off besides: prices alone include programs, launches and relayouts.
const ENDS: f64 = 600.0;

/// Sorts candidates by price, given in the order of their estimates, and returns the prices.
///
/// Only candidates whose estimates are close to the first are priced: `estimate <= CLOSE * first + ENDS`.
/// Candidates without a price follow those that have one, in the order of their estimates, which are returned
/// in place of prices.
pub(crate) fn by_price<T>(
    found: &mut Vec<T>,
    estimate: impl Fn(&T) -> f64,
    price: impl Fn(&T) -> Option<u64>,
) -> Vec<f64> {
    let Some(first) = found.first().map(&estimate) else {
        return Vec::new();
    };
    let far = found.split_off(found.partition_point(|way| estimate(way) <= CLOSE * first + ENDS));
    // A single candidate is the first without any price.
    let alone = found.len() == 1;
    let priced = |way: T| {
        let price = (!alone).then(|| price(&way)).flatten();
        let cycles = price.map_or_else(|| estimate(&way), |price| price as f64);
        ((price.is_none(), cycles), way)
    };
    let mut close: Vec<_> = found.drain(..).map(priced).collect();
    close.sort_by(|(a, _), (b, _)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let (prices, ways): (Vec<_>, Vec<_>) = close.into_iter().unzip();
    found.extend(ways.into_iter().chain(far));
    prices.into_iter().map(|(_, cycles)| cycles).collect()
}
