//! Tests of limited memory: bad input with a message, and no files left.
//!
//! The system gives each command less memory than it needs.

use crate::bench::{Bench, Ended, bytes, npy};
use std::path::Path;

/// Most kilobytes of address space that the program takes before its work.
const PROGRAM: u64 = 48 << 10;

/// Number of limits that are tried to find the need by bisection.
const STEPS: u32 = 5;

/// Runs a command with at most this many kilobytes of address space.
fn limited(bench: &Bench, line: &str, kilobytes: u64) -> Ended {
    // With one arena the address space does not depend on the number of threads that run at a time.
    let limit = format!("export MALLOC_ARENA_MAX=1 && ulimit -v {kilobytes}");
    let program = Path::new(env!("CARGO_BIN_EXE_cp2"));
    Ended::of(bench.limited(program, line, &limit).output().unwrap())
}

/// Returns true if a command finds enough memory. Otherwise it must end by itself and say so in a JSON
/// object.
fn fits(bench: &Bench, line: &str, kilobytes: u64, before: &[String]) -> bool {
    let ended = limited(bench, line, kilobytes);
    if ended.code == 0 {
        return true;
    }
    let what = format!("{line} with {kilobytes} kB: {} {}", ended.code, ended.err);
    assert!(ended.code == 2 && ended.out.lines().count() == 1, "{what}");
    let json = ended.json();
    let said = json["error"].as_str().unwrap();
    assert!(
        said.contains("this computer has not the memory") || said.contains("ut of memory"),
        "{what}"
    );
    assert_eq!(
        (json["schema"].as_str(), json["exit"].as_u64()),
        (Some("cp2-error/1"), Some(2)),
        "{what}"
    );
    assert_eq!(bench.files(), before, "{what}");
    false
}

fn remove_outputs(bench: &Bench) {
    for file in ["y.npy", "v.npy", "k.elf"] {
        let _ = std::fs::remove_file(bench.path(file));
    }
}

/// Finds the need of each command by bisection. Half of it must be refused; every limit below it, such as
/// nine tenths, must end cleanly.
#[test]
fn too_little_memory_is_bad_input() {
    let bench = Bench::new();
    let floats = |n: usize| bytes(&vec![0.5; n]);
    bench.write("x.npy", npy("<f4", "False", "(4194304,)", &floats(4 << 20)));
    bench.write(
        "u.npy",
        npy("<f4", "True", "(1024, 1024)", &floats(1 << 20)),
    );
    bench.write("b.npy", npy("<f4", "False", "(20000,)", &floats(20_000)));
    let mut matrix =
        "%%MatrixMarket matrix coordinate real general\n20000 20000 80000\n".to_owned();
    for i in 0..20_000u64 {
        for k in 0..4 {
            // The columns are irregular, so that products are generated code.
            let j = (i * 7919 + k * k * 4_001 + i * i * 31) % 20_000;
            matrix += &format!(
                "{} {} {}\n",
                i + 1,
                if k == 0 { i + 1 } else { j + 1 },
                4 - k
            );
        }
    }
    bench.write("a.mtx", matrix);
    bench.write(
        "rows.npy",
        npy("<f4", "False", "(4096, 1024)", &floats(4 << 20)),
    );
    let words = " add r0, r1, r2\n".repeat(8_000);
    let comments = "; what nobody reads\n".repeat(100_000);
    bench.write("k.s", [".program\n", &words, " stop\n", &comments].concat());
    bench.write("double.s", include_str!("../../../tests/kernels/double.s"));
    let before = bench.files();
    for (line, most) in [
        ("fft --input rows.npy --output y.npy", 400 << 10),
        (
            "conv --channels 4 --samples 1000000 --length 65 --threads 2",
            500 << 10,
        ),
        ("asm k.s", 400 << 10),
        (
            "map double.s --input x.npy --output y.npy --block 256",
            400 << 10,
        ),
        ("fir --samples 2000000 --length 5", 400 << 10),
        ("stencil --shape 1024x1024 --points 5", 400 << 10),
        ("stencil --input u.npy --points 5 --output v.npy", 400 << 10),
        ("spmv --matrix a.mtx --output y.npy", 500 << 10),
        ("spmv --matrix a.mtx --iterations 2", 500 << 10),
        (
            "solve --matrix a.mtx --rhs b.npy --method bicgstab --iterations 2",
            500 << 10,
        ),
        ("npb ft --class W", 400 << 10),
        ("fft --n 131101 --batch 1", 400 << 10),
        ("stencil --shape 64x64x128 --steps 2", 400 << 10),
    ] {
        let line = format!("{line} --json");
        let (mut none, mut some) = (PROGRAM, most);
        for _ in 0..STEPS {
            let at = none.midpoint(some);
            match fits(&bench, &line, at, &before) {
                true => {
                    some = at;
                    remove_outputs(&bench);
                }
                false => none = at,
            }
        }
        assert!(some < most, "{line}: never fits");
        let half = some / 2;
        assert!(
            half < PROGRAM || !fits(&bench, &line, half, &before),
            "{line}"
        );
        // The address space of threads varies from run to run: so near the need a command may succeed. It
        // must end cleanly in any case.
        if fits(&bench, &line, some * 9 / 10, &before) {
            remove_outputs(&bench);
        }
    }
}

/// Commands whose need is not determined: with any limit they succeed, or say that memory is missing.
#[test]
fn every_command_ends_cleanly_where_memory_ends() {
    let bench = Bench::new();
    bench.write(
        "x.npy",
        npy("<f4", "False", "(4194304,)", &bytes(&vec![0.5; 4 << 20])),
    );
    bench.write("double.s", include_str!("../../../tests/kernels/double.s"));
    bench.write(
        "job.toml",
        "[arrays.x]\ninput = \"x.npy\"\n[arrays.y]\nshape = [4194304]\noutput = \"y.npy\"\n\
         [[pass]]\nkernel = \"double.s\"\nblock = [256]\n\
         inputs = [{ array = \"x\" }]\noutputs = [{ array = \"y\" }]\n",
    );
    let words = " add r0, r1, r2\n".repeat(8_000);
    bench.write("k.s", [".program\n", &words, " stop\n"].concat());
    bench.cp2("asm k.s -o words.elf").works();
    bench.cp2("fft --n 1024 --batch 512 --emit run").works();
    let before = bench.files();
    for line in [
        "job run job.toml",
        "run run",
        "disasm words.elf",
        "model fft --n 1024",
        "pipeline radar",
        "npb cg --class S",
        "npb mg --class S",
        "machines",
    ] {
        for megabytes in [48, 60, 130, 180] {
            if fits(&bench, &format!("{line} --json"), megabytes << 10, &before) {
                remove_outputs(&bench);
            }
        }
    }
}
