//! Micro-benchmarks of the DMA model: the tables of `docs/dma.md`.
//!
//! Each submits descriptors to a processor and reads what happened off its clock. No benchmark
//! reads the machine's parameters for the figure that it reports.

use cp2_asm::{Options, Source, assemble};
use cp2_dma::{Descriptor, Movement, Target, validate};
use cp2_emu::{Cause, Notice, Processor, SubmitError, TransferRecord};
use cp2_machine::{Machine, Ticks, TimeBase};
use std::sync::Arc;

pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const FOREVER: Ticks = Ticks(u64::MAX);

fn machines() -> Vec<Arc<Machine>> {
    Machine::names()
        .into_iter()
        .filter_map(Machine::builtin)
        .map(Arc::new)
        .collect()
}

/// Formats a Markdown table.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.iter().map(|h| (*h).to_owned()).collect();
    let mut out = line(&head) + &format!("|{}\n", "---|".repeat(head.len()));
    rows.iter().for_each(|r| out += &line(r));
    out.trim_end().to_owned()
}

pub(crate) fn cycles(base: TimeBase, t: Ticks) -> String {
    (t.0 as f64 / base.ticks_per_cycle as f64).to_string()
}

/// Runs until `n` transfers are done and returns their records.
fn finish(p: &mut Processor, n: usize) -> Result<Vec<TransferRecord>> {
    let mut done = Vec::new();
    while done.len() < n {
        match p.run_until(FOREVER) {
            Notice::TransferDone(t) => done.push(t),
            other => return Err(format!("{other:?} instead of a completion").into()),
        }
    }
    Ok(done)
}

/// Submits all descriptors at once to an idle processor and runs until all are done.
pub(crate) fn run<T>(machine: &Arc<Machine>, all: &[T]) -> Result<Vec<TransferRecord>>
where
    T: Clone + Into<Movement>,
{
    let mut p = Processor::new(machine.clone());
    for d in all {
        p.submit(d.clone(), 0)?;
    }
    finish(&mut p, all.len())
}

/// Assembles a program and returns a processor that has loaded it into program memory.
fn with_program(machine: &Arc<Machine>, text: &str) -> Result<Processor> {
    let assembly = assemble(&Source::new("kernel.s", text), &Options::default())
        .map_err(|e| format!("{e:?}"))?;
    let mut bytes: Vec<u8> = assembly
        .program
        .words
        .iter()
        .flat_map(|w| w.to_le_bytes())
        .collect();
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    let mut p = Processor::new(machine.clone());
    p.memory_mut().write(0, &bytes)?;
    p.submit(
        Descriptor::load(Target::Program, 0, 0, bytes.len() as u64),
        0,
    )?;
    finish(&mut p, 1)?;
    Ok(p)
}

pub(crate) fn refusals() -> Result<String> {
    let one = Descriptor::load(Target::Section(0), 64, 0, 64);
    let wrong = [
        Descriptor {
            system: 72,
            ..one.clone()
        },
        Descriptor {
            run: 40,
            ..one.clone()
        },
        one.clone().level(4, 100, 64),
        Descriptor {
            target: Target::Blocks { stride: 4 },
            ..one.clone()
        },
        Descriptor {
            local: 65520,
            ..one.clone()
        },
        one.clone().level(u32::MAX, 64, 64),
        one.clone().level(3000, 0, 0),
        one.clone().level(0, 64, 64),
        Descriptor {
            target: Target::Section(7),
            ..one.clone()
        },
        one.clone().event(99),
        Descriptor::store(Target::Broadcast, 0, 0, 64),
    ];
    let machine = Machine::builtin("vm7").ok_or("no vm7")?;
    let mut rows = Vec::new();
    for d in wrong {
        let message = validate(&d, &machine)
            .err()
            .ok_or("not refused")?
            .to_string();
        rows.push(vec![format!("`{d}`"), message]);
    }
    Ok(table(&["descriptor", "vm7 answers"], &rows))
}

pub(crate) fn bandwidth() -> Result<String> {
    let mut rows = Vec::new();
    for n in [1u64, 16, 256, 2048] {
        let mut row = vec![n.to_string()];
        for machine in machines() {
            let granule = machine.dma.granule.0;
            let base = machine.time_base();
            let load = Descriptor::load(Target::Section(0), 0, 0, n * granule);
            let store = Descriptor::store(Target::Section(1), 1 << 20, 0, n * granule);
            let alone = run(&machine, std::slice::from_ref(&load))?;
            let both = run(&machine, &[load, store])?;
            let moving: Ticks = both.iter().map(|t| t.completes - t.data).sum();
            let cycles_moving = moving.0 as f64 / base.ticks_per_cycle as f64;
            row.push(cycles(base, alone[0].completes));
            row.push(cycles(base, both[1].completes));
            row.push((2.0 * (n * granule) as f64 / cycles_moving).to_string());
        }
        rows.push(row);
    }
    let head = [
        "granules",
        "vm7 load",
        "vm7 load + store",
        "vm7 bytes/cycle",
        "vm9 load",
        "vm9 load + store",
        "vm9 bytes/cycle",
    ];
    Ok(table(&head, &rows))
}

