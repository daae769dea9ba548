//! Tests of listings, profiles, chains of macros, and warnings about registers.

use crate::bench::{Bench, npy};
use serde_json::Value;

/// A kernel of pages: macros and repetitions in a loop.
const KERNEL: &str = ".include \"page.s\"
.macro double q
        add \\q, \\q, \\q
.endm
.macro both first
        double q{\\first}
        double q{\\first + 1}
.endm
.program
        page_begin
        ldx2 a0, [a15]
        ldx c0, [a15 + PAGE_COLUMNS]
        nop
        nop
        loop c0 {
            ldq q0, [a0]+16
            mov q1, q0
            .rept 2, i
            both 0
            .endr
            add q0, q0, q1
            stq q0, [a1]+16
        }
        page_end
        stop
";

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

/// Returns the expansions of a word as JSON, as one text.
fn chain(word: &Value) -> String {
    let frames = list(&word["expansion"]).iter();
    let frames = frames.map(|f| {
        format!(
            "{} {}:{}",
            f["what"].as_str().unwrap(),
            f["file"],
            f["line"]
        )
    });
    frames.collect::<Vec<_>>().join("; ")
}

#[test]
fn a_listing_shows_slots_cycles_and_chains() {
    let bench = Bench::new();
    bench.write("k.s", KERNEL);
    let json = bench
        .cp2("asm k.s --machine vm7 --listing --json")
        .works()
        .json();
    let words = list(&json["listing"]);
    assert_eq!(words.len() as u64, json["words"].as_u64().unwrap());
    let line = |line: u64| {
        words
            .iter()
            .filter(move |w| w["file"] == "k.s" && w["line"] == line)
    };
    // The load opens an iteration, and the doubled values wait for it and for each other.
    let load = line(16).next().unwrap();
    assert_eq!(
        (load["cycle"].as_u64(), load["arithmetic"].as_str()),
        (Some(0), Some(""))
    );
    assert!(load["memory"].as_str().unwrap().starts_with("ldq q0"));
    let doubled: Vec<_> = line(3).collect();
    assert_eq!(doubled.len(), 4);
    let cycles: Vec<_> = doubled
        .iter()
        .map(|w| w["cycle"].as_u64().unwrap())
        .collect();
    assert!(cycles.is_sorted(), "{cycles:?}");
    assert_eq!(
        chain(doubled[2]),
        "macro `double`, called \"k.s\":6; macro `both`, called \"k.s\":19; `.rept` with i = 1 \"k.s\":18"
    );
    // Words outside the loop have no cycle.
    assert!(line(25).all(|w| w["cycle"].is_null()));
    let text = bench
        .cp2("asm k.s --machine vm7 --listing")
        .works()
        .out
        .clone();
    assert!(text.contains("; loop of 8 words"), "{text}");
    assert!(
        text.contains("macro `double`, called at k.s:7, macro `both`"),
        "{text}"
    );
    // An object keeps the chains.
    let object = bench.cp2("disasm k.elf --sources").works().out.clone();
    assert!(object.contains("`.rept` with i = 1 at k.s:18"), "{object}");
}

#[test]
fn profiles_of_all_kinds_charge_the_cycles_of_the_run() {
    let bench = Bench::new();
    bench.write("k.s", KERNEL);
    let data: Vec<u8> = (0..4096u16)
        .flat_map(|i| f32::from(i).to_le_bytes())
        .collect();
    bench.write("x.npy", npy("<f4", "False", "(4096,)", &data));
    let line = "map k.s --input x.npy --output y.npy --block 256 --machine vm7 --json";
    let of =
        |by: &str| bench.cp2(&format!("{line} --profile{by}")).works().json()["profile"].clone();
    let sum = |rows: &Value, key: &str| -> u64 {
        list(rows)
            .iter()
            .map(|row| row[key].as_u64().unwrap())
            .sum()
    };
    let lines = of("");
    assert_eq!(lines, of("=line"));
    let total = sum(&lines, "cycles");
    assert_eq!(sum(&of("=word"), "cycles"), total);
    assert_eq!(sum(&of("=call"), "own_cycles"), total);
    let loops = of("=loop");
    assert_eq!(sum(&loops, "own_cycles"), total);
    // The inner loop lies in the page loop, and a quad of each section is an iteration.
    let [_, pages, quads] = &list(&loops)[..] else {
        panic!("{loops}")
    };
    assert_eq!(
        (pages["depth"].as_u64(), quads["depth"].as_u64()),
        (Some(0), Some(1))
    );
    assert_eq!(quads["iterations"].as_u64(), Some(4096 / 4 / 4));
    let text = bench
        .cp2("map k.s --input x.npy --output y.npy --block 256 --machine vm7 --profile=call")
        .works()
        .out
        .clone();
    let row = text
        .lines()
        .find(|l| l.contains("macro `both`, called at k.s:19"));
    assert!(row.unwrap().contains("operand-add"), "{text}");
    bench
        .cp2("map k.s --input x.npy --output y.npy --block 256 --profile=page")
        .fails(2, &["page", "line, call, loop, word"]);
}

