//! Tests unusual machines: kernels run, or say in one line what they need.
//!
//! The words need no knowledge of the sources.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_host::DeviceOptions;
use cp2_kernels::conv::{ConvolutionMode, Convolver};
use cp2_kernels::fft::{Fft as _, FftNd, FftPlanner, RecipeKind, TransformDirection};
use cp2_kernels::registry;
use cp2_machine::{Bytes, Cycles, Machine};
use num_complex::Complex32;
use std::sync::Arc;

fn odd(change: impl FnOnce(&mut Machine)) -> Arc<Machine> {
    let mut machine = (*crate::common::machine("vm7")).clone();
    machine.name = "odd".to_owned();
    change(&mut machine);
    Arc::new(machine)
}

fn machines() -> Vec<Arc<Machine>> {
    vec![
        odd(|m| m.cp2.dmem = Bytes(16 << 20)),
        odd(|m| m.cp2.dmem = Bytes(8 << 10)),
        odd(|m| m.cp2.registers = 32),
        odd(|m| m.cp2.loop_depth = 1),
        odd(|m| m.cp2.program = Bytes(1 << 10)),
        odd(|m| m.cp2.sections = 3),
        odd(|m| m.dma.granule = Bytes(64)),
        odd(|m| m.dma.granule = Bytes(4)),
        odd(|m| m.dma.levels = 1),
        odd(|m| m.host.memory = Bytes(256 << 10)),
    ]
}

/// Checks that a refusal is in one line and free of internal words.
fn check(what: &str, machine: &Machine, refusal: &dyn std::error::Error) {
    let said = refusal.to_string();
    assert!(!said.contains('\n'), "{what} on {machine:?}: {said}");
    for word in ["-->", ".s:", "no program", "command "] {
        assert!(!said.contains(word), "{what}: {said}");
    }
}

#[test]
fn transforms_run_or_say_what_they_need() {
    for machine in machines() {
        for (n, batch) in [(60, 64), (256, 64), (4096, 4), (65_536, 1)] {
            let what = format!("fft {n} x {batch}");
            let mut planner = FftPlanner::with_batch(machine.clone(), batch);
            if let Err(e) = planner.plan(n, TransformDirection::Forward) {
                check(&what, &machine, &e);
            }
        }
        if let Err(e) = FftPlanner::with_batch(machine.clone(), 4).plan_real_forward(60) {
            check("real fft 60", &machine, &e);
        }
        for shape in [[64, 64], [512, 512]] {
            if let Err(e) = FftNd::new(&shape, TransformDirection::Forward, machine.clone()) {
                check("fft of two dimensions", &machine, &e);
            }
        }
    }
}

/// Plans that the machine refuses leave an array to others: to plans whose programs fit one by one, and whose
/// transfers are as deep as its DMA allows.
#[test]
fn arrays_go_by_the_ways_that_the_machine_has() {
    let small = odd(|m| m.cp2.program = Bytes(4 << 10));
    // The tables of two kernels in it are at addresses beyond those that a program can name.
    let large = odd(|m| m.cp2.dmem = Bytes(256 << 10));
    let flat = odd(|m| m.dma.levels = 1);
    let runs: [(&[usize], _); 5] = [
        (&[1024, 16, 64], large),
        (&[256, 64], small),
        (&[32, 64], flat.clone()),
        (&[4, 2048], flat.clone()),
        (&[16, 16, 64], flat),
    ];
    for (shape, machine) in runs {
        let fft = FftNd::new(shape, TransformDirection::Forward, machine).unwrap();
        let x = crate::common::complex(1, fft.len());
        let done = fft.process(&x).unwrap();
        assert!(done.run.report.end.is_finished(), "{}", fft.recipe());
    }
}