pub(crate) fn setup() -> Result<String> {
    let mut rows = Vec::new();
    for machine in machines() {
        let base = machine.time_base();
        let d = Descriptor::load(Target::Section(0), 0, 0, 64 * machine.dma.granule.0);
        let granules = Ticks(64 * base.ticks_per_granule);
        let mut p = Processor::new(machine.clone());
        let mut apart = Ticks::ZERO;
        for _ in 0..8 {
            let before = p.now();
            p.submit(d.clone(), 0)?;
            finish(&mut p, 1)?;
            apart += p.now() - before - granules;
        }
        let queued = run(&machine, &vec![d; 8])?;
        let gaps: Ticks = queued
            .windows(2)
            .map(|w| w[1].completes - w[0].completes - granules)
            .sum();
        rows.push(vec![
            machine.name.clone(),
            cycles(base, Ticks(apart.0 / 8)),
            cycles(base, Ticks(gaps.0 / 7)),
        ]);
    }
    Ok(table(
        &["machine", "engine idle", "queued behind another"],
        &rows,
    ))
}

pub(crate) fn runs() -> Result<String> {
    let mut rows = Vec::new();
    for runs in [1u32, 4, 16, 64, 256] {
        let mut row = vec![runs.to_string()];
        for machine in machines() {
            let run_bytes = 256 / u64::from(runs) * machine.dma.granule.0;
            let bytes = run_bytes as i64;
            let d = Descriptor::load(Target::Section(0), 0, 0, run_bytes);
            let apart = run(&machine, &[d.clone().level(runs, bytes + 1024, bytes)])?;
            let touching = run(&machine, &[d.level(runs, bytes, bytes)])?;
            for done in [apart, touching] {
                row.push(cycles(
                    machine.time_base(),
                    done[0].completes - done[0].data,
                ));
            }
        }
        rows.push(row);
    }
    let head = [
        "runs",
        "vm7 apart",
        "vm7 touching",
        "vm9 apart",
        "vm9 touching",
    ];
    Ok(table(&head, &rows))
}

/// Measures transfers of single words on machines with fine granules.
pub(crate) fn words() -> Result<String> {
    let section = Target::Section(0);
    let long = |system| Descriptor::load(section, system, 0, 4096);
    let word = Descriptor::load(section, 0, 0, 4);
    let all = [
        ("contiguous", long(0)),
        ("contiguous, from the second word of a beat on", long(4)),
        ("every second word, packed", word.clone().level(1024, 8, 4)),
        (
            "interleaved with others in DMEM",
            word.clone().level(1024, 4, 8),
        ),
        (
            "31 x 33 transposed",
            word.level(33, 4, 124).level(31, 132, 4),
        ),
        ("dealt by words", Descriptor::load(Target::Deal, 0, 0, 4096)),
    ];
    let names = ["vm7", "vm9"].map(|name| format!("{name}+dma.granule=4B"));
    let changed = |change: &str| format!("{}+{change}", names[0]);
    let beats = changed("dma.beat=4B");
    let lines = changed("dma.lines=4");
    let names = [names[0].as_str(), &names[1], &beats, &lines];
    let mut rows = Vec::new();
    for (text, d) in all {
        let mut row = vec![text.to_owned()];
        for name in names {
            let machine = match d.target {
                Target::Deal => format!("{name}+dma.deal=4B"),
                _ => name.to_owned(),
            };
            let machine = Arc::new(Machine::load(&machine)?);
            let done = run(&machine, std::slice::from_ref(&d))?;
            row.push(cycles(
                machine.time_base(),
                done[0].completes - done[0].data,
            ));
        }
        rows.push(row);
    }
    let head = [
        "1 word = 4 B",
        "vm7",
        "vm9",
        "vm7, `dma.beat` 4 B",
        "vm7, `dma.lines` 4",
    ];
    Ok(table(&head, &rows))
}

pub(crate) fn targets() -> Result<String> {
    let targets = [
        ("section", Target::Section(0), 1),
        ("blocks, touching", Target::Blocks { stride: 4096 }, 1),
        ("blocks, apart", Target::Blocks { stride: 8192 }, 1),
        ("broadcast", Target::Broadcast, 1),
        ("deal", Target::Deal, 4),
    ];
    let mut rows = Vec::new();
    for (name, target, longer) in targets {
        let mut row = vec![name.to_owned()];
        for machine in machines() {
            let d = Descriptor::load(target, 0, 0, 4096 * longer);
            let mut p = Processor::new(machine.clone());
            p.memory_mut().write(0, &vec![1; 1 << 16])?;
            p.submit(d, 0)?;
            let done = finish(&mut p, 1)?;
            let mut landed = 0;
            for section in 0..machine.cp2.sections {
                let mut dmem = vec![0; 8192];
                p.core().read_dmem(section, 0, &mut dmem)?;
                landed += dmem.iter().filter(|b| **b == 1).count();
            }
            row.push(landed.to_string());
            row.push(cycles(
                machine.time_base(),
                done[0].completes - done[0].data,
            ));
        }
        rows.push(row);
    }
    let head = [
        "target",
        "vm7 bytes landed",
        "vm7 cycles",
        "vm9 bytes landed",
        "vm9 cycles",
    ];
    Ok(table(&head, &rows))
}

