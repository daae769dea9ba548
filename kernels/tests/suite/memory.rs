//! Tests that results are computed from memory, within simulated time.
//!
//! Time runs from the user's bytes in system memory, as they lie in his array, to the result's bytes there.
//!
//! Every kernel of the registry is recorded on two inputs. The user's arrays are in the first image of memory
//! byte for byte; everything else in the image is equal for both inputs; and the commands of one recording on
//! the data of the other give the other's result. So nothing is computed from data, nor moved, outside of
//! simulated time.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_host::emit::Replay;
use cp2_host::{DeviceOptions, MemoryElement, RunReport};
use cp2_kernels::dsp::{ElementwisePlan, MapOp};
use cp2_kernels::fft::{FftPlanner, RowStrides, TransformDirection};
use cp2_kernels::registry::{self, Kernel, Size};
use cp2_kernels::{JobError, PreparedJob, Random};
use cp2_machine::Machine;
use cp2_problems::Case;
use num_complex::Complex32;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A recorded run and its files.
struct Recorded {
    folder: PathBuf,
    manifest: Value,
    /// Bytes of the user's arrays.
    data: Vec<Vec<u8>>,
    report: RunReport,
}

/// An array in the images: its offset in the files, its address and bytes.
#[derive(Debug)]
struct Array {
    offset: usize,
    address: u64,
    bytes: usize,
}

impl Recorded {
    fn new(
        (kernel, size): (&dyn Kernel, &Size),
        machine: &Arc<Machine>,
        folder: PathBuf,
        seed: u64,
    ) -> Option<Self> {
        let options = DeviceOptions {
            record: true,
            ..DeviceOptions::default()
        };
        let seeded = kernel.prepare_input(size, machine, options, (Case::Random, seed));
        let prepared = match seeded {
            Ok(prepared) => prepared,
            Err(why) => panic!("{} {size} on {}: {why}", kernel.name(), machine.name),
        };
        let arrays = prepared.input.arrays();
        let data = arrays.iter().map(|array| array.values.bytes()).collect();
        let done = prepared.run().unwrap();
        assert!(done.run.report.end.is_finished());
        done.run.emit(&folder).unwrap();
        let text = std::fs::read_to_string(folder.join("commands.json")).unwrap();
        Some(Self {
            folder,
            manifest: serde_json::from_str(&text).unwrap(),
            data,
            report: done.run.report,
        })
    }

    fn arrays(&self, which: &str) -> Vec<Array> {
        let number = |v: &Value, name: &str| v[name].as_u64().unwrap();
        let of = |v: &Value| Array {
            offset: number(v, "offset") as usize,
            address: number(v, "address"),
            bytes: number(v, "bytes") as usize,
        };
        self.manifest[which]
            .as_array()
            .unwrap()
            .iter()
            .map(of)
            .collect()
    }

    fn image(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.folder.join(name)).unwrap()
    }

    /// Returns the first image without the user's input and without zeros, by address.
    ///
    /// Bytes that are zero when time begins are kept if they are not zero when it ends.
    fn rest(&self) -> Vec<(u64, u8)> {
        let mut image = self.image("memory.bin");
        for input in self.arrays("inputs") {
            image[input.offset..input.offset + input.bytes].fill(0);
        }
        let mut offset = 0;
        let mut rest = Vec::new();
        for stretch in self.manifest["memory"].as_array().unwrap() {
            let [address, bytes] = ["address", "bytes"].map(|n| stretch[n].as_u64().unwrap());
            let own = &image[offset..offset + bytes as usize];
            let values = (address..).zip(own.iter().copied());
            rest.extend(values.filter(|&(_, byte)| byte != 0));
            offset += bytes as usize;
        }
        rest.sort_unstable();
        rest
    }
}

fn result(folder: &Path, recorded: &Recorded) -> Vec<u8> {
    let image = std::fs::read(folder.join("memory-end.bin")).unwrap();
    let outputs = recorded.arrays("outputs");
    outputs
        .iter()
        .flat_map(|a| image[a.offset..a.offset + a.bytes].to_vec())
        .collect()
}