/// A machine whose transfers have fewer levels takes more of them; the result is equal to the bit.
#[test]
fn fewer_levels_are_more_transfers() {
    let vm7 = odd(|_| ());
    for levels in [1, 2] {
        let few = odd(|m| m.dma.levels = levels);
        for (n, batch) in [(1024, 4), (4096, 4), (1 << 14, 1), (1 << 16, 1)] {
            let of = |machine: &Arc<Machine>| {
                let planner = FftPlanner::with_batch(machine.clone(), batch);
                let all = planner.candidates(n, TransformDirection::Forward).unwrap();
                let mut all: Vec<_> = all.into_iter().map(|c| c.fft).collect();
                all.sort_by_key(|fft| fft.recipe());
                all
            };
            let (all, same) = (of(&vm7), of(&few));
            let recipes = |all: &[Arc<dyn cp2_kernels::fft::Fft>]| {
                all.iter().map(|fft| fft.recipe()).collect::<Vec<_>>()
            };
            let (own, other) = (recipes(&all), recipes(&same));
            let x = crate::common::complex(n as u64, batch * n);
            for fft in &same {
                let done = fft.process(&x).unwrap();
                assert!(done.run.report.end.is_finished(), "{}", fft.recipe());
                let expected = fft.expected(batch).unwrap().get() as f64;
                let share = expected / done.run.report.cycles as f64;
                assert!((0.97..1.03).contains(&share), "{}: {share}", fft.recipe());
                let Some(at) = own.iter().position(|recipe| *recipe == fft.recipe()) else {
                    continue;
                };
                let usual = all[at].process(&x).unwrap();
                assert_eq!(usual.output, done.output, "{}", fft.recipe());
            }
            assert_eq!(own.is_empty(), other.is_empty(), "{n}");
        }
        for shape in [&[16, 16, 64][..], &[64, 64], &[16, 128, 64]] {
            let fft = FftNd::new(shape, TransformDirection::Forward, few.clone()).unwrap();
            let x = crate::common::complex(3, fft.len());
            let usual = FftNd::new(shape, TransformDirection::Forward, vm7.clone()).unwrap();
            let [a, b] =
                [fft.process(&x).unwrap(), usual.process(&x).unwrap()].map(|d| d.output.unwrap());
            let square = |z: Complex32| f64::from(z.norm_sqr());
            let off: f64 = a.iter().zip(&b).map(|(a, b)| square(a - b)).sum();
            let all: f64 = b.iter().map(|&b| square(b)).sum();
            assert!(off <= 1e-12 * all, "{shape:?}: {:e}", (off / all).sqrt());
        }
    }
}

/// A DMEM too small for two passes takes a third: every length up to the limit works.
#[test]
fn small_memories_take_a_third_pass() {
    for (kilobytes, bits) in [(32, 19), (16, 17), (16, 18), (32, 20)] {
        let small = odd(|m| m.cp2.dmem = Bytes(kilobytes << 10));
        let n = 1usize << bits;
        let fft = FftPlanner::with_batch(small, 1).plan(n, TransformDirection::Forward);
        let fft = fft.unwrap_or_else(|e| panic!("2^{bits} on {kilobytes} KiB: {e}"));
        assert!(fft.recipe().contains("then columns of"), "{}", fft.recipe());
        // A tone on a constant: two lines in the spectrum and zeros elsewhere.
        let tone = |j: usize| {
            let turn = (j * 5 % n) as f64 / n as f64 * std::f64::consts::TAU;
            Complex32::new(1.0 + libm::cos(turn) as f32, libm::sin(turn) as f32)
        };
        let done = fft.process(&(0..n).map(tone).collect::<Vec<_>>()).unwrap();
        let share = fft.expected(1).unwrap().get() as f64 / done.run.report.cycles as f64;
        assert!((0.95..1.05).contains(&share), "{}: {share}", fft.recipe());
        assert!(done.efficiency() > 0.5, "{}", done.efficiency());
        let y = done.output.unwrap();
        for (k, z) in y.iter().enumerate() {
            let line = if k == 0 || k == 5 { n as f32 } else { 0.0 };
            assert!((z - line).norm() < 2e-5 * n as f32, "2^{bits}, {k}: {z}");
        }
    }
}

