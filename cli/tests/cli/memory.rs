//! Test of the host memory that long jobs take.

use crate::bench::{Bench, npy};
use std::process::Stdio;
use std::time::Duration;

/// Bytes of the command itself: program, plans, and parts of arrays in transit.
const COMMAND: u64 = 48 << 20;

/// Runs a command; returns its output and its peak of host memory in bytes.
///
/// The system records the peak so far, so that the time of the query does not matter as long as it is late.
/// The result is judged after all memory has been touched.
fn peak(bench: &Bench, line: &str) -> (String, u64) {
    let mut command = bench.command(line);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        peak = peak.max(kilobytes.unwrap_or(0) * 1024);
        std::thread::sleep(Duration::from_millis(2));
    }
    let ended = child.wait_with_output().unwrap();
    let out = String::from_utf8(ended.stdout).unwrap();
    assert!(ended.status.success(), "{line}: {out}");
    (out, peak)
}

/// Data, result and reference of a long job are held completely in emulated memory only.
#[test]
fn a_long_job_takes_little_more_than_its_arrays() {
    let bench = Bench::new();
    const NUMBERS: u64 = 8 << 20;
    let one = vec![0x3f; 8 * NUMBERS as usize];
    bench.write("x.npy", npy("<c8", "False", "(8192, 1024)", &one));
    drop(one);
    // Two arrays of complex numbers.
    let arrays = 2 * 8 * NUMBERS;
    for line in [
        "fft --n 1024 --batch 8192",
        "fft --n 1024 --batch 8192 --threads 2",
        "fft --input x.npy --output y.npy",
        "conv --channels 8 --samples 1048576 --length 65",
        "conv --input x.npy --length 65 --output y.npy",
    ] {
        let (out, peak) = peak(&bench, line);
        assert!(out.contains("of the tolerance"), "{line}: {out}");
        let most = arrays * 13 / 10 + COMMAND;
        assert!(peak <= most, "{line}: {peak} bytes for {arrays} of arrays");
        // The query came late enough: the command had touched its arrays.
        assert!(
            peak >= arrays,
            "{line}: {peak} bytes for {arrays} of arrays"
        );
    }
}
