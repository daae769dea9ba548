//! Tests that a machine file with one changed number changes cycles only.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers")]

use cp2_asm::{Options, Source, assemble};
use cp2_dma::{Descriptor, Target};
use cp2_emu::{Notice, Processor};
use cp2_machine::{Machine, Quantity, ROWS, Ticks};
use std::sync::Arc;

/// A kernel that uses every unit, and each result at once.
const KERNEL: &str = "
        movi a0, 256
        wait 3
        loop 8 {
        ldp  r2, [a0]
        itof r2, r2
        iadd r3, r2, r2
        iadd r4, r3, r2
        cmul r5, r2, r4
        bfly r6, r7, r2, r5, r4
        rcp  r8, r6
        rcp  r9, r7
        add  r9, r9, r8
        stp  r9, [a0]+8
        }
        movi a1, 256
        ldx  a2, [a1]
        addi a2, a2, 1
        addi a2, a2, 1
        bnz  a2, out
        nop
out:    stop
";

/// Returns everything that a program can see afterwards, the ticks it took, and the ticks per
/// cycle.
fn run(machine: Machine) -> (Vec<Vec<u8>>, (u64, u64)) {
    let program = assemble(&Source::new("kernel.s", KERNEL), &Options::default())
        .unwrap()
        .program;
    let mut bytes: Vec<u8> = program.words.iter().flat_map(|w| w.to_le_bytes()).collect();
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    let base = machine.time_base();
    let sections = machine.cp2.sections;
    let mut p = Processor::new(Arc::new(machine));
    p.memory_mut().write(0, &bytes).unwrap();
    p.memory_mut()
        .write(0x1000, &(1..=255).collect::<Vec<u8>>())
        .unwrap();
    let until = |p: &mut Processor, last: Notice| {
        while std::mem::discriminant(&p.run_until(Ticks(u64::MAX))) != std::mem::discriminant(&last)
        {
        }
    };
    // Two descriptors at once, the second in two runs: set-up from idle, set-up queued, run.
    p.submit(
        Descriptor::load(Target::Program, 0, 0, bytes.len() as u64),
        0,
    )
    .unwrap();
    p.submit(
        Descriptor::load(Target::Section(0), 0x1000, 256, 32)
            .level(2, 64, 32)
            .event(3),
        1,
    )
    .unwrap();
    // Both are done before the launch, so that no cost hides behind another.
    p.run_until(Ticks(u64::MAX));
    p.run_until(Ticks(u64::MAX));
    p.launch(0, 0).unwrap();
    until(&mut p, Notice::KernelStopped);
    let all = (0..sections).map(|s| {
        let mut dmem = vec![0; 1024];
        p.core().read_dmem(s, 0, &mut dmem).unwrap();
        dmem
    });
    (all.collect(), (p.now().0, base.ticks_per_cycle))
}

#[test]
fn one_changed_number_changes_cycles_and_never_bits() {
    for name in Machine::names() {
        let (bits, (ticks, per_cycle)) = run(Machine::builtin(name).unwrap());
        let mut same_time = Vec::new();
        for row in ROWS {
            let vm = Machine::builtin(name).unwrap();
            let shown = vm.parameters().find(|p| p.row.key == row.key).unwrap();
            let value = match row.quantity {
                Quantity::Cycles => (shown.text.parse::<u64>().unwrap() + 7).to_string(),
                Quantity::Bandwidth => (shown.text.parse::<f64>().unwrap() / 2.0).to_string(),
                Quantity::Frequency | Quantity::Size => "4".to_owned(),
                _ if row.key == "cp2.dmem-ports" => "1".to_owned(),
                _ => continue,
            };
            let unit = match row.quantity {
                // Granules must not be smaller than the descriptors use, nor memory than they need;
                // nothing is dealt.
                Quantity::Size if !["dma.granule", "dma.deal"].contains(&row.key) => "MiB",
                _ => shown.unit,
            };
            let value = if row.key == "cp2.program" {
                "0.25".to_owned()
            } else {
                value
            };
            let text = format!(
                "base = \"{name}\"\n{} = {{ value = {value}, unit = \"{unit}\" }}\n",
                row.key
            );
            let (changed, (other, other_per_cycle)) =
                run(Machine::parse("changed.toml", &text).unwrap());
            assert_eq!(changed, bits, "{text}");
            if u128::from(other) * u128::from(per_cycle)
                == u128::from(ticks) * u128::from(other_per_cycle)
            {
                same_time.push(row.key);
            }
        }
        // The kernel never uses these units twice in a row; the others are sizes,
        // or belong to the control CPU, which does nothing here.
        let expected = [
            "cp2.clock",
            "cp2.dmem",
            "cp2.program",
            "dma.granule",
            "dma.deal",
            "host.memory",
            "host.completion",
            "host.descriptor",
            "host.copy",
            "host.scalar",
        ];
        let rest: Vec<_> = same_time.iter().filter(|k| !expected.contains(k)).collect();
        assert!(
            expected.iter().all(|k| same_time.contains(k)),
            "{same_time:?}"
        );
        assert!(
            rest.iter().all(
                |k| k.starts_with("cp2.interval.") && **k != "cp2.interval.elementary"
                    || **k == "cp2.dmem-ports"
            ),
            "{rest:?}"
        );
    }
}
