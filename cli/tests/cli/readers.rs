//! Tests of files from other programs, and of files that are refused by name.

use crate::bench::{Bench, Ended, lanes, npy, wav};
use std::process::Stdio;

/// A recording with 24 valid bits at the top of 32-bit words is read as the signal it holds.
#[test]
fn recordings_are_the_signals_that_they_are() {
    let bench = Bench::new();
    // A cosine of 16 turns in 64 samples, with an amplitude that 16 bits hold exactly.
    let turn: Vec<i16> = (0..8).map(|i| [64, 0, -64, 0][i % 4] * 256).collect();
    let samples: Vec<i16> = turn.iter().cycle().copied().take(64).collect();
    let plain = wav(8000, &samples);
    bench.write("plain.wav", &plain);
    let mut wide = plain[..16].to_vec();
    wide.extend(
        b"\x28\0\0\0\xfe\xff\x01\0\x40\x1f\0\0\0\x7d\0\0\x04\0\x20\0\x16\0\x18\0\x04\0\0\0",
    );
    wide.extend(b"\x01\0\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71LIST\x05\0\0\0odd\0\0\0data");
    wide.extend(u32::MAX.to_le_bytes());
    wide.extend(
        samples
            .iter()
            .flat_map(|&s| (i32::from(s) << 16).to_le_bytes()),
    );
    bench.write("wide.wav", &wide);
    let fft = |name: &str| {
        let line = format!("fft --input {name} --n 64 --hop 64 --window rect --output y.npy");
        bench.cp2(&line).works();
        lanes(&bench.read("y.npy"))
    };
    let found = fft("wide.wav");
    assert_eq!(found, fft("plain.wav"));
    let size = |k: usize| found[2 * k].hypot(found[2 * k + 1]);
    assert_eq!(
        [16, 48].map(size),
        [16.0, 16.0],
        "half of full scale, 32 times"
    );
    assert!((0..64).all(|k| [16, 48].contains(&k) || size(k) < 1e-5));
    // A truncated recording gives a warning.
    bench.write("cut.wav", &plain[..100]);
    let ended = bench.cp2("fft --input cut.wav --n 16 --window rect");
    assert!(
        ended
            .works()
            .err
            .contains("cut.wav: the file ends behind 56 of 128 bytes"),
        "{}",
        ended.err
    );
    // A frame of one sample is not weighted to zero.
    bench
        .cp2("fft --input plain.wav --n 1 --window hann --output y.npy")
        .works();
    assert_eq!(lanes(&bench.read("y.npy"))[0], 0.5);
}

fn shows_no_control_characters(ended: &Ended) {
    for text in [&ended.out, &ended.err] {
        let hidden =
            |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!text.contains(hidden), "{text:?}");
    }
}

