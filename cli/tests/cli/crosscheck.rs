//! Tests of `cp2 crosscheck`: backends beside the reference and each other.

use crate::bench::Bench;
use serde_json::Value;

/// Returns the rows of a report with these values.
fn rows<'a>(json: &'a Value, values: &[(&str, &str)]) -> Vec<&'a Value> {
    let rows = json["rows"].as_array().unwrap().iter();
    let chosen = rows.filter(|row| values.iter().all(|(key, value)| row[key] == *value));
    chosen.collect()
}

/// Two kinds on two backends: every case of every size, three pairs each, and each judged one is within its bound.
#[test]
fn two_kinds_on_two_backends() {
    let bench = Bench::new();
    let line = "crosscheck fft,stencil --backend cp2,native --json";
    let json = bench.cp2(line).works().json();
    assert_eq!(json["schema"], "cp2-crosscheck/1");
    assert_eq!(json["passed"], true);
    assert_eq!(json["refused"].as_array().unwrap().len(), 0);
    assert_eq!(json["backends"][0]["clock"], "simulated");
    assert_eq!(json["backends"][0]["machine"], "vm7");
    assert_eq!(json["backends"][1]["clock"], "measured");
    // Six and seven sizes, nine cases.
    assert_eq!(rows(&json, &[]).len(), (6 + 7) * 9 * 3);
    for row in rows(&json, &[]) {
        assert_eq!(row["seed"], 1);
        match (row["kind"].as_str().unwrap(), row["case"].as_str().unwrap()) {
            ("fft", "not-finite") => assert!(row["pass"].is_null(), "{row}"),
            // A reference without a finite part has no bound, which is said.
            (_, "not-finite") if row["bound"].is_null() => {
                assert!(row["pass"].is_null() && row["largest"].is_null(), "{row}");
                assert!(row["not_judged"].as_str().unwrap().contains("no bound"));
            }
            (_, "not-finite") => assert_eq!(row["pass"], true, "{row}"),
            _ => {
                assert_eq!(row["pass"], true, "{row}");
                let [largest, bound] = ["largest", "bound"].map(|key| row[key].as_f64().unwrap());
                assert!(largest <= bound, "{row}");
            }
        }
    }
    // Loops in the order of the definition round twice; transforms have no such order.
    for case in ["random", "zeros", "outlier", "subnormal"] {
        let native = [("a", "native"), ("case", case)];
        for row in rows(&json, &native) {
            let class = match row["kind"].as_str().unwrap() {
                "stencil" => "rounded-twice",
                _ => "bounded",
            };
            assert_eq!(row["class"], class, "{row}");
        }
    }
    let open = rows(&json, &[("kind", "stencil"), ("case", "not-finite")]);
    assert!(open.iter().any(|row| row["pass"] == true));
    assert!(open.iter().any(|row| row["pass"].is_null()));
    let pairs = rows(&json, &[("a", "cp2"), ("b", "native"), ("case", "random")]);
    assert_eq!(pairs.len(), 6 + 7);
    for kind in ["fft", "stencil"] {
        assert!(json["bounds"][kind].as_str().unwrap().contains("2^-24"));
    }
    // Another seed is another input.
    let other = bench
        .cp2("crosscheck fft --backend native --seed 2 --json")
        .works()
        .json();
    let first = |json: &Value| {
        let own = [("kind", "fft"), ("a", "native"), ("case", "random")];
        rows(json, &own)[0]["largest"].clone()
    };
    assert_ne!(first(&other), first(&json));
}

/// True if CP2 has a kernel for a kind of problem.
fn is_computed_by_cp2(kind: &str) -> bool {
    let mut listed = cp2_kernels::REFUSED_KINDS.iter();
    listed.all(|(name, _)| *name != kind)
}

