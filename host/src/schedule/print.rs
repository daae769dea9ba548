//! The plan as a table.

use super::job::Buffering;
use super::plan::Plan;
use super::steps::StepKind;
use std::fmt;

/// Pages and steps listed at each end before the table is cut.
const SHOWN: u64 = 6;

impl fmt::Display for Plan {
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
        writeln!(f, "\nsteps:")?;
        for step in self.steps().take(3 * SHOWN as usize) {
            let transfers = match (step.id.kind, pages.get(step.id.page)) {
                (StepKind::Load, Some(p)) => self.loads(&p).len(),
                (StepKind::Store, Some(p)) => self.stores(&p).len(),
                _ => 0,
            };
            let what = if transfers > 0 {
                format!("{transfers} transfer(s)")
            } else {
                String::new()
            };
            let after: Vec<String> = step.after.iter().map(ToString::to_string).collect();
            let after = if after.is_empty() {
                String::new()
            } else {
                format!("after {}", after.join(", "))
            };
            writeln!(
                f,
                "{}",
                format!("  {:<12} {:<14} {}", step.id.to_string(), what, after).trim_end()
            )?;
        }
        if n > SHOWN {
            writeln!(f, "  ...")?;
        }
        Ok(())
    }
}
