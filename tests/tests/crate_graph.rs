//! Test of the crate graph: which crates may depend on which.
//!
//! This table is the only place where the permitted dependencies are written down.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    unreachable_pub,
    reason = "helpers of tests"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Folder of each crate, and the workspace crates it may use, which come before it in the table.
const GRAPH: &[(&str, &[&str])] = &[
    // Helpers shared by tests.
    ("tests", &[]),
    ("machine", &["cp2-tests"]),
    ("model", &["cp2-machine"]),
    // Bounds that kernels are judged by: the crate knows machines, and no kernel.
    ("model/reference", &["cp2-machine"]),
    ("asm", &["cp2-tests", "cp2-machine"]),
    ("dma", &["cp2-tests", "cp2-machine"]),
    ("emu", &["cp2-tests", "cp2-machine", "cp2-asm", "cp2-dma"]),
    (
        "host",
        &["cp2-tests", "cp2-machine", "cp2-asm", "cp2-dma", "cp2-emu"],
    ),
    // Messages between processors: the crate knows machines, and nothing that computes.
    ("host/network", &["cp2-tests", "cp2-machine"]),
    // Optional: it is empty without its feature.
    ("host/mpi", &["cp2-network", "cp2-machine"]),
    ("kernels/rustfft", &[]),
    // Definitions of problems: the crate knows nothing that computes them.
    ("kernels/problems", &["cp2-rustfft"]),
    ("kernels/native", &["cp2-problems", "cp2-rustfft"]),
    // Optional: it holds plain descriptions only without its feature.
    ("kernels/gpu", &["cp2-problems", "cp2-rustfft"]),
    (
        "kernels",
        &[
            "cp2-machine",
            "cp2-model",
            "cp2-reference",
            "cp2-asm",
            "cp2-dma",
            "cp2-emu",
            "cp2-host",
            "cp2-network",
            "cp2-problems",
            "cp2-rustfft",
            // Tests of the kernels compare with this backend.
            "cp2-native",
            "cp2-tests",
        ],
    ),
    (
        "cli",
        &[
            "cp2-machine",
            "cp2-model",
            "cp2-reference",
            "cp2-asm",
            "cp2-dma",
            "cp2-emu",
            "cp2-host",
            "cp2-network",
            "cp2-mpi",
            "cp2-problems",
            "cp2-native",
            // Optional: the feature `gpu`.
            "cp2-gpu",
            "cp2-rustfft",
            "cp2-kernels",
        ],
    ),
];

