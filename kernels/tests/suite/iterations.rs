//! Tests an iteration that its own scalars end: conjugate gradients.
//!
//! Page kernels compute the products and partial dot products, steps of the control CPU the scalars, which
//! kernels get as words filled at run time.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests; oracles may panic"
)]

use crate::common::machine;
use cp2_asm::{Program, Source, assemble};
use cp2_emu::Engine;
use cp2_host::emit::Replay;
use cp2_host::{Buffer, DeviceOptions, HostStep, MemoryElement, Paging, RunEnd, Stream};
use cp2_kernels::{Job, JobError, KernelRun, Random};
use cp2_reference::{Count, Figures, Traffic};
use std::sync::Arc;

/// Number of unknowns.
const N: usize = 2048;
/// Bytes of a block of vectors.
const BLOCK: u64 = 256;
/// Square of the residual, relative to that of the right side, at which the method ends.
const ENOUGH: f64 = 1e-9;

/// Assembly of a product, element by element.
const PRODUCT: &str = r#"
.include "page.s"
.program
    page_begin
    ldx2 a0, [a15]              ; x and z
    ldx c0, [a15 + 8]           ; blocks
    ldx a2, [a15 + 16]          ; y
    loop c0 {
        loop 16 {
            ldq q0, [a0]+16
            ldq q1, [a2]+16
            mul q2, q0, q1
            stq q2, [a1]+16
        }
        nop
    }
    page_end
    stop
"#;

/// Assembly of the dot product of a block in four sums.
const DOT: &str = r#"
.include "page.s"
.program
    page_begin
    ldx2 a0, [a15]              ; x and the sums
    ldx c0, [a15 + 8]           ; blocks
    ldx a2, [a15 + 16]          ; y
    loop c0 {
        lif r8, 0.0
        lif r9, 0.0
        loop 16 {
            ldq q0, [a0]+16
            ldq q1, [a2]+16
            madd q4, q0, q1, q4
        }
        stq q4, [a1]+16
    }
    page_end
    stop
"#;

/// Assembly of x + a y, where the scalar a is filled at run time.
const COMBINE: &str = r#"
.include "page.s"
.dmem 0
    .align 16
scalar: .space 16
.program
    movi a3, scalar
    ldq q8, [a3]
    page_begin
    ldx2 a0, [a15]              ; x and z
    ldx c0, [a15 + 8]           ; blocks
    ldx a2, [a15 + 16]          ; y
    loop c0 {
        loop 16 {
            ldq q0, [a0]+16
            ldq q1, [a2]+16
            madd q2, q8, q1, q0
            stq q2, [a1]+16
        }
        nop
    }
    page_end
    stop
"#;

fn program(text: &str) -> Arc<Program> {
    let assembled = assemble(&Source::new("kernel.s", text), &Default::default());
    Arc::new(assembled.unwrap().program)
}

/// Pages two vectors in, and one out with blocks of so many bytes.
fn paging(x: Buffer<f32>, y: Buffer<f32>, to: Buffer<f32>, bytes: u64) -> Paging {
    let stream = |name, of: Buffer<f32>, bytes| Stream::contiguous(name, of.address(), bytes);
    let inputs = vec![stream("x", x, BLOCK), stream("y", y, BLOCK)];
    Paging::new(4 * N as u64 / BLOCK, inputs, vec![stream("z", to, bytes)])
}

