//! Tests of commands on several processors, in one process and as MPI ranks.

use crate::bench::Bench;

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
            "stencil --shape 8x8x8 --edge fixed --procs 2 --profile",
            &["--profile", "--procs 1"],
        ),
        (
            "stencil --shape 8x8x8 --edge fixed --procs 2 --trace t.svg",
            &["--trace"],
        ),
        (
            "stencil --shape 8x8x8 --edge fixed --procs 2 --emit run",
            &["--emit"],
        ),
        (
            "stencil --shape 8x8x8 --edge fixed --procs 2 --plan",
            &["--plan"],
        ),
        ("stencil --procs 0", &["0", "1..=1024"]),
    ]);
    let limit = "stencil --shape 8x8x8 --edge fixed --procs 2 --max-cycles 1000";
    bench.cp2(limit).fails(3, &["processor 0", "1000 cycles"]);
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
mod ranks {
    use super::STENCIL;
    use crate::bench::{Bench, Ended};
    use std::process::Command;

    /// Runs a line on so many ranks, at most a minute.
    fn mpirun(bench: &Bench, ranks: usize, line: &str) -> Ended {
        let ranks = ranks.to_string();
        let output = Command::new("timeout")
            .args(["-k", "10", "60", "mpirun", "-n", &ranks])
            .args(["--oversubscribe", "--bind-to", "none"])
            .args(["--mca", "mpi_yield_when_idle", "1"])
            .arg(env!("CARGO_BIN_EXE_cp2"))
            .args(line.split_whitespace())
            .current_dir(bench.path(""))
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .env("OMPI_MCA_btl_vader_single_copy_mechanism", "none")
            .output();
        // `.ci/test` installs timeout and mpirun.
        let output = output.unwrap();
        assert_ne!(output.status.code(), Some(124), "{line} hangs");
        Ended::of(output)
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
