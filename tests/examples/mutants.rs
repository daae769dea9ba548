//! Makes the wrong changes of `tests/mutants/list.toml` one by one and runs the test
//! that each names: `cargo run -p cp2-tests --example mutants [-- PART]`, of all or
//! of those with `PART` in their name. Ends with 1 where a change was not caught.
//!
//! The changes are made in a copy of what git tracks, in `target/mutants`. A first
//! run builds the tests there; a change then costs the build of what it touches in their crates.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a tool for those who work on cp2"
)]

#[path = "../mutants/list.rs"]
mod mutant;

use mutant::{Mutant, all, root};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// How a run of tests ended.
enum End {
    Passed,
    Failed,
    /// The tests did not run.
    NotBuilt(String),
}

fn main() -> ExitCode {
    let part = std::env::args().nth(1).unwrap_or_default();
    let copy = root().join("target/mutants");
    mirror(&copy);
    let (mut caught, mut missed) = (0, Vec::new());
    for mutant in all().into_iter().filter(|m| m.name.contains(&part)) {
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

/// Brings the copy to what git tracks here; what is the same keeps its time, and so its build.
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
    }
}

fn test(copy: &Path, mutant: &Mutant) -> End {
    let run = |more: &[&str]| {
        Command::new("cargo")
            .args(["test", "--locked", "--no-fail-fast", "--quiet"])
            .args(mutant.test.split(' '))
            .args(more)
            .current_dir(copy)
            .env("CARGO_TARGET_DIR", copy.join("target"))
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
