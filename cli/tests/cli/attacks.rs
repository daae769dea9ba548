//! Tests of faults that a review found, so that they stay fixed.

use crate::bench::{Bench, bytes, npy, wav};

const KERNEL: &str = "\
        .include \"page.s\"
        page_begin
        ldx2 a0, [a15]
        ldq q0, [a0]
        stq q0, [a1]
        page_end
        stop
";

/// A script that asks for JSON finds exactly one object on standard output, whatever went wrong.
#[test]
fn every_failure_is_an_object_too() {
    let bench = Bench::new();
    for line in [
        "--json",
        "--json bogus",
        "fft --n x --json",
        "fft --n --json",
        "fft --n 0 --json",
        "fft --frobnicate --json",
        "fft --batch 0 --json",
        "asm --json",
        "asm missing.s --json",
        "disasm missing.elf --json",
        "run missing --json",
        "map k.s --json",
        "machines show --json",
        "machines show vm8 --json",
        "machines show vm7 --toml --json",
        "--json machines show vm7 --toml",
        "demo --seed x --json",
    ] {
        let ended = bench.cp2(line);
        ended.fails(2, &[]);
        let json = ended.json();
        assert_eq!(
            (json["schema"].as_str(), json["exit"].as_u64()),
            (Some("cp2-error/1"), Some(2)),
            "{line}"
        );
        let message = json["error"].as_str().unwrap();
        assert!(
            !message.is_empty() && !message.starts_with("error"),
            "{message}"
        );
        assert!(ended.err.contains(message.trim_end()), "{line}");
    }
    assert!(bench.cp2("fft --n x").out.is_empty());
}

/// The final figures of a run that was stopped are unknown: they are null in its report.
#[test]
fn a_run_without_end_has_no_efficiency() {
    let bench = Bench::new();
    for limit in [0, 100] {
        let ended = bench.cp2(&format!(
            "fft --n 16 --batch 4 --max-cycles {limit} --json --emit run"
        ));
        ended.fails(3, &["limit", "--emit run: nothing was written"]);
        let json = ended.json();
        for field in [
            "efficiency",
            "gflops",
            "verified",
            "rel_error_vs_rustfft",
            "emit",
        ] {
            assert!(json[field].is_null(), "{field}: {}", json[field]);
        }
        let ended = bench.cp2(&format!("fft --n 16 --batch 4 --max-cycles {limit}"));
        assert!(
            ended.out.contains("not finished") && !ended.out.contains("GFLOPS"),
            "{}",
            ended.out
        );
    }
    bench.cp2("fft --n 16 --batch 4 --emit run").works();
    let ended = bench.cp2("run run --max-cycles 100");
    ended.fails(3, &["limit"]);
    assert!(
        ended.out.contains("not finished") && !ended.out.contains("DIFFER"),
        "{}",
        ended.out
    );
}

/// Sizes are checked before memory is allocated for them.
#[test]
fn small_files_that_would_fill_memory_are_errors() {
    let bench = Bench::new();
    // Ten million samples with a hop of 1 make 300 GiB of frames.
    bench.write("long.wav", wav(48_000, &vec![0; 10_000_000]));
    bench
        .cp2("fft --input long.wav --n 4096 --hop 1")
        .fails(2, &["10000000 samples", "--hop"]);
    // Sparse files take no disk space.
    let sparse = |name: &str, head: &[u8], size: u64| {
        bench.write(name, head);
        let file = std::fs::File::options()
            .write(true)
            .open(bench.path(name))
            .unwrap();
        file.set_len(head.len() as u64 + size).unwrap();
    };
    sparse("x.npy", &npy("<c8", "False", "(4294967296,)", &[]), 1 << 35);
    bench
        .cp2("fft --input x.npy")
        .fails(2, &["x.npy", "expected at most 1073741824 bytes"]);
    bench.write("k.s", KERNEL);
    bench
        .cp2("map k.s --input x.npy --output y.npy --block 2")
        .fails(2, &["x.npy", "expected at most"]);
    bench.cp2("asm k.s").works();
    bench
        .cp2("run k.elf --dmem 0=x.npy")
        .fails(2, &["x.npy", "expected at most 262144 bytes"]);
    bench.cp2("fft --n 16 --batch 4 --emit run").works();
    for file in ["run/memory.bin", "run/kernel.elf"] {
        let good = bench.read(file);
        sparse(file, &[], 1 << 36);
        bench.cp2("run run").fails(2, &[file, "more than"]);
        bench.write(file, good);
    }
    bench.cp2("run run").works();
}

