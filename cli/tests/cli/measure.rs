//! Tests of the reports of `cp2 bench`, not of speeds.

use crate::bench::Bench;
#[cfg(target_os = "linux")]
use crate::bench::interrupted;

#[test]
fn every_workload_is_reported() {
    let ended = Bench::new().cp2("bench emu --seconds 0 --json");
    let report = ended.works().json();
    assert_eq!(report["schema"], "cp2-bench-emu/1");
    let workloads = report["workloads"].as_array().unwrap();
    let names: Vec<_> = workloads
        .iter()
        .map(|w| w["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "fft-256",
            "fft-1024",
            "fft-4096",
            "fft-256-paged",
            "fft-1024-paged",
            "fft-4096-paged",
            "control",
            "butterfly-peak"
        ]
    );
    for workload in workloads {
        let positive = |key: &str| {
            workload[key]
                .as_f64()
                .is_some_and(|x| x > 0.0 && x.is_finite())
        };
        let fft = workload["name"].as_str().unwrap().starts_with("fft");
        assert!(positive("words_per_second"), "{workload}");
        assert!(positive("real_time_factor"), "{workload}");
        assert_eq!(positive("slowdown_vs_rustfft"), fft, "{workload}");
    }
    assert!(
        report["host"]["features"].is_array() && report["engine"].is_string(),
        "{report}"
    );
}

#[test]
fn many_processors_are_measured() {
    let bench = Bench::new();
    let ended = bench.cp2("bench scale --procs 3,1 --threads 2,1 --json");
    let report = ended.works().json();
    assert_eq!(report["schema"], "cp2-bench-scale/1");
    assert_eq!(report["workload"], "stencil");
    let runs = report["runs"].as_array().unwrap();
    let of = |run: &serde_json::Value, key: &str| run[key].as_u64().unwrap();
    let which: Vec<_> = runs
        .iter()
        .map(|run| (of(run, "procs"), of(run, "threads")))
        .collect();
    assert_eq!(which, [(1, 1), (1, 2), (3, 1), (3, 2)]);
    // Two messages between each pair of neighbours before each of eight steps; threads change nothing.
    let messages: Vec<_> = runs.iter().map(|run| of(run, "messages")).collect();
    assert_eq!(messages, [0, 0, 2 * 2 * 8, 2 * 2 * 8]);
    assert_eq!(runs[2]["cycles"], runs[3]["cycles"]);
    assert!(runs[2]["seconds_per_message"].is_number());
    assert!(runs[3]["seconds_per_message"].is_null());
    let text = bench.cp2("bench scale --workload mg --procs 2 --threads 1");
    assert!(text.works().out.contains("per processor"), "{}", text.out);
}

#[test]
fn nonsense_is_refused() {
    Bench::new()
        .cp2("bench scale --procs 0")
        .fails(2, &["1..=1024"]);
    Bench::new()
        .cp2("bench emu --seconds=-1")
        .fails(2, &["--seconds"]);
    Bench::new()
        .cp2("bench emu --seconds=1e9")
        .fails(2, &["3600"]);
}

#[test]
fn the_engine_that_ran_is_reported() {
    let bench = Bench::new();
    let eight =
        "base = \"vm7\"\nname = \"eight\"\n[cp2]\nsections = {value = 8, unit = \"sections\"}\n";
    std::fs::write(bench.path("eight.toml"), eight).unwrap();
    for (machine, engine) in [("vm7", "fast"), ("eight.toml", "reference")] {
        let line = format!("fft --n 64 --batch 8 --machine {machine} --json");
        let json = bench.cp2(&line).works().json();
        assert_eq!(json["engine"], engine, "{machine}");
    }
}

#[test]
fn machines_to_compare_are_named_one_by_one() {
    let bench = Bench::new();
    bench.refuses(&[
        ("model --machine vm9 fft", &["give its --machine behind it"]),
        ("model --machine vm9", &["goes with --all"]),
    ]);
    let line = "pipeline radar --pulses 16 --ranges 64 --chirp 16 --json --machine";
    let json = bench.cp2(&format!("{line} vm9")).works().json();
    assert_eq!(json["machines"].as_array().unwrap().len(), 1);
    assert_eq!(json["machines"][0]["machine"], "vm9");
    let json = bench
        .cp2(&format!("{line} vm9 --machine vm7"))
        .works()
        .json();
    assert_eq!(json["machines"][1]["machine"], "vm7");
}

#[cfg(target_os = "linux")]
#[test]
fn an_emulation_beside_the_model_can_be_interrupted() {
    let line = "model fft-large --n 262144 --batch 64 --emulate";
    let (code, err) = interrupted(Bench::new().command(line));
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("interrupted"), "{err}");
}

