//! Tests of the device with tiny kernels.

mod commands;
mod ends;
mod exports;
mod map;
mod paging;
mod protection;
mod stages;
mod threads;

use super::*;
use crate::paging::PageKernel;
use crate::schedule::{BlocksPerSection, Buffering, PageArgs, Paging, Stream, StreamPlan};
use crate::timeline::{Category, Slice};
use cp2_asm::{Program, Source, assemble};
use cp2_dma::{Descriptor, Target};
use cp2_emu::Cause;
use map::{MapJob, MapRun, map};
use proptest::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// Kernel that doubles every float, in blocks of 16 bytes.
pub(super) const DOUBLE: &str = include_str!("../../../tests/kernels/double.s");

/// Kernel that idles for a number of cycles given in argument word 4, then doubles.
pub(super) const SLOW: &str = "
.include \"page.s\"
.program
    page_begin
    ldx2 a0, [a15]
    ldx c0, [a15 + 8]
    ldx c1, [a15 + 16]
    loop c1 {
        nop
    }
    loop c0 {
        ldq q0, [a0]+16
        add q1, q0, q0
        stq q1, [a1]+16
    }
    page_end
    stop
";

pub(super) fn vm(name: &str) -> Arc<Machine> {
    Arc::new(Machine::builtin(name).unwrap())
}

pub(super) fn assembled(text: &str) -> Arc<Program> {
    match assemble(&Source::new("test.s", text), &cp2_asm::Options::default()) {
        Ok(assembly) => Arc::new(assembly.program),
        Err(diagnostics) => panic!("{diagnostics}"),
    }
}

pub(super) fn checked() -> DeviceOptions {
    DeviceOptions {
        check: true,
        ..DeviceOptions::default()
    }
}

pub(super) fn floats(n: usize) -> Vec<u8> {
    (0..n)
        .flat_map(|i| (i as f32 - 7.5).to_le_bytes())
        .collect()
}

pub(super) fn doubled(bytes: &[u8]) -> Vec<u8> {
    bytes
        .chunks_exact(4)
        .flat_map(|b| (2.0 * f32::from_le_bytes([b[0], b[1], b[2], b[3]])).to_le_bytes())
        .collect()
}

pub(super) fn assert_accounts(report: &RunReport) {
    assert_eq!(
        report.causes.total(),
        report.cycles,
        "{:?} {:?}",
        report.causes.to_map(),
        report.end
    );
}

pub(super) fn slices<'a>(
    report: &'a RunReport,
    category: Category,
) -> impl Iterator<Item = &'a Slice> + 'a {
    report
        .timeline
        .slices
        .iter()
        .filter(move |s| s.category == category)
}
