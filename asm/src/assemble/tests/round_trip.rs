//! What the disassembler writes assembles to the same bits.

use crate::isa::{Inst, Op, Slot, Word};
use crate::{Options, Program, Source, assemble, assemble_word, disassemble, testing};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_word(word in testing::any_word(), pc in 0u16..=0xf000) {
        let text = word.to_string();
        match assemble_word(&text, pc) {
            Ok(again) => prop_assert_eq!(again, word, "{}", text),
            Err(errors) => prop_assert!(false, "{text}\n{errors}"),
        }
    }

    /// Either order of the slots is the same word.
    #[test]
    fn slots_in_either_order(word in testing::any_word()) {
        let text = format!("{} || {}", word.mem, word.arith);
        match assemble_word(&text, 0) {
            Ok(again) => prop_assert_eq!(again.encode(), word.encode(), "{}", text),
            Err(errors) => prop_assert!(false, "{text}\n{errors}"),
        }
    }
}

/// Address and value of every byte of DMEM: touching segments are one.
fn bytes(program: &Program) -> Vec<(u32, u8)> {
    program
        .dmem
        .iter()
        .flat_map(|s| (s.address..).zip(s.bytes.iter().copied()))
        .collect()
}

/// A word that neither leaves the program nor begins a loop.
fn plain_word() -> impl Strategy<Value = Word> {
    testing::any_word().prop_map(|mut word| {
        let operands = word.mem.row().form.operands();
        if operands
            .iter()
            .any(|o| matches!(o.kind, crate::isa::Kind::Target | crate::isa::Kind::LoopEnd))
        {
            word.mem = Inst::new(Op::MemNop);
        }
        word
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_listing(
        plain in proptest::collection::vec(plain_word(), 1..30),
        branch in testing::any_inst(Slot::Mem).prop_filter("a branch", |i| {
            i.row().form.operands().iter().any(|o| o.kind == crate::isa::Kind::Target)
        }),
        data in testing::any_program(1),
    ) {
        let mut words = plain;
        let count = words.len() as u16;
        let arith = Inst::new(Op::Nop);
        words.push(Word { arith, mem: Inst { target: branch.target % count, ..branch } });
        // A loop over all that follows it but the last.
        words.insert(0, Word { arith, mem: Inst { imm: 7, target: count, ..Inst::new(Op::LoopI) } });
        if matches!(words[usize::from(count)].mem.op, Op::Stop | Op::Ret | Op::Wait) {
            words[usize::from(count)].mem = Inst::new(Op::MemNop);
        }
        words.push(Word { arith, mem: Inst::new(Op::Stop) });
        let program = Program {
            words: words.iter().map(Word::encode).collect(),
            dmem: data.dmem,
            entry: count / 2,
            ..Program::default()
        };
        let text = disassemble(&program).unwrap().to_string();
        match assemble(&Source::new("listing.s", &text), &Options::default()) {
            Ok(again) => {
                let again = again.program;
                prop_assert_eq!(&again.words, &program.words, "{}", text);
                prop_assert_eq!(bytes(&again), bytes(&program), "{}", text);
                prop_assert_eq!(again.entry, program.entry);
                prop_assert_eq!(again.requires, program.requires);
            }
            Err(errors) => prop_assert!(false, "{text}\n{errors}"),
        }
    }
}