/// Puts together the job that solves d x = b for a diagonal d of a few values: with exact scalars it takes as
/// many turns as there are values.
fn job(d: &[f32], b: &[f32], options: DeviceOptions) -> Result<(Job, Buffer<f32>), JobError> {
    let (n, sums) = (N as u64, 4 * N as u64 / BLOCK * 4);
    let mut job = Job::new(machine("vm7"), options);
    let d = job.input("d", d, &[n])?;
    let b = job.input("b", b, &[n])?;
    let x = job.output::<f32>("x", &[n])?;
    let [r, p, q] = [(); 3].map(|()| job.temporary::<f32>(n));
    let (r, p, q) = (r?, p?, q?);
    let partial = job.temporary::<f32>(sums)?;
    // Square of the residual, and the value that it has to reach.
    let [rr, enough] = [job.temporary::<f64>(1)?, job.temporary::<f64>(1)?];
    let [alpha, minus, beta] = [(); 3].map(|()| job.temporary::<f32>(4));
    let (alpha, minus, beta) = (alpha?, minus?, beta?);
    let more = job.temporary::<u32>(1)?;
    let [zero, less_one] = [0.0f32, -1.0].map(|scalar| job.table(&[scalar; 4]));
    let (zero, less_one) = (zero?, less_one?);
    let [product, dot, combine] = [("product", PRODUCT), ("dot", DOT), ("combine", COMBINE)]
        .map(|(name, text)| job.program(name, &program(text)));
    let (product, dot, combine) = (product?, dot?, combine?);
    let dots = |job: &mut Job, x, y| job.pass(&dot, 0, paging(x, y, partial, 16));
    let combined = |job: &mut Job, x, scalar, y, to| {
        job.pass(&combine, 0, paging(x, y, to, BLOCK))?;
        job.fill("scalar", scalar)
    };

    // x = 0, r = p = b.
    combined(&mut job, b, zero, b, r)?;
    combined(&mut job, b, zero, b, p)?;
    combined(&mut job, b, less_one, b, x)?;
    dots(&mut job, r, r)?;
    let mut begin = HostStep::new();
    let square = begin.sum(partial)?;
    let share = begin.constant(ENOUGH);
    let least = begin.multiply(share, square);
    begin.store(rr, 0, square)?;
    begin.store(enough, 0, least)?;
    begin.store(more, 0, square)?;
    job.host_step("begin", begin);

    job.repeat("is it enough", more, 50, |job| {
        job.pass(&product, 0, paging(d, p, q, BLOCK))?;
        dots(job, p, q)?;
        let mut length = HostStep::new();
        let (square, curved) = (length.load(rr, 0)?, length.sum(partial)?);
        let step = length.divide(square, curved);
        let back = length.negate(step);
        length.fill(alpha, step)?;
        length.fill(minus, back)?;
        job.host_step("length", length);
        combined(job, x, alpha, p, x)?;
        combined(job, r, minus, q, r)?;
        dots(job, r, r)?;
        let mut direction = HostStep::new();
        let (new, old) = (direction.sum(partial)?, direction.load(rr, 0)?);
        let share = direction.divide(new, old);
        let least = direction.load(enough, 0)?;
        let far = direction.less(least, new);
        direction.fill(beta, share)?;
        direction.store(rr, 0, new)?;
        direction.store(more, 0, far)?;
        job.host_step("direction", direction);
        combined(job, r, beta, p, p)
    })?;
    Ok((job, x))
}

/// Returns a diagonal of `values` different values, and a right side.
fn system(values: usize, seed: u64) -> [Vec<f32>; 2] {
    let d = (0..N).map(|i| 1.0 + (i % values) as f32);
    let b = Random::new(seed).uniforms(N);
    [d.collect(), b]
}

fn solved(values: usize, options: DeviceOptions) -> KernelRun<Vec<f32>> {
    let [d, b] = system(values, 5);
    let (job, x) = job(&d, &b, options).unwrap();
    let sums = Count::default();
    let figures = Figures::of(
        &machine("vm7"),
        Traffic::bytes(12 * N as u128),
        sums,
        "none",
        "test",
    );
    job.run(figures, |run| run.read(x)).unwrap()
}

