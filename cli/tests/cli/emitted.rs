//! Tests of `--emit`: recorded arrays, images and commands of every job.
//!
//! The arrays of the user are recorded as they lie in system memory, from the first cycle to the last.

use crate::bench::{Bench, bytes, npy};
use serde_json::Value;

/// Command line that reads `{x}` and writes `{y}`, with element type and shape of `{x}`.
struct Case {
    name: &'static str,
    line: &'static str,
    element: &'static str,
    shape: &'static [usize],
}

const fn case(
    name: &'static str,
    line: &'static str,
    element: &'static str,
    shape: &'static [usize],
) -> Case {
    Case {
        name,
        line,
        element,
        shape,
    }
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    case("1024 points", "fft --n 1024 --input {x} --output {y}", "<c8", &[8, 1024]),
    case("backwards", "fft --n 256 --inverse --input {x} --output {y}", "<c8", &[16, 256]),
    case("an odd batch of a short length", "fft --n 16 --input {x} --output {y}", "<c8", &[7, 16]),
    case("4096 points on vm9", "fft --n 4096 --machine vm9 --input {x} --output {y}", "<c8", &[4, 4096]),
    case("32768 points", "fft --n 32768 --input {x} --output {y}", "<c8", &[1, 32768]),
    case("mixed radix", "fft --n 1000 --input {x} --output {y}", "<c8", &[3, 1000]),
    case("an odd length", "fft --n 105 --input {x} --output {y}", "<c8", &[4, 105]),
    case("odd rows of an odd length", "fft --n 105 --input {x} --output {y}", "<c8", &[5, 105]),
    case("a prime length", "fft --n 1009 --input {x} --output {y}", "<c8", &[4, 1009]),
    case("a long odd length", "fft --n 19683 --input {x} --output {y}", "<c8", &[1, 19683]),
    case("a matrix", "fft --shape 64x64 --input {x} --output {y}", "<c8", &[2, 64, 64]),
    case("strided rows", "fft --n 1024 --stride 2048 --input {x} --output {y}", "<c8", &[4, 2048]),
    case("strided rows of mixed radix", "fft --n 1000 --stride 1024 --input {x} --output {y}", "<c8", &[4, 1024]),
    case("real", "fft --real --n 1024 --input {x} --output {y}", "<f4", &[8, 1024]),
    case("real, long", "fft --real --n 65536 --input {x} --output {y}", "<f4", &[2, 65536]),
    case("real, mixed radix", "fft --real --n 1000 --input {x} --output {y}", "<f4", &[3, 1000]),
    case("real, odd", "fft --real --n 1001 --input {x} --output {y}", "<f4", &[8, 1001]),
    case("half spectra", "fft --real --inverse --n 1024 --input {x} --output {y}", "<c8", &[8, 513]),
    case("half spectra, mixed radix", "fft --real --inverse --n 1000 --input {x} --output {y}", "<c8", &[3, 501]),
    case("half spectra, odd", "fft --real --inverse --n 1001 --input {x} --output {y}", "<c8", &[8, 501]),
    case("convolution", "conv --taps taps.npy --input {x} --output {y}", "<c8", &[4096]),
    case("channels", "conv --taps taps.npy --input {x} --output {y}", "<c8", &[3, 1001]),
    case("valid outputs", "conv --taps taps.npy --mode valid --input {x} --output {y}", "<c8", &[3, 1001]),
    case("the same number of outputs", "conv --taps taps.npy --mode same --input {x} --output {y}", "<c8", &[2, 1000]),
    case("real convolution", "conv --taps real.npy --input {x} --output {y}", "<f4", &[8192]),
    case("a matched filter", "conv --correlate --taps taps.npy --input {x} --output {y}", "<c8", &[2, 2048]),
    case("fir", "fir --taps taps.npy --input {x} --output {y}", "<c8", &[4096]),
    case("fir, decimated", "fir --decimate 4 --taps taps.npy --input {x} --output {y}", "<c8", &[2, 4096]),
    case("fir, interpolated", "fir --interpolate 3 --taps taps.npy --input {x} --output {y}", "<c8", &[1000]),
    case("real fir", "fir --taps real.npy --input {x} --output {y}", "<f4", &[8192]),
    case("map", "map power.s --block 2 --input {x} --output {y}", "<c8", &[6, 50]),
    case("stencil", "stencil --input {x} --output {y}", "<f4", &[20, 36]),
    case("stencil of rows that are no quads", "stencil --steps 3 --edge periodic --input {x} --output {y}", "<f4", &[5, 7, 61]),
    case("sparse product", "spmv --matrix a.mtx --x {x} --output {y}", "<f4", &[40]),
    case("sparse products", "spmv --matrix a.mtx --x {x} --output {y}", "<f4", &[40, 3]),
    case("power iterations", "spmv --matrix a.mtx --iterations 3 --x {x} --output {y}", "<f4", &[40]),
    // The matrix is a multiple of the identity, so that one iteration solves every system.
    case("solve", "solve --matrix d.mtx --method cg --rhs {x} --output {y}", "<f4", &[40]),
    case("job", "job run job-{x}.toml", "<f4", &[8, 16]),
    case("map with other blocks", "map first.s --block 8 --output-block 4 --input {x} --output {y}", "<f4", &[120]),
];

