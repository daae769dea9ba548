//! Tests of `cp2 pipeline`: scenes, the user's files, and ends.

#[cfg(target_os = "linux")]
use crate::bench::interrupted;
use crate::bench::{Bench, bytes, lanes, npy};

const RADAR: &str = "pipeline radar --pulses 16 --ranges 64 --chirp 16";
const SONAR: &str = "pipeline sonar --hydrophones 8 --beams 8 --samples 512 --points 64";

#[test]
fn scenes_are_seen_on_every_machine() {
    let bench = Bench::new();
    let json = bench
        .cp2(&format!("{RADAR} --blocks 2 --carrier 3e9 --sample-rate 1e6 --picture map.svg --output s.npy --json"))
        .works()
        .json();
    assert_eq!(json["verified"], true);
    assert_eq!(json["engine"], "fast");
    assert_eq!(json["scene"]["judged"], true);
    assert_eq!(json["scene"]["contents"].as_array().unwrap().len(), 4);
    assert_eq!(json["detections"].as_array().unwrap().len(), 4);
    assert_eq!(json["spec"]["carrier"], 3e9);
    assert_eq!(json["spec"]["sample_rate"], 1e6);
    assert_eq!(json["range_cell_m"], 149.896_229);
    let machines = json["machines"].as_array().unwrap();
    assert_eq!(machines.len(), 2);
    for on in machines {
        assert!(on["verified"] == true && on["rel_error"].as_f64().unwrap() < 1e-6);
        assert!(on["decibels_error"].as_f64().unwrap() < 1e-4);
        assert!(on["same_bits"].is_boolean() && on["real_time_factor"].as_f64().unwrap() > 1.0);
        let stage = &on["stages"][0];
        assert!(stage["name"] == "pulse compression" && stage["programs"][0].is_string());
    }
    // The file has 2 blocks x 64 ranges x 16 pulses of two floats.
    assert_eq!(lanes(&bench.read("s.npy")).len(), 2 * 64 * 16 * 2);
    assert!(bench.read("map.svg").starts_with(b"<svg"));

    let json = bench
        .cp2(&format!("{SONAR} --sample-rate 2000 --decimate 2 --taps 32 --picture b.png --spectrogram s.png --json"))
        .works()
        .json();
    assert_eq!(
        (&json["verified"], &json["scene"]["judged"]),
        (&true.into(), &true.into())
    );
    assert_eq!(json["contacts"].as_array().unwrap().len(), 3);
    assert_eq!(json["frequency_cell_hz"], 2000.0 / 2.0 / 64.0);
    assert!(bench.path("b.png").is_file() && bench.path("s.png").is_file());
    // The report names every assumption behind its figures.
    let text = bench
        .cp2(&format!("{SONAR} --sample-rate 2000"))
        .works()
        .out
        .clone();
    assert!(
        text.contains("at 2 kHz") && text.contains("one of 4 samples behind 64 taps"),
        "{text}"
    );
    let text = bench.cp2(RADAR).works().out.clone();
    assert!(text.contains("carrier 1 GHz, pulses at 1.5 kHz"), "{text}");
}

#[test]
fn scenes_without_cells_enough_are_not_judged() {
    let bench = Bench::new();
    for line in [
        "pipeline radar --pulses 2 --ranges 64",
        "pipeline sonar --hydrophones 2 --samples 1024",
    ] {
        let json = bench
            .cp2(&format!("{line} --machine vm7 --json"))
            .works()
            .json();
        assert_eq!(
            (&json["verified"], &json["scene"]["judged"]),
            (&true.into(), &false.into())
        );
        let text = bench
            .cp2(&format!("{line} --machine vm7"))
            .works()
            .out
            .clone();
        assert!(text.contains("is not judged"), "{text}");
    }
}

/// Writes blocks of 16 pulses of 79 samples, all of them `value`.
fn write_pulses(bench: &Bench, name: &str, value: f32) {
    let data: Vec<f32> = (0..16 * 79)
        .flat_map(|i| [value * (i % 7) as f32, 0.0])
        .collect();
    bench.write(name, npy("<c8", "False", "(16, 79)", &bytes(&data)));
}

