//! Tests of `cp2 asm`, `disasm`, `run`, `map` and `machines`.
//!
//! The kernels and machines are those of a user.

#[cfg(target_os = "linux")]
use crate::bench::interrupted;
use crate::bench::{Bench, bytes, lanes, npy};
use std::process::Stdio;

const DOUBLE: &str = include_str!("../../../tests/kernels/double.s");

const ALONE: &str = "\
.dmem 0
        .float 1, 2, 3, 4
        .space 16
.program
        movi a0, 0
        ldq q0, [a0]
        add q1, q0, q0
        stq q1, [a0 + 16]
        stop
";

#[test]
fn assemble_disassemble_assemble() {
    let bench = Bench::new();
    bench.write("k.s", ALONE);
    let json = bench.cp2("asm k.s --json").works().json();
    assert_eq!(
        (json["words"].as_u64(), json["output"].as_str()),
        (Some(5), Some("k.elf"))
    );
    assert!(!json["warnings"].as_array().unwrap().is_empty());
    bench.cp2("disasm k.elf -o k2.s").works();
    bench.cp2("asm k2.s -o k2.elf").works();
    let words = |name: &str| {
        bench.cp2(&format!("disasm {name} --json")).works().json()["words"]
            .as_array()
            .unwrap()
            .iter()
            .map(|w| w["bits"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(words("k.elf"), words("k2.elf"));
    assert!(
        bench
            .cp2("disasm k.elf --sources --addresses")
            .works()
            .out
            .contains("k.s:6")
    );
}

#[test]
fn bad_sources_and_objects_are_explained() {
    let bench = Bench::new();
    bench.write(
        "k.s",
        "        ad q0, q1, q2\n        add r0, r1\n        stop\n",
    );
    let ended = bench.cp2("asm k.s --json");
    ended.fails(2, &["k.s:1:9", "k.s:2:", "add"]);
    let json = ended.json();
    assert_eq!(
        (json["schema"].as_str(), json["exit"].as_u64()),
        (Some("cp2-error/1"), Some(2))
    );
    assert!(json["details"].as_array().unwrap().len() >= 2);
    bench.refuses(&[
        ("asm missing.s", &["missing.s"]),
        ("asm .", &["is a directory"]),
        ("asm k.s -o k.s", &["also an input"]),
        ("asm k.s -D =", &[]),
    ]);
    bench.write("binary.s", [0xff, 0xfe, 0x00]);
    bench.cp2("asm binary.s").fails(2, &["UTF-8"]);
    bench.write("empty.elf", "");
    for command in ["disasm", "run"] {
        bench.refuses(&[
            (&format!("{command} empty.elf"), &["empty.elf"]),
            (&format!("{command} k.s"), &["k.s"]),
        ]);
    }
    bench.write("k.s", ALONE);
    bench.cp2("asm k.s").works();
    let mut elf = bench.read("k.elf");
    for cut in [1, 64, elf.len() / 2, elf.len() - 1] {
        bench.write("cut.elf", &elf[..cut]);
        bench.cp2("run cut.elf").fails(2, &["cut.elf"]);
    }
    elf[18] ^= 1;
    bench.write("other.elf", &elf);
    bench.cp2("run other.elf").fails(2, &["machine"]);
}

#[test]
fn run_loads_and_dumps() {
    let bench = Bench::new();
    bench.write("k.s", ALONE);
    bench.cp2("asm k.s").works();
    let text = bench
        .cp2("run k.elf --dump-dmem 16:16 --dump-registers --check")
        .works()
        .out
        .clone();
    assert!(
        text.contains("0x0010  2  4  6  8") && text.contains("r1"),
        "{text}"
    );
    // One row for each section.
    let rows: Vec<f32> = (0..16).map(|i| i as f32).collect();
    bench.write("x.npy", npy("<f4", "False", "(4, 4)", &bytes(&rows)));
    let json = bench
        .cp2("run k.elf --dmem 0=x.npy --dump-dmem 16:16=y.npy --dump-dmem 0:4 --json")
        .works()
        .json();
    let doubled: Vec<f32> = rows.iter().map(|x| 2.0 * x).collect();
    assert_eq!(lanes(&bench.read("y.npy")), doubled);
    assert_eq!(json["dmem"].as_array().unwrap().len(), 2);
    let causes: u64 = json["causes"]
        .as_object()
        .unwrap()
        .values()
        .map(|v| v.as_u64().unwrap())
        .sum();
    assert_eq!(Some(causes), json["cycles"].as_u64());
    bench.write("three.npy", npy("<f4", "False", "(3, 4)", &[0; 48]));
    bench.refuses(&[
        (
            "run k.elf --dmem 0=three.npy",
            &["3 rows", "one per section"],
        ),
        ("run k.elf --dmem 8=x.npy", &["16"]),
        ("run k.elf --dmem 0x10000=x.npy", &[]),
        ("run k.elf --dump-dmem 0:4294967292", &["DMEM ends"]),
        ("run k.elf --dump-dmem nonsense", &["ADDR:BYTES"]),
    ]);
}

#[test]
fn guests_that_misbehave_end_cleanly() {
    let bench = Bench::new();
    bench.write(
        "fault.s",
        "        movi a0, 8\n        ldq q0, [a0]\n        stop\n",
    );
    bench.cp2("asm fault.s").works();
    let ended = bench.cp2("run fault.elf --json --trace t.json --profile");
    ended.fails(3, &["guest fault", "fault.s:2", "cycle"]);
    assert_eq!(ended.json()["end"].as_str(), Some("fault"));
    assert!(
        ended.json()["profile"].is_array() && bench.path("t.json").is_file(),
        "profile and trace are kept"
    );
    bench.write("spin.s", "again:  jmp again\n        stop\n");
    bench.cp2("asm spin.s").works();
    bench
        .cp2("run spin.elf --max-cycles 10000")
        .fails(3, &["limit of 10000 cycles", "pc"]);
    bench.write("wait.s", "        wait 3\n        stop\n");
    bench.cp2("asm wait.s").works();
    bench
        .cp2("run wait.elf")
        .fails(3, &["deadlock", "event 3", "wait.s:1"]);
    bench.write("unwritten.s", "        add r1, r2, r3\n        stop\n");
    bench.cp2("asm unwritten.s").works();
    bench.cp2("run unwritten.elf").works();
    bench
        .cp2("run unwritten.elf --check")
        .fails(1, &["register r2", "unwritten.s:1"]);
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_with_a_dump() {
    let bench = Bench::new();
    bench.write("spin.s", "again:  jmp again\n        stop\n");
    bench.cp2("asm spin.s").works();
    let (code, err) = interrupted(bench.command("run spin.elf"));
    assert_eq!(code, Some(3), "{err}");
    assert!(
        err.contains("interrupted") && err.contains("cycle"),
        "{err}"
    );
}

#[test]
fn map_pages_an_array_of_any_length() {
    let bench = Bench::new();
    bench.write("double.s", DOUBLE);
    for blocks in [1, 3, 4, 1023, 20_000] {
        let x: Vec<f32> = (0..4 * blocks).map(|i| i as f32).collect();
        bench.write(
            "x.npy",
            npy("<f4", "False", &format!("({},)", x.len()), &bytes(&x)),
        );
        let json = bench
            .cp2("map double.s --input x.npy --output y.npy --block 4 --check --json")
            .works()
            .json();
        assert_eq!(json["blocks"].as_u64(), Some(blocks as u64));
        let y = lanes(&bench.read("y.npy"));
        assert!(y.len() == x.len() && y.iter().zip(&x).all(|(y, x)| *y == 2.0 * x));
    }
    bench.refuses(&[
        (
            "map double.s --input x.npy --output y.npy --block 5",
            &["20 B", "no multiple of 16 B", "take 8 columns"],
        ),
        (
            "map double.s --input x.npy --output y.npy --block 0",
            &["--block 0"],
        ),
        (
            "map double.s --input x.npy --output y.npy --block 18446744073709551615",
            &["--block"],
        ),
        (
            "map double.s --input x.npy --output y.npy --block 80000",
            &["65536"],
        ),
        (
            "map double.s --input x.npy --output x.npy --block 4",
            &["also an input"],
        ),
        (
            "map double.s --input x.npy --output double.s --block 4",
            &[".npy"],
        ),
        (
            "map double.s --input x.npy --output y.npy --block 4 --arg x",
            &["--arg"],
        ),
        (
            "map double.s --input x.npy --output y.npy --block 4x4",
            &["x.npy", "1 dimensions", "--block 4x4"],
        ),
        (
            "map double.s --input x.npy --output y.npy --block 4 --halo 1x1",
            &["--halo 1x1"],
        ),
        (
            "map double.s --input x.npy --output y.npy --block 4 --edge wrap",
            &["zero, clamp or periodic"],
        ),
        (
            "map double.s --input x.npy --output y.npy --block 4 --tolerance 1",
            &["--expect"],
        ),
        ("map double.s --output y.npy --block 4", &["--input"]),
    ]);
}

#[test]
fn map_compares_with_what_is_expected() {
    let bench = Bench::new();
    bench.write("double.s", DOUBLE);
    let x: Vec<f32> = (0..37).map(|i| i as f32).collect();
    let mut y: Vec<f32> = x.iter().map(|x| 2.0 * x).collect();
    let array = |x: &[f32]| npy("<f4", "False", &format!("({},)", x.len()), &bytes(x));
    bench.write("x.npy", array(&x));
    bench.write("right.npy", array(&y));
    y[30] += 1.0;
    bench.write("wrong.npy", array(&y));
    bench.write("short.npy", array(&y[1..]));
    let map = "map double.s --input x.npy --output y.npy --block 4 --check";
    // The array is no whole number of blocks, nor of granules.
    let out = bench
        .cp2(&format!("{map} --expect right.npy"))
        .works()
        .out
        .clone();
    assert!(out.contains("as expected"), "{out}");
    let out = bench
        .cp2(&format!("{map} --expect wrong.npy --tolerance 0.02"))
        .works()
        .out
        .clone();
    assert!(out.contains("as expected"), "{out}");
    let run = bench.cp2(&format!("{map} --expect wrong.npy --tolerance 0.01 --json"));
    assert_eq!(run.code, 1, "{}", run.err);
    let compared = &run.json()["compared"][0];
    assert_eq!(
        (
            compared["wrong"].as_u64(),
            compared["worst"]["index"].as_u64()
        ),
        (Some(1), Some(30))
    );
    bench.refuses(&[(&format!("{map} --expect short.npy"), &["short.npy", "[37]"])]);
    let out = bench.cp2(map).works().out.clone();
    assert!(out.contains("not judged"), "{out}");
}

#[test]
fn machines_are_shown_and_reloaded() {
    let bench = Bench::new();
    assert!(bench.cp2("machines").works().out.contains("vm9"));
    assert_eq!(
        bench.cp2("machines --json").works().json()["machines"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let shown = bench.cp2("machines show vm7").works().out.clone();
    assert!(shown.contains("assumed") && shown.contains("fact") && shown.contains("MHz"));
    let vm7 = bench.cp2("machines show vm7 --json").works().json();
    bench.write(
        "same.toml",
        bench.cp2("machines show vm7 --toml").works().out.clone(),
    );
    assert_eq!(
        bench.cp2("machines show same.toml --json").works().json()["hash"],
        vm7["hash"]
    );
    // A change of one parameter gives other cycles and the same bits.
    bench.write("slow.toml", "base = \"vm7\"\n[dma]\nbandwidth = { value = 8, unit = \"B/cycle\", source = \"assumed\" }\n");
    let run = |machine: &str| {
        let json = bench
            .cp2(&format!(
                "fft --n 64 --batch 16 --machine {machine} --output y.npy --json"
            ))
            .works()
            .json();
        (json["cycles"].as_u64().unwrap(), bench.read("y.npy"))
    };
    let (fast, slow) = (run("vm7"), run("slow.toml"));
    assert!(slow.0 > fast.0 && slow.1 == fast.1);
    bench.write("bad.toml", "base = \"vm7\"\n[cp2]\nlatencyy = 3\n");
    bench.refuses(&[
        ("fft --machine bad.toml", &["bad.toml:3"]),
        ("machines show .", &[]),
    ]);
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_a_quiet_end() {
    let bench = Bench::new();
    for line in [
        "machines show vm7",
        "--help",
        "fft --n 16 --batch 4 --json",
        "machines --json",
    ] {
        let mut child = bench
            .command(line)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
    }
}

#[test]
fn help_and_version_are_no_errors() {
    let bench = Bench::new();
    assert!(bench.cp2("--version").works().out.starts_with("cp2 "));
    for command in [
        "asm", "disasm", "run", "map", "machines", "fft", "demo", "schedule",
    ] {
        assert!(
            bench
                .cp2(&format!("{command} --help"))
                .works()
                .out
                .contains("--json"),
            "{command}"
        );
    }
    bench.cp2("").fails(2, &["Usage"]);
}

#[cfg(unix)]
#[test]
fn unreadable_files_are_named() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    bench.write("x.npy", "x");
    std::fs::set_permissions(bench.path("x.npy"), std::fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser can read the file in spite of its mode, and finds that it is no array.
    bench.refuses(&[
        ("fft --input x.npy", &["x.npy"]),
        ("fft --input /dev/zero", &["/dev/zero"]),
    ]);
    std::os::unix::fs::symlink(bench.folder().join("nowhere"), bench.path("dangling.npy")).unwrap();
    bench
        .cp2("fft --input dangling.npy")
        .fails(2, &["dangling.npy"]);
    std::os::unix::fs::symlink("/dev/zero", bench.path("zero.npy")).unwrap();
    bench
        .cp2("fft --input zero.npy")
        .fails(2, &["no .npy file"]);
}

#[cfg(unix)]
#[test]
fn names_that_are_no_text_work() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let bench = Bench::new();
    let name = OsStr::from_bytes(b"k\xff.s");
    std::fs::write(bench.folder().join(name), ALONE).unwrap();
    let output = bench
        .command("asm --json")
        .arg(name)
        .arg("-o")
        .arg(OsStr::from_bytes(b"\xfe.elf"))
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["input"].as_str(), Some("k\u{fffd}.s"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_or_missing_terminal_is_no_panic() {
    let bench = Bench::new();
    let full = || {
        std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    let output = bench.command("machines").stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("standard output"));
    let status = bench
        .command("asm missing.s")
        .stderr(full())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
    bench
        .cp2("fft --n 16 --batch 1 --output /dev/full")
        .fails(2, &[]);
    bench.write("x.npy", npy("<c8", "False", "(16,)", &[0; 128]));
    bench
        .cp2("fft --n 16 --input x.npy --trace /dev/null")
        .fails(2, &[".json"]);
}

#[test]
fn assembling_never_harms_a_source() {
    let bench = Bench::new();
    bench.write("part.s", "        nop\n");
    bench.write("k.s", "        .include \"part.s\"\n        stop\n");
    bench.cp2("asm k.s -o part.s").fails(2, &["also an input"]);
    assert_eq!(bench.read("part.s"), b"        nop\n");
    bench.cp2("asm k.s -o k.elf").works();
    let before = bench.read("k.elf");
    bench.write("k.s", "        nonsense\n");
    bench.cp2("asm k.s -o k.elf").fails(2, &["nonsense"]);
    assert_eq!(bench.read("k.elf"), before);
}

#[test]
fn a_constant_is_defined_once_and_in_full() {
    let bench = Bench::new();
    bench.write("k.s", "        movi a0, N\n        stop\n");
    bench.cp2("asm k.s -D N=1").works();
    bench.refuses(&[
        ("asm k.s -D N=1 -D N=2", &["N", "twice"]),
        ("asm k.s -D N=1x", &["`1x` is no number"]),
    ]);
}

#[test]
fn argument_words_may_be_negative() {
    let bench = Bench::new();
    bench.write(
        "add.s",
        "; adds words 4 and 5 to every pair of integers; a block is four
        .include \"page.s\"
        page_begin
        ldx2 a0, [a15]
        ldx c0, [a15 + 8]
        ldd q1, [a15 + 16]
        loop c0 {
            ldq q0, [a0]+16
            iadd q0, q0, q1
            stq q0, [a1]+16
        }
        page_end
        stop
",
    );
    let ints = |x: [i32; 4]| x.iter().flat_map(|i| i.to_le_bytes()).collect::<Vec<_>>();
    let x = npy("<i4", "False", "(4,)", &ints([5, 6, 7, 8]));
    bench.write("x.npy", x);
    bench
        .cp2("map add.s --input x.npy --output y.npy --block 4 --arg -1 --arg 0x10 --check")
        .works();
    let y = bench.read("y.npy");
    assert!(y.ends_with(&ints([4, 22, 6, 24])), "{y:?}");
}

/// A row of a machine file may not take the name of an instruction, which programs would then not mean.
#[test]
fn rows_with_names_of_instructions_are_refused_where_a_machine_is_loaded() {
    let bench = Bench::new();
    let row = "mnemonic = \"madd\"\nform = \"P2\"\nclass = \"integer\"\nlanes = \"d[i] = a[i]\"\n";
    let text = format!("base = \"vm7\"\n[[row]]\n{row}");
    bench.write("mine.toml", &text);
    let said: &[&str] = &["mine.toml", "`madd`", "mnemonic of an instruction"];
    bench.refuses(&[
        ("machines show mine.toml", said),
        ("machines diff vm7 mine.toml", said),
        (
            "whatif --machine mine.toml --kernels fft:n=64:batch=8",
            said,
        ),
        ("fft --n 64 --batch 8 --machine mine.toml+exchange", said),
    ]);
    bench.write("mine.toml", text.replace("madd", "mine"));
    bench.cp2("machines show mine.toml").works();
}