/// Solves the system in double precision; returns turns and solution.
fn reference(values: usize) -> (u64, Vec<f64>) {
    let [d, b] = system(values, 5).map(|v| v.into_iter().map(f64::from).collect::<Vec<_>>());
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let (mut x, mut r, mut p) = (vec![0.0; N], b.clone(), b.clone());
    let (mut rr, mut turns) = (dot(&b, &b), 0);
    let enough = ENOUGH * rr;
    loop {
        let q: Vec<f64> = d.iter().zip(&p).map(|(d, p)| d * p).collect();
        let alpha = rr / dot(&p, &q);
        for i in 0..N {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        let new = dot(&r, &r);
        for i in 0..N {
            p[i] = r[i] + new / rr * p[i];
        }
        rr = new;
        turns += 1;
        if rr <= enough {
            return (turns, x);
        }
    }
}

fn options(engine: Engine, threads: usize) -> DeviceOptions {
    DeviceOptions {
        engine,
        threads,
        ..DeviceOptions::default()
    }
}

#[test]
fn conjugate_gradients_end_when_the_residual_is_small() {
    let mut cycles = Vec::new();
    for values in [2, 5] {
        let done = solved(values, DeviceOptions::default());
        let (turns, exact) = reference(values);
        assert_eq!(done.turns, [turns], "{values} values");
        let x = done.output.unwrap();
        let error: f64 = x
            .iter()
            .zip(&exact)
            .map(|(x, e)| (f64::from(*x) - e).powi(2))
            .sum();
        let norm: f64 = exact.iter().map(|e| e * e).sum();
        let error = (error / norm).sqrt();
        assert!(error < 1e-5, "{values} values: {error:.1e}");
        let report = &done.run.report;
        assert_eq!(report.causes.total(), report.cycles);
        cycles.push(report.cycles);
    }
    // Turns take equal time each, and so does the arithmetic of the control CPU.
    let turns = [2, 5].map(|values| reference(values).0);
    assert!(turns[0] < turns[1] && cycles[0] < cycles[1]);
}

/// Engines and threads change neither bits nor cycles, nor the number of turns.
#[test]
fn every_engine_ends_alike() {
    let one = solved(5, options(Engine::Fast, 1));
    for (engine, threads) in [(Engine::Reference, 1), (Engine::Fast, 3)] {
        let other = solved(5, options(engine, threads));
        assert_eq!(other.turns, one.turns);
        assert!(other.output == one.output && other.run.report == one.run.report);
    }
    let checked = DeviceOptions {
        check: true,
        ..DeviceOptions::default()
    };
    let checked = solved(5, checked);
    assert!(
        checked.run.report.findings.is_empty(),
        "{:?}",
        checked.run.report.findings
    );
    assert_eq!(checked.run.report.cycles, one.run.report.cycles);
}

/// A job that is run again on another right side takes the turns that these data need, whatever the run
/// before took.
#[test]
fn a_prepared_job_goes_round_as_often_as_its_data_ask_for() {
    let [d, b] = system(5, 5);
    let mut prepared = job(&d, &b, DeviceOptions::default()).unwrap().0.prepare();
    let first = prepared.run().unwrap();
    assert_eq!(first, solved(5, DeviceOptions::default()).run.report);
    let [fewer, _] = system(2, 5);
    prepared.write("d", &fewer).unwrap();
    let second = prepared.run().unwrap();
    let fresh = solved(2, DeviceOptions::default());
    assert_eq!(second, fresh.run.report);
    let mut x = vec![0.0f32; N];
    prepared.read("x", &mut x).unwrap();
    assert_eq!(Some(x), fresh.output);
    assert!(second.cycles < first.cycles);
}

/// A replay computes its scalars anew on other data, and reports if these would end the iteration elsewhere.
#[test]
fn a_replay_computes_its_own_scalars() {
    let record = DeviceOptions {
        record: true,
        ..DeviceOptions::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let done = solved(2, record);
    done.run.emit(&path).unwrap();
    let replayed = |values: usize, scale: f32| {
        let [d, b] = system(values, 5);
        let image = path.join("memory.bin");
        let mut memory = std::fs::read(&image).unwrap();
        // The user's arrays are contiguous in memory, as the first arrays of the job.
        let bytes = d.iter().copied().chain(b.iter().map(|b| scale * b));
        for (value, bytes) in bytes.zip(memory.chunks_exact_mut(4)) {
            value.put(bytes);
        }
        std::fs::write(&image, memory).unwrap();
        let replay = Replay::read(&path).unwrap();
        assert!(!replay.is_changed, "{:?}", replay.other_data);
        let run = replay
            .run(machine("vm7"), DeviceOptions::default())
            .unwrap();
        let x = &replay.outputs[0];
        let x = run
            .read(Buffer::<f32>::from_address(x.address, N as u64))
            .unwrap();
        (run, x)
    };
    let (again, x) = replayed(2, 1.0);
    assert_eq!(
        (&again.report, Some(x)),
        (&done.run.report, done.output.clone())
    );
    // Powers of two change no rounding: a doubled input gives a doubled output.
    let (twice, x) = replayed(2, 2.0);
    assert!(twice.report.end.is_finished(), "{}", twice.report.end);
    assert_eq!(twice.report.cycles, done.run.report.cycles);
    let expected = done
        .output
        .map(|x| x.iter().map(|x| 2.0 * x).collect::<Vec<_>>());
    assert_eq!(Some(x), expected);
    let (other, _) = replayed(5, 1.0);
    match &other.report.end {
        RunEnd::Diverged { name, .. } => assert_eq!(name, "is it enough"),
        end => panic!("{end}"),
    }
    assert!(other.report.end.to_string().contains("record a run on it"));
}

/// Words that are to be filled must exist in the program.
#[test]
fn words_that_a_program_does_not_have_are_refused() {
    let mut job = Job::new(machine("vm7"), DeviceOptions::default());
    let x = job.input("x", &[1.0f32; N], &[N as u64]).unwrap();
    let combine = job.program("combine", &program(COMBINE)).unwrap();
    let nothing = job.fill("scalar", x).unwrap_err().to_string();
    assert!(nothing.contains("none was added last"), "{nothing}");
    job.pass(&combine, 0, paging(x, x, x, BLOCK)).unwrap();
    let mut refused = |label, words: Buffer<f32>| job.fill(label, words).unwrap_err().to_string();
    let message = refused("factor", x);
    assert!(
        message.contains("`combine`") && message.contains("`factor`"),
        "{message}"
    );
    assert!(
        refused("scalar", x).contains("8192 B"),
        "more than there is"
    );
    assert!(refused("scalar", Buffer::from_address(x.address(), 3)).contains("12 B"));
    assert!(refused("scalar", Buffer::from_address(x.address() + 4, 4)).contains(".align 16"));
}