/// Every kind runs on every backend that there is, none is refused but those that CP2 lists, and all are right.
#[test]
fn every_kind_passes() {
    let json = Bench::new().cp2("crosscheck all --json").works().json();
    for refused in json["refused"].as_array().unwrap() {
        assert_eq!(refused["backend"], "cp2");
        assert!(!is_computed_by_cp2(refused["kind"].as_str().unwrap()));
    }
    let kinds = json["bounds"].as_object().unwrap();
    assert_eq!(kinds.len(), cp2_problems::KINDS.len());
    let mut pairs = vec![
        ["cp2", "reference"],
        ["native", "reference"],
        ["cp2", "native"],
    ];
    if cfg!(feature = "gpu") {
        pairs.extend([["gpu", "reference"], ["cp2", "gpu"], ["gpu", "native"]]);
    }
    for kind in cp2_problems::KINDS {
        for [a, b] in &pairs {
            let own = rows(&json, &[("kind", kind.name), ("a", a), ("b", b)]);
            if *a == "cp2" && !is_computed_by_cp2(kind.name) {
                assert!(own.is_empty(), "{} {b}", kind.name);
                continue;
            }
            assert_eq!(
                own.len(),
                9 * kind.small_sizes().len(),
                "{} {a} {b}",
                kind.name
            );
            assert!(own.iter().any(|row| row["pass"] == true));
        }
    }
    for row in rows(&json, &[]) {
        // Numbers that are not finite have no place in JSON.
        if let (Some(largest), Some(bound)) = (row["largest"].as_f64(), row["bound"].as_f64()) {
            assert!(row["pass"] != true || largest <= bound, "{row}");
        }
    }
    // CP2 fuses nothing, and native loops neither; where nothing is to be fused, every backend is equal to the bit.
    assert!(rows(&json, &[("a", "cp2"), ("class", "fused")]).is_empty());
    for kind in [
        "axpy",
        "complex-multiply",
        "power",
        "add",
        "subtract",
        "multiply",
        "scale",
        "window",
        "transpose",
        "max",
    ] {
        for row in rows(&json, &[("kind", kind), ("case", "random")]) {
            let fusible = ["axpy", "complex-multiply", "power"].contains(&kind);
            if !fusible || (row["a"] != "gpu" && row["b"] != "gpu") {
                assert_eq!(row["class"], "rounded-twice", "{row}");
            }
        }
    }
}

#[test]
fn the_table_has_a_summary_and_a_picture() {
    let bench = Bench::new();
    let line = "crosscheck magnitude --backend native,cp2 --machine vm9 --picture errors.svg";
    let text = bench.cp2(line);
    for words in [
        "cp2: kernels of CP2, emulated on vm9, times simulated",
        "native: this computer",
        "magnitude  1024  impulse",
        "cp2 - native",
        "bounded        pass",
        "not judged",
        "bound of magnitude: 2 units",
        "native - reference: 16 of 16 pass",
        "picture: errors.svg",
    ] {
        assert!(text.works().out.contains(words), "{words}: {}", text.out);
    }
    let picture = String::from_utf8(bench.read("errors.svg")).unwrap();
    assert!(
        picture.contains("cp2: ") && picture.contains("native: "),
        "{picture}"
    );
    let help = bench.cp2("crosscheck --help");
    assert!(help.works().out.contains("Example: cp2 crosscheck"));
}

/// A size is a row of values or named values, as both reports print it.
#[test]
fn sizes_of_ones_own() {
    let bench = Bench::new();
    let mut command = bench.command("crosscheck stencil --backend native --json --size");
    command.arg("1 9 11 5 3 periodic class");
    command.args(["--size", "rows=12 columns=9 points=9"]);
    let ended = crate::bench::Ended::of(command.output().unwrap());
    let json = ended.works().json();
    let sizes: Vec<_> = rows(&json, &[("case", "random")])
        .iter()
        .map(|row| row["size"].clone())
        .collect();
    assert_eq!(
        sizes,
        [
            "planes=1 rows=9 columns=11 points=5 steps=3 edge=periodic coefficients=class",
            "planes=1 rows=12 columns=9 points=9 steps=1 edge=zero coefficients=class"
        ]
    );
}

#[test]
fn what_nobody_has_is_refused() {
    let bench = Bench::new();
    bench.refuses(&[
        (
            "crosscheck stencl",
            &["`stencl`", "did you mean `stencil`?", "fft-nd"],
        ),
        ("crosscheck fft --backend cuda", &["cuda", "native"]),
        ("crosscheck fft,,dot", &["is empty", "one comma"]),
        (
            "crosscheck fft --size 7",
            &["--size", "`batch`", "n batch direction"],
        ),
        (
            "crosscheck fft,dot --size 7",
            &["--size belongs to one kind"],
        ),
        ("crosscheck axpy --size 100000000000", &["memory"]),
        ("crosscheck axpy --size 0", &["at least 1"]),
        (
            "crosscheck axpy --picture errors.png",
            &["errors.png", ".svg"],
        ),
    ]);
    #[cfg(not(feature = "gpu"))]
    bench.refuses(&[(
        "crosscheck fft --backend gpu",
        &["built without", "--features gpu"],
    )]);
}

