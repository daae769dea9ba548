//! Tests that the assembler's stall warnings are the cycles that are lost.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use common::{load, machine};
use cp2_asm::isa::{Address, AddressOperand, Inst, Mode, Op, Slot, Word};
use cp2_asm::{Options, Problem, Source, assemble, testing};
use cp2_emu::{Cause, Processor};
use cp2_machine::Ticks;
use proptest::prelude::*;

/// Returns a strategy for any arithmetic beside a scalar operation or a load from `[a15 + offset]`.
fn word() -> impl Strategy<Value = Word> {
    // Only rows that both machines have are drawn.
    let both = machine("vm7").cp2.extensions & machine("vm9").cp2.extensions;
    let scalar = testing::any_inst_on(Slot::Mem, both).prop_map(|inst| {
        let plain = inst.row().class == cp2_machine::Class::Scalar;
        if plain && inst.r[0] != 15 {
            inst
        } else {
            Inst::new(Op::MemNop)
        }
    });
    let pair_load = (0u8..8, 0i32..64).prop_map(|(r, at)| {
        let mut inst = Inst::new(Op::LdP);
        inst.r[0] = r;
        inst.place = AddressOperand::Shared(Address {
            base: 15,
            mode: Mode::Offset(8 * at),
        });
        inst
    });
    // Few registers are used, so that many words wait.
    let arith = testing::any_inst_on(Slot::Arith, both).prop_map(|mut inst| {
        inst.r.iter_mut().for_each(|r| *r %= 8);
        inst
    });
    (arith, prop_oneof![scalar, pair_load])
        .prop_map(|(arith, mem)| Word { arith, mem })
        .prop_filter("writes a register twice", |w| w.written_twice().is_none())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn exact_on_a_straight_line(words in proptest::collection::vec(word(), 1..60), vm9: bool) {
        let machine = machine(if vm9 { "vm9" } else { "vm7" });
        let text: String = words.iter().map(|w| format!("{w}\n")).chain(["stop\n".to_owned()]).collect();
        let options = Options { machine: Some(&machine), ..Options::default() };
        let assembly = assemble(&Source::new("line.s", text), &options).unwrap();
        let mut warned = vec![0; words.len() + 1];
        for warning in assembly.warnings.iter() {
            let cycles = match warning.problem {
                Problem::Stall { cycles, .. } | Problem::UnitBusy { cycles, .. } => cycles,
                _ => 0,
            };
            warned[warning.at.line as usize - 1] = cycles;
        }

        let mut processor = Processor::new(machine.clone());
        load(&mut processor, &assembly.program.decode().unwrap());
        processor.launch(0, 0).unwrap();
        processor.run_until(Ticks(u64::MAX));
        let counters = processor.counters();
        prop_assert_eq!(counters.kernels, 1);
        for (pc, cycles) in warned.iter().enumerate().take(words.len()) {
            let causes = &counters.per_word[pc].causes;
            prop_assert_eq!(causes.total() - causes.get(Cause::Issue), *cycles, "word {}", pc);
        }
    }
}