fn check(kernel: &dyn Kernel, size: &Size, machine: &Arc<Machine>) {
    let what = format!("{} {size} on {}", kernel.name(), machine.name);
    let folder = tempfile::tempdir().unwrap();
    let record = |name: &str, seed| {
        Recorded::new((kernel, size), machine, folder.path().join(name), seed).unwrap()
    };
    let (one, other) = (record("one", 1), record("other", 2));
    assert_eq!(one.report.cycles, other.report.cycles, "{what}");
    for recorded in [&one, &other] {
        let image = recorded.image("memory.bin");
        let inputs = recorded.arrays("inputs");
        assert_eq!(inputs.len(), recorded.data.len(), "{what}");
        for (input, data) in inputs.iter().zip(&recorded.data) {
            let there = &image[input.offset..input.offset + input.bytes];
            assert!(
                there == &data[..],
                "{what}: {input:?} is not the user's array"
            );
        }
    }
    assert_ne!(one.data, other.data, "{what}");
    assert!(
        one.rest() == other.rest(),
        "{what}: other bytes depend on the data"
    );

    let mut image = one.image("memory.bin");
    for (input, data) in one.arrays("inputs").iter().zip(&other.data) {
        image[input.offset..input.offset + input.bytes].copy_from_slice(data);
    }
    std::fs::write(one.folder.join("memory.bin"), image).unwrap();
    let replay = Replay::read(&one.folder).unwrap();
    assert!(
        !replay.is_changed && !replay.other_data.is_empty(),
        "{what}"
    );
    let run = replay
        .run(machine.clone(), DeviceOptions::default())
        .unwrap();
    assert_eq!(run.report.cycles, other.report.cycles, "{what}");
    let replayed: Vec<u8> = one
        .arrays("outputs")
        .iter()
        .flat_map(|a| {
            run.read(cp2_host::Buffer::<u8>::from_address(
                a.address,
                a.bytes as u64,
            ))
            .unwrap()
        })
        .collect();
    let wanted = result(&other.folder, &other);
    assert!(!wanted.iter().all(|&b| b == 0), "{what}");
    assert!(
        replayed == wanted,
        "{what}: a replay on other data gives another result"
    );
    assert_ne!(wanted, result(&one.folder, &one), "{what}");

    let problem = kernel.problem(size).unwrap();
    let method = kernel.method(&*problem, machine).unwrap();
    let task = method.task(&problem.input(Case::Random, 1), DeviceOptions::default());
    let mut job = task.unwrap().job.prepare();
    for recorded in [&other, &one] {
        write_all(&mut job, &recorded.data);
        let report = job.run().unwrap();
        assert!(
            report == recorded.report,
            "{what}: run again, another report"
        );
        assert!(
            read_all(&job) == result(&recorded.folder, recorded),
            "{what}: run again"
        );
    }
}

/// Writes all inputs of a prepared job.
fn write_all(job: &mut PreparedJob, data: &[Vec<u8>]) {
    for (input, bytes) in job.inputs().to_vec().into_iter().zip(data) {
        let floats: Vec<f32> = bytes.chunks(4).map(MemoryElement::get).collect();
        let numbers: Vec<Complex32> = bytes.chunks_exact(8).map(MemoryElement::get).collect();
        match input.element.as_str() {
            "float32" => job.write(&input.name, &floats),
            _ => job.write(&input.name, &numbers),
        }
        .unwrap();
    }
}

fn read_all(job: &PreparedJob) -> Vec<u8> {
    let mut all = Vec::new();
    for output in job.outputs() {
        let (name, count) = (&output.name, output.bytes as usize / 4);
        let mut bytes = vec![0; 4 * count];
        let words: Vec<u32> = match output.element.as_str() {
            "float32" => bits(job, name, vec![0.0f32; count], |x| vec![x.to_bits()]),
            "uint32" => bits(job, name, vec![0u32; count], |x| vec![x]),
            "float64" => bits(job, name, vec![0.0f64; count / 2], |x| {
                vec![x.to_bits() as u32, (x.to_bits() >> 32) as u32]
            }),
            _ => bits(job, name, vec![Complex32::default(); count / 2], |z| {
                vec![z.re.to_bits(), z.im.to_bits()]
            }),
        };
        for (word, bytes) in words.into_iter().zip(bytes.chunks_exact_mut(4)) {
            word.put(bytes);
        }
        all.extend(bytes);
    }
    all
}

