//! Tests of commands on several processors, in one process and as MPI ranks.

use crate::bench::{Bench, npy};

/// A command line without the number of processors.
const STENCIL: &str = "stencil --shape 12x16x20 --points 7 --edge fixed --steps 3";

/// Slabs have the bits of one processor; the report says what each one did, and what the links carried.
#[test]
fn slabs_have_the_bits_of_one_processor_and_a_report() {
    let bench = Bench::new();
    bench.cp2(&format!("{STENCIL} --output one.npy")).works();
    for procs in [2, 5, 12] {
        let line = format!("{STENCIL} --procs {procs} --check --output slabs.npy --json");
        let json = bench.cp2(&line).works().json();
        assert_eq!(bench.read("slabs.npy"), bench.read("one.npy"), "{procs}");
        assert_eq!(json["verified"], true);
        let whole = ["procs", "ranks", "messages", "message_bytes"].map(|f| json[f].as_u64());
        let messages = 2 * 3 * (procs - 1);
        let bytes = messages * 4 * 16 * 20;
        assert_eq!(whole, [procs, 1, messages, bytes].map(Some));
        assert_eq!(json["transport"], "in-process");
        assert_eq!(json["expected_cycles"], json["cycles"]);
        let split = json["split"]["planes"].as_array().unwrap();
        assert_eq!(split.iter().map(|n| n.as_u64().unwrap()).sum::<u64>(), 12);
        let each = json["processors"].as_array().unwrap();
        assert_eq!(each.len() as u64, procs);
        for processor in each {
            let causes = processor["causes"].as_object().unwrap();
            let sum: u64 = causes.values().map(|n| n.as_u64().unwrap()).sum();
            assert_eq!(Some(sum), processor["cycles"].as_u64());
            assert!(causes["wait-message"].as_u64().unwrap() > 0);
        }
        let last = each.iter().map(|p| p["cycles"].as_u64().unwrap()).max();
        assert_eq!(json["cycles"].as_u64(), last);
        let links = json["links"].as_array().unwrap();
        assert!(
            links
                .iter()
                .all(|link| link["busy_cycles"].as_u64() > Some(0))
        );
        assert!(links.iter().any(|link| link["from"] == "processor 0"));
    }
    let text = bench.cp2(&format!("{STENCIL} --procs 2"));
    text.works();
    for words in [
        "slabs of 6 planes on 2 processors",
        "wait-message",
        "6 messages, 7680 B",
    ] {
        assert!(text.out.contains(words), "{words}: {}", text.out);
    }
}

/// Host threads share the processors, and change nothing but the host's time.
#[test]
fn threads_change_nothing() {
    let bench = Bench::new();
    let run = |threads: usize| {
        let line = format!("{STENCIL} --procs 7 --threads {threads} --json --output v.npy");
        let mut json = bench.cp2(&line).works().json();
        json["host_seconds"].take();
        (json, bench.read("v.npy"))
    };
    let one = run(1);
    assert_eq!(run(2), one);
    assert_eq!(run(4), one);
}

/// A network of its own changes times and no bits.
#[test]
fn a_slow_network_costs_time() {
    let bench = Bench::new();
    let slow =
        "base = \"vm7\"\n[network]\nlanes = { value = 1, unit = \"lanes\" }\ntopology = \"ring\"\n";
    bench.write("slow.toml", slow);
    let run = |rest: &str| {
        let line = format!("{STENCIL} --procs 3 --output v.npy --json {rest}");
        let json = bench.cp2(&line).works().json();
        (json["cycles"].as_u64().unwrap(), bench.read("v.npy"))
    };
    let ((usual, bits), (slow, same)) = (run(""), run("--machine slow.toml"));
    assert!(slow > usual, "{slow} {usual}");
    assert_eq!(bits, same);
}