pub(crate) fn queue() -> Result<String> {
    let mut rows = Vec::new();
    for machine in machines() {
        let mut p = Processor::new(machine.clone());
        let mut taken = 0u64;
        let refusal = loop {
            // The first is the longest: order of submission, not of length, must decide.
            let run = machine.dma.granule.0 * (64 >> taken.min(6));
            match p.submit(Descriptor::load(Target::Section(0), 0, 0, run), taken) {
                Ok(()) => taken += 1,
                Err(SubmitError::QueueFull { .. }) => break "refused",
                Err(other) => return Err(other.into()),
            }
        };
        let done = finish(&mut p, taken as usize)?;
        let in_order = done.iter().zip(0..).all(|(t, i)| t.tag == i);
        let order = if in_order { "of submission" } else { "another" };
        rows.push(vec![
            machine.name.clone(),
            taken.to_string(),
            refusal.into(),
            order.into(),
        ]);
    }
    Ok(table(
        &[
            "machine",
            "descriptors taken at once",
            "the next",
            "order of completion",
        ],
        &rows,
    ))
}

pub(crate) const WAITER: &str = "    movi a0, 1008
    wait 3
    ldp  r0, [a0]
    stop
";

pub(crate) fn completion() -> Result<String> {
    let mut rows = Vec::new();
    for machine in machines() {
        let base = machine.time_base();
        let mut p = with_program(&machine, WAITER)?;
        p.memory_mut().write(0, &[7; 1024])?;
        let start = base.cycles(base.ceil_cycles(p.now()));
        p.run_until(start);
        p.launch(0, 0)?;
        p.submit(Descriptor::load(Target::Section(0), 0, 0, 1024).event(3), 0)?;
        let completes = p.transfer().ok_or("no transfer")?.completes;
        p.run_until(completes - Ticks(1));
        let mut dmem = [0; 1024];
        p.core().read_dmem(0, 0, &mut dmem)?;
        let early = if dmem == [0; 1024] { "no" } else { "yes" };
        finish(&mut p, 1)?;
        p.core().read_dmem(0, 0, &mut dmem)?;
        let whole = if dmem == [7; 1024] { "all" } else { "not all" };
        // Tick by tick, until the counters show the load.
        let mut issued = p.now();
        while p.counters().work.dmem_read == 0 {
            issued += Ticks(1);
            if p.run_until(issued) != Notice::Limit {
                break;
            }
        }
        rows.push(vec![
            machine.name.clone(),
            cycles(base, completes - start),
            cycles(base, issued - start),
            early.to_owned(),
            whole.to_owned(),
        ]);
    }
    let head = [
        "machine",
        "completion",
        "load issued",
        "bytes changed before",
        "bytes changed at completion",
    ];
    Ok(table(&head, &rows))
}

pub(crate) fn ports() -> Result<String> {
    let kernel = |gap: &str| {
        format!(
            "        movi a0, 0\n        loop 512 {{\n        ldp r0, [a0]\n{gap}        }}\n        stop\n"
        )
    };
    let mut rows = Vec::new();
    for (name, gap) in [
        ("a load every cycle", ""),
        ("a load every second cycle", "        nop\n"),
    ] {
        for ports in [2, 1] {
            let mut row = vec![name.to_owned(), ports.to_string()];
            for machine in machines() {
                let text = format!(
                    "base = \"{}\"\ncp2.dmem-ports = {{ value = {ports}, unit = \"ports\" }}\n",
                    machine.name
                );
                let machine = Arc::new(Machine::parse("ports.toml", &text)?);
                let mut p = with_program(&machine, &kernel(gap))?;
                p.launch(0, 0)?;
                p.submit(Descriptor::load(Target::Section(0), 0, 4096, 8192), 0)?;
                while p.run_until(FOREVER) != Notice::KernelStopped {}
                let causes = &p.counters().causes;
                row.push(causes.total().to_string());
                row.push(causes.get(Cause::MemoryPort).to_string());
            }
            rows.push(row);
        }
    }
    let head = [
        "kernel",
        "ports",
        "vm7 cycles",
        "vm7 lost to the port",
        "vm9 cycles",
        "vm9 lost to the port",
    ];
    Ok(table(&head, &rows))
}

pub(crate) fn copying() -> Result<String> {
    const BYTES: u64 = 16384;
    let mut rows = Vec::new();
    for machine in machines() {
        let load = Descriptor::load(Target::Deal, 0, 0, BYTES);
        let store = Descriptor::store(Target::Deal, 1 << 20, 0, BYTES);
        let done = run(&machine, &[load, store])?;
        let copy = machine.host.copy;
        let cpu = BYTES as f64 * copy.den as f64 / copy.num as f64;
        let dma = cycles(machine.time_base(), done[1].completes);
        rows.push(vec![machine.name.clone(), dma, cpu.to_string()]);
    }
    Ok(table(
        &["machine", "load + store by DMA", "by the control CPU"],
        &rows,
    ))
}
