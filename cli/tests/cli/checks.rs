//! Tests of checkers, ends, and refusals that name what is wrong.
//!
//! They cover kernels that access memory outside of their own, ends that say what a kernel lacks, refusals
//! that say what a machine lacks, and files that must not be left behind.

use crate::bench::{Bench, bytes, lanes, npy};
use std::path::Path;

/// Makes a page kernel that doubles blocks of 16 bytes and executes `more` for each, in line 7.
fn kernel(more: &str) -> String {
    format!(
        ".include \"page.s\"
        page_begin
        ldx2 a0, [a15]
        ldx c0, [a15 + 8]
        movi a2, 40960
        loop c0 {{
        {more}
        ldq q0, [a0]+16
        add q1, q0, q0
        stq q1, [a1]+16
        }}
        page_end
        stop
"
    )
}

fn bench(more: &str) -> Bench {
    let bench = Bench::new();
    bench.write("k.s", kernel(more));
    let x: Vec<f32> = (0..4 * 160).map(|i| i as f32).collect();
    bench.write("x.npy", npy("<f4", "False", "(640,)", &bytes(&x)));
    bench
}

const MAP: &str = "map k.s --input x.npy --output y.npy --block 4 --page 4 --buffering double";

#[test]
fn kernels_are_held_to_what_is_theirs() {
    bench("nop").cp2(&format!("{MAP} --check")).works();
    for (more, words) in [
        ("ldq q2, [a0]", "another page"),
        ("ldq q2, [a2]", "scratch"),
        ("stq q0, [a2]", "scratch"),
        ("stq q0, [a15]", "argument block"),
    ] {
        // Registers are written before they are stored, so that the checker has no other finding.
        let more = match more.starts_with("st") {
            true => format!("lif r0, 1.0\n        lif r1, 1.0\n        {more}"),
            false => format!("{more}\n        nop\n        nop"),
        };
        let more = &more.replace("ldq q2, [a0]", "ldq q2, [a0 + 16]");
        let bench = bench(more);
        let place = if more.contains("lif") {
            "k.s:9"
        } else {
            "k.s:7"
        };
        let ended = bench.cp2(&format!("{MAP} --check"));
        let code = if words == "argument block" {
            None
        } else {
            Some(1)
        };
        assert!(code.is_none_or(|code| ended.code == code), "{}", ended.err);
        assert!(ended.err.contains(words), "{words}: {}", ended.err);
        assert!(ended.err.contains(place), "{words}: {}", ended.err);
    }
}

/// The page loop faults because of a store that a kernel made before.
#[test]
fn an_overwritten_argument_block_is_named() {
    let more = "lif r0, 1024.0\n        lif r1, 1024.0\n        stq q0, [a15 - 16]";
    let bench = bench(more);
    bench
        .cp2(MAP)
        .fails(3, &["page.s", "--check names a store"]);
    let ended = bench.cp2(&format!("{MAP} --check"));
    ended.fails(
        3,
        &[
            "overwrites an argument block",
            "k.s:9",
            "see the check below",
        ],
    );
}

/// The kernel itself faults, by an address from the overwritten argument block.
#[test]
fn an_address_from_an_overwritten_argument_block_is_named() {
    let more = "lif r0, 1024.0
        lif r1, 1024.0
        stq q0, [a15]
        ldx a0, [a15]
        nop
        nop
        nop
        nop
        nop
        nop";
    let bench = bench(more);
    let ended = bench.cp2(MAP);
    ended.fails(
        3,
        &[
            "k.s:",
            "its argument block was overwritten",
            "--check names",
        ],
    );
    assert!(!ended.err.contains("page.s:"), "{}", ended.err);
    // A kernel's own fault is unrelated to argument blocks.
    let ended = self::bench("movi a0, 1").cp2(MAP);
    ended.fails(3, &["k.s:"]);
    assert!(!ended.err.contains("argument block"), "{}", ended.err);
}

/// The checkers find an output block that is not written completely; without them nothing shows it.
#[test]
fn an_output_block_that_is_not_whole_is_found() {
    let bench = bench("nop");
    let map = "map k.s --input x.npy --output y.npy --block 8 --page 1";
    bench.cp2(map).works();
    let words = ["unwritten at page 0", "byte 16 of row 0"];
    bench.cp2(&format!("{map} --check")).fails(1, &words);
}

/// The report of a pass without room for two pages says so, and how many bytes are missing.
#[test]
fn a_pass_of_one_page_at_a_time_says_what_is_missing() {
    let bench = bench("nop");
    let x: Vec<f32> = vec![1.0; 72_000];
    bench.write("long.npy", npy("<f4", "False", "(72000,)", &bytes(&x)));
    let map = "map k.s --input long.npy --output y.npy --block 6000";
    let said = bench.cp2(map);
    assert!(
        said.works().out.contains("k: one page at a time"),
        "{}",
        said.out
    );
    let json = bench.cp2(&format!("{map} --json"));
    let json = json.works().json();
    // Two input and two output blocks of 24,000 B each, and their arguments.
    let short = json["single_buffered"][0]["bytes_short"].as_u64().unwrap();
    assert!(
        (96_000 - 65_536..97_000 - 65_536).contains(&short),
        "{short}"
    );
    assert_eq!(json["buffering"], 1);
    // Single buffering was requested, or there is room for two pages.
    for how in ["--block 6000 --buffering single", "--block 3000"] {
        let map = format!("map k.s --input long.npy --output y.npy {how} --json");
        let json = bench.cp2(&map).works().json();
        assert_eq!(
            json["single_buffered"].as_array().unwrap().len(),
            0,
            "{how}"
        );
    }
    let text = "[arrays.x]\ninput = \"long.npy\"\n[arrays.y]\nshape = [72000]\noutput = \"y.npy\"\n[[pass]]\nkernel = \"k.s\"\nblock = [6000]\ninputs = [{ array = \"x\" }]\noutputs = [{ array = \"y\" }]\n";
    bench.write("job.toml", text);
    let said = bench.cp2("job run job.toml");
    assert!(
        said.works().out.contains("k: one page at a time"),
        "{}",
        said.out
    );
}

