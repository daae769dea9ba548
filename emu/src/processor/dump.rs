//! A readable snapshot of a processor, for hangs, interrupts and faults.

use crate::engines::reference::Status;
use crate::processor::Processor;
use cp2_asm::isa::{SCALARS, Scalar};
use std::fmt;

/// Displays the state of a processor: time, program counter, loops, calls, events, shared scalars
/// that are not zero, and the transfer under way.
#[derive(Clone, Copy, Debug)]
pub struct Dump<'a>(pub &'a Processor);

impl fmt::Display for Dump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let processor = self.0;
        let core = processor.core();
        let cycle = processor.time_base().floor_cycles(processor.now());
        writeln!(f, "cycle   {}", cycle.0)?;
        match processor.status() {
            Status::Idle => writeln!(f, "cp2     idle")?,
            Status::Running => writeln!(f, "cp2     running at pc {}", core.pc())?,
            Status::Waiting { event, since } => {
                writeln!(
                    f,
                    "cp2     waiting for event {event} at pc {} since cycle {since}",
                    core.pc()
                )?;
            }
            Status::Faulted => writeln!(f, "cp2     faulted at pc {}", core.pc())?,
        }
        for (depth, hardware_loop) in core.loops.iter().enumerate() {
            let (start, end, left) = (hardware_loop.start, hardware_loop.end, hardware_loop.left);
            writeln!(f, "loop {depth}  words {start}..={end}, {left} passes left")?;
        }
        for (depth, call) in core.calls.iter().enumerate() {
            writeln!(f, "call {depth}  returns to pc {}", call.back)?;
        }
        for (event, posts) in core
            .events
            .iter()
            .enumerate()
            .filter(|(_, posts)| !posts.is_empty())
        {
            writeln!(f, "event {event} posted {} times", posts.len())?;
        }
        match processor.transfer() {
            None => writeln!(f, "dma     idle")?,
            Some(transfer) => writeln!(
                f,
                "dma     transfer {} until cycle {}, {} more queued",
                transfer.tag,
                processor.time_base().ceil_cycles(transfer.completes).0,
                processor.machine().dma.queue - processor.queue_free() - 1,
            )?,
        }
        let set = (0..SCALARS as u8)
            .map(Scalar)
            .filter(|s| core.scalar(*s) != 0);
        for scalar in set {
            writeln!(
                f,
                "{:<7} {:#010x} ({})",
                scalar.to_string(),
                core.scalar(scalar),
                core.scalar(scalar) as i32
            )?;
        }
        Ok(())
    }
}