/// Small arrays on an adapter, which may be the processor.
#[cfg(feature = "gpu")]
#[test]
fn shaders_are_measured_beside_a_copy() {
    let bench = Bench::new();
    let line = "bench gpu --rows fft-1024,stencil-7,conv-1024 --mib 1 --repetitions 2 --seed 3";
    let json = bench.cp2(&format!("{line} --json")).works().json();
    assert_eq!(json["schema"], "cp2-bench-gpu/1");
    assert_eq!(json["command"], format!("cp2 {line} --json"));
    assert_eq!((&json["seed"], &json["passed"]), (&3.into(), &true.into()));
    assert_eq!(json["date"].as_str().unwrap().len(), 10);
    assert!(!json["card"].as_str().unwrap().is_empty() && json["driver"].is_string());
    let rows = json["rows"].as_array().unwrap();
    let names: Vec<_> = rows
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["copy", "fft-1024", "stencil-7", "conv-1024"]);
    let number = |row: &serde_json::Value, key: &str| row[key].as_f64().unwrap();
    let copy = number(&rows[0], "bytes") / number(&rows[0], "seconds");
    for row in rows {
        assert_eq!(row["passed"], true, "{row}");
        let rate = number(row, "bytes") / number(row, "seconds");
        assert!(rate > 0.0 && (number(row, "times_copy") / (rate / copy) - 1.0).abs() < 1e-9);
    }
    assert!(rows.iter().all(|row| row["clock"] == "device"));
    // One MiB: complex numbers, and floats on the largest cube of a power of two.
    assert_eq!(rows[1]["size"], serde_json::json!([128, 1024]));
    assert_eq!(rows[2]["size"], serde_json::json!([64, 64, 64]));
    bench
        .cp2("bench gpu --rows fft-3")
        .fails(2, &["no row `fft-3`", "fft-3d"]);
    bench
        .cp2("bench gpu --mib 1048576")
        .fails(2, &["--mib", "at most"]);
}

/// The benchmark MG, of class S in arrays of a MiB, with the times that are expected and those of machines.
#[cfg(feature = "gpu")]
#[test]
fn measured_times_stand_beside_expected_and_simulated_ones() {
    let bench = Bench::new();
    let line = "bench gpu --rows mg-c,fft-1024,himeno-l --mib 1 --repetitions 2";
    let json = bench.cp2(&format!("{line} --json")).works().json();
    assert_eq!(json["machines"], serde_json::json!(["vm7", "vm9"]));
    let rows = json["rows"].as_array().unwrap();
    let find = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let multigrid = find("mg-c");
    assert_eq!(multigrid["passed"], true, "{multigrid}");
    assert_eq!(multigrid["size"], serde_json::json!([32, 32, 32]));
    // 58 operations a point and cycle; three numbers a point, four of the levels below.
    assert_eq!(number(&multigrid["operations"]), 58.0 * 4.0 * 32768.0);
    let coarse = 4096 + 512 + 64 + 8;
    assert_eq!(multigrid["bytes"], 4 * 4 * (3 * 32768 + 4 * coarse));
    let copy = number(&find("copy")["gigabytes_per_second"]) * 1e9;
    for row in rows {
        let (seconds, expected) = (number(&row["seconds"]), &row["expected_by_copy"]);
        let rate = number(&row["bytes"]) / number(&expected["seconds"]);
        assert!((rate / copy - 1.0).abs() < 1e-9, "{row}");
        let ratio = number(&expected["seconds"]) / seconds;
        assert!(
            (number(&expected["over_measured"]) / ratio - 1.0).abs() < 1e-9,
            "{row}"
        );
        let flops = number(&row["operations"]) / seconds * 1e-9;
        assert!(
            (number(&row["gigaflops"]) - flops).abs() <= 1e-9 * flops,
            "{row}"
        );
        let adapter = json["card"].as_str().unwrap();
        if adapter.starts_with("llvmpipe") {
            assert!(json["data_sheet"].is_null() && row["expected_by_data_sheet"].is_null());
        }
    }
    // The model's own command says the same of the same problem.
    let model = "model fft --n 1024 --batch 128 --machine vm9 --json";
    let model = bench.cp2(model).works().json();
    let simulated = &find("fft-1024")["simulated"][1];
    assert_eq!(simulated["machine"], "vm9");
    assert_eq!(
        simulated["model_seconds"], model["expected_seconds"],
        "{model}"
    );
    let refused = &find("himeno-l")["simulated"][0];
    assert!(refused["model_seconds"].is_null(), "{refused}");
    assert!(
        refused["reason"].as_str().unwrap().contains("no kernel"),
        "{refused}"
    );
    let ended = bench.cp2(&format!("{line} --machine vm9"));
    let text = &ended.works().out;
    for part in [
        "measured by the card's clock",
        "expected by data sheet",
        "vm9, simulated",
        "GFLOPS",
        "- of vm9: himeno-l: no kernel",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("vm7"), "{text}");
}