/// A fault in a macro names the calls that lead to it, from a source and from an object.
#[test]
fn faults_name_macros_and_counters() {
    let bench = Bench::new();
    let text = ".macro beyond k
        movi a0, 0x1fffc
        ldx c{\\k}, [a0]
.endm
.program
.rept 2, i
        beyond i
.endr
        stop
";
    bench.write("k.s", text);
    bench.cp2("asm k.s").works();
    for file in ["k.s", "k.elf"] {
        let ended = bench.cp2(&format!("run {file} --machine vm7"));
        ended.fails(
            3,
            &["k.s:3 (macro `beyond`, called at k.s:7, `.rept` with i = "],
        );
        let json = bench
            .cp2(&format!("run {file} --machine vm7 --json"))
            .json();
        assert!(
            chain(&json["place"]).starts_with("macro `beyond`, called \"k.s\":7"),
            "{json}"
        );
    }
}

#[test]
fn warnings_about_registers_are_those_of_asm_and_analyze() {
    let bench = Bench::new();
    let kernel = |end: &str| {
        format!(
            ".include \"page.s\"\n.program\nmovi a1, 0x400\npage_begin\nldx a0, [a15]\nnop\nnop\n\
             ldq q0, [a1]+16{end}\nadd q1, q0, q2{end}\nstq q0, [a0]{end}\npage_end\nstop\n"
        )
    };
    bench.write("k.s", kernel(""));
    let ended = bench.cp2("asm k.s --json");
    let json = ended.works().json();
    let codes: Vec<_> = list(&json["warnings"])
        .iter()
        .map(|w| w["code"].as_str().unwrap())
        .collect();
    for code in ["changed-by-page", "unwritten", "unread"] {
        assert_eq!(codes.iter().filter(|c| **c == code).count(), 1, "{codes:?}");
    }
    // A source and its object have all three.
    for file in ["k.s", "k.elf"] {
        let ended = bench.cp2(&format!("analyze {file}"));
        ended.works();
        for words in [
            "a1 is set before the page loop",
            "r2 is written here",
            "r4 is read here",
        ] {
            assert!(ended.err.contains(words), "{file}: {}", ended.err);
        }
        let found = bench.cp2(&format!("analyze {file} --json")).works().json();
        assert_eq!(list(&found["findings"]).len(), 3, "{found}");
    }
    bench.write("k.s", kernel(" .allow register"));
    let json = bench.cp2("analyze k.s --json").works().json();
    assert_eq!(list(&json["findings"]).len(), 0, "{json}");
}

/// A kernel with a linear block in a macro.
const LINEAR: &str = ".include \"page.s\"
.macro twice y, x
        add \\y, \\x, \\x
.endm
.program
        page_begin
        ldx2 c4, [a15]
        ldx c0, [a15 + PAGE_COLUMNS]
        .linear scale, c0
        .pointer from = c4 by 16
        .pointer to = c5 by 16
        .apart
        ldq x, [from]
        twice y, x
        twice z, y
        stq z, [to]
        .endlinear
        page_end
        stop
";

/// Words of a linear block have the line of their operation, in fill, loop, drain and in the loop for few iterations;
/// so have the cycles of a profile.
#[test]
fn words_of_linear_blocks_name_their_operations() {
    let bench = Bench::new();
    bench.write("k.s", LINEAR);
    let json = bench
        .cp2("asm k.s --machine vm7 --listing --json")
        .works()
        .json();
    let words = list(&json["listing"]);
    let text = |word: &Value, key: &str| word[key].as_str().unwrap_or_default().to_owned();
    let mut sums = 0;
    for word in words.iter().filter(|word| word["file"] == "k.s") {
        let line = word["line"].as_u64().unwrap();
        let (arithmetic, memory) = (text(word, "arithmetic"), text(word, "memory"));
        if arithmetic.starts_with("add ") {
            sums += 1;
            assert_eq!(line, 3, "{word}");
            let chain = chain(word);
            let called = chain == "macro `twice`, called \"k.s\":14";
            assert!(
                called || chain == "macro `twice`, called \"k.s\":15",
                "{chain}"
            );
        } else if memory.starts_with("ldq") {
            assert_eq!(line, 13, "{word}");
        } else if memory.starts_with("stq") {
            assert_eq!(line, 16, "{word}");
        }
    }
    assert!(sums > 6, "{sums} sums");
    let data: Vec<u8> = (0..4096u16)
        .flat_map(|i| f32::from(i).to_le_bytes())
        .collect();
    bench.write("x.npy", npy("<f4", "False", "(4096,)", &data));
    let line = "map k.s --input x.npy --output y.npy --block 256 --machine vm7 --profile --json";
    let profile = bench.cp2(line).works().json()["profile"].clone();
    let rows = list(&profile).iter().filter(|row| row["file"] == "k.s");
    let issued: u64 = rows
        .filter(|row| row["line"] == 3)
        .map(|row| row["issued"].as_u64().unwrap())
        .sum();
    // Two sums for each quad of a section.
    assert_eq!(issued, 2 * 4096 / 4 / 4);
}

/// A fault in a linear block names the line of the operation.
#[test]
fn faults_name_operations_of_linear_blocks() {
    let bench = Bench::new();
    let text = ".program
        movi c4, 0x1fff0
        .linear load
        .pointer x = c4 by 0
        .pointer y = a14 by 0
        ldq x, [x]
        add y, x, x
        stq y, [y]
        .endlinear
        stop
";
    bench.write("k.s", text);
    let ended = bench.cp2("run k.s --machine vm7");
    ended.fails(3, &["k.s:6"]);
}
