//! Property tests: disassembled programs and words assemble to the same bits.

use super::{disassemble, word_at};
use crate::isa::{Inst, Op, Word};
use crate::testing::{any_operands, any_program, any_word};
use crate::{Options, Program, Source, assemble, assemble_word};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;

/// Appends a `stop` to the program, since the assembler refuses one that runs off its end.
fn ended(mut program: Program) -> Program {
    let stop = Word {
        mem: Inst::new(Op::Stop),
        ..Word::NOP
    };
    program.words.push(stop.encode());
    program.lines.push(Default::default());
    program
}

/// Collects DMEM by lane, however it is divided into segments.
fn lanes(program: &Program) -> BTreeMap<u32, [u8; 4]> {
    let segments = program.dmem.iter();
    segments
        .flat_map(|s| {
            (s.address..)
                .step_by(4)
                .zip(s.bytes.chunks(4).map(|c| c.try_into().unwrap()))
        })
        .collect()
}

#[test]
fn every_row_assembles_to_itself() {
    let mut runner = TestRunner::deterministic();
    for &op in Op::ALL {
        for pc in [0, 1, 0x1234, u16::MAX] {
            let inst = any_operands(op).new_tree(&mut runner).unwrap().current();
            let word = match op.row().slot() {
                crate::isa::Slot::Arith => Word {
                    arith: inst,
                    ..Word::NOP
                },
                crate::isa::Slot::Mem => Word {
                    mem: inst,
                    ..Word::NOP
                },
            };
            let text = word_at(&word, pc);
            let back =
                assemble_word(&text, pc).unwrap_or_else(|e| panic!("{op:?} `{text}`: {e:?}"));
            assert_eq!(back, word, "{op:?} `{text}`");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_word_assembles_to_itself(word in any_word(), pc in any::<u16>()) {
        let text = word_at(&word, pc);
        match assemble_word(&text, pc) {
            Ok(back) => prop_assert_eq!(back.encode(), word.encode(), "{}", text),
            Err(e) => prop_assert!(false, "`{}`: {:?}", text, e),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_listing_assembles_to_its_program(program in any_program(40)) {
        let program = ended(program);
        let plain = disassemble(&program).unwrap();
        let full = disassemble(&program).unwrap().addresses(true).sources(|_| Some("/* \"x".repeat(9)));
        let comments = plain.to_string();
        for text in [plain.to_string(), full.to_string()] {
            let back = match assemble(&Source::new("listing.s", &text), &Options::default()) {
                Ok(assembly) => assembly.program,
                Err(e) => return Err(TestCaseError::fail(format!("{text}\n{e:?}"))),
            };
            prop_assert_eq!(&back.words, &program.words, "{}", text);
            prop_assert_eq!((back.entry, back.requires), (program.entry, program.requires));
            prop_assert_eq!(lanes(&back), lanes(&program), "{}", text);
            for symbol in &program.symbols {
                let comment = format!("; {:?} symbol {} = ", symbol.kind, symbol.name);
                prop_assert!(back.symbols.contains(symbol) || comments.contains(&comment), "{symbol:?}\n{text}");
            }
        }
    }
}
