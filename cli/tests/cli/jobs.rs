//! Tests of jobs with several passes, and of their files.

use crate::bench::{Bench, bytes, npy};

const DOUBLE: &str = include_str!("../../../tests/kernels/double.s");

/// Makes a folder with `u.npy` (0 to 63), `twice.npy` (its double) and `zeros.npy`.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("double.s", DOUBLE);
    let u: Vec<f32> = (0..64).map(|i| i as f32).collect();
    let twice: Vec<f32> = u.iter().map(|x| 2.0 * x).collect();
    for (name, numbers) in [("u", &u), ("twice", &twice), ("zeros", &vec![0.0; 64])] {
        let file = npy("<f4", "False", "(64,)", &bytes(numbers));
        bench.write(&format!("{name}.npy"), file);
    }
    bench
}

/// Makes a job file that doubles `u.npy`; `more` are further lines of its result.
fn job(more: &str) -> String {
    format!(
        "[arrays.x]\ninput = \"u.npy\"\n[arrays.y]\nshape = [64]\noutput = \"y.npy\"\n{more}\n\
         [[pass]]\nkernel = \"double.s\"\nblock = [4]\ninputs = [{{ array = \"x\" }}]\noutputs = [{{ array = \"y\" }}]\n"
    )
}

#[test]
fn a_tolerance_is_judged_alike_in_a_job_and_on_the_command_line() {
    let bench = bench();
    let map = "map double.s --input u.npy --output y.npy --block 4 --expect zeros.npy";
    for key in ["tolerance", "tolerance-largest", "tolerance-rms"] {
        for text in ["nan", "inf", "-inf", "-1.0", "-1e-9"] {
            let expected = "expected a finite number from 0 on";
            bench.write(
                "job.toml",
                job(&format!("expect = \"zeros.npy\"\n{key} = {text}")),
            );
            bench
                .cp2("job run job.toml")
                .fails(2, &["job.toml:7:", expected]);
            bench
                .cp2(&format!("{map} --{key}={text}"))
                .fails(2, &[&format!("--{key}"), expected]);
        }
        bench.write("job.toml", job(&format!("{key} = 0.5")));
        bench
            .cp2("job run job.toml")
            .fails(2, &["tolerance", "`expect`"]);
    }
    assert!(!bench.files().contains(&"y.npy".to_owned()));
}

#[test]
fn a_result_is_judged_alike_in_a_job_and_on_the_command_line() {
    let bench = bench();
    let map = "map double.s --input u.npy --output y.npy --block 4";
    // The largest difference from `zeros.npy` is 126, and zeros have no largest number and no mean. Every
    // number of `u.npy` is half of the result.
    for (expect, key, tolerance, right) in [
        ("twice", "tolerance", "0", true),
        ("zeros", "tolerance", "125.9", false),
        ("zeros", "tolerance", "126", true),
        ("zeros", "tolerance-largest", "1e30", false),
        ("zeros", "tolerance-rms", "1e30", false),
        ("u", "tolerance", "0.99", false),
        ("u", "tolerance", "1", true),
        ("u", "tolerance-largest", "0.99", false),
        ("u", "tolerance-largest", "1", true),
        ("u", "tolerance-rms", "0.99", false),
        ("u", "tolerance-rms", "1.0000001", true),
    ] {
        let more = format!("expect = \"{expect}.npy\"\n{key} = {tolerance}");
        bench.write("job.toml", job(&more));
        let run = bench.cp2("job run job.toml --json");
        let line = format!("{map} --expect {expect}.npy --{key} {tolerance} --json");
        let other = bench.cp2(&line);
        let compared = &run.json()["compared"][0];
        assert_eq!(compared, &other.json()["compared"][0], "{more}");
        assert_eq!(compared["close"], right, "{more}: {compared}");
        assert_eq!([run.code, other.code], [i32::from(!right); 2], "{more}");
    }
}

