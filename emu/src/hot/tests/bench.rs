//! `cargo test -p cp2-emu --release hot::tests::bench -- --ignored --nocapture`:
//! words per second of the FFT's loops by themselves.

use super::*;
use cp2_asm::{Options, Source, Value, assemble};
use std::time::Instant;

fn folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/src/fft")
}

fn source(name: &str) -> Source {
    let text = std::fs::read_to_string(folder().join(name)).unwrap();
    Source::new(name.to_owned(), text)
}

#[test]
#[ignore = "a measurement"]
fn fft_loops() {
    for (n, radices) in [
        (256, [4, 8, 8, 0]),
        (1024, [4, 4, 8, 8]),
        (512, [8, 8, 8, 0]),
    ] {
        loops(n, radices);
    }
}

/// Independent products and nothing else: two a cycle is all the host can do.
#[test]
#[ignore = "a measurement"]
fn ceiling() {
    let machine = vm7();
    let words: Vec<Decoded> = (0..22)
        .map(|i| {
            let mut arith = Inst::new(Op::MulQ);
            arith.r = [i, i, 24, 0, 0];
            let word = Word { arith, ..Word::NOP };
            decode(word.encode(), &machine).unwrap()
        })
        .collect();
    let mut core = Core::new(&machine);
    let code = compile(&words, true, machine.cp2.dmem.0 as u32, None).unwrap();
    let mut frame = Frame::default();
    let mut best = f64::MAX;
    for _ in 0..200 {
        let begin = Instant::now();
        code.run(
            &mut core.guest().unwrap(),
            &mut frame,
            10_000,
            &mut |_, _| false,
        );
        best = best.min(begin.elapsed().as_secs_f64() / 10_000.0);
    }
    println!("products: {:.0} M/s", 22.0 / best * 1e-6);
}

fn loops(n: i64, radices: [i64; 4]) {
    let machine = vm7();
    let mut defines = vec![("N".to_owned(), Value::Int(n))];
    for (i, r) in radices.iter().enumerate() {
        defines.push((format!("R{}", i + 1), Value::Int(*r)));
    }
    let include = |name: &str, _: &str| Ok(source(name));
    let options = Options {
        defines,
        machine: Some(&machine),
        include: Some(&include),
    };
    let program = assemble(&source("fft.s"), &options).unwrap().program;
    let mut random = Random(1);
    let mut core = Core::new(&machine);
    for section in 0..4 {
        let bytes: Vec<u8> = (0..0x4000)
            .flat_map(|_| (random.next() as i32 as f32 * 1e-9).to_bits().to_le_bytes())
            .collect();
        core.write_dmem(section, 0, &bytes).unwrap();
        for segment in &program.dmem {
            core.write_dmem(section, segment.address, &segment.bytes)
                .unwrap();
        }
        let args = [0xa000u32, 0xa000 + 8 * n as u32, 1, 0xa000 + 8 * n as u32];
        let bytes: Vec<u8> = args.iter().flat_map(|w| w.to_le_bytes()).collect();
        core.write_dmem(section, 0x9f00, &bytes).unwrap();
    }
    core.launch(u32::from(program.entry), 0x9f00);
    let words: Vec<Decoded> = program
        .words
        .iter()
        .map(|bits| decode(*bits, &machine).unwrap())
        .collect();
    loop {
        let pc = core.pc as usize;
        let word = &words[pc];
        if word.word.mem.op == Op::Stop {
            break;
        }
        let length = usize::from(word.word.mem.target);
        let is_loop = word.word.mem.op == Op::LoopX;
        execute::word(&mut core, &machine, word, 0, &mut Unobserved).unwrap();
        if !is_loop {
            continue;
        }
        let passes = u64::from(core.loops.last().unwrap().left);
        let body = &words[pc + 1..=pc + length];
        let now = *core.guest().unwrap().scalars;
        let begin = Instant::now();
        let code = compile(body, true, machine.cp2.dmem.0 as u32, Some(&now)).unwrap();
        let compiling = begin.elapsed();
        let straight = compile(body, false, machine.cp2.dmem.0 as u32, None).unwrap();
        let mut hot = core.clone();
        let scalars: Vec<u32> = (0..64).map(|i| core.scalar(Scalar(i))).collect();
        let mut frame = Frame::default();
        if let Ok(folder) = std::env::var("CP2_DUMP") {
            std::fs::write(format!("{folder}/{n}-{pc}.bin"), code.executable.bytes()).unwrap();
        }
        // What the measurement itself costs: setting the scalars back.
        let mut idle = f64::MAX;
        for _ in 0..30 {
            let begin = Instant::now();
            for _ in 0..1000 {
                for (i, value) in scalars.iter().enumerate() {
                    hot.set_scalar(Scalar(i as u8), *value);
                }
                std::hint::black_box(hot.guest());
            }
            idle = idle.min(begin.elapsed().as_secs_f64() / 1000.0);
        }
        let rate = |hot: &mut Core, frame: &mut Frame, code: &crate::hot::Code, passes: u64| {
            let mut best = f64::MAX;
            for _ in 0..30 {
                let calls = 20_000 / passes;
                let begin = Instant::now();
                for _ in 0..calls {
                    for (i, value) in scalars.iter().enumerate() {
                        hot.set_scalar(Scalar(i as u8), *value);
                    }
                    let done =
                        code.run(&mut hot.guest().unwrap(), frame, passes, &mut |_, _| false);
                    assert_eq!(done, passes * length as u64);
                }
                let each = begin.elapsed().as_secs_f64() / calls as f64 - idle;
                best = best.min(each / passes as f64);
            }
            length as f64 / best * 1e-6
        };
        let looped = rate(&mut hot, &mut frame, &code, passes);
        let single = rate(&mut hot, &mut frame, &straight, 1);
        println!(
            "N {n} pc {pc}: {length} words, {passes} passes: {looped:.0} M words/s, one pass a call {single:.0}; \
             compiled in {:.2} us a word",
            compiling.as_secs_f64() * 1e6 / length as f64
        );
        // The rest of the loop by the reference.
    }
}