/// Matrices from files, as often along the diagonal as there have to be entries.
#[cfg(feature = "gpu")]
#[test]
fn products_with_matrices_from_files_are_measured() {
    let bench = Bench::new();
    let head = "%%MatrixMarket matrix coordinate";
    bench.write(
        "own.mtx",
        format!("{head} real symmetric\n3 3 3\n1 1 2\n2 1 -1\n3 3 4\n"),
    );
    bench.write(
        "wide.mtx",
        format!("{head} pattern general\n1 2 2\n1 1\n1 2\n"),
    );
    bench.write(
        "complex.mtx",
        format!("{head} complex general\n1 1 1\n1 1 1 2\n"),
    );
    let matrices = ["own.mtx", "wide.mtx", "complex.mtx"].map(|name| format!("--matrix {name} "));
    let line = format!(
        "bench gpu --rows copy {}--entries 1001 --planned-entries 1002 --repetitions 1 --json",
        matrices.concat()
    );
    let json = bench.cp2(&line).works().json();
    let rows = json["rows"].as_array().unwrap();
    let names = rows.iter().map(|row| row["name"].as_str().unwrap());
    let expected = ["copy", "matrix-own", "matrix-wide", "matrix-complex"];
    assert_eq!(names.collect::<Vec<_>>(), expected);
    // Four entries with the mirrored one: 251 copies have 1004. Bytes of values, columns and both vectors.
    for (row, copies, entries, size, bytes) in [
        (&rows[1], 251, 1004, [753, 753], 1004 * 8 + 2 * 753 * 4),
        (
            &rows[2],
            501,
            1002,
            [501, 1002],
            1002 * 4 + (501 + 1002) * 4,
        ),
        (&rows[3], 1001, 1001, [1001, 1001], 1001 * 12 + 2 * 1001 * 8),
    ] {
        assert_eq!(row["passed"], true, "{row}");
        assert_eq!(row["matrix"]["copies"], copies, "{row}");
        assert_eq!(row["matrix"]["entries"], entries, "{row}");
        assert_eq!(row["size"], serde_json::json!(size), "{row}");
        assert_eq!(row["bytes"], bytes, "{row}");
        assert_eq!(row["goal"], "1.00 x cuSPARSE");
        let times = row["simulated"].as_array().unwrap();
        for time in times {
            let planned = time["model_seconds"]
                .as_f64()
                .is_some_and(|seconds| seconds > 0.0);
            assert_eq!(planned, entries <= 1002, "{row}");
            assert_eq!(time["reason"].is_string(), !planned, "{row}");
        }
    }
    bench.write("empty.mtx", format!("{head} real general\n3 3 0\n"));
    bench.write("torn.mtx", format!("{head} real general\n3 3 2\n1 1 1\n"));
    bench.write("own.txt", "");
    for (line, parts) in [
        ("--matrix empty.mtx", ["empty.mtx", "no entries"]),
        ("--matrix torn.mtx", ["torn.mtx", "line"]),
        ("--matrix none.mtx", ["none.mtx", "No such file"]),
        ("--matrix own.txt", ["own.txt", ".mtx"]),
        ("--matrix own.mtx --matrix ./own.mtx", ["two files", "own"]),
        ("--matrix own.mtx --adapters 2", ["--adapters", "--matrix"]),
    ] {
        bench
            .cp2(&format!("bench gpu --rows copy {line}"))
            .fails(2, &parts);
    }
}

/// The list of rows in the help is that of the table.
#[cfg(feature = "gpu")]
#[test]
fn the_help_lists_all_rows() {
    let help = Bench::new().cp2("bench gpu --help");
    let words = help
        .works()
        .out
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let names: Vec<_> = cp2_gpu::bench::SPEED_ROWS
        .iter()
        .map(|row| row.name)
        .collect();
    assert!(
        words.contains(&format!("between: {};", names.join(", "))),
        "{words}"
    );
}

#[cfg(not(feature = "gpu"))]
#[test]
fn without_graphics_cards_nothing_is_measured() {
    Bench::new()
        .cp2("bench gpu")
        .fails(2, &["built without graphics cards", "--features gpu"]);
}