fn bits<T: MemoryElement>(
    job: &PreparedJob,
    name: &str,
    mut values: Vec<T>,
    bits: impl Fn(T) -> Vec<u32>,
) -> Vec<u32> {
    job.read(name, &mut values).unwrap();
    values.into_iter().flat_map(bits).collect()
}

/// A wrong name, type or length is refused with the array's name.
#[test]
fn arrays_of_a_prepared_job_go_by_name() {
    let vm7 = Arc::new(Machine::builtin("vm7").unwrap());
    let map = ElementwisePlan::new(MapOp::Multiply, 64, vm7).unwrap();
    let (job, _) = map
        .job(&[&[2.0; 64], &[3.0; 64]], DeviceOptions::default())
        .unwrap();
    let mut job = job.prepare();
    let refused = |error: JobError| error.to_string();
    assert_eq!(
        refused(job.write("z", &[0.0f32; 64]).unwrap_err()),
        "the job has no input `z`; it has `x`, `y`"
    );
    assert_eq!(
        refused(job.write("x", &[0u32; 64]).unwrap_err()),
        "the input `x` holds float32, not uint32"
    );
    assert_eq!(
        refused(job.write("x", &[0.0f32; 63]).unwrap_err()),
        "the input `x` holds 64 values, not 63 from value 0 on"
    );
    assert_eq!(
        refused(job.write_part("x", u64::MAX, &[0.0f32; 2]).unwrap_err()),
        format!(
            "the input `x` holds 64 values, not 2 from value {} on",
            u64::MAX
        )
    );
    assert_eq!(
        refused(job.read("x", &mut [0.0f32; 64]).unwrap_err()),
        "the job has no output `x`; it has `y`"
    );
    job.write_part("y", 62, &[5.0f32, 7.0]).unwrap();
    job.run().unwrap();
    let mut y = [0.0f32; 3];
    job.read_part("y", 61, &mut y).unwrap();
    assert_eq!(y, [6.0, 10.0, 14.0]);
}