/// Rows of whole granules take an additional pass for a clamped edge, and for nothing else.
#[test]
fn a_clamped_edge_along_rows_is_named() {
    let bench = bench("nop");
    let x: Vec<f32> = vec![1.0; 640];
    bench.write("rows.npy", npy("<f4", "False", "(4, 160)", &bytes(&x)));
    let map = "map k.s --input rows.npy --output y.npy --block 1x16 --halo 0x4";
    let said = bench.cp2(&format!("{map} --edge clamp"));
    assert!(
        said.works()
            .out
            .contains("1 pass more makes the clamped edges along rows"),
        "{}",
        said.out
    );
    assert!(!said.out.contains("no multiple of"), "{}", said.out);
    for edge in ["zero", "periodic"] {
        let said = bench.cp2(&format!("{map} --edge {edge}"));
        assert!(!said.works().out.contains("pass more"), "{}", said.out);
    }
}

#[test]
fn deadlocks_say_since_when_and_what_to_add() {
    let bench = bench("nop");
    bench.write("k.s", ".program\n        wait 0\n        stop\n");
    bench
        .cp2(MAP)
        .fails(3, &["deadlock since cycle", "`page_begin`", "`page_end`"]);
    let json = bench.cp2(&format!("{MAP} --json")).json();
    assert!(json["cycles"].as_u64().unwrap() < 2000, "{json}");
    assert_eq!(json["end_details"]["since"], json["cycles"]);
}

#[test]
fn refusals_name_what_the_machine_lacks() {
    let bench = Bench::new();
    let deal = "base = \"vm7\"\n[dma]\ndeal = { value = 8, unit = \"B\" }\ngranule = { value = 8, unit = \"B\" }\n";
    bench.write("fine.toml", deal);
    let small = "base = \"vm7\"\n[cp2]\ndmem = { value = 32, unit = \"KiB\" }\n";
    bench.write("small.toml", small);
    for n in [1009, 10_000] {
        let line = format!("fft --n {n} --batch 4 --machine fine.toml");
        bench.cp2(&line).fails(
            2,
            &[
                &n.to_string(),
                "deals 8 bytes to a section at a time, expected 16",
            ],
        );
    }
    let plan = bench.cp2("fft --n 4096 --batch 8 --plan --machine small.toml");
    plan.works();
    let said = "not taken: hand-written kernel: ";
    assert!(
        plan.out.contains(said) && plan.out.contains("local memory"),
        "{}",
        plan.out
    );
    let json = bench
        .cp2("fft --n 4096 --batch 8 --plan --machine small.toml --json")
        .json();
    assert_eq!(json["refused"][0]["kind"], "hand-written kernel", "{json}");
}

/// A file beyond the user's limit is a write error, and no part of it stays.
#[cfg(unix)]
#[test]
fn nothing_is_left_of_a_file_that_is_too_large() {
    let bench = Bench::new();
    let mut command = std::process::Command::new("sh");
    let cp2 = env!("CARGO_BIN_EXE_cp2");
    let line = format!("ulimit -f 8 && exec '{cp2}' fft --n 1024 --batch 16 --output y.npy");
    command.args(["-c", &line]).current_dir(bench.folder());
    let ended = command.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(said.contains("y.npy"), "{said}");
    assert_eq!(
        std::fs::read_dir(bench.folder()).unwrap().count(),
        0,
        "{said}"
    );
}

/// Returns the assembly text that a document writes into a file.
fn documented_kernel(document: &str, file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../docs")
        .join(document);
    let text = std::fs::read_to_string(path).unwrap();
    let begin = format!("cat > {file} <<'END'\n");
    let (_, rest) = text.split_once(&begin).unwrap();
    rest.split_once("\nEND\n").unwrap().0.to_owned() + "\n"
}

/// The documented reductions, whose sections store their results a granule apart, are right for every granule
/// size and give no findings.
#[test]
fn kernels_of_the_documents_are_right_on_every_granule() {
    let bench = Bench::new();
    let x: Vec<f32> = (0..777).map(|i| (i % 19) as f32 - 11.0).collect();
    let y: Vec<f32> = (0..777).map(|i| (i % 5) as f32).collect();
    for (name, values) in [("x", &x), ("y", &y)] {
        bench.write(
            &format!("{name}.npy"),
            npy("<f4", "False", "(777,)", &bytes(values)),
        );
    }
    bench.write("dot.s", documented_kernel("arrays.md", "dot.s"));
    bench.write("largest.s", documented_kernel("cookbook.md", "largest.s"));
    let dot: f32 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
    for granule in [4, 8, 16, 32, 64] {
        bench.write(
            "m.toml",
            format!("base = \"vm7\"\n[dma]\ngranule = {{ value = {granule}, unit = \"B\" }}\n"),
        );
        for (line, expected) in [
            ("dot.s --input x.npy --input y.npy", dot),
            ("largest.s --input x.npy", 11.0),
        ] {
            let line = format!(
                "map {line} --block 64 --reduce --check --output r.npy --machine m.toml --json"
            );
            let json = bench.cp2(&line).works().json();
            assert_eq!(
                json["findings"].as_array().map(Vec::len),
                Some(0),
                "{granule}: {line}"
            );
            assert_eq!(lanes(&bench.read("r.npy")), [expected], "{granule}: {line}");
        }
    }
}