/// The graphics card is described, probed and compared; one that is missing fails.
#[test]
#[cfg(feature = "gpu")]
fn a_graphics_card_beside_the_others() {
    let bench = Bench::new();
    let json = bench.cp2("crosscheck fft,stencil --json").works().json();
    assert_eq!(json["passed"], true);
    assert_eq!(json["refused"], Value::Array(Vec::new()));
    let mut gpu = json["backends"].as_array().unwrap().iter();
    let gpu = gpu.find(|backend| backend["name"] == "gpu").unwrap();
    assert_eq!(gpu["clock"], "measured");
    let name = gpu["adapter"]["name"].as_str().unwrap();
    assert!(!name.is_empty());
    // Three backends have six pairs.
    assert_eq!(rows(&json, &[]).len(), (6 + 7) * 9 * 6);
    for row in rows(&json, &[]) {
        let open = row["case"] == "subnormal" || row["case"] == "not-finite";
        if open && (row["a"] == "gpu" || row["b"] == "gpu") {
            assert!(row["pass"].is_null(), "{row}");
        }
    }
    let text = bench.cp2("crosscheck fft --backend gpu --picture errors.svg");
    let line = text.works().out.lines().next().unwrap();
    assert!(
        line.starts_with(&format!("gpu: {name}")) && line.contains("a * b + c"),
        "{line}"
    );
    let picture = String::from_utf8(bench.read("errors.svg")).unwrap();
    assert!(picture.contains("gpu: "), "{picture}");
}

/// Problems are divided among as many adapters as there are, by commands that say so.
#[test]
#[cfg(feature = "gpu")]
fn too_many_adapters_are_refused() {
    Bench::new().refuses(&[
        (
            "crosscheck himeno --backend gpu --adapters 64",
            &["64 graphics adapters", "take at most"],
        ),
        (
            "crosscheck himeno --backend native --adapters 2",
            &["--adapters", "--backend gpu"],
        ),
        ("bench gpu --adapters 64", &["64 graphics adapters"]),
        (
            "bench gpu --adapters 2 --rows himeno-l,fft-1024",
            &["--adapters", "fft-1024"],
        ),
    ]);
}

/// Kinds that CP2 refuses are named with the reason, and the other backends are compared.
#[test]
fn listed_refusals_are_said() {
    let bench = Bench::new();
    let line = "crosscheck himeno,axpy --backend cp2,native --json";
    let json = bench.cp2(line).works().json();
    let refused = json["refused"].as_array().unwrap();
    assert_eq!(refused.len(), 3);
    assert!(
        refused
            .iter()
            .all(|one| one["kind"] == "himeno" && one["backend"] == "cp2")
    );
    assert!(refused[0]["reason"].as_str().unwrap().contains("no kernel"));
    let own = rows(
        &json,
        &[("kind", "himeno"), ("a", "native"), ("case", "random")],
    );
    assert_eq!(own.len(), 3);
    assert!(
        own.iter()
            .all(|row| row["pass"] == true && row["class"] == "rounded-twice")
    );
    // Alone it is no failure either: nobody expects a kernel.
    bench.cp2("crosscheck himeno --backend cp2,native").works();
}

#[test]
#[cfg(feature = "gpu")]
fn a_computer_without_an_adapter_is_told_what_to_install() {
    let bench = Bench::new();
    for line in ["crosscheck fft", "fft --n 64 --backend gpu"] {
        let mut command = bench.command(line);
        for variable in ["VK_ICD_FILENAMES", "VK_DRIVER_FILES"] {
            command.env(variable, bench.path("none.json"));
        }
        let ended = crate::bench::Ended::of(command.output().unwrap());
        ended.fails(2, &["no graphics adapter", "mesa-vulkan-drivers"]);
        assert!(ended.out.is_empty(), "{}", ended.out);
    }
}
