//! Tests of the assembled FFT sources: no stalls, defaults, includes.

use super::*;
use cp2_asm::assemble;

/// The schedules respect the latencies of both machines: no word waits for an operand.
#[test]
fn no_word_stalls() {
    for name in ["vm7", "vm9"] {
        let machine = Machine::builtin(name).unwrap();
        for b in 4..=12 {
            for direction in [TransformDirection::Forward, TransformDirection::Inverse] {
                let recipe = PowerOfTwoRecipe::new(1 << b, direction).unwrap();
                match program(&recipe, &machine) {
                    Ok(assembly) => assert!(
                        assembly.warnings.is_empty(),
                        "{recipe} on {name}:\n{}",
                        assembly.warnings
                    ),
                    Err(error) => panic!("{recipe}:\n{error}"),
                }
            }
        }
    }
}

/// The sources assemble without definitions too, so that `cp2 asm` takes them as they are. Linear blocks need a
/// machine.
#[test]
fn the_sources_have_defaults() {
    let machine = Machine::builtin("vm7").unwrap();
    let both = [FFT, FFT4096, LARGE, PARTS, REAL_PARTS, ARRAY].map(|source| (source, 0));
    for ((name, text), inverse) in both.into_iter().chain([(BACK_COLUMNS, 1)]) {
        let options = Options {
            include: Some(&include),
            machine: Some(&machine),
            ..Options::default()
        };
        let program = assemble(&Source::new(name, text), &options)
            .unwrap()
            .program;
        assert_eq!(program.symbol("INVERSE"), Some(inverse));
    }
}

#[test]
fn an_unknown_include_is_an_error() {
    assert!(include("radix16.s", "fft.s").is_err());
}
