//! Makes the changes of `tests/mutants/list.toml` and runs the tests they name.
//!
//! Each change is wrong, and its test has to fail. `cargo run -p cp2-tests --example mutants [-- PART...]`
//! makes all changes, or those with a `PART` in their name, one by one. The exit code is 1 if a change was
//! not caught.
//!
//! The changes are made in a copy of the files that git tracks, in `target/mutants`. The first run builds the
//! tests there; a change then costs the build of the crates that it affects. Builds are less optimised than
//! usual, which takes less time together with the run of one test. Changes with a common test follow each
//! other. Property tests draw from the seed of `.cargo/config.toml`, as in `.ci/test`; failing cases are
//! neither shrunk nor remembered for the next run.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a tool for those who work on cp2"
)]

#[path = "../mutants/list.rs"]
mod mutant;

use mutant::{Mutant, all, root};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Outcome of a test run.
enum End {
    Passed,
    Failed,
    /// The tests did not run.
    NotBuilt(String),
}

/// Settings for fast builds, and for tests that end with the first failing case.
const SETTINGS: [(&str, &str); 5] = [
    ("CARGO_INCREMENTAL", "1"),
    ("CARGO_PROFILE_DEV_DEBUG", "false"),
    ("CARGO_PROFILE_DEV_OPT_LEVEL", "1"),
    ("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1"),
    ("PROPTEST_MAX_SHRINK_ITERS", "0"),
];

fn main() -> ExitCode {
    let parts: Vec<String> = std::env::args().skip(1).collect();
    let copy = root().join("target/mutants");
    mirror(&copy);
    let mut chosen = all();
    chosen.retain(|mutant| parts.is_empty() || parts.iter().any(|part| mutant.name.contains(part)));
    // Changes in the same crates follow each other: the next build also undoes the previous change.
    chosen.sort_by(|a, b| (&a.test, &a.file).cmp(&(&b.test, &b.file)));
    let (mut caught, mut missed) = (0, Vec::new());
    for mutant in chosen {
        let start = Instant::now();
        let file = copy.join(&mutant.file);
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replacen(&mutant.from, &mutant.to, 1)).unwrap();
        let end = test(&copy, &mutant);
        std::fs::write(&file, text).unwrap();
        let verdict = match end {
            End::Failed => {
                caught += 1;
                "caught"
            }
            End::Passed => "NOT CAUGHT",
            End::NotBuilt(_) => "NOT RUN",
        };
        println!(
            "{verdict:10} {:4} s  {}",
            start.elapsed().as_secs(),
            mutant.name
        );
        if let End::NotBuilt(why) = &end {
            println!("{why}");
        }
        if !matches!(end, End::Failed) {
            missed.push(mutant.name);
        }
    }
    println!("{caught} caught, {} not", missed.len());
    ExitCode::from(u8::from(!missed.is_empty()))
}

/// Updates the copy to the files that git tracks here. Unchanged files keep their time stamps, and so their
/// builds.
fn mirror(copy: &Path) {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    let mut kept = BTreeSet::from([copy.join("target")]);
    for name in listed
        .stdout
        .split(|byte| *byte == 0)
        .filter(|n| !n.is_empty())
    {
        let name = Path::new(std::str::from_utf8(name).unwrap());
        let (Ok(new), to) = (std::fs::read(root().join(name)), copy.join(name)) else {
            continue;
        };
        if std::fs::read(&to).ok().as_ref() != Some(&new) {
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::write(&to, new).unwrap();
        }
        kept.insert(to);
    }
    remove_others(copy, &kept);
}

/// Removes files that are no longer tracked, since an old file might be what catches a change.
fn remove_others(folder: &Path, kept: &BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if kept.contains(&path) {
            continue;
        }
        if path.is_dir() {
            remove_others(&path, kept);
        } else {
            std::fs::remove_file(path).unwrap();
        }
    }
}

fn test(copy: &Path, mutant: &Mutant) -> End {
    let run = |more: &[&str]| {
        Command::new("cargo")
            .args(["test", "--locked", "--quiet"])
            .args(mutant.test.split(' '))
            .args(more)
            .current_dir(copy)
            .env("CARGO_TARGET_DIR", copy.join("target"))
            .envs(SETTINGS)
            .output()
            .unwrap()
    };
    let built = run(&["--no-run"]);
    if !built.status.success() {
        return End::NotBuilt(String::from_utf8_lossy(&built.stderr).into_owned());
    }
    if run(&[]).status.success() {
        End::Passed
    } else {
        End::Failed
    }
}
