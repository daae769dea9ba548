//! Lower bound of the cycles of n-D plans by these kernels.

use super::{AxisPass, COMPLEX, FftNd, NdCandidate};
use crate::fft::fft_trait::Fft as _;
use crate::job::{image, load};
use cp2_machine::Class;

impl FftNd {
    /// Returns the cycles that every plan for `batch` arrays takes at least, whatever the pages. The sum has
    /// for each pass the first load, all words of its kernel and the last store, one after the other, or all
    /// transfers if these take longer; the first program's load; the set-up of the first transfer; and the
    /// completion of the last on its way to the control CPU.
    ///
    /// Unlike the bound of the problem this holds for these kernels only: it counts their words beside the
    /// butterflies.
    #[must_use]
    pub fn least_of_plans(&self, batch: usize) -> f64 {
        let machine = &self.machine;
        let number = batch as u64;
        let alone = |axis: &AxisPass| {
            load(axis.image(), machine) + axis.floor(machine, number, false).cycles()
        };
        let plans = self.ways().into_iter().map(|(way, others)| {
            let own = match (&way, &others[..]) {
                // The program of the columns may be loaded while planes are transformed; with several arrays,
                // their first pages too.
                (NdCandidate::Whole(_, whole), [next]) => {
                    let first = whole.floor(machine, number, false);
                    let next = next.floor(machine, number, true);
                    let both = match batch {
                        1 => first.cycles() + next.cycles(),
                        _ => first.overlapped(next).cycles(),
                    };
                    return load(whole.image(), machine) + both;
                }
                (NdCandidate::Rows, _) => self.rows_floor(batch),
                (NdCandidate::Pair(_, pair), _) => {
                    self.rows_floor(batch) + pair.floor(machine, number)
                }
                (NdCandidate::Whole(_, axis), _) => alone(axis),
                (NdCandidate::Split(split), _) => split.floor(machine, self.parts(batch, split)),
            };
            // Programs and factors of these passes may come while the pass before them ends.
            let late = |axis: &AxisPass| axis.floor(machine, number, true).cycles();
            own + others.iter().map(|axis| late(axis)).sum::<f64>()
        });
        let least = plans.fold(f64::INFINITY, f64::min);
        let (dma, host) = (&machine.dma, &machine.host);
        let ends = host.descriptor.0 + dma.setup_idle.0 + host.completion.0;
        least + (ends - dma.setup_queued.0.min(ends)) as f64
    }

    /// Returns the lower bound of a pass over the rows: its pages have at least a row for each section, and
    /// words of its kernel other than butterflies are left out.
    fn rows_floor(&self, batch: usize) -> f64 {
        let machine = &self.machine;
        let numbers = batch.saturating_mul(self.len()) as u64;
        let width = self.rows.len() as u64;
        let (sections, rate) = (
            machine.cp2.sections as u64,
            machine.cp2.rate(Class::Butterfly),
        );
        let butterflies = numbers / 2 * u64::from(width.ilog2()) / sections;
        let words = butterflies as f64 * rate.den as f64 / rate.num.max(1) as f64;
        let page = load(sections * width * COMPLEX, machine);
        let see = (machine.host.completion.0 + machine.host.descriptor.0) as f64;
        let moved = 2.0 * load(numbers * COMPLEX, machine);
        let program = load(image(self.rows.kernel()), machine);
        program + moved.max(page + words + see + page)
    }
}
