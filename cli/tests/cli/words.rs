//! Tests of printed texts: hints are true, and nothing is left out.

use crate::bench::{Bench, bytes, npy};

const DOUBLE: &str = include_str!("../../../tests/kernels/double.s");

/// Program that loads a quad from DMEM and stores it elsewhere.
const COPY: &str = "\
.equ TO, 64
.program
        ldq q0, [a15]
        nop
        nop
        nop
        nop
        stq q0, [a15 + TO]
        stop
";

#[test]
fn the_plan_of_a_map_is_in_its_object() {
    let bench = Bench::new();
    bench.write("double.s", DOUBLE);
    bench.write("x.npy", npy("<f4", "False", "(40,)", &bytes(&[1.0; 40])));
    let line = "map double.s --block 4 --input x.npy --output y.npy --json";
    assert!(bench.cp2(line).works().json().get("plan").is_none());
    let json = bench.cp2(&format!("{line} --plan")).works().json();
    let grid = &json["plan"]["cuts"]["grid"];
    assert_eq!(grid[2].as_u64(), Some(10), "{json}");
}

#[test]
fn an_array_of_another_type_gets_the_nearest_one_named() {
    let bench = Bench::new();
    bench.write("double.s", DOUBLE);
    for (command, descr, nearest) in [
        ("fft --n 4", "<f8", "float32"),
        ("fft --n 4", "<c16", "complex64"),
        ("fft --n 4", "<i2", "float32"),
        ("fft --n 4", "<c32", "complex64"),
        ("conv", ">f8", "float32"),
        ("map double.s --block 4 --output y.npy", "<f8", "float32"),
        ("map double.s --block 4 --output y.npy", "<c16", "complex64"),
        ("map double.s --block 4 --output y.npy", "<i8", "int32"),
        ("map double.s --block 4 --output y.npy", "|u1", "uint32"),
        ("map double.s --block 4 --output y.npy", "<U3", "float32"),
    ] {
        bench.write("x.npy", npy(descr, "False", "(4,)", &[0; 64]));
        let hint = format!("in NumPy, x.astype('{nearest}')");
        bench
            .cp2(&format!("{command} --input x.npy"))
            .fails(2, &[&hint]);
    }
    bench.write("x.npy", npy("<f4", "False", "(2, 2, 2)", &bytes(&[0.0; 8])));
    let ended = bench.cp2("map double.s --block 2x4 --input x.npy --output y.npy");
    ended.fails(2, &["an array of 3 dimensions", "--block 2x4 has 2"]);
}

#[test]
fn a_source_runs_like_its_object() {
    let bench = Bench::new();
    bench.write("copy.s", COPY);
    bench.write(
        "x.npy",
        npy("<f4", "False", "(4,)", &bytes(&[1.0, 2.0, 3.0, 4.0])),
    );
    bench.cp2("asm copy.s").works();
    let line = "--dmem 0=x.npy --dump-dmem 64:16 --json";
    let [source, object] =
        ["s", "elf"].map(|end| bench.cp2(&format!("run copy.{end} {line}")).works().json());
    assert_eq!(source["cycles"], object["cycles"]);
    assert_eq!(source["dmem"], object["dmem"]);
    let moved = bench.cp2("run copy.s -D TO=128 --dmem 0=x.npy --dump-dmem 128:16");
    assert!(moved.works().out.contains("1  2  3  4"), "{}", moved.out);
    bench
        .cp2("run copy.elf -D TO=128")
        .fails(2, &["copy.elf", "assembled already"]);
    bench.write("broken.s", "frobnicate r0\nstop\n");
    bench.cp2("run broken.s").fails(2, &["broken.s:1"]);
    bench.cp2("run copy.s --emit run").works();
    bench.cp2("run run").works();
    bench.cp2("run run -D TO=1").fails(2, &["-D"]);
}

#[test]
fn dmem_is_loaded_in_whole_granules() {
    let bench = Bench::new();
    bench.write("copy.s", COPY);
    bench.write("six.npy", npy("<f4", "False", "(6,)", &bytes(&[1.0; 6])));
    bench.write(
        "rows.npy",
        npy("<f4", "False", "(4, 6)", &bytes(&[1.0; 24])),
    );
    for file in ["six.npy", "rows.npy"] {
        let words = [file, "24 B for a section (6 elements)", "16 B"];
        bench
            .cp2(&format!("run copy.s --dmem 0={file}"))
            .fails(2, &words);
    }
    bench.write("eight.npy", npy("<f4", "False", "(8,)", &bytes(&[1.0; 8])));
    bench.cp2("run copy.s --dmem 0=eight.npy").works();
    bench
        .cp2("run copy.s --dmem 0x104=eight.npy")
        .fails(2, &["--dmem 0x104=eight.npy", "16 B"]);
}

#[test]
fn a_kernel_is_expected_on_several_machines() {
    let bench = Bench::new();
    let line = "model conv --samples 4096";
    let [vm7, vm9] = ["vm7", "vm9"].map(|name| bench.cp2(&format!("{line} --machine {name}")));
    let both = bench.cp2(&format!("{line} --machine vm7 --machine vm9"));
    assert_eq!(both.works().out, format!("{}\n{}", vm7.out, vm9.out));
    let both = bench
        .cp2(&format!("{line} --machine vm7 --machine vm9 --json"))
        .works()
        .json();
    let alone = bench
        .cp2(&format!("{line} --machine vm9 --json"))
        .works()
        .json();
    assert_eq!(both["machines"][1], alone);
    bench
        .cp2(&format!(
            "{line} --machine vm7 --machine vm9 --roofline r.svg"
        ))
        .fails(2, &["--roofline"]);
}

#[test]
fn one_warning_is_one() {
    let bench = Bench::new();
    let text = ".program\n        ldp r0, [a15]\n        stp r0, [a15]\n        stop\n";
    bench.write("k.s", text);
    let ended = bench.cp2("asm k.s");
    assert!(ended.works().out.ends_with("1 warning\n"), "{}", ended.out);
    bench.write("k.s", ".program\n        stop\n");
    assert!(bench.cp2("asm k.s").works().out.ends_with("0 warnings\n"));
}

/// A second interrupt is reported to the user, and to a program that reads the JSON object.
#[test]
#[cfg(target_os = "linux")]
fn a_second_interrupt_says_that_it_aborts() {
    let bench = Bench::new();
    let fifo = bench.path("x.npy");
    let made = std::process::Command::new("mkfifo")
        .arg(&fifo)
        .status()
        .unwrap();
    assert!(made.success());
    // The pipe has no writer: the command waits for its input.
    let line = "fft --n 16 --input x.npy";
    let ended = crate::bench::interrupted_often(bench.command(&format!("{line} --json")), 2);
    ended.fails(3, &["error: aborted by a second interrupt"]);
    let json = ended.json();
    assert_eq!(
        (json["schema"].as_str(), json["exit"].as_u64()),
        (Some("cp2-error/1"), Some(3))
    );
    let ended = crate::bench::interrupted_often(bench.command(line), 2);
    ended.fails(3, &["error: aborted by a second interrupt"]);
    assert!(ended.out.is_empty());
}
