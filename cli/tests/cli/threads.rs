//! Where the system starts few threads, or none: the same results.

use crate::bench::{Bench, Ended, bytes, npy};
use serde_json::Value;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;

/// Runs a command that may have so many threads, its first one included.
///
/// The limit counts all threads of a user and does not hold for the superuser, who runs the command as a user with nothing else to do;
/// anybody else has more threads than that already, and none can be started.
fn limited(bench: &Bench, line: &str, (user, threads): (u32, u32)) -> Ended {
    let mut command = bench.limited(line, &format!("ulimit -u {threads}"));
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.uid(user).gid(user);
    }
    Ended::of(command.output().unwrap())
}

/// What a command printed, but for the time that it took on this computer.
fn figures(ended: &Ended) -> Value {
    let mut json = ended.works().json();
    let object = json.as_object_mut().unwrap();
    object.retain(|key, _| !key.contains("seconds") || key.contains("simulated"));
    json
}

#[test]
fn results_do_not_hang_on_the_threads_that_can_be_started() {
    let bench = Bench::new();
    // The user of the limited commands comes here from outside.
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(bench.folder(), open).unwrap();
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
        // No other thread, the one that waits for Ctrl-C, and that one with some of those that were asked for.
        for threads in [1, 2, 3, 4] {
            let ended = limited(&bench, &line, (user + threads, threads));
            assert_eq!(figures(&ended), free, "{line}, {threads} threads");
            assert!(ended.err.is_empty(), "{line}: {}", ended.err);
        }
    }
}

/// Nobody waits for it in a thread: the first interrupt ends the run, the second one all.
#[test]
fn an_interrupt_needs_no_thread() {
    let bench = Bench::new();
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(bench.folder(), open).unwrap();
    let root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    let run = |line: &str, user: u32, times| {
        let mut command = bench.limited(line, "ulimit -u 1");
        if root {
            command.uid(user).gid(user);
        }
        crate::bench::interrupted_often(command, times)
    };
    bench.write("spin.s", ".program\nself:\n    jmp self\n    stop\n");
    bench.cp2("asm spin.s").works();
    run("run spin.elf", 62_000, 1).fails(3, &["interrupted"]);
    let made = std::process::Command::new("mkfifo")
        .arg(bench.path("x.npy"))
        .status()
        .unwrap();
    assert!(made.success());
    std::fs::set_permissions(bench.path("x.npy"), std::fs::Permissions::from_mode(0o666)).unwrap();
    // It waits for somebody who writes.
    assert_eq!(run("fft --n 16 --input x.npy", 62_001, 2).code, 3);
}