#[test]
fn what_several_processors_do_not_do_is_refused() {
    let bench = Bench::new();
    bench.refuses(&[
        (
            "stencil --shape 8x8x8 --procs 2",
            &["edges are zero", "fixed"],
        ),
        (
            "stencil --shape 8x8x8 --edge fixed --procs 9",
            &["9 processors", "8 planes"],
        ),
        (
            "stencil --shape 8x64 --edge fixed --procs 9",
            &["9 processors", "8 rows"],
        ),
        (
            "stencil --shape 20x8x8 --edge fixed --procs 17 --trace t.svg",
            &["--trace t.svg", "16 processors", ".json"],
        ),
        (
            "stencil --shape 8x8x8 --edge fixed --procs 2 --plan --profile",
            &["--plan", "--profile"],
        ),
        ("stencil --procs 0", &["0", "1..=1024"]),
    ]);
    let limit = "stencil --shape 8x8x8 --edge fixed --procs 2 --max-cycles 1000";
    bench.cp2(limit).fails(3, &["processor 0", "1000 cycles"]);
}

/// A run that a limit ends has figures, as on one processor, and no result.
#[test]
fn a_run_that_ends_early_has_figures() {
    let bench = Bench::new();
    let line = format!("{STENCIL} --max-cycles 4000 --json --output v.npy --emit recorded");
    for procs in [1, 3] {
        let ended = bench.cp2(&format!("{line} --procs {procs}"));
        assert_eq!(ended.code, 3, "{}", ended.err);
        let json = ended.json();
        assert_eq!(json["end"], "max-cycles");
        assert!(json["cycles"].as_u64() >= Some(4_000));
        assert!(json["words"].as_u64() > Some(0));
        assert_eq!(json["efficiency"], serde_json::Value::Null);
        assert_eq!(json["verified"], serde_json::Value::Null);
        assert!(
            ended.err.contains("the limit of 4000 cycles"),
            "{}",
            ended.err
        );
        for name in ["v.npy", "recorded"] {
            assert!(!bench.path(name).exists(), "{name}");
        }
    }
}

/// An array may be larger than the memory of one processor.
#[test]
fn processors_share_what_one_has_no_room_for() {
    let bench = Bench::new();
    let small = "base = \"vm7\"\n[host]\nmemory = { value = 262144, unit = \"B\" }\n";
    bench.write("small.toml", small);
    let line = "stencil --shape 48x32x32 --points 7 --edge fixed --machine small.toml --json";
    bench.cp2(line).fails(2, &["memory"]);
    let json = bench.cp2(&format!("{line} --procs 4")).works().json();
    assert_eq!(json["verified"], true);
}

/// An interrupt ends a run of many processors soon, and leaves nothing under the name of its output.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_all_processors() {
    let bench = Bench::new();
    let line = format!("{LONG} --json");
    let (code, ended) = interrupted(bench.command(&line));
    assert_eq!(code, Some(3), "{}", ended.err);
    assert!(ended.err.contains("interrupted"), "{}", ended.err);
    assert!(!bench.path("v.npy").exists());
}

/// A command line that takes minutes.
const LONG: &str =
    "stencil --shape 32x32x32 --points 7 --edge fixed --steps 6000 --procs 4 --output v.npy";

