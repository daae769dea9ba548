//! Makes and runs independent jobs of one plan of multigrid, and prints what they take of the host.
//!
//! `cargo run --release -p cp2-kernels --example many_jobs -- [PROCESSORS] [THREADS] [POINTS] [CYCLES]`

use cp2_host::{DeviceOptions, Trace};
use cp2_kernels::npb::mg::MultigridPlan;
use cp2_kernels::{Job, run_jobs};
use cp2_machine::Machine;
use cp2_network::InProcess;
use cp2_problems::npb::mg::{MgProblem, Smoother};
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

/// Returns the resident memory of this process and the most that it was, in MiB; zeros where a host has no such file.
fn resident() -> [f64; 2] {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ["VmRSS:", "VmHWM:"].map(|name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
        kib.unwrap_or(0.0) / 1024.0
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: usize| arguments.next().map_or(Ok(default), |n| n.parse());
    let (processors, threads) = (number(64)?, number(1)?);
    let (points, cycles) = (number(32)?, number(4)?);
    let machine: Arc<Machine> = Machine::builtin("vm7").ok_or("no vm7")?.into();
    let started = Instant::now();
    let say = |what: &str| {
        let [now, most] = resident();
        let seconds = started.elapsed().as_secs_f64();
        println!("{what:<10} {seconds:8.3} s  resident {now:8.1} MiB, at most {most:8.1} MiB");
    };
    let plan = MultigridPlan::new(MgProblem::new(points, cycles, Smoother::A)?, &machine)?;
    say("planned");
    let mut v = vec![0.0; points.pow(3)];
    (v[0], v[points.pow(3) / 2 + 5]) = (1.0, -1.0);
    let options = DeviceOptions {
        trace: Trace::none(),
        ..DeviceOptions::default()
    };
    let make = |_| Ok::<Job, Box<dyn Error>>(plan.task(&v, options.clone())?.job);
    let jobs: Vec<Job> = (0..processors).map(make).collect::<Result<_, _>>()?;
    say("made");
    let (_, runs) = run_jobs(&mut InProcess, &machine, processors, jobs, threads, b"")?;
    say("run");
    let first = runs.first().map(|run| run.run.report.cycles);
    println!("{first:?} cycles of the first");
    if runs
        .iter()
        .any(|run| Some(run.run.report.cycles) != first || !run.run.report.end.is_finished())
    {
        return Err("processors differ".into());
    }
    Ok(())
}