/// Two passes along one axis whose programs do not fit together load them one after the other.
#[test]
fn long_transforms_go_by_the_ways_that_the_machine_has() {
    let kilobytes = |k: u64| odd(move |m| m.cp2.program = Bytes(k << 10));
    let n = 1 << 16;
    let mut planner = FftPlanner::with_batch(kilobytes(4), 1);
    let fft = planner.plan_forward(n).unwrap();
    let done = fft.process(&crate::common::complex(1, n)).unwrap();
    assert!(done.run.report.end.is_finished(), "{}", fft.recipe());
    let two_levels = odd(|m| m.dma.levels = 2);
    for (n, machine) in [(1 << 17, kilobytes(8)), (1 << 18, two_levels)] {
        let fft = FftPlanner::with_batch(machine, 1).plan_real_inverse(n);
        let fft = fft.unwrap();
        assert!(
            fft.recipe().contains("half of the columns"),
            "{}",
            fft.recipe()
        );
        let done = fft.process(&crate::common::complex(1, n / 2 + 1)).unwrap();
        assert!(done.run.report.end.is_finished(), "{}", fft.recipe());
    }
}

/// If the channel is faster than the arithmetic, data of later pages arrive long before these are computed,
/// but never overwrite what earlier pages still read.
#[test]
fn slow_arithmetic_reads_its_own_factors() {
    let slow = odd(|m| m.cp2.dmem_ports = 1);
    for n in [1 << 18, 1 << 20] {
        let half = crate::common::complex(1, n / 2 + 1);
        let [x, quick] = [&slow, &odd(|_| ())].map(|machine| {
            let planner = FftPlanner::with_batch(machine.clone(), 1);
            let fft = planner.plan_real_inverse(n).unwrap();
            fft.process(&half).unwrap().output.unwrap()
        });
        let square = |x: f32| f64::from(x) * f64::from(x);
        let off: f64 = x.iter().zip(&quick).map(|(a, b)| square(a - b)).sum();
        let all: f64 = quick.iter().map(|&b| square(b)).sum();
        assert!(off <= 1e-12 * all, "{n}: {:e}", (off / all).sqrt());
    }
}

#[test]
fn several_inputs_are_paged_by_finer_granules() {
    for granule in [4, 8] {
        let machine = odd(|m| m.dma.granule = Bytes(granule));
        for name in ["axpy", "dot", "small-products"] {
            let kernel = registry::find(name).unwrap();
            let row = registry::measure(
                kernel,
                &kernel.sizes()[0],
                &machine,
                DeviceOptions::default(),
            );
            let row = row.unwrap_or_else(|e| panic!("{name}, granule of {granule} bytes: {e}"));
            assert!(row.efficiency <= 1.0, "{row:?}");
        }
    }
}

/// Recipes that the machine has no room for are passed over for those that need less.
#[test]
fn small_memories_take_longer_passes() {
    let d32 = odd(|m| m.cp2.dmem = Bytes(32 << 10));
    for (n, floor) in [(2048, 0.5), (4096, 0.5), (997, 0.1)] {
        let fft = FftPlanner::with_batch(d32.clone(), 8).plan(n, TransformDirection::Forward);
        let fft = fft.unwrap_or_else(|e| panic!("{n}: {e}"));
        let x = crate::common::complex(n as u64, 8 * n);
        let done = fft.process(&x).unwrap();
        assert!(done.run.report.end.is_finished());
        assert!(
            done.efficiency() >= floor,
            "{}: {}",
            fft.recipe(),
            done.efficiency()
        );
    }
    // A single transform is divided where that is cheaper, however large the memory.
    let d128 = odd(|m| m.cp2.dmem = Bytes(128 << 10));
    let alone = FftPlanner::with_batch(d128, 1).plan(5000, TransformDirection::Forward);
    let cycles = alone.unwrap().expected(1).unwrap().get();
    assert!(cycles < 40_000, "{cycles} cycles; 59,629 on one section");
}

