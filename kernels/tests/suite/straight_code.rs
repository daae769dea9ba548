//! Tests of programs with jobs: bits of one processor, reports, and refusals.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "../../examples/plate.rs"]
#[allow(dead_code, unreachable_pub, reason = "an example has a main function")]
mod plate;
#[path = "../../../host/network/tests/network/threads.rs"]
#[allow(unreachable_pub, reason = "tests of another crate use it as well")]
mod threads;

use cp2_host::{DeviceOptions, HostStep, MessageRegion};
use cp2_kernels::stencil::Stencils;
use cp2_kernels::{Job, JobCommunicator, JobError, JobProgram, run_job_programs};
use cp2_machine::Machine;
use cp2_network::{InProcess, Transport};
use cp2_problems::stencil::{Edge, StencilProblem, StencilShape};
use cp2_problems::{Case, Problem as _};
use plate::Plate;
use proptest::prelude::*;
use std::convert::Infallible;
use std::sync::Arc;
use threads::on_ranks;

fn machine(name: &str) -> Arc<Machine> {
    Arc::new(Machine::builtin(name).unwrap())
}

/// The plate after all steps, by blocks that processors have computed.
fn whole(plate: &Plate, blocks: &[plate::BlockResult]) -> Vec<u32> {
    let mut all = vec![0; plate.shape[0] * plate.shape[1]];
    for (rank, (values, _)) in blocks.iter().enumerate() {
        let [rows, columns] = plate.own(rank);
        let mut values = values.iter();
        for row in rows {
            for column in columns.clone() {
                all[row * plate.shape[1] + column] = values.next().unwrap().to_bits();
            }
        }
        assert_eq!(values.next(), None);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12,
        rng_seed: proptest::test_runner::RngSeed::Fixed(31),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// The example has the bits of one processor's stencil, on any grid, in one process and on ranks.
    #[test]
    fn blocks_have_the_bits_of_one_processor(
        rows in 12usize..40,
        columns in 12usize..70,
        down in 1usize..=3,
        across in 1usize..=3,
        steps in 1usize..=4,
        name in prop::sample::select(vec!["vm7", "vm9"]),
        ranks in 2usize..=3,
    ) {
        let machine = machine(name);
        let plate = Plate { shape: [rows, columns], grid: [down, across], steps };
        let stencil = StencilShape::from_classes(5, None).unwrap();
        let problem = StencilProblem::new(&plate.shape, stencil, Edge::Fixed, steps).unwrap();
        let data = problem.input(Case::Random, 3);
        let u = data.get::<f32>("u").unwrap();
        let one = Stencils::new(&problem, machine.clone()).unwrap().process(u, None).unwrap();
        let expected = one.output.unwrap();
        let largest = expected.iter().copied().fold(f32::MIN, f32::max);
        let (report, blocks) = plate.run(&mut InProcess, &machine, u).unwrap();
        let bits: Vec<u32> = expected.iter().map(|x| x.to_bits()).collect();
        prop_assert_eq!(whole(&plate, &blocks), bits);
        for (_, found) in &blocks {
            // Ghosts are values of the step before.
            prop_assert!(*found >= largest && *found < 1.0);
        }
        let borders = (down - 1) * across + down * (across - 1);
        let trees = 2 * (down * across - 1);
        prop_assert_eq!(report.messages, (2 * borders * steps + trees) as u64);
        let ranks = ranks.min(down * across);
        let all = on_ranks(ranks, |transport| plate.run(transport, &machine, u).unwrap());
        prop_assert!(all.iter().all(|(own, _)| *own == report));
        let blocks_of_ranks: Vec<_> = all.into_iter().flat_map(|(_, blocks)| blocks).collect();
        prop_assert_eq!(blocks_of_ranks, blocks);
    }
}

/// A step of the control CPU that adds 1 to a value.
fn increment(job: &mut Job, x: cp2_host::Buffer<f64>) -> Result<(), JobError> {
    let mut step = HostStep::new();
    let value = step.load(x, 0)?;
    let one = step.constant(1.0);
    let sum = step.add(value, one);
    step.store(x, 0, sum)?;
    job.host_step("increment", step);
    Ok(())
}

type Outcome = Result<(Vec<u64>, Vec<f64>), String>;

/// Runs a program on a job with one value and a part that adds 1 to it.
fn run<F>(
    processors: usize,
    program: impl Fn(JobCommunicator, cp2_host::Buffer<f64>, cp2_kernels::JobPart) -> F + Sync,
) -> Outcome
where
    F: Future<Output = Result<f64, Infallible>> + Send + 'static,
{
    let machine = machine("vm7");
    let run = |transport: &mut dyn Transport| {
        let share = cp2_network::share_of(processors, transport.ranks(), transport.rank());
        let programs = share.map(|rank| {
            let mut job = Job::new(machine.clone(), DeviceOptions::default());
            let x = job.input("x", &[rank as f64], &[1]).unwrap();
            let part = job.part(|job| increment(job, x)).unwrap();
            JobProgram::new(job, (rank, processors), |own| program(own, x, part))
        });
        let programs = programs.collect();
        // Threads of a rank change nothing either.
        let threads = 1 + transport.ranks() % 2;
        let ended = run_job_programs(transport, &machine, processors, programs, threads, b"test");
        ended.map_err(|error| error.to_string())
    };
    let mut alone = None;
    for ranks in 1..=2.min(processors) {
        let mut all = Ok((Vec::new(), Vec::new()));
        for end in on_ranks(ranks, |transport| run(transport)) {
            match (end, &mut all) {
                (Ok((_, runs)), Ok((cycles, values))) => {
                    for (done, value) in runs {
                        let report = &done.run.report;
                        assert_eq!(report.causes.total(), report.cycles);
                        cycles.push(report.cycles);
                        values.push(value);
                    }
                }
                (Err(error), _) => all = Err(error),
                (Ok(_), Err(_)) => panic!("one rank alone has failed"),
            }
        }
        let first: &Outcome = alone.get_or_insert(all.clone());
        assert_eq!(*first, all, "{ranks}");
    }
    alone.unwrap()
}

/// Computed values decide how a program goes on; rows come from any source.
#[test]
fn values_decide_how_a_program_goes_on() {
    let (cycles, values) = run(3, |own, x, part| async move {
        let region = MessageRegion::contiguous(x.address(), x.bytes());
        // Each adds until the sum of all is 9.
        loop {
            own.carry_out(part);
            let mut sum = [own.read(x).await[0]];
            own.messages().allreduce(&mut sum, |a, b| a + b).await;
            if sum[0] >= 9.0 {
                break;
            }
        }
        // Then processor 0 gets the value of another, whichever is first.
        match own.rank() {
            0 => {
                for _ in 1..own.size() {
                    let coming = own.start_receive(region, None, 4);
                    own.wait_all([coming]).await;
                }
            }
            _ => {
                drop(own.start_send(region, 0, 4));
            }
        }
        own.carry_out(part);
        Ok(own.read(x).await[0])
    })
    .unwrap();
    assert_eq!(values[1..], [4.0, 5.0]);
    assert!(values[0] == 4.0 || values[0] == 5.0, "{values:?}");
    assert!(cycles.iter().all(|cycles| *cycles > 1000));
}

#[test]
fn programs_that_cannot_go_on_say_why() {
    let error = run(2, |own, x, _| async move {
        let region = MessageRegion::contiguous(x.address(), x.bytes());
        let coming = own.start_receive(region, 1 - own.rank(), 0);
        own.wait_all([coming]).await;
        Ok(0.0)
    });
    assert!(error.unwrap_err().starts_with("deadlock"));
    let error = run(2, |own, _, _| async move {
        own.messages().compute(10);
        Ok(0.0)
    });
    let error = error.unwrap_err();
    assert!(error.contains("counts cycles beside a job"), "{error}");
    let machine = machine("vm7");
    let mut job = Job::new(machine.clone(), DeviceOptions::default());
    let x = job.output::<f32>("x", &[4]).unwrap();
    let region = MessageRegion::contiguous(x.address(), x.bytes());
    let part = job.part(|job| {
        job.send("x", 0, 0, region);
        Ok::<(), JobError>(())
    });
    let part = part.unwrap();
    let program = JobProgram::new(job, (0, 1), |own| async move {
        own.carry_out(part);
        Ok::<(), Infallible>(())
    });
    let ended = run_job_programs(&mut InProcess, &machine, 1, vec![program], 1, b"");
    let error = ended.unwrap_err().to_string();
    assert!(error.contains("its program does that"), "{error}");
}
