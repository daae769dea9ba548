//! Prints a grid plan as a table.

use super::field::AXES;
use super::grid_plan::{GridPlan, Kind};
use crate::schedule::Buffering;
use cp2_dma::Direction;
use std::fmt;

impl fmt::Display for GridPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [planes, rows, columns] = self.digits;
        writeln!(
            f,
            "{} blocks in {planes} x {rows} x {columns} pages, {} dealt to the sections; {} buffering{}{}{}",
            self.blocks(),
            super::field::NAMES[self.cuts.deal],
            Buffering::name(self.degree),
            if self
                .sweep
                .outputs
                .iter()
                .filter_map(|field| field.within)
                .any(|within| (within.plane, within.row) == (0, 0))
            {
                ", in place"
            } else {
                ""
            },
            if self.sweep.shares {
                ", each section with a share of the rows"
            } else {
                ""
            },
            match self.sweep.march {
                Some(march) => format!(", pages march along {march}"),
                None => String::new(),
            },
        )?;
        // The alternate form leaves out the expected time, because the caller prints another figure of it.
        if !f.alternate() {
            writeln!(
                f,
                "expected: {:.0} cycles{}",
                self.expected,
                match self.sweep.cycles {
                    Some(_) => "",
                    None => " with a kernel as fast as the DMA",
                }
            )?;
        }
        writeln!(
            f,
            "\nDMEM of each section, {} of {} B:",
            self.map.used(),
            self.map.bytes
        )?;
        writeln!(f, "  {:>8}  {:>8}  what", "address", "bytes")?;
        for r in &self.map.regions {
            writeln!(f, "  {:>#8x}  {:>8}  {}", r.address, r.bytes, r.name)?;
        }
        writeln!(
            f,
            "\nkinds of pages, and the transfers of the first of each (bytes to the next along each axis):"
        )?;
        for kind in &self.kinds {
            self.kind_of_pages(f, kind)?;
        }
        if !self.result.is_empty() {
            writeln!(f, "  behind the last page, the whole result:")?;
        }
        for descriptor in &self.result {
            writeln!(
                f,
                "    {:>10}  {descriptor}",
                self.stream(Direction::Store, 0)
            )?;
        }
        Ok(())
    }
}

impl GridPlan {
    fn kind_of_pages(&self, f: &mut fmt::Formatter<'_>, kind: &Kind) -> fmt::Result {
        let range = |axis: usize| match &kind.when[axis] {
            range if range.end - range.start == 1 => range.start.to_string(),
            range => format!("{}..{}", range.start, range.end),
        };
        let when: Vec<String> = (0..AXES).map(range).collect();
        writeln!(
            f,
            "  {} pages at {}, {} per section",
            kind.pages(),
            when.join(" x "),
            kind.blocks
        )?;
        for (direction, moves) in [
            (Direction::Load, &kind.loads),
            (Direction::Store, &kind.stores),
        ] {
            for one in moves {
                let steps = one.steps.map(|step| format!("{step:+}")).join(", ");
                let line = match one.line {
                    Some(line) => format!(" from line {line} of the window on"),
                    None => String::new(),
                };
                writeln!(
                    f,
                    "    {:>10}  {}  ({steps}){line}",
                    self.stream(direction, one.stream),
                    one.descriptor
                )?;
            }
        }
        Ok(())
    }
}