/// Starts a command, interrupts it after two seconds, and returns how it ended.
///
/// # Panics
/// It goes on for more than a minute.
#[cfg(unix)]
fn interrupted(mut command: std::process::Command) -> (Option<i32>, crate::bench::Ended) {
    use std::process::Stdio;
    use std::time::{Duration, Instant};
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
    // The `kill` of the shell is used, since not every system has the program.
    let kill = std::process::Command::new("sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .status();
    assert!(kill.unwrap().success());
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("it went on for a minute");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    (output.status.code(), crate::bench::Ended::of(output))
}

/// Processors are processes of the trace, links are lanes of the network, and each message is an arrow between
/// slices of the control CPUs.
#[test]
fn a_trace_has_processors_links_and_messages() {
    let bench = Bench::new();
    let line = format!("{STENCIL} --procs 3 --json --trace t.json");
    let report = bench.cp2(&line).works().json();
    assert_eq!(report["trace"], "t.json");
    let trace: serde_json::Value = serde_json::from_slice(&bench.read("t.json")).unwrap();
    assert_eq!(trace["otherData"]["dropped_slices"], 0);
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |phase: &str, pid: u64| -> Vec<&serde_json::Value> {
        let events = events.iter();
        events
            .filter(|e| e["ph"] == phase && e["pid"] == pid)
            .collect()
    };
    let number = |e: &serde_json::Value, field: &str| e[field].as_f64().unwrap();
    let mut arrows = 0;
    for pid in 1..=3 {
        let slices = of("X", pid);
        assert!(slices.iter().any(|e| e["cat"] == "page"));
        assert!(slices.iter().any(|e| e["cat"] == "wait-message"));
        for arrow in of("s", pid).into_iter().chain(of("f", pid)) {
            let at = number(arrow, "ts");
            let kind = if arrow["ph"] == "s" {
                "message"
            } else {
                "wait-message"
            };
            let around = slices.iter().any(|e| {
                let from = number(e, "ts");
                e["tid"] == arrow["tid"]
                    && e["cat"] == kind
                    && (from..=from + number(e, "dur")).contains(&at)
            });
            assert!(around, "{arrow}");
            arrows += 1;
        }
        let ends = slices.iter().map(|e| number(e, "ts") + number(e, "dur"));
        let last = ends.fold(0.0, f64::max);
        let cycles = report["processors"][pid as usize - 1]["cycles"].as_f64();
        // 200 MHz.
        assert!(
            (last * 200.0 - cycles.unwrap()).abs() < 100.0,
            "{last} {cycles:?}"
        );
    }
    assert_eq!(Some(arrows), report["messages"].as_u64().map(|n| 2 * n));
    let lanes = of("M", 4)
        .into_iter()
        .filter(|e| e["name"] == "thread_name");
    assert_eq!(
        Some(lanes.count()),
        report["links"].as_array().map(Vec::len)
    );
    let carried: f64 = of("X", 4).into_iter().map(|e| number(e, "dur")).sum();
    let links = report["links"].as_array().unwrap();
    let busy: f64 = links.iter().map(|link| number(link, "busy_cycles")).sum();
    assert!(
        (carried * 200.0 - busy).abs() <= links.len() as f64,
        "{carried} {busy}"
    );
    bench
        .cp2(&format!("{STENCIL} --procs 3 --trace t.svg"))
        .works();
    let svg = String::from_utf8(bench.read("t.svg")).unwrap();
    for part in [
        "2 CP2",
        "links",
        "wait-message",
        "marker-end",
        "to processor",
    ] {
        assert!(svg.contains(part), "{part}");
    }
}

/// All processors and the network share the slices of a timeline.
#[test]
fn a_trace_of_many_processors_is_bounded() {
    let bench = Bench::new();
    let line =
        "stencil --shape 64x8x8 --points 7 --edge fixed --steps 30 --procs 64 --trace t.json";
    bench.cp2(line).works();
    let trace: serde_json::Value = serde_json::from_slice(&bench.read("t.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let slices = events.iter().filter(|e| e["ph"] != "M" && e["ph"] != "f");
    assert!((50_000..=100_000).contains(&slices.count()));
    assert!(trace["otherData"]["dropped_slices"].as_u64() > Some(0));
}

/// A recording holds all that came to its processor: it replays alone, to the cycle and the bit.
#[test]
fn recordings_replay_alone() {
    let bench = Bench::new();
    let line = format!("{STENCIL} --procs 3 --json --emit recorded");
    let report = bench.cp2(&line).works().json();
    for (number, processor) in report["processors"].as_array().unwrap().iter().enumerate() {
        let line = format!("run recorded/processor-{number} --json");
        let replay = bench.cp2(&line).works().json();
        assert_eq!(replay["cycles"], processor["cycles"], "{number}");
        assert_eq!(replay["causes"], processor["causes"], "{number}");
    }
    // Another run replaces the whole directory, and nothing else.
    bench
        .cp2(&format!("{STENCIL} --procs 2 --emit recorded"))
        .works();
    assert!(!bench.path("recorded/processor-2").exists());
    std::fs::create_dir(bench.path("mine")).unwrap();
    bench.write("mine/text", "kept");
    bench
        .cp2(&format!("{STENCIL} --procs 2 --emit mine"))
        .fails(2, &["mine"]);
}

/// Profiles are sums over the processors that run the same program; counts of the report are sums over all.
#[test]
fn profiles_and_counts_are_sums() {
    let bench = Bench::new();
    let line = format!("{STENCIL} --procs 4 --profile --json");
    let json = bench.cp2(&line).works().json();
    let sum = |of: &str| -> u64 {
        let stages = json["stages"].as_array().unwrap().iter();
        stages.map(|stage| stage[of].as_u64().unwrap()).sum()
    };
    assert_eq!(Some(sum("words")), json["words"].as_u64());
    assert_eq!(Some(sum("launches")), json["kernels"].as_u64());
    let processors = json["processors"].as_array().unwrap().iter();
    let cycles: u64 = processors.map(|one| one["cycles"].as_u64().unwrap()).sum();
    assert_eq!(sum("cycles"), cycles);
    let profiled: u64 = json["stages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|stage| stage["profile"].as_array())
        .flatten()
        .map(|line| line["issued"].as_u64().unwrap())
        .sum();
    assert_eq!(Some(profiled), json["words"].as_u64());
    let alone = bench
        .cp2(&format!("{STENCIL} --check --json"))
        .works()
        .json();
    for field in alone.as_object().unwrap().keys() {
        assert!(json.get(field).is_some() || field == "place", "{field}");
    }
    assert_eq!(json["findings"], serde_json::json!([]));
    assert_eq!(json["passes"], 4 * 3);
    let text = bench.cp2(&format!("{STENCIL} --procs 4 --profile"));
    assert!(
        text.works().out.contains("the sum of processors"),
        "{}",
        text.out
    );
}

/// A plan has the price and the messages of the run.
#[test]
fn a_plan_says_how_slabs_are_cut() {
    let bench = Bench::new();
    let plan = bench
        .cp2(&format!("{STENCIL} --procs 5 --plan --json"))
        .works()
        .json();
    let run = bench
        .cp2(&format!("{STENCIL} --procs 5 --json"))
        .works()
        .json();
    for field in [
        "expected_cycles",
        "messages",
        "message_bytes",
        "split",
        "recipe",
    ] {
        assert_eq!(plan[field], run[field], "{field}");
    }
    assert_eq!(plan["expected_cycles"], run["cycles"]);
    let text = bench.cp2(&format!("{STENCIL} --procs 5 --plan"));
    for words in ["slabs of 2 or 3 planes", "3 exchanges", "processor 4"] {
        assert!(text.works().out.contains(words), "{words}: {}", text.out);
    }
    let rows = bench.cp2("stencil --shape 40x64 --edge fixed --procs 2 --plan");
    assert!(
        rows.works().out.contains("slabs of 20 rows"),
        "{}",
        rows.out
    );
}

/// Doubles blocks of four floats.
const DOUBLE: &str = include_str!("../../../tests/kernels/double.s");

/// Writes kernels and arrays for `cp2 map`.
fn map_bench() -> Bench {
    let bench = Bench::new();
    bench.write("double.s", DOUBLE);
    let place = DOUBLE.replace(
        "    page_begin\n",
        "    page_begin\n    ldq q7, [a15 + SECTION_ORIGIN]\n",
    );
    assert_ne!(place, DOUBLE);
    bench.write("place.s", place);
    let floats = |count: u32| -> Vec<u8> {
        (0..count)
            .flat_map(|i| (i as f32 - 7.5).to_le_bytes())
            .collect()
    };
    bench.write("line.npy", npy("<f4", "False", "(103,)", &floats(103)));
    bench.write("plane.npy", npy("<f4", "False", "(10, 13)", &floats(130)));
    bench
}

/// Processors share blocks along the outermost axis; results are one processor's.
#[test]
fn maps_on_processors_have_the_bits_of_one() {
    let bench = map_bench();
    for (input, block, procs) in [
        ("line.npy", "4", 2),
        ("line.npy", "4", 26),
        ("plane.npy", "4", 5),
        ("plane.npy", "1x4", 3),
        ("plane.npy", "1x4", 10),
    ] {
        let line = format!("map double.s --input {input} --block {block} --json --check");
        let one = bench
            .cp2(&format!("{line} --output one.npy"))
            .works()
            .json();
        let several = format!("{line} --output y.npy --expect one.npy --procs {procs} --plan");
        let json = bench.cp2(&several).works().json();
        assert_eq!(bench.read("y.npy"), bench.read("one.npy"), "{several}");
        assert_eq!(json["procs"].as_u64(), Some(procs));
        assert_eq!(json["messages"], 0);
        assert_eq!(json["blocks"], one["blocks"]);
        for field in one.as_object().unwrap().keys() {
            assert!(json.get(field).is_some() || field == "place", "{field}");
        }
        assert_eq!(json["judged"], true);
        assert_eq!(json["expected_cycles"], json["cycles"], "{several}");
        assert_eq!(json["processors"].as_array().unwrap().len() as u64, procs);
        assert!(json["plan"].is_object());
    }
    let line = "map double.s --input line.npy --block 4 --output y.npy --procs 3";
    bench
        .cp2(&format!("{line} --trace t.json --emit recorded --profile"))
        .works();
    let trace = String::from_utf8(bench.read("t.json")).unwrap();
    assert!(trace.contains("processor 2, double.s"));
    bench.cp2("run recorded/processor-2").works();
}

/// Blocks that need others, or their place, are not shared.
#[test]
fn maps_that_cannot_be_cut_are_refused() {
    let bench = map_bench();
    let line = "--input plane.npy --output y.npy --procs 2";
    let cases = [
        (
            format!("map double.s {line} --block 1x4 --halo 1x0"),
            "neighbours",
        ),
        (
            format!("map double.s {line} --block 4 --reduce"),
            "one block",
        ),
        (
            format!("map place.s {line} --block 1x4"),
            "where its blocks lie",
        ),
        (format!("map double.s {line}0 --block 1x4"), "10 blocks"),
    ];
    for (line, words) in cases {
        bench
            .cp2(&line)
            .fails(2, &["processors cannot share", words]);
    }
    // A halo along other axes needs no other processor.
    bench
        .cp2(&format!("map double.s {line} --block 1x4 --halo 0x1"))
        .works();
}

/// Ranks that a launcher has started are no copies of one run.
#[test]
fn ranks_of_commands_that_run_alone_are_refused() {
    let bench = Bench::new();
    let output = bench
        .command("stencil --shape 8x8x8")
        .env("OMPI_COMM_WORLD_SIZE", "2")
        .env("OMPI_COMM_WORLD_RANK", "0")
        .output();
    crate::bench::Ended::of(output.unwrap()).fails(2, &["2 ranks", "--procs"]);
}

#[cfg(feature = "mpi")]
pub(crate) mod ranks {
    use super::STENCIL;
    use crate::bench::{Bench, Ended};
    use std::process::Command;

    /// Runs a line on so many ranks, at most a minute.
    pub(crate) fn mpirun(bench: &Bench, ranks: usize, line: &str) -> Ended {
        let output = command(bench, ranks, line).output();
        // `.ci/test` installs timeout and mpirun.
        let output = output.unwrap();
        assert_ne!(output.status.code(), Some(124), "{line} hangs");
        Ended::of(output)
    }

    /// Returns the command that runs a line on so many ranks, at most a minute.
    fn command(bench: &Bench, ranks: usize, line: &str) -> Command {
        let ranks = ranks.to_string();
        let mut command = Command::new("timeout");
        command
            .args(["-k", "10", "60", "mpirun", "-n", &ranks])
            .args(["--oversubscribe", "--bind-to", "none"])
            .args(["--mca", "mpi_yield_when_idle", "1"])
            .arg(env!("CARGO_BIN_EXE_cp2"))
            .args(line.split_whitespace())
            .current_dir(bench.path(""))
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
        command
    }

    /// The launcher ends its ranks.
    #[test]
    fn an_interrupt_ends_all_ranks() {
        let bench = Bench::new();
        let (code, ended) = super::interrupted(command(&bench, 2, super::LONG));
        assert_ne!(code, Some(0), "{}", ended.err);
        assert!(!bench.path("v.npy").exists());
    }

    /// The report is that of one process, but for what is the host's; rank 0 alone prints and writes.
    #[test]
    fn ranks_change_nothing() {
        let bench = Bench::new();
        let line = format!("{STENCIL} --procs 4 --json --output v.npy");
        let mut alone = bench.cp2(&line).works().json();
        let bits = bench.read("v.npy");
        alone["host_seconds"].take();
        for ranks in [1, 2, 3, 4] {
            std::fs::remove_file(bench.path("v.npy")).unwrap();
            // Threads of a rank change nothing either.
            let line = format!("{line} --threads {}", 1 + ranks % 2);
            let mut own = mpirun(&bench, ranks, &line).works().json();
            assert_eq!(own["transport"], "mpi");
            assert_eq!(own["ranks"].as_u64(), Some(ranks as u64));
            own["host_seconds"].take();
            for field in ["ranks", "transport"] {
                own[field] = alone[field].clone();
            }
            assert_eq!(own, alone, "{ranks}");
            assert_eq!(bench.read("v.npy"), bits);
        }
    }

    /// The first rank gets timelines and profiles from the others; recordings stay where they are.
    #[test]
    fn ranks_have_the_reports_of_one_process() {
        let bench = Bench::new();
        let line = format!("{STENCIL} --procs 3 --json --profile --trace t.json");
        let mut alone = bench.cp2(&line).works().json();
        let trace = bench.read("t.json");
        std::fs::remove_file(bench.path("t.json")).unwrap();
        let mut own = mpirun(&bench, 2, &line).works().json();
        for report in [&mut alone, &mut own] {
            for field in ["ranks", "transport", "host_seconds"] {
                report[field].take();
            }
        }
        assert_eq!(own, alone);
        assert!(bench.read("t.json") == trace);
        let bench = super::map_bench();
        let map = "map double.s --input line.npy --block 4 --output y.npy --procs 5 --json";
        let mut alone = bench.cp2(map).works().json();
        let bits = bench.read("y.npy");
        std::fs::remove_file(bench.path("y.npy")).unwrap();
        let mut own = mpirun(&bench, 2, map).works().json();
        for report in [&mut alone, &mut own] {
            for field in ["ranks", "transport"] {
                report[field].take();
            }
        }
        assert_eq!(own, alone);
        assert_eq!(bench.read("y.npy"), bits);
        let plan = format!("{STENCIL} --procs 3 --json --plan");
        let alone = bench.cp2(&plan).works().json();
        assert_eq!(mpirun(&bench, 2, &plan).works().json(), alone);
        let ended = mpirun(&bench, 2, &format!("{STENCIL} --procs 3 --emit recorded"));
        assert_eq!(ended.code, 2, "{}", ended.err);
        assert!(ended.err.contains("--emit: 2 ranks"), "{}", ended.err);
        assert!(!bench.path("recorded").exists());
    }

    /// Times of the network are the same on ranks.
    #[test]
    fn ranks_measure_the_same_network() {
        let bench = Bench::new();
        let line = "network --procs 5 --topology torus --bytes 64 --bytes 5000 --json";
        let mut alone = bench.cp2(line).works().json();
        for ranks in [2, 3] {
            let own = mpirun(&bench, ranks, line).works().json();
            assert_eq!(own["ranks"].as_u64(), Some(ranks as u64));
            for field in ["ranks", "transport"] {
                alone[field] = own[field].clone();
            }
            assert_eq!(own, alone, "{ranks}");
        }
        let ended = mpirun(&bench, 3, "network --procs 2");
        assert_eq!(ended.code, 2, "{}", ended.err);
    }

    /// All end with the code, and a message that one process has as well.
    #[test]
    fn failures_end_all_ranks() {
        let bench = Bench::new();
        for (line, code, words) in [
            ("stencil --shape 8x8x8 --procs 2", 2, "edges are zero"),
            ("stencil --shape 8x8x8", 2, "2 ranks were started"),
            (
                "stencil --shape 8x8x8 --edge fixed --procs 2 --max-cycles 1000",
                3,
                "processor 0",
            ),
        ] {
            let ended = mpirun(&bench, 2, line);
            assert_eq!(ended.code, code, "{line}: {}", ended.err);
            // Once, unless the launcher takes seconds to end the other rank.
            assert!(ended.err.contains(words), "{line}: {}", ended.err);
        }
        let ended = mpirun(&bench, 3, &format!("{STENCIL} --procs 2"));
        assert_eq!(ended.code, 2, "{}", ended.err);
        assert!(ended.err.contains("3 ranks were started"), "{}", ended.err);
    }
}