#[test]
fn what_is_wrong_of_a_result_is_placed() {
    let bench = bench();
    let mut wrong: Vec<f32> = (0..64).map(|i| 2.0 * i as f32).collect();
    // The wrong elements are in rows 3 and 5 of 8, in columns 1 to 6.
    for (at, by) in [(25, 0.5), (30, 200.0), (42, 0.25)] {
        wrong[at] += by;
    }
    let square = |x: &[f32]| npy("<f4", "False", "(8, 8)", &bytes(x));
    let u: Vec<f32> = (0..64).map(|i| i as f32).collect();
    bench.write("u.npy", square(&u));
    bench.write("wrong.npy", square(&wrong));
    let map = "map double.s --input u.npy --output y.npy --block 4 --expect wrong.npy";
    let run = bench.cp2(map);
    assert_eq!(run.code, 1, "{}", run.err);
    let words = "3 of 64 elements are too far, all of them within [3:6, 1:7]: ";
    let farthest = "; the farthest is [3, 6]: 60 instead of 260";
    for words in [words, farthest] {
        assert!(run.out.contains(words), "{}", run.out);
    }
    let json = bench.cp2(&format!("{map} --json")).json();
    let compared = &json["compared"][0];
    assert_eq!(
        compared["wrong_within"],
        serde_json::json!([[3, 6], [1, 7]])
    );
    assert_eq!(compared["worst"]["at"], serde_json::json!([3, 6]));
}

/// Pairs of an invalid job file and the words of its refusal: place, finding, expectation, advice.
#[test]
fn refusals_of_job_files_are_in_their_writers_terms() {
    let bench = bench();
    let whole = job("");
    let cases: &[(&str, &str, &[&str])] = &[
        (
            "[[pass]]",
            "[pass]",
            &[
                "job.toml:",
                "`pass` is a table",
                "expected a list of passes",
                "`[[pass]]`",
            ],
        ),
        (
            "[arrays.x]",
            "[[arrays.x]]",
            &["array `x` is a list", "expected a table", "`[arrays.NAME]`"],
        ),
        (
            "block = [4]",
            "block = 4",
            &[
                "job.toml:9:",
                "`block` is the number 4",
                "expected a list of whole numbers",
            ],
        ),
        (
            "block = [4]",
            "block = [4.5]",
            &["`block` is a list with the number 4.5"],
        ),
        (
            "block = [4]",
            "block = \"4\"",
            &["`block` is the text \"4\""],
        ),
        (
            "block = [4]\n",
            "",
            &["pass 1 has no `block`", "`block = [8, 64]`"],
        ),
        (
            "block = [4]",
            "block = [4]\nblocks = 3",
            &["pass 1 has no key `blocks`", "its keys are kernel, block"],
        ),
        (
            "block = [4]",
            "block = [4]\nargs = [\"0.375\"]",
            &[
                "job.toml:10:",
                "an argument is the text \"0.375\"",
                "expected a number",
                "without quotes",
            ],
        ),
        (
            "block = [4]",
            "block = [4]\nargs = [4294967296]",
            &["found `4294967296`", "-2147483648 to 4294967295"],
        ),
        (
            "block = [4]",
            "block = [4]\nargs = [1e39]",
            &["found `1e39`", "float32"],
        ),
        (
            "block = [4]",
            "block = [4]\nreduce = \"yes\"",
            &["`reduce` is the text \"yes\"", "true or false"],
        ),
        (
            "block = [4]",
            "block = [4]\npage = -1",
            &["`page` is the number -1", "from 0 on"],
        ),
        (
            "block = [4]",
            "block = [4]\npage = 4294967296",
            &["`page`: 4294967296 is too large"],
        ),
        (
            "block = [4]",
            "block = [4]\npage = 0",
            &["`page`: 0 is too small"],
        ),
        (
            "block = [4]",
            "block = [4]\nmarch = \"up\"",
            &["`march`", "expected planes or rows"],
        ),
        (
            "block = [4]",
            "block = [4]\nbuffering = 2",
            &["`buffering` is the number 2"],
        ),
        (
            "{ array = \"x\" }",
            "\"x\"",
            &[
                "a stream of `inputs` is the text \"x\"",
                "{ array = \"NAME\" }",
            ],
        ),
        (
            "{ array = \"x\" }",
            "{ halo = [1] }",
            &["a stream of `inputs` has no `array`"],
        ),
        (
            "{ array = \"x\" }",
            "{ array = \"x\", halo = [1, 1] }",
            &["`halo` has 2 numbers", "`x` is an array of 1 axis: [64]"],
        ),
        (
            "{ array = \"x\" }",
            "{ array = \"x\", edge = \"wrap\" }",
            &["`edge`", "zero, clamp or periodic"],
        ),
        (
            "shape = [64]",
            "shape = [64, -1]",
            &["`shape` is a list with the number -1"],
        ),
        (
            "shape = [64]",
            "shape = [4294967296, 4294967296]",
            &[
                "job.toml:3:",
                "the array `y` of 4294967296 x 4294967296 elements of 4 B needs 73786976294838206464 B",
                "system memory",
            ],
        ),
        ("shape = [64]", "shape = [64", &["job.toml:5:"]),
        (
            "output = \"y.npy\"",
            "output = \"y.npy\"\nexpected = \"u.npy\"",
            &["array `y` has no key `expected`", "expect"],
        ),
        (
            "output = \"y.npy\"",
            "expect = \"u.npy\"",
            &["array `y` has an `expect`, and no `output`"],
        ),
    ];
    for (right, wrong, words) in cases {
        assert!(whole.contains(right), "{right}");
        bench.write("job.toml", whole.replacen(right, wrong, 1));
        bench.cp2("job run job.toml").fails(2, words);
    }
    bench.write("job.toml", whole);
    bench.cp2("job run job.toml").works();
}