/// Kernel that converts two numbers to the sum of their squares.
const POWER: &str = r#"
.include "page.s"
.program
        page_begin
        ldx2 a0, [a15]
        ldx c0, [a15 + 8]
        loop c0 {
            ldq q0, [a0]+16
            cmulc r2, r0, r0
            cmulc r3, r1, r1
            stq q1, [a1]+16
        }
        page_end
        stop
"#;

/// Returns numbers in [-1, 1) that differ for every seed.
fn numbers(seed: u32, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn array(seed: u32, element: &str, shape: &[usize]) -> Vec<u8> {
    let parts = if element == "<c8" { 2 } else { 1 };
    let count: usize = shape.iter().product();
    let lengths: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let shape = format!("({},)", lengths.join(", "));
    npy(
        element,
        "False",
        &shape,
        &bytes(&numbers(seed, parts * count)),
    )
}

/// Changes rows to valid half spectra: number 0 and, for even lengths, the last one become real.
fn make_real(file: &mut [u8], row: usize, odd: bool) {
    let start = file.len() - data(file).len();
    for spectrum in file[start..].chunks_mut(8 * row) {
        spectrum[4..8].fill(0);
        if !odd {
            spectrum[8 * row - 4..].fill(0);
        }
    }
}

/// Returns the elements of an `.npy` file.
fn data(file: &[u8]) -> &[u8] {
    &file[10 + usize::from(u16::from_le_bytes([file[8], file[9]]))..]
}

/// Emitted directory that has been read.
struct Recorded {
    folder: String,
    manifest: Value,
    begin: Vec<u8>,
    end: Vec<u8>,
}

impl Recorded {
    fn read(bench: &Bench, folder: &str) -> Self {
        let file = |name: &str| bench.read(&format!("{folder}/{name}"));
        Self {
            folder: folder.to_owned(),
            manifest: serde_json::from_slice(&file("commands.json")).unwrap(),
            begin: file("memory.bin"),
            end: file("memory-end.bin"),
        }
    }

    /// Returns the byte range of an array in both memory images.
    fn place(&self, list: &str) -> Result<std::ops::Range<usize>, String> {
        let array = &self.manifest[list][0];
        match (array["offset"].as_u64(), array["bytes"].as_u64()) {
            (Some(offset), Some(bytes)) => Ok(offset as usize..(offset + bytes) as usize),
            _ => Err(format!("{}: no {list}", self.folder)),
        }
    }

    /// Returns the user's array at the start of simulated time.
    fn input(&self) -> Result<&[u8], String> {
        Ok(&self.begin[self.place("inputs")?])
    }

    /// Returns the result at the end of simulated time.
    fn output(&self) -> Result<&[u8], String> {
        Ok(&self.end[self.place("outputs")?])
    }

    /// Returns the memory at the start of simulated time, with the user's array zeroed.
    fn rest(&self) -> Result<Vec<u8>, String> {
        let mut rest = self.begin.clone();
        rest[self.place("inputs")?].fill(0);
        Ok(rest)
    }
}

/// Checks two recordings of one command: they differ in the input alone, and exchanging the input turns one
/// into the other.
fn interchangeable(bench: &Bench, [first, second]: [&Recorded; 2]) -> Result<(), String> {
    let place = first.place("inputs")?;
    for list in ["memory", "inputs", "outputs"] {
        let [mut a, mut b] = [first, second].map(|r| r.manifest[list].clone());
        for list in [&mut a, &mut b] {
            let arrays = list.as_array_mut().into_iter().flatten();
            arrays.for_each(|array| array["sha256"] = Value::Null);
        }
        check(a == b, "the layout depends on data")?;
    }
    check(
        first.manifest["commands"] == second.manifest["commands"],
        "commands depend on data",
    )?;
    check(
        first.rest()? == second.rest()?,
        "other bytes than the input depend on it",
    )?;
    let mut memory = first.begin.clone();
    memory[place].copy_from_slice(second.input()?);
    let folder = &first.folder;
    bench.write(&format!("{folder}/memory.bin"), memory);
    let again = bench.cp2(&format!(
        "run {folder} --output again.npy --emit again --json"
    ));
    let replay = &again.works().json()["replay"];
    let other = first.input()? != second.input()?;
    let other_data = replay["other_data"]
        .as_array()
        .is_some_and(|names| !names.is_empty());
    check(other == other_data, "replay: which data")?;
    check(replay["same_commands"] == true, "replay: the commands")?;
    check(replay["same_cycles"] == true, "replay: the cycles")?;
    let text = bench.cp2(&format!("run {folder}"));
    check(
        text.out.contains("same commands, other data") == other,
        "replay: the text",
    )?;
    check(
        data(&bench.read("again.npy")) == second.output()?,
        "replay: the result",
    )?;
    let again = Recorded::read(bench, "again");
    check(
        again.input()? == second.input()?,
        "the replay's own recording",
    )?;
    bench.write(&format!("{folder}/memory.bin"), &first.begin);
    Ok(())
}

fn check(holds: bool, what: &str) -> Result<(), String> {
    holds.then_some(()).ok_or_else(|| what.to_owned())
}

fn holds(bench: &Bench, case: &Case) -> Result<(), String> {
    let recorded = [1, 2].map(|seed| {
        let (x, y) = (format!("x{seed}.npy"), format!("y{seed}.npy"));
        let mut file = array(seed, case.element, case.shape);
        if let ([_, row], true) = (case.shape, case.line.contains("--real --inverse")) {
            make_real(&mut file, *row, case.line.contains("--n 1001"));
        }
        bench.write(&x, file);
        let line = case.line.replace("{x}", &x).replace("{y}", &y);
        bench.cp2(&format!("{line} --emit run{seed}")).works();
        Recorded::read(bench, &format!("run{seed}"))
    });
    for (run, seed) in recorded.iter().zip([1, 2]) {
        let [x, y] = ["x", "y"].map(|name| bench.read(&format!("{name}{seed}.npy")));
        check(
            run.input()? == data(&x),
            "the user's array is not in memory.bin",
        )?;
        check(
            run.output()? == data(&y),
            "the result is not in memory-end.bin",
        )?;
    }
    interchangeable(bench, recorded.each_ref())
}

#[test]
fn arrays_of_the_user_lie_in_system_memory_from_the_first_cycle_to_the_last() {
    let bench = Bench::new();
    bench.write("taps.npy", array(3, "<c8", &[65]));
    bench.write("real.npy", array(3, "<f4", &[129]));
    bench.write("power.s", POWER);
    let first = POWER
        .replace("cmulc r2, r0, r0", "ldq q1, [a0]+16")
        .replace("cmulc r3, r1, r1\n", "\n")
        .replace("stq q1", "stq q0");
    bench.write("first.s", first);
    let matrix = |symmetry: &str, entries: &[String]| {
        let head = format!("%%MatrixMarket matrix coordinate real {symmetry}");
        format!("{head}\n40 40 {}\n{}\n", entries.len(), entries.join("\n"))
    };
    let diagonal: Vec<String> = (1..=40).map(|i| format!("{i} {i} 2")).collect();
    let beside = (2..=40).map(|i| format!("{i} {} 0.5", (7 * i) % 40 + 1));
    let beside: Vec<String> = diagonal.iter().cloned().chain(beside).collect();
    bench.write("d.mtx", matrix("symmetric", &diagonal));
    bench.write("a.mtx", matrix("general", &beside));
    for seed in [1, 2] {
        bench.write(
            &format!("job-x{seed}.npy.toml"),
            format!(
                "[arrays.x]\ninput = \"x{seed}.npy\"\n[arrays.y]\nshape = [8, 16]\noutput = \"y{seed}.npy\"\n\
                 [[pass]]\nkernel = \"power.s\"\nblock = [2, 16]\ninputs = [{{ array = \"x\" }}]\noutputs = [{{ array = \"y\" }}]\n"
            ),
        );
    }
    let mut wrong = Vec::new();
    for case in CASES {
        if let Err(reason) = holds(&bench, case) {
            wrong.push(format!("{}: {reason}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_demonstration_is_recorded() {
    let bench = Bench::new();
    let recorded = [1, 2].map(|seed| {
        let ended = bench.cp2(&format!(
            "demo --seed {seed} --output out{seed} --emit run{seed}"
        ));
        assert!(
            ended.works().out.contains("not in the time: the window"),
            "{}",
            ended.out
        );
        let run = Recorded::read(&bench, &format!("run{seed}"));
        let [echoes, spectra] =
            ["echoes", "spectra"].map(|n| bench.read(&format!("out{seed}/{n}.npy")));
        assert!(run.input().unwrap() == data(&echoes));
        assert!(run.output().unwrap() == data(&spectra));
        run
    });
    interchangeable(&bench, recorded.each_ref()).unwrap();
}

/// A chain is one job, from samples to spectra and decibels.
#[test]
fn chains_are_recorded_as_one_job() {
    let bench = Bench::new();
    for (chain, shape) in [
        ("radar --pulses 16 --ranges 100 --chirp 21", [16, 120]),
        (
            "sonar --hydrophones 8 --beams 8 --samples 512 --points 32",
            [8, 512],
        ),
    ] {
        let folders = [1, 2].map(|seed| {
            bench.write(&format!("x{seed}.npy"), array(seed, "<c8", &shape));
            let folder = format!("job{seed}");
            let line = format!(
                "pipeline {chain} --input x{seed}.npy --output y{seed}.npy --emit {folder}"
            );
            let ended = bench.cp2(&line);
            assert!(!ended.works().out.contains("not in the time"));
            let json = bench.cp2(&format!("{line} --json")).works().json();
            assert_eq!(json["outside_time"].as_array().unwrap().len(), 0);
            let (cycles, causes) = (
                &json["machines"][0]["cycles"],
                &json["machines"][0]["causes"],
            );
            let causes = causes.as_object().unwrap().values();
            let sum: u64 = causes.map(|n| n.as_u64().unwrap()).sum();
            assert_eq!(cycles.as_u64(), Some(sum));
            folder
        });
        let runs = folders.each_ref().map(|f| Recorded::read(&bench, f));
        for (run, seed) in runs.iter().zip([1, 2]) {
            let [x, y] = ["x", "y"].map(|file| bench.read(&format!("{file}{seed}.npy")));
            assert!(
                run.input().unwrap() == data(&x),
                "{chain}: the user's array"
            );
            assert!(run.output().unwrap() == data(&y), "{chain}: the result");
            let outputs = run.manifest["outputs"].as_array().unwrap();
            let names: Vec<_> = outputs
                .iter()
                .map(|y| y["name"].as_str().unwrap())
                .collect();
            assert_eq!(names, ["spectra", "decibels"]);
        }
        interchangeable(&bench, runs.each_ref()).unwrap();
    }
}

#[test]
fn directories_of_chains_are_checked_before_the_run() {
    let bench = Bench::new();
    bench.write("file", "x");
    std::fs::create_dir(bench.path("mine")).unwrap();
    bench.write("mine/thesis", "x");
    for (folder, words) in [
        ("mine", "commands.json"),
        ("no/where", "cannot write"),
        ("file", "commands.json"),
    ] {
        let line = format!("pipeline radar --blocks 1000 --emit {folder}");
        bench.cp2(&line).fails(2, &[folder, words]);
    }
    assert_eq!(bench.read("mine/thesis"), b"x");
    assert_eq!(bench.files(), ["file", "mine"], "nothing is left behind");
    // Only the first of several blocks is emitted, since the commands of all blocks are equal.
    let line = "pipeline radar --pulses 16 --ranges 64 --chirp 16 --machine vm7";
    for (folder, blocks) in [("one", 1), ("three", 3)] {
        bench
            .cp2(&format!("{line} --blocks {blocks} --emit {folder}"))
            .works();
    }
    assert_eq!(
        bench.read("one/commands.json"),
        bench.read("three/commands.json")
    );
    bench
        .cp2("run three --output y.npy --result decibels")
        .works();
    // The map has 64 ranges of 16 pulses.
    assert_eq!(data(&bench.read("y.npy")).len(), 4 * 64 * 16);
    bench
        .cp2("run three --output y.npy --result power")
        .fails(2, &["--result power", "spectra, decibels"]);
}

#[test]
fn recordings_say_what_is_not_in_the_time() {
    let bench = Bench::new();
    let samples: Vec<i16> = (0..4000).map(|i| (i * 37 % 2000) as i16).collect();
    bench.write("x.wav", crate::bench::wav(8000, &samples));
    let line = "fft --n 256 --input x.wav";
    let text = bench.cp2(line).works().out.clone();
    assert!(!text.contains("not in the time"), "{text}");
    assert!(text.contains("stages: frames "), "{text}");
    let json = bench
        .cp2(&format!("{line} --json --emit run"))
        .works()
        .json();
    assert_eq!(json["outside_time"].as_array().unwrap().len(), 0);
    assert_eq!(json["verified"], true);
    let stages = json["stages"].as_array().unwrap();
    let names: Vec<_> = stages.iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["frames", "window", "spectra"]);
    let cycles = stages.iter().map(|s| s["cycles"].as_u64().unwrap());
    assert_eq!(Some(cycles.sum()), json["cycles"].as_u64());
    assert_eq!(json["emit"].as_str(), Some("run"));
    // System memory holds the samples of the recording when simulated time begins.
    let recorded = Recorded::read(&bench, "run");
    let floats: Vec<f32> = samples.iter().map(|s| f32::from(*s) / 32_768.0).collect();
    assert!(recorded.input().unwrap() == bytes(&floats));
    let text = bench.cp2("run run").works().out.clone();
    assert!(text.contains("bits equal, cycles equal"), "{text}");
    let json = bench.cp2("fft --n 256 --batch 4 --json").works().json();
    assert_eq!(json["outside_time"].as_array().unwrap().len(), 0);
}