#[test]
fn files_are_verified_where_that_is_possible() {
    let bench = Bench::new();
    write_pulses(&bench, "x.npy", 1.0);
    let json = bench
        .cp2(&format!("{RADAR} --input x.npy --json"))
        .works()
        .json();
    assert!(json["verified"] == true && json["scene"].is_null() && json["seed"].is_null());
    // With samples that are not finite, errors are unknown, as with `cp2 fft` and `cp2 conv`.
    write_pulses(&bench, "nan.npy", f32::NAN);
    let ended = bench.cp2(&format!("{RADAR} --input nan.npy --json"));
    let json = ended.works().json();
    for key in ["verified", "rel_error", "decibels_error"] {
        assert!(
            json[key].is_null() && json["machines"][1][key].is_null(),
            "{key}"
        );
    }
    assert!(
        bench
            .cp2(&format!("{RADAR} --input nan.npy"))
            .works()
            .out
            .contains("not known")
    );
    // The power leaves the range of f32: the spectra are right, the map is not.
    for scale in [1e30, 1e-30] {
        write_pulses(&bench, "x.npy", scale);
        let ended = bench.cp2(&format!("{RADAR} --input x.npy --json"));
        ended.fails(
            1,
            &[
                "vm7: a decibel is off",
                "vm9: a decibel is off",
                "scale the input",
            ],
        );
        assert_eq!(ended.json()["verified"], false);
    }
}

#[test]
fn a_pulse_of_ones_own_is_an_input() {
    let bench = Bench::new();
    write_pulses(&bench, "x.npy", 1.0);
    bench.write(
        "pulse.npy",
        npy("<f4", "False", "(16,)", &bytes(&[1.0; 16])),
    );
    let radar = "pipeline radar --pulses 16 --ranges 64 --machine vm7 --pulse pulse.npy";
    let json = bench
        .cp2(&format!("{radar} --input x.npy --json"))
        .works()
        .json();
    assert_eq!(
        (&json["pulse"], &json["spec"]["chirp"]),
        (&"pulse.npy".into(), &16.into())
    );
    bench.cp2(radar).fails(2, &["--input"]);
    bench
        .cp2(&format!("{radar} --input x.npy --output pulse.npy"))
        .fails(2, &["also an input"]);
    bench.write("own.svg", "base = \"vm7\"\n");
    bench
        .cp2(&format!(
            "{RADAR} --machine vm7 --machine own.svg --picture own.svg"
        ))
        .fails(2, &["also an input"]);
    bench.write(
        "pulse.npy",
        npy("<f4", "False", "(16,)", &bytes(&[0.0; 16])),
    );
    bench
        .cp2(&format!("{radar} --input x.npy"))
        .fails(2, &["energy of the pulse"]);
}

#[test]
fn sizes_are_refused_by_name() {
    let bench = Bench::new();
    for (line, words) in [
        ("radar --ranges 101", &["ranges: 101", "even number"][..]),
        ("radar --pulses 1", &["pulses: 1 "]),
        ("radar --carrier -5", &["--carrier", "0.001 to"]),
        ("radar --sample-rate 0", &["--sample-rate", "0.001 to"]),
        (
            "radar --pulse-rate 1e6",
            &["pulse rate: 1000000 Hz", "before the next pulse"],
        ),
        ("sonar --samples 0", &["samples: 0", "from 1024"]),
        ("sonar --points 0", &["points: 0"]),
        ("sonar --decimate 0", &["decimate: 0"]),
        ("radar --output x.png", &[".npy"]),
        ("sonar --picture a.png --spectrogram a.png", &["a.png"]),
    ] {
        bench.cp2(&format!("pipeline {line}")).fails(2, words);
    }
    write_pulses(&bench, "x.npy", 1.0);
    bench
        .cp2("pipeline radar --pulses 16 --ranges 62 --chirp 16 --input x.npy")
        .fails(
            2,
            &[
                "x.npy",
                "rows of 77 samples (--ranges + --chirp - 1)",
                "16 rows (--pulses)",
            ],
        );
    // The samples of more ranges do not fit between 1500 pulses per second: the default rate is lower.
    let json = bench
        .cp2("pipeline radar --pulses 16 --ranges 2048 --machine vm7 --json")
        .works()
        .json();
    let rate = json["spec"]["pulse_rate"].as_f64().unwrap();
    assert!((rate - 2e6 / 2111.0).abs() < 1e-9, "{rate}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_interruption_is_no_bad_input() {
    let bench = Bench::new();
    let (code, err) = interrupted(bench.command("pipeline radar --blocks 1000"));
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("interrupted"), "{err}");
}