#[test]
fn headers_no_numpy_ever_wrote_are_errors() {
    let bench = Bench::new();
    let good = npy("<c8", "False", "(16,)", &[0; 128]);
    for (byte, version) in [(0, "version 0.0"), (4, "version 4.0"), (255, "255")] {
        let mut bad = good.clone();
        bad[6] = byte;
        bench.write("v.npy", bad);
        bench
            .cp2("fft --n 16 --input v.npy")
            .fails(2, &["v.npy", version]);
    }
    bench.write(
        "escape.npy",
        npy("<c8\x1b[31m", "False", "(16,)", &[0; 128]),
    );
    let ended = bench.cp2("fft --n 16 --input escape.npy");
    ended.fails(2, &["escape.npy"]);
    assert!(!ended.err.contains('\x1b'), "no file talks to the terminal");
    let dict = "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (16,), }\n";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((dict.len() as u16).to_le_bytes());
    bytes.extend(dict.as_bytes());
    bytes.extend([0; 64]);
    bench.write("record.npy", bytes);
    bench
        .cp2("fft --n 16 --input record.npy")
        .fails(2, &["record.npy", "no record"]);
}

/// Outputs that cannot be written are refused before the work, so that no result is lost after it.
#[test]
fn outputs_are_judged_before_the_work() {
    let bench = Bench::new();
    let line = "fft --n 16 --batch 4 --output y.npy";
    bench
        .cp2(&format!("{line} --emit no/run"))
        .fails(2, &["no/run"]);
    bench.write("file", "mine");
    bench.refuses(&[
        (&format!("{line} --emit file"), &["file"]),
        (&format!("{line} --emit ."), &["commands.json"]),
    ]);
    assert_eq!(bench.files(), ["file"], "no half of the outputs is left");
    // An emitted directory is replaced with everything in it.
    bench.cp2("fft --n 16 --batch 4 --emit run").works();
    bench
        .cp2("fft --n 16 --batch 4 --emit run --output run/y.npy")
        .fails(2, &["run/y.npy", "another one"]);
    bench.write(
        "run/x.npy",
        npy("<f4", "False", "(16,)", &bytes(&[1.0; 16])),
    );
    bench
        .cp2("fft --n 16 --input run/x.npy --emit run")
        .fails(2, &["run/x.npy", "another one"]);
    assert!(bench.path("run/x.npy").is_file());
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_an_error() {
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = Bench::new()
        .command("fft --help")
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("standard output"));
}

#[test]
fn objects_are_known_by_their_contents() {
    let bench = Bench::new();
    bench.write("k.s", KERNEL);
    bench.write("x.npy", npy("<f4", "False", "(16,)", &[0; 64]));
    bench.cp2("asm k.s -o kernel").works();
    let map = "map kernel --input x.npy --output y.npy --block 4";
    bench.cp2(map).works();
    bench.refuses(&[
        (&format!("{map} -D x=1"), &["kernel", "already"]),
        (
            &format!("{map} --arg word"),
            &["expected an integer such as"],
        ),
        ("run kernel --dmem 0=", &["ADDR=FILE"]),
        ("run kernel --dump-dmem 0:4=", &["file name"]),
    ]);
}

/// An input that is not finite has no reference: the figures of the comparison are null.
#[test]
fn what_was_not_judged_is_not_verified() {
    let bench = Bench::new();
    let mut x = [1.0; 32];
    x[5] = f32::NAN;
    bench.write("x.npy", npy("<c8", "False", "(16,)", &bytes(&x)));
    let json = bench.cp2("fft --n 16 --input x.npy --json").works().json();
    assert!(json["verified"].is_null() && json["rel_error_vs_rustfft"].is_null());
    // Channels are judged one by one: the finite ones are verified.
    let filtered = |shape: &str| {
        bench.write("x.npy", npy("<c8", "False", shape, &bytes(&x)));
        let conv = "conv --length 3 --input x.npy --json";
        bench.cp2(conv).works().json()
    };
    let json = filtered("(2, 8)");
    assert!(json["verified"] == true && json["channels_judged"] == 1);
    let json = filtered("(1, 16)");
    assert!(json["verified"].is_null() && json["channels_judged"] == 0);
}