/// Control characters in names and contents of files are shown, not sent to the terminal.
#[test]
fn no_file_talks_to_the_terminal() {
    let bench = Bench::new();
    const BELL: &str = "\x1b]0;owned\x07\r\u{9b}31m\u{202e}";
    let head = "%%MatrixMarket matrix coordinate real general\n";
    bench.write("m.mtx", format!("{head}1 1 1\n1 1 {BELL}\n"));
    bench.write("p.txt", format!("0 0 {BELL}\n"));
    bench.write("j.toml", format!("[arrays.\"{BELL}\"]\n"));
    bench.write("k.s", format!(" stop {BELL}\n"));
    bench.write("m.toml", format!("base = \"{BELL}\"\n"));
    bench.write(
        "x.npy",
        npy(&format!("<f8{BELL}"), "False", "(16,)", &[0; 128]),
    );
    bench.write("x.elf", format!("\x7fELF{BELL}"));
    bench.write("good.mtx", format!("{head}1 1 1\n1 1 2\n"));
    let named = format!("{BELL}.npy");
    let works = ["spmv", "--matrix", "good.mtx", "--output", &named];
    let of = |words: &[&str]| {
        let output = bench.command("").args(words).output().unwrap();
        Ended {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    };
    for words in [
        &["spmv", "--matrix", "m.mtx"][..],
        &["stencil", "--points", "p.txt", "--shape", "8x8"],
        &["job", "run", "j.toml"],
        &["asm", "k.s"],
        &["schedule", "k.s"],
        &["fft", "--machine", "m.toml", "--n", "16"],
        &["fft", "--input", "x.npy", "--n", "16"],
        &["disasm", "x.elf"],
        &["spmv", "--matrix", BELL],
        &["fft", "--n", BELL],
        &[BELL],
    ] {
        let ended = of(words);
        ended.fails(2, &[]);
        shows_no_control_characters(&ended);
        let mut words = words.to_vec();
        words.push("--json");
        let ended = of(&words);
        shows_no_control_characters(&ended);
        assert_eq!(ended.json()["exit"], 2);
    }
    assert!(
        bench
            .cp2("spmv --matrix m.mtx")
            .err
            .contains("carriage return alone")
    );
    // Successful commands name their files, too.
    let ended = of(&works);
    shows_no_control_characters(ended.works());
    assert!(
        ended.out.contains("\\u001b]0;owned\\u0007"),
        "{}",
        ended.out
    );
    let ended = of(&[&works[..], &["--json"]].concat());
    shows_no_control_characters(ended.works());
    assert_eq!(ended.json()["output"].as_str(), Some(&*named));
}

/// Texts with a byte order mark are read; UTF-16 is named in the refusal; a carriage return alone ends no
/// line.
#[test]
fn encodings_of_texts() {
    let bench = Bench::new();
    let matrix = "%%MatrixMarket matrix coordinate unsigned-integer general\n1 1 1\n1 1 2\n";
    let points = "0 0 0.5\n0 1 0.25\n";
    let kernel = " stop\n";
    let machine = "base = \"vm7\"\n";
    for (file, text, line) in [
        ("m.mtx", matrix, "spmv --matrix m.mtx"),
        ("p.txt", points, "stencil --points p.txt --shape 64x64"),
        ("k.s", kernel, "asm k.s"),
        ("i.s", kernel, "asm k.s"),
        ("m.toml", machine, "fft --n 16 --batch 4 --machine m.toml"),
    ] {
        if file == "i.s" {
            bench.write("k.s", ".include \"i.s\"\n");
        }
        for text in [text.to_owned(), format!("\u{feff}{text}")] {
            bench.write(file, &text);
            bench.cp2(line).works();
            for order in [u16::to_le_bytes, u16::to_be_bytes] {
                let wide: Vec<u8> = text.encode_utf16().flat_map(order).collect();
                bench.write(file, wide);
                bench.cp2(line).fails(2, &[file, "UTF-16"]);
            }
        }
    }
    bench.write("p.txt", "0 0 0.5\r0 1 0.25\r");
    bench.cp2("stencil --points p.txt --shape 64x64").fails(
        2,
        &["p.txt:1: a carriage return alone; expected line feeds"],
    );
    bench.write(
        "j.toml",
        "\u{feff}[arrays.x]\ninput = \"none.npy\"\n[[pass]]\nkernel = \"k.s\"\nblock = [16]\n",
    );
    let ended = bench.cp2("job run j.toml");
    ended.fails(2, &[]);
    assert!(!ended.err.contains("feff"), "{}", ended.err);
}

/// Arrays as Python 2 wrote them are read; the advice for other arrays matches what NumPy does.
#[test]
fn arrays_as_numpy_writes_them() {
    let bench = Bench::new();
    bench.write("x.npy", npy("<c8", "False", "(16L,)", &[0; 128]));
    bench.cp2("fft --n 16 --input x.npy").works();
    let dict =
        "{'descr': [('re', '<f4'), ('im', '<f4')], 'fortran_order': False, 'shape': (16,), }\n";
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((dict.len() as u16).to_le_bytes());
    file.extend(dict.as_bytes());
    file.extend([0; 128]);
    bench.write("x.npy", &file);
    bench
        .cp2("fft --n 16 --input x.npy")
        .fails(2, &["no record: in NumPy, x.view('complex64')"]);
    bench.write(
        "m.mtx",
        "%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n1 1 2\n",
    );
    bench
        .cp2("solve --matrix m.mtx --rhs x.npy --method cg")
        .fails(
            2,
            &["in NumPy, one of its fields, as in x['re'].astype('float32')"],
        );
    bench.write("x.npy", npy("<c8", "False", "(1,)", &[0; 8]));
    bench
        .cp2("solve --matrix m.mtx --rhs x.npy --method cg")
        .fails(
            2,
            &["in NumPy, x.real.astype('float32'), or x.imag.astype('float32')"],
        );
}

/// An object file is named after a regular file, never after a pipe.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_lends_its_name_to_no_object() {
    let bench = Bench::new();
    bench.write("k.s", " stop\n");
    let from_stdin = |line: &str| {
        let source = std::fs::File::open(bench.path("k.s")).unwrap();
        let output = bench
            .command(line)
            .stdin(Stdio::from(source))
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    for name in ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"] {
        let (code, said) = from_stdin(&format!("asm {name}"));
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("name the object with -o FILE"), "{said}");
        assert_eq!(from_stdin(&format!("asm {name} -o k.elf")).0, Some(0));
    }
    bench.cp2("asm /dev/null").fails(2, &["-o FILE"]);
    bench.cp2("asm .").fails(2, &["is a directory"]);
    bench.cp2("asm none.s").fails(2, &["none.s: cannot open"]);
    bench.cp2("asm k.s").works();
    assert_eq!(bench.files(), ["k.elf", "k.s"]);
}

