//! Prints a stream plan as a table.

use super::job::Buffering;
use super::stream_plan::StreamPlan;
use std::fmt;

/// Pages listed at each end before the table is cut.
const SHOWN: u64 = 6;

impl fmt::Display for StreamPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (job, pages) = (self.job(), self.pages());
        writeln!(
            f,
            "{} blocks in {} pages of {} per section{}; {} buffering{}",
            job.blocks,
            pages.len(),
            pages.size(),
            if pages.edge() == pages.size() {
                String::new()
            } else {
                format!(" (first and last: {})", pages.edge())
            },
            Buffering::name(self.degree()),
            if job.in_place { ", in place" } else { "" },
        )?;
        let e = self.estimate();
        writeln!(
            f,
            "expected: {:.0} cycles (DMA busy {:.0}, kernels {:.0})",
            e.cycles, e.dma, e.compute
        )?;
        writeln!(
            f,
            "\nDMEM of each section, {} of {} B:",
            self.map().used(),
            self.map().bytes
        )?;
        writeln!(f, "  {:>8}  {:>8}  what", "address", "bytes")?;
        for r in &self.map().regions {
            writeln!(f, "  {:>#8x}  {:>8}  {}", r.address, r.bytes, r.name)?;
        }
        writeln!(f, "\npages:")?;
        writeln!(
            f,
            "  {:>8}  {:>8}  {:>8}  {:>11}  {:>6}  first block of each section",
            "page", "first", "blocks", "per section", "buffer"
        )?;
        let n = pages.len();
        let head = if n > 2 * SHOWN { SHOWN } else { n };
        for page in (0..head)
            .chain(n - SHOWN.min(n - head)..n)
            .filter_map(|k| pages.get(k))
        {
            writeln!(
                f,
                "  {:>8}  {:>8}  {:>8}  {:>11}  {:>6}  {:?}",
                page.index,
                page.first,
                page.blocks,
                page.per_section,
                self.buffer(&page),
                page.starts
            )?;
            if page.index + 1 == head && head < n {
                writeln!(f, "  {:>8}", "...")?;
            }
        }
        writeln!(
            f,
            "\n{} pages are loaded first; behind the stores of page k comes the load of page k + {}:",
            n.min(self.degree() as u64),
            self.degree()
        )?;
        for page in (0..n.min(SHOWN)).filter_map(|k| pages.get(k)) {
            let [loads, stores] = [self.loads(&page).len(), self.stores(&page).len()];
            writeln!(
                f,
                "  page {:<4} {loads} transfer(s) load it, {stores} store it",
                page.index
            )?;
        }
        if n > SHOWN {
            writeln!(f, "  ...")?;
        }
        Ok(())
    }
}