/// A job file and the command line accept the same numbers as argument words.
#[test]
fn words_of_arguments_are_alike_in_a_job_and_on_the_command_line() {
    let bench = bench();
    bench.write(
        "add.s",
        "; Adds word 4 to every integer; a block is four.
        .include \"page.s\"
        page_begin
        ldx2 a0, [a15]
        ldx c0, [a15 + 8]
        ldp r2, [a15 + 16]
        dup0 r2, r2
        mov r3, r2
        loop c0 {
            ldq q0, [a0]+16
            iadd q0, q0, q1
            stq q0, [a1]+16
        }
        page_end
        stop
",
    );
    bench.write("zero.npy", npy("<i4", "False", "(4,)", &[0; 16]));
    for (text, bits) in [
        ("7", 7u32),
        ("-1", u32::MAX),
        ("0x10", 16),
        ("4294967295", u32::MAX),
        ("0.375", 0.375f32.to_bits()),
        ("-2.5e-1", (-0.25f32).to_bits()),
        ("inf", f32::INFINITY.to_bits()),
    ] {
        bench.write("job.toml", format!(
            "[arrays.x]\ninput = \"zero.npy\"\n[arrays.y]\nshape = [4]\nelement = \"int32\"\noutput = \"job.npy\"\n\
             [[pass]]\nkernel = \"add.s\"\nblock = [4]\ninputs = [{{ array = \"x\" }}]\noutputs = [{{ array = \"y\" }}]\nargs = [{text}]\n"
        ));
        bench.cp2("job run job.toml").works();
        bench
            .cp2(&format!(
                "map add.s --input zero.npy --output map.npy --block 4 --arg {text}"
            ))
            .works();
        for name in ["job.npy", "map.npy"] {
            assert!(
                bench.read(name).ends_with(&bits.to_le_bytes()),
                "{name}: {text}"
            );
        }
    }
    for text in ["4294967296", "1e39", "1e-60", "\"7\"", "0x1ffffffff", "x"] {
        let words = ["--arg", "expected"];
        bench
            .cp2(&format!(
                "map add.s --input zero.npy --output map.npy --block 4 --arg {text}"
            ))
            .fails(2, &words);
    }
}

const SQUARE: &str = "; Squares; a block is four floats.
.include \"page.s\"
.program
        page_begin
        ldx2 a0, [a15]
        ldx c0, [a15 + 8]
        loop c0 {
            ldq q0, [a0]+16
            mul q1, q0, q0
            nop
            nop
            nop
            stq q1, [a1]+16
        }
        page_end
        stop
";