#[test]
fn what_lacks_is_named() {
    let said = |machine, n| {
        let planner = FftPlanner::new(machine);
        let refused = planner.candidates(n, TransformDirection::Forward);
        refused
            .map(|_| String::new())
            .unwrap_or_else(|e| e.to_string())
    };
    let reg32 = said(odd(|m| m.cp2.registers = 32), 4096);
    assert!(reg32.contains("registers or more, of 32"), "{reg32}");
    // Words by hand name their registers; linear blocks do with fewer.
    assert_eq!(said(odd(|m| m.cp2.registers = 32), 256), "");
    let reg16 = said(odd(|m| m.cp2.registers = 16), 256);
    assert!(reg16.contains("more registers than 16"), "{reg16}");
    let loops = said(odd(|m| m.cp2.loop_depth = 1), 256);
    assert!(loops.contains("nested loops, of 1"), "{loops}");
    let granule = said(odd(|m| m.dma.granule = Bytes(64)), 65_536);
    assert!(
        granule.contains("deals 64 bytes to a section at a time, expected 16"),
        "{granule}"
    );
    // The refusal gives the reason that no memory would change, if there are several, and sizes in the words
    // of a caller who asked for a length.
    let fine = odd(|m| (m.dma.granule, m.dma.deal) = (Bytes(4), Bytes(4)));
    for n in [1009, 10_000] {
        let granule = said(fine.clone(), n);
        assert!(
            granule.contains(&n.to_string())
                && granule.contains("deals 4 bytes to a section at a time, expected 16"),
            "{granule}"
        );
    }
    let tiny = said(odd(|m| m.cp2.dmem = Bytes(1 << 10)), 1009);
    assert!(
        tiny.contains("1009") && tiny.contains("local memory"),
        "{tiny}"
    );
    assert!(!tiny.contains("blocks per page"), "{tiny}");
    // Each kind of recipe that the machine cannot run gives its reason.
    let planner = FftPlanner::with_batch(odd(|m| m.cp2.registers = 16), 4);
    let (found, refused) = planner
        .all(256, TransformDirection::Forward)
        .unwrap_or_default();
    assert!(found.is_empty() && refused.is_empty());
    let planner = FftPlanner::with_batch(odd(|m| m.cp2.dmem = Bytes(32 << 10)), 4);
    let (found, refused) = planner.all(4096, TransformDirection::Forward).unwrap();
    assert!(!found.is_empty());
    let kinds: Vec<_> = refused
        .iter()
        .map(|r| (r.kind, r.reason.to_string()))
        .collect();
    assert!(
        matches!(&kinds[..], [(RecipeKind::Local, why), ..] if why.contains("local memory")),
        "{kinds:?}"
    );
    // Pages beyond the reach of a load's offset are not taken.
    let big = odd(|m| m.cp2.dmem = Bytes(16 << 20));
    assert_eq!(said(big.clone(), 65_536), "");
    FftNd::new(&[512, 512], TransformDirection::Forward, big).unwrap();
}

