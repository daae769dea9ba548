//! What a job should take.

use super::items::{CommandIssue, JobItem};
use super::pass::{Pass, PassPaging};
use super::{Job, JobError};
use cp2_emu::cycles::Uncounted;
use cp2_host::paging::KernelEntryPoint;
use cp2_host::{Device, KernelSteps};
use cp2_machine::Cycles;
use cp2_reference::{Count, Figures, Traffic};

impl Job {
    /// What the job should take: its commands, carried out by the device's own control CPU with the counts of its kernels and the times
    /// of its transfers. None where what is computed decides how often something is done.
    #[must_use]
    pub fn expected(&self) -> Option<Cycles> {
        self.price().ok()
    }

    /// The same, or why there is no such time.
    ///
    /// # Errors
    /// See [`Job::prices`].
    pub(crate) fn price(&self) -> Result<Cycles, Unpriced> {
        let ends = self.prices()?;
        ends.last().copied().map(Cycles).ok_or(Unpriced::Decided)
    }

    /// Cycles until each part has ended, and all; of a job whose way is decided by what it computes, none.
    ///
    /// # Errors
    /// The cycles of a kernel cannot be counted.
    pub(crate) fn prices(&self) -> Result<Vec<u64>, Unpriced> {
        let ends = self.forecast()?.expected().map_err(JobError::from)?;
        ends.ok_or(Unpriced::Decided)
    }

    /// What each pass should take, in order: from where the kernel of the pass before stops to where its own does, of the first from
    /// the beginning on and of the last to the end, so that all of them are [`Job::expected`]. None where that is none.
    #[must_use]
    pub fn expected_of_passes(&self) -> Option<Vec<Cycles>> {
        let ends = self.forecast().ok()?.expected_of_kernels().ok()??;
        let begins = std::iter::once(0).chain(ends.iter().copied());
        let passes = ends.iter().zip(begins);
        Some(passes.map(|(end, begin)| Cycles(end - begin)).collect())
    }

    /// A device that has been given the commands of the job, and computes nothing.
    fn forecast(&self) -> Result<Device, Unpriced> {
        let kernels = self.items.iter().filter_map(|item| match item {
            JobItem::Pass(pass) => self.passes.get(*pass),
            _ => None,
        });
        let steps = kernels.map(|pass| self.steps(pass));
        let steps: Vec<KernelSteps> = steps.collect::<Result<_, _>>()?;
        let mut device = Device::forecast(self.machine().clone(), steps);
        CommandIssue::new(&mut device, &self.passes).all(&self.items)?;
        Ok(device)
    }

    /// The proved limit of a job of which nothing is known but its arrays: each once over the DMA channel.
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

    /// The steps of a pass's kernel.
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
            PassPaging::Nest(nest, _) => Box::new(kernel.nested(nest, machine)?),
            PassPaging::Listed(listed) => {
                let steps = listed.steps.clone();
                Box::new((0..steps.len()).map(move |i| steps[i]))
            }
        })
    }
}

/// Why a job has no price.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unpriced {
    /// A kernel's way is decided by data.
    #[error(transparent)]
    Kernel(#[from] Uncounted),
    /// The job's is.
    #[error("what the job computes decides how often something is done")]
    Decided,
    /// The job cannot be carried out.
    #[error(transparent)]
    Job(#[from] JobError),
}

/// Estimates are off by less than this factor: what is estimated to take more than the cheapest by it, is not the fastest.
const CLOSE: f64 = 1.3;

/// And by so many cycles: programs, launches and what puts arrays into another layout are in prices alone.
const ENDS: f64 = 600.0;

/// Puts ways that are sorted by their estimates, those that come close to the first, into the order of their prices, and gives these.
/// What has no price stays behind what has one, at its estimate.
pub(crate) fn by_price<T>(
    found: &mut Vec<T>,
    estimate: impl Fn(&T) -> f64,
    price: impl Fn(&T) -> Option<u64>,
) -> Vec<f64> {
    let Some(first) = found.first().map(&estimate) else {
        return Vec::new();
    };
    let far = found.split_off(found.partition_point(|way| estimate(way) <= CLOSE * first + ENDS));
    // The only one needs no price to be the first.
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
