//! Tests of `cp2_kernels::map::share_blocks`: the bits of one processor.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "helpers of tests"
)]

use cp2_asm::Program;
use cp2_kernels::map::{ArrayJob, MapJob, map_job, share_blocks};
use cp2_kernels::{price_jobs, run_jobs};
use cp2_machine::Machine;
use cp2_network::InProcess;
use proptest::prelude::*;
use std::sync::Arc;

/// Compares the results of two processors, and of as many as there are blocks, with those of one.
pub(crate) fn check_shares(
    program: &Arc<Program>,
    machine: &Arc<Machine>,
    job: &ArrayJob<'_>,
    expected: &[Vec<u8>],
) -> Result<(), TestCaseError> {
    let output = &job.outputs[0];
    let lines = match output.block.len() {
        1 => output.shape.iter().product(),
        _ => output.shape[0],
    };
    let blocks = lines.div_ceil(output.block[0]) as usize;
    let more = share_blocks(job, program, blocks + 1).map(|_| ());
    prop_assert!(blocks == 0 || more.is_err());
    for processors in [2, blocks] {
        if processors > blocks || processors < 2 {
            continue;
        }
        let shares = share_blocks(job, program, processors);
        let shares = shares.map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(shares.len(), processors);
        let made = shares
            .into_iter()
            .map(|share| map_job(program, machine.clone(), share));
        let made = made.collect::<Result<Vec<MapJob>, _>>();
        let made = made.map_err(|e| TestCaseError::fail(e.to_string()))?;
        let (jobs, results): (Vec<_>, Vec<_>) =
            made.into_iter().map(|one| (one.job, one.outputs)).unzip();
        let priced = price_jobs(&mut InProcess, machine, processors, &jobs, 1, b"").unwrap();
        let (report, runs) = run_jobs(&mut InProcess, machine, processors, jobs, 2, b"").unwrap();
        prop_assert_eq!(report.messages, 0);
        prop_assert_eq!(priced.ends.len(), report.ends.len());
        let mut all = vec![Vec::new(); expected.len()];
        for (processor, outputs) in runs.iter().zip(results) {
            prop_assert_eq!(&processor.run.report.findings, &[]);
            for (whole, output) in all.iter_mut().zip(outputs) {
                whole.extend(processor.run.read(output).unwrap());
            }
        }
        prop_assert!(all == expected, "{processors} processors");
    }
    Ok(())
}
