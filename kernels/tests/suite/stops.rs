//! Tests that every kernel can be stopped at any time, with a report.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_host::{DeviceOptions, RunEnd};
use cp2_kernels::registry;
use cp2_machine::Machine;
use std::sync::Arc;

#[test]
fn a_limit_ends_every_kernel_anywhere() {
    let vm7 = Arc::new(Machine::builtin("vm7").unwrap());
    let extra = [
        ("fft-large", "n", 1u64 << 16),
        ("fft-large", "n", 1 << 18),
        ("conv", "taps", 4097),
    ];
    for kernel in registry::all() {
        let mut sizes = kernel.sizes();
        sizes.truncate(2);
        for (name, parameter, value) in extra {
            if name == kernel.name() {
                let values = kernel.parameters().iter().map(|p| {
                    let own = p.name == parameter;
                    (p.name, if own { value.into() } else { p.default.clone() })
                });
                sizes.push(registry::Size::new(&values.collect::<Vec<_>>()));
            }
        }
        for size in sizes {
            let place = format!("{} {size}", kernel.name());
            let expected = kernel
                .prepare(&size, &vm7, DeviceOptions::default())
                .and_then(|p| Ok(p.estimate(kernel.name())?))
                .unwrap_or_else(|e| panic!("{place}: {e}"))
                .seconds
                * vm7.cp2.clock_hz as f64;
            // The expected time is at most the time of the run.
            for share in [0.0, 0.1, 0.3, 0.6] {
                let limit = (expected * share).min(2e6) as u64;
                let options = DeviceOptions {
                    max_cycles: Some(limit),
                    ..DeviceOptions::default()
                };
                let run = kernel.prepare(&size, &vm7, options).unwrap().run();
                let run = run.unwrap_or_else(|e| panic!("{place}, {limit} cycles: {e}"));
                let report = &run.run.report;
                assert!(
                    matches!(report.end, RunEnd::MaxCycles { .. }),
                    "{place}: {}",
                    report.end
                );
                // A word that has begun is finished.
                assert!(
                    report.cycles.abs_diff(limit) < 64,
                    "{place}: {} of {limit}",
                    report.cycles
                );
                assert_eq!(report.causes.total(), report.cycles, "{place}");
            }
        }
    }
}