/// Further sizes besides one of each kernel: rows that are no whole granules, batches that fill no block,
/// several channels.
const SIZES: &[(&str, &[(&str, u64)])] = &[
    ("fft", &[("n", 64), ("batch", 5)]),
    ("fft", &[("n", 45), ("batch", 3)]),
    ("fft", &[("n", 4096), ("batch", 3)]),
    ("fft-large", &[("n", 8192), ("batch", 1)]),
    (
        "fft-nd",
        &[("planes", 1), ("rows", 32), ("columns", 32), ("batch", 5)],
    ),
    ("fft-mixed", &[("n", 143), ("batch", 7)]),
    ("fft-mixed", &[("n", 2001), ("batch", 2)]),
    ("fft-bluestein", &[("n", 127), ("batch", 5)]),
    ("fft-bluestein", &[("n", 1009), ("batch", 4)]),
    ("fft-real", &[("n", 100), ("batch", 3)]),
    ("fft-real", &[("n", 1001), ("batch", 8)]),
    ("fft-real", &[("n", 3000), ("batch", 5)]),
    ("fft-real", &[("n", 8192), ("batch", 3)]),
    ("fft-real", &[("n", 16_384), ("batch", 2)]),
    ("fft-real", &[("n", 15_750), ("batch", 3)]),
    ("fft-real-inverse", &[("n", 100), ("batch", 3)]),
    ("fft-real-inverse", &[("n", 1001), ("batch", 3)]),
    ("fft-real-inverse", &[("n", 4000), ("batch", 5)]),
    ("fft-real-inverse", &[("n", 8192), ("batch", 3)]),
    ("fft-real-inverse", &[("n", 16_384), ("batch", 2)]),
    ("conv", &[("taps", 5), ("samples", 1001), ("channels", 3)]),
    ("conv", &[("taps", 130), ("samples", 5000), ("channels", 1)]),
    ("conv", &[("taps", 129), ("samples", 1140), ("channels", 9)]),
    (
        "conv",
        &[("taps", 600), ("samples", 40_000), ("channels", 1)],
    ),
    (
        "conv",
        &[("taps", 5000), ("samples", 200_000), ("channels", 1)],
    ),
    (
        "conv-real",
        &[("taps", 5), ("samples", 1001), ("channels", 3)],
    ),
    (
        "conv-real",
        &[("taps", 129), ("samples", 1140), ("channels", 9)],
    ),
    (
        "conv-real",
        &[("taps", 130), ("samples", 5003), ("channels", 1)],
    ),
    (
        "fir",
        &[
            ("taps", 64),
            ("samples", 4001),
            ("channels", 2),
            ("decimate", 1),
            ("interpolate", 1),
            ("real", 1),
        ],
    ),
    (
        "fir",
        &[
            ("taps", 100),
            ("samples", 30_000),
            ("channels", 1),
            ("decimate", 151),
            ("interpolate", 1),
            ("real", 1),
        ],
    ),
    (
        "fir",
        &[
            ("taps", 16),
            ("samples", 3000),
            ("channels", 3),
            ("decimate", 1),
            ("interpolate", 3),
            ("real", 1),
        ],
    ),
    (
        "transpose",
        &[("rows", 255), ("columns", 101), ("count", 1)],
    ),
    ("transpose", &[("rows", 33), ("columns", 7), ("count", 5)]),
    (
        "transpose",
        &[("rows", 100), ("columns", 200), ("count", 3)],
    ),
    ("sum", &[("n", 101), ("rows", 7)]),
    ("max", &[("n", 1000), ("rows", 9)]),
    ("max", &[("n", 33), ("rows", 6)]),
    ("complex-dot", &[("n", 34), ("rows", 6)]),
];

/// Returns the smallest of a kernel's sizes in the tables.
fn smallest(kernel: &dyn Kernel) -> Size {
    let numbers = |size: &Size| {
        size.iter().fold(1u64, |n, (_, v)| {
            n.saturating_mul(v.number().unwrap_or(1).max(1))
        })
    };
    kernel.sizes().into_iter().min_by_key(numbers).unwrap()
}

#[test]
fn time_runs_from_the_users_bytes_to_the_results() {
    let vm7 = Arc::new(Machine::builtin("vm7").unwrap());
    for kernel in registry::all() {
        check(kernel, &smallest(kernel), &vm7);
    }
}

#[test]
fn rows_channels_and_batches_of_every_kind_as_well() {
    let vm9 = Arc::new(Machine::builtin("vm9").unwrap());
    for (name, values) in SIZES {
        let kernel = registry::find(name).unwrap_or_else(|| panic!("{name}"));
        check(kernel, &Size::new(values), &vm9);
    }
}

/// Values between rows are not read, whatever they are: for rows of whole granules and others, also where the
/// kernel has zeros there.
#[test]
fn gaps_are_not_looked_at() {
    let vm7 = Arc::new(Machine::builtin("vm7").unwrap());
    for (n, stride, batch) in [
        (1009, 1012, 1),
        (2047, 2048, 2),
        (2047, 2049, 1),
        (4099, 4100, 1),
        (1000, 1002, 2),
        (45, 46, 3),
    ] {
        let mut planner = FftPlanner::with_batch(vm7.clone(), batch);
        let fft = planner.plan(n, TransformDirection::Forward).unwrap();
        let x = Random::new(7).complexes(n * batch);
        let mut apart = vec![Complex32::new(f32::NAN, f32::INFINITY); stride * batch];
        for (to, from) in apart.chunks_mut(stride).zip(x.chunks(n)) {
            to[..n].copy_from_slice(from);
        }
        let rows = RowStrides {
            input: stride,
            output: n,
        };
        let y = fft
            .process_rows(&apart, rows, DeviceOptions::default())
            .unwrap();
        let wanted = fft.process(&x).unwrap().output;
        assert!(y.output == wanted, "{n} of {stride} x {batch}");
    }
}