/// Writes a job of two passes by two kernels, repeated twice; `second` is the source of the second kernel.
fn passes(bench: &Bench, second: &str) {
    bench.write("second.s", second);
    bench.write(
        "job.toml",
        "repeat = 2
[arrays.x]
input = \"u.npy\"
[arrays.twice]
shape = [64]
[arrays.y]
shape = [64]
output = \"y.npy\"
[[pass]]
kernel = \"double.s\"
block = [4]
inputs = [{ array = \"x\" }]
outputs = [{ array = \"twice\" }]
[[pass]]
kernel = \"second.s\"
block = [4]
inputs = [{ array = \"twice\" }]
outputs = [{ array = \"y\" }]
",
    );
}

#[test]
fn every_pass_has_its_cycles_its_profile_and_its_plan() {
    let bench = bench();
    passes(&bench, SQUARE);
    let run = bench.cp2("job run job.toml --profile --plan");
    let out = &run.works().out;
    for words in [
        "profile of pass 1, double",
        "profile of pass 2, second",
        "plan of pass 1, double",
        "plan of pass 2, second",
        "ldq q0, [a0]+16",
        "mul q1, q0, q0",
        "efficiency 0.",
        "expected ",
        "bound ",
    ] {
        assert!(out.contains(words), "{words} is missing in: {out}");
    }
    let json = bench
        .cp2("job run job.toml --profile --plan --json")
        .works()
        .json();
    let stages = json["stages"].as_array().unwrap();
    let sum = |key: &str| stages.iter().map(|s| s[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("cycles"), json["cycles"].as_u64().unwrap());
    assert_eq!(sum("words"), json["words"].as_u64().unwrap());
    assert_eq!(json["plans"].as_array().unwrap().len(), 2);
    for (stage, (pass, program)) in stages
        .iter()
        .zip([("pass 1", "double"), ("pass 2", "second")])
    {
        assert_eq!(
            (&stage["pass"], &stage["program"]),
            (&pass.into(), &program.into())
        );
        assert_eq!(stage["launches"], 2);
        let lines = stage["profile"].as_array().unwrap();
        let issued: u64 = lines
            .iter()
            .map(|line| line["issued"].as_u64().unwrap())
            .sum();
        assert_eq!(Some(issued), stage["words"].as_u64(), "{pass}");
        // Each of the four sections loads four of the 16 blocks with one word, in each of the two
        // repetitions.
        let file = format!("{program}.s");
        assert!(
            lines
                .iter()
                .any(|line| line["file"] == file.as_str() && line["issued"] == 8),
            "{lines:?}"
        );
    }
    let efficiency = json["efficiency"].as_f64().unwrap();
    let [reference, cycles] = ["reference_cycles", "cycles"].map(|key| json[key].as_f64().unwrap());
    assert!((efficiency - reference / cycles).abs() < 1e-9);
    // The counters of the two programs differ, and a replay keeps them apart too.
    bench.cp2("job run job.toml --emit run").works();
    let replay = bench.cp2("run run --profile --json").works().json();
    let words = |json: &serde_json::Value| -> Vec<u64> {
        let stages = json["stages"].as_array().unwrap();
        stages
            .iter()
            .map(|s| s["words"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(words(&replay), words(&json));
}

#[test]
fn faults_and_findings_of_a_job_have_a_place() {
    let bench = bench();
    passes(&bench, &SQUARE.replace("mul q1, q0, q0", "mul q1, q0, q9"));
    let run = bench.cp2("job run job.toml --check");
    run.fails(1, &["register", "at second.s:9, pass 2"]);
    let json = bench.cp2("job run job.toml --check --json").json();
    let place = &json["findings"][0]["place"];
    assert_eq!(
        (&place["file"], &place["line"], &place["pass"]),
        (&"second.s".into(), &9.into(), &"pass 2".into())
    );
    passes(
        &bench,
        &SQUARE.replace("        loop", "        addi a0, a0, 4\n        loop"),
    );
    let run = bench.cp2("job run job.toml --json");
    run.fails(3, &["guest fault", "at second.s:9, pass 2"]);
    assert_eq!(run.json()["place"]["line"], 9);
    assert!(run.json()["efficiency"].is_null());
}

#[test]
fn memory_that_does_not_do_is_said_of_an_array() {
    let bench = bench();
    let tiny = "base = \"vm7\"\nname = \"tiny\"\n[host]\nmemory = { value = 4, unit = \"KiB\" }\n";
    bench.write("tiny.toml", tiny);
    let big = npy("<f4", "False", "(1024,)", &bytes(&[1.0; 1024]));
    bench.write("big.npy", big);
    let map = "map double.s --input big.npy --output y.npy --block 4 --machine tiny.toml";
    bench.cp2(map).fails(
        2,
        &[
            "the array `output` needs 4096 B",
            "0 are free",
            "`host.memory`",
        ],
    );
    bench.write("job.toml", job("").replace("u.npy", "big.npy"));
    bench
        .cp2("job run job.toml --machine tiny.toml")
        .fails(2, &["job.toml:3:", "the array `y` needs 256 B", "4096 B"]);
}

#[test]
fn warnings_of_the_assembler_are_counted_where_kernels_run() {
    let bench = bench();
    bench.write("slow.s", SQUARE.replace("            nop\n", ""));
    let asm = bench.cp2("asm slow.s --json").works().json();
    let count = asm["warnings"].as_array().unwrap().len();
    assert!(count > 1, "{asm}");
    let map = bench.cp2("map slow.s --input u.npy --output y.npy --block 4");
    let note = format!("note: {count} warnings of the assembler; `cp2 asm slow.s` prints them\n");
    assert_eq!(map.works().err, note);
}
