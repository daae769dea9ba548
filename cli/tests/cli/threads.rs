//! Tests of limited threads: equal results with few additional threads or none.

use crate::bench::{Bench, Ended, bytes, npy};
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Makes a folder with a copy of the program that every user can reach, wherever it was built.
fn open_bench() -> Bench {
    let bench = Bench::new();
    std::fs::set_permissions(bench.folder(), Permissions::from_mode(0o777)).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_cp2"), bench.path("cp2")).unwrap();
    std::fs::set_permissions(bench.path("cp2"), Permissions::from_mode(0o755)).unwrap();
    bench
}

/// Makes a command that may have this many threads, its main thread included.
///
/// The limit counts all threads of a user and does not hold for the superuser, who therefore runs the command
/// as a user without other processes. Any other user has more threads than that already, so that no
/// additional thread can be started.
fn limited(bench: &Bench, line: &str, (user, threads): (u32, u32)) -> Command {
    let limit = format!("ulimit -u {threads}");
    let mut command = bench.limited(&bench.path("cp2"), line, &limit);
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.uid(user).gid(user);
    }
    command
}

/// Returns the figures of a command, without the time that it took on this computer.
fn figures(ended: &Ended) -> Value {
    let mut json = ended.works().json();
    let object = json.as_object_mut().unwrap();
    object.retain(|key, _| !key.contains("seconds") || key.contains("simulated"));
    json
}

#[test]
fn results_do_not_hang_on_the_threads_that_can_be_started() {
    let bench = open_bench();
    let matrix = "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 -1\n2 2 2\n";
    bench.write("a.mtx", matrix);
    bench.write("b.npy", npy("<f4", "False", "(2,)", &bytes(&[1.0, 2.0])));
    for (user, line) in (61_000..).step_by(8).zip([
        "fft --n 64 --batch 8",
        "fft --n 64 --batch 2048 --threads 4",
        "conv --channels 2 --samples 20000 --length 33 --threads 4",
        "fir --samples 2000 --length 33",
        "stencil --shape 64x256 --points 5 --threads 3",
        "spmv --matrix a.mtx",
        "solve --matrix a.mtx --rhs b.npy --method cg",
        "npb ft --class S --threads 2",
        "machines",
    ]) {
        let line = format!("{line} --json");
        let free = figures(&bench.cp2(&line));
        // No additional thread; the one that waits for Ctrl-C; and that one with some of the requested
        // threads.
        for threads in [1, 2, 3, 4] {
            let ended = Ended::of(
                limited(&bench, &line, (user + threads, threads))
                    .output()
                    .unwrap(),
            );
            assert_eq!(figures(&ended), free, "{line}, {threads} threads");
            assert!(ended.err.is_empty(), "{line}: {}", ended.err);
        }
    }
}

/// Without a thread that waits for interrupts, the first interrupt ends the run, and the second one ends the
/// process.
#[test]
fn an_interrupt_needs_no_thread() {
    let bench = open_bench();
    let run = |line: &str, user: u32, times| {
        crate::bench::interrupted_often(limited(&bench, line, (user, 1)), times)
    };
    bench.write("spin.s", ".program\nself:\n    jmp self\n    stop\n");
    bench.cp2("asm spin.s").works();
    run("run spin.elf", 62_000, 1).fails(3, &["interrupted"]);
    let made = std::process::Command::new("mkfifo")
        .arg(bench.path("x.npy"))
        .status()
        .unwrap();
    assert!(made.success());
    std::fs::set_permissions(bench.path("x.npy"), Permissions::from_mode(0o666)).unwrap();
    // The command waits for a writer of the pipe.
    assert_eq!(run("fft --n 16 --input x.npy", 62_001, 2).code, 3);
}