/// Inputs without end, without contents, or that are folders give an error of each reader, without delay.
#[cfg(target_os = "linux")]
#[test]
fn inputs_that_are_no_files() {
    let bench = Bench::new();
    for (device, what) in [
        ("/dev/zero", "zero"),
        ("/dev/null", "empty"),
        (".", "folder"),
    ] {
        for ending in ["npy", "wav", "mtx", "toml", "txt", "s", "elf"] {
            std::os::unix::fs::symlink(device, bench.path(&format!("{what}.{ending}"))).unwrap();
        }
    }
    for what in ["zero", "empty", "folder"] {
        for line in [
            "fft --n 16 --input WHAT.npy",
            "fft --n 16 --input WHAT.wav",
            "spmv --matrix WHAT.mtx",
            "solve --matrix WHAT.mtx --rhs WHAT.npy --method cg",
            "fft --n 16 --machine WHAT.toml",
            "job run WHAT.toml",
            "stencil --shape 8x8 --points WHAT.txt",
            "disasm WHAT.elf",
            "asm WHAT.s -o k.elf",
        ] {
            let line = line.replace("WHAT", what);
            if line == "asm empty.s -o k.elf" {
                continue;
            }
            bench.cp2(&line).fails(2, &[what]);
        }
    }
}

/// Private results stay private; an output through a link goes to the link's target, whether the target
/// exists or not.
#[cfg(unix)]
#[test]
fn outputs_stay_where_and_as_they_are() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    let line = "fft --n 16 --batch 1 --output s.npy";
    bench.write("s.npy", "");
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(bench.path("s.npy"), private).unwrap();
    bench.cp2(line).works();
    let mode = bench.path("s.npy").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    std::fs::rename(bench.path("s.npy"), bench.path("known.npy")).unwrap();
    std::os::unix::fs::symlink("real.npy", bench.path("s.npy")).unwrap();
    bench.cp2(line).works();
    assert!(bench.path("s.npy").is_symlink());
    assert_eq!(bench.read("real.npy"), bench.read("known.npy"));
    let twice = "run k.elf --dump-dmem 0:16=s.npy --dump-dmem 0:16=real.npy";
    bench.write("k.s", " stop\n");
    bench.cp2("asm k.s").works();
    bench
        .cp2(twice)
        .fails(2, &["real.npy: named for two outputs"]);
}