/// If the control CPU takes long for each transfer, the plan chosen takes no longer than any other, and about
/// its price.
#[test]
fn transfers_that_are_dear_to_give_are_counted() {
    let mut wrong = Vec::new();
    for descriptor in [200, 1000] {
        let slow = odd(|m| m.host.descriptor = Cycles(descriptor));
        let mut compare = |what: String, passes: u64, ways: Vec<(String, u64, u64)>| {
            let least = ways.iter().map(|way| way.2).min().unwrap();
            for (number, (way, expected, cycles)) in ways.into_iter().enumerate() {
                let share = expected as f64 / cycles as f64;
                let line = format!(
                    "{what}, {descriptor} cycles a descriptor: {way}: expected {expected}, {cycles}"
                );
                println!("{line}, {share:.3}");
                let most = if passes > 2 { 1.05 } else { 1.02 };
                let dearer = number == 0 && cycles as f64 > most * least as f64;
                // Program, tables and arguments of each pass are commanded before its pages; the ends of a
                // pass are priced as one page.
                let before = 3 * passes * descriptor + 100;
                if dearer || share > 1.06 || expected + before < cycles * 98 / 100 {
                    wrong.push(line);
                }
            }
        };
        for (n, batch) in [(2048, 4), (1024, 2), (1024, 4), (4096, 1), (16_384, 2)] {
            let planner = FftPlanner::with_batch(slow.clone(), batch);
            let x = crate::common::complex(n as u64, batch * n);
            let chosen = planner.choice(n, TransformDirection::Forward).unwrap().fft;
            let others = planner.candidates(n, TransformDirection::Forward).unwrap();
            let all = std::iter::once(chosen).chain(others.into_iter().map(|other| other.fft));
            let ways = all.map(|fft| {
                let cycles = fft.process(&x).unwrap().run.report.cycles;
                (fft.recipe(), fft.expected(batch).unwrap().get(), cycles)
            });
            compare(format!("{n} x {batch}"), 2, ways.collect());
        }
        for (n, batch) in [(32, 13), (2048, 4)] {
            let planner = FftPlanner::with_batch(slow.clone(), batch);
            let x: Vec<f32> = crate::common::complex(7, batch * n)
                .iter()
                .map(|z| z.re)
                .collect();
            let ways = planner.real_forward_candidates(n).unwrap().into_iter();
            let ways = ways.map(|fft| {
                let cycles = fft.process(&x).unwrap().run.report.cycles;
                (fft.recipe(), fft.expected(batch).unwrap().get(), cycles)
            });
            // Half spectra and numbers are put into other layouts, whose short pages have transfers for each
            // section.
            compare(format!("real {n} x {batch}"), 14, ways.collect());
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn filters_run_or_say_what_they_need() {
    for machine in machines() {
        for (taps, samples) in [(5, 3000), (65, 3000), (4097, 8000)] {
            let what = format!("{taps} taps on {}", machine.cp2.registers);
            let h = vec![Complex32::ONE; taps];
            let planned =
                Convolver::new::<Complex32>(&machine, &h, 1, samples, ConvolutionMode::Full);
            match planned {
                Ok(filter) if taps < 4097 => {
                    let x = vec![Complex32::ONE; samples];
                    let done = filter.process(&x).unwrap_or_else(|e| panic!("{what}: {e}"));
                    let y = done.output.unwrap();
                    assert!((y[taps + 7].re - taps as f32).abs() < 1e-3 * taps as f32);
                }
                Ok(_) => {}
                Err(e) => check(&what, &machine, &e),
            }
        }
    }
}

#[test]
fn memory_is_named_where_it_is_what_lacks() {
    let small = odd(|m| m.host.memory = Bytes(1 << 20));
    let h = vec![Complex32::ONE; 3];
    let plan = |samples| Convolver::new::<Complex32>(&small, &h, 1, samples, ConvolutionMode::Full);
    let said = plan(100_000).unwrap_err().to_string();
    let most: usize = said
        .split("at most ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("{said}"));
    assert!(said.contains("system memory"), "{said}");
    // Samples and outputs are 16 bytes.
    assert!((40_000..65_536).contains(&most), "{said}");
    plan(9 * most / 10).unwrap();
}

/// A plan that lacks something of a machine has no price, so no planner takes it, and it does not run; others
/// have a price and run. (Rows that are no whole quads are put into another layout by a kernel that needs two
/// events.)
#[test]
fn a_way_that_lacks_something_has_no_price() {
    let machine = odd(|m| {
        m.cp2.events = 1;
        m.cp2.sections = 6;
    });
    let (n, batch) = (26, 200);
    let planner = FftPlanner::with_batch(machine, batch);
    let mut ran = 0;
    for fft in planner.real_forward_candidates(n).unwrap() {
        let done = fft.process_with(&vec![0.0; n * batch], DeviceOptions::default());
        assert_eq!(done.is_ok(), fft.expected(batch).is_ok());
        ran += usize::from(done.is_ok());
    }
    assert!(ran > 0);
}
