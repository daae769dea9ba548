//! Prints a control flow as text: one line per block, indented by loop depth.

use super::{Block, Flow, Trips, Way};
use std::fmt;

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (blocks, loops) = (self.blocks.len(), self.loops.len());
        let words: usize = self.blocks.iter().map(|block| block.words.len()).sum();
        writeln!(
            f,
            "{words} of {} words in {blocks} blocks, {loops} loops, {} functions",
            self.words,
            self.functions.len()
        )?;
        for block in &self.blocks {
            self.block(f, block)?;
        }
        for function in &self.functions {
            write!(f, "function {:#06x} called at", function.entry)?;
            for caller in &function.callers {
                write!(f, " {caller:#06x}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Flow {
    fn block(&self, f: &mut fmt::Formatter<'_>, block: &Block) -> fmt::Result {
        for label in self.labels.get(&block.words.start).into_iter().flatten() {
            writeln!(f, "{label}:")?;
        }
        let depth = block.inside.map_or(0, |at| self.loops[at].depth);
        let last = block.words.end - 1;
        write!(
            f,
            "  {:indent$}{:#06x}",
            "",
            block.words.start,
            indent = 2 * depth
        )?;
        if block.words.len() > 1 {
            write!(f, "..{last:#06x}")?;
        }
        if let Some(said) = self.said.get(&last) {
            write!(f, "  {said}")?;
        }
        if let Some(own) = self.loops.iter().find(|l| l.setup == last) {
            write!(f, " to {:#06x}, {}", own.last, own.trips)?;
        }
        for (way, to) in &block.next {
            if *way != Way::Next {
                write!(f, "  {way} {to:#06x}")?;
            }
        }
        writeln!(f)
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Next => "next",
            Self::Taken => "taken",
            Self::Back => "back",
            Self::Skip => "skip",
            Self::Call => "call",
        })
    }
}

impl fmt::Display for Trips {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(count) => write!(f, "{count} times"),
            Self::Register { register, set_by } => {
                write!(f, "{register} times, set at")?;
                for word in set_by {
                    match word {
                        Some(pc) => write!(f, " {pc:#06x}")?,
                        None => f.write_str(" launch")?,
                    }
                }
                Ok(())
            }
        }
    }
}