/// External crates that may be used in one crate only; a terminal, for example, does not belong in a library.
/// Where several are named, each reads a language of its own: programs, and rows of machine files.
const ONLY_IN: &[(&str, &str)] = &[
    ("clap", "cli"),
    ("indicatif", "cli"),
    ("signal-hook", "cli"),
    ("ndarray-npy", "cli"),
    ("png", "cli"),
    // A crate that names one of its planners compiles all of it again.
    ("rustfft", "kernels/rustfft"),
    ("mpi", "host/mpi"),
    ("wgpu", "kernels/gpu"),
    ("naga", "kernels/gpu"),
    ("nom", "machine asm"),
    ("gimli", "asm"),
    ("object", "asm"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn manifest(folder: &str) -> toml::Table {
    let path = root().join(folder).join("Cargo.toml");
    std::fs::read_to_string(&path)
        .unwrap()
        .parse()
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Collects the names under every `[...dependencies]` table, including those for particular targets.
fn dependencies(table: &toml::Table, with_dev: bool, out: &mut BTreeSet<String>) {
    for (key, value) in table {
        let Some(inner) = value.as_table() else {
            continue;
        };
        match key.as_str() {
            "dependencies" | "build-dependencies" => out.extend(inner.keys().cloned()),
            "dev-dependencies" if with_dev => out.extend(inner.keys().cloned()),
            "target" => inner
                .values()
                .filter_map(toml::Value::as_table)
                .for_each(|t| dependencies(t, with_dev, out)),
            _ => {}
        }
    }
}

fn used(folder: &str, with_dev: bool) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    dependencies(&manifest(folder), with_dev, &mut out);
    out
}

#[test]
fn the_table_lists_every_member() {
    let members: BTreeSet<String> = manifest("")["workspace"]["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m.as_str().unwrap().to_owned())
        .collect();
    let listed: BTreeSet<String> = GRAPH
        .iter()
        .map(|(folder, _)| (*folder).to_owned())
        .collect();
    assert_eq!(members, listed);
}

#[test]
fn no_crate_depends_on_what_it_may_not() {
    for (folder, allowed) in GRAPH {
        let forbidden: Vec<String> = used(folder, true)
            .into_iter()
            .filter(|name| name.starts_with("cp2") && !allowed.contains(&name.as_str()))
            .collect();
        assert!(
            forbidden.is_empty(),
            "{folder} must not depend on {forbidden:?}; see GRAPH in this file"
        );
    }
}

#[test]
fn the_table_has_no_cycle() {
    let name = |folder: &str| {
        manifest(folder)["package"]["name"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let graph: BTreeMap<String, &[&str]> = GRAPH
        .iter()
        .map(|(folder, uses)| (name(folder), *uses))
        .collect();
    // The crates are listed from bottom to top: each uses only crates that come before it.
    let mut before = BTreeSet::new();
    for (folder, uses) in GRAPH {
        assert!(
            uses.iter()
                .all(|u| graph.contains_key(*u) && before.contains(*u)),
            "{folder} uses what stands below it in the table"
        );
        before.insert(name(folder));
    }
}

#[test]
fn each_outside_crate_stays_in_its_layer() {
    for (folder, _) in GRAPH {
        for name in used(folder, false) {
            if let Some((_, home)) = ONLY_IN.iter().find(|(outside, _)| *outside == name) {
                let may = home.split(' ').any(|home| home == *folder);
                assert!(may, "{folder}: {name} belongs to {home} only");
            }
        }
    }
}

#[test]
fn versions_stand_in_the_root_only() {
    for (folder, _) in GRAPH {
        let text = std::fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let mut table = String::new();
        for line in text.lines() {
            if line.starts_with('[') {
                table = line.to_owned();
            } else if table.contains("dependencies")
                && line.contains('=')
                && !line.trim_start().starts_with('#')
            {
                assert!(
                    line.contains("workspace"),
                    "{folder}: `{line}` should take its version from the workspace"
                );
            }
        }
        assert!(
            text.contains("[lints]\nworkspace = true"),
            "{folder} does not follow the workspace's lints"
        );
    }
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => sources(&path, found),
            false if path.extension().is_some_and(|e| e == "rs" || e == "toml") => found.push(path),
            false => {}
        }
    }
}

/// No source of the references uses a kernel, its counts or an engine, neither as a crate nor as an included
/// file.
#[test]
fn references_reach_no_kernel() {
    let home = root().join("model/reference");
    let mut files = Vec::new();
    sources(&home, &mut files);
    assert!(files.len() > 5, "{}", home.display());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let lines = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for line in lines {
            let used = ["kernels", "host", "emu", "asm", "dma", "model"];
            let used = used.iter().find(|name| {
                line.contains(&format!("cp2_{name}")) || line.contains(&format!("cp2-{name}"))
            });
            let taken = [
                "include!",
                "include_str!",
                "include_bytes!",
                "#[path",
                "env!",
            ];
            let taken = taken.iter().find(|what| line.contains(**what));
            assert!(
                used.is_none() && taken.is_none(),
                "{}: `{line}`",
                file.display()
            );
        }
    }
    // The crate that the references may use cannot reach them either.
    let below = used("machine", false);
    assert!(!below.iter().any(|name| name.starts_with("cp2")));
}
