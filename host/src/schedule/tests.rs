//! Tests of stream plans, without an emulator.
//!
//! A byte-level model of DMEM and system memory carries out the engine's commands.

use super::*;
use crate::device::{Device, Event, HostAction};
use crate::paging::{Commands, PageKernel};
use cp2_dma::{Descriptor, Direction, Level, Movement, Target};
use cp2_machine::Machine;
use proptest::prelude::*;

fn vm7() -> Machine {
    crate::test_machine()
}

fn job(blocks: u64, bytes: u64, in_place: bool) -> Paging {
    Paging {
        in_place,
        ..Paging::new(
            blocks,
            vec![Stream::contiguous("x", 0x1000, bytes)],
            vec![Stream::contiguous("y", 0x200_0000, bytes)],
        )
    }
}

/// Returns (section, local byte, system byte) of every byte that a descriptor moves.
fn bytes(d: &Descriptor, sections: usize) -> Vec<(usize, u64, u64)> {
    let mut starts = vec![(0i64, 0i64)];
    for level in &d.levels {
        let inner = starts;
        starts = (0..i64::from(level.count))
            .flat_map(|i| {
                inner
                    .iter()
                    .map(move |&(l, s)| (l + i * level.local_stride, s + i * level.system_stride))
            })
            .collect();
    }
    let targets: Vec<(usize, i64)> = match d.target {
        Target::Section(s) => vec![(s as usize, 0)],
        Target::Blocks { stride } => (0..sections).map(|s| (s, s as i64 * stride)).collect(),
        Target::Broadcast => (0..sections).map(|s| (s, 0)).collect(),
        other => panic!("a plan never uses {other:?}"),
    };
    let mut out = Vec::new();
    for (section, offset) in targets {
        for &(l, s) in &starts {
            for b in 0..d.run as i64 {
                out.push((
                    section,
                    (i64::from(d.local) + l + b) as u64,
                    (d.system as i64 + s + offset + b) as u64,
                ));
            }
        }
    }
    out
}

/// Checks what the kernel finds of a page, and copies every byte of its input to its output.
fn compute(
    plan: &StreamPlan,
    page: &Page,
    slots: &std::collections::BTreeMap<u32, ArgBlock>,
    dmem: &mut [Vec<Option<u64>>],
) -> Result<(), TestCaseError> {
    // Words 0 and 1 name the pages, word 2 the count.
    let args = plan.args_of(page);
    prop_assert!(plan.args().contains(&args));
    prop_assert_eq!(args.words[2], page.per_section);
    // The header names the block of the next page and the number of pages.
    let next = plan.pages().get(page.index + 1);
    prop_assert!(next.is_none_or(|n| plan.args_of(&n).address == args.header[0]));
    prop_assert_eq!(u64::from(args.header[2]), plan.pages().len());
    prop_assert_eq!(slots.get(&args.address), Some(&args));
    let (from, to) = (args.words[0] as usize, args.words[1] as usize);
    let stream = &plan.job().inputs[0];
    let n = page.per_section as usize * stream.pitch as usize;
    for section in dmem {
        // Overlapping bytes follow without a gap.
        let last = section[from + n - 1].unwrap_or_default();
        for i in 0..stream.overlap as usize {
            prop_assert_eq!(section[from + n + i], Some(last + 1 + i as u64));
        }
        let input: Vec<_> = section[from..from + n].to_vec();
        prop_assert!(
            input.iter().all(Option::is_some),
            "the kernel reads bytes never loaded"
        );
        section[to..to + n].copy_from_slice(&input);
    }
    Ok(())
}

/// Runs the commands of the plan with a kernel that tags every loaded byte as computed.
fn run_plan(
    plan: &StreamPlan,
    machine: &Machine,
) -> Result<std::collections::BTreeMap<u64, u64>, TestCaseError> {
    let sections = machine.cp2.sections;
    let mut dmem = vec![vec![None::<u64>; machine.cp2.dmem.0 as usize]; sections];
    let mut output = std::collections::BTreeMap::new();
    let mut slots = std::collections::BTreeMap::new();
    let mut device = Device::new(machine.clone().into());
    let images = device.page_arguments(plan).unwrap();
    let kernel = PageKernel {
        name: "kernel".into(),
        entry: 0,
    };
    let work = PlanWork::new(plan, &images);
    for command in Commands::new(work, &kernel, Event::from_number(0), &[]) {
        let transfer = match command.action {
            HostAction::Dma(Movement::Strided(transfer)) => transfer,
            HostAction::WaitSignal { .. } => {
                let page = plan.pages().get(command.page.unwrap()).unwrap();
                compute(plan, &page, &slots, &mut dmem)?;
                continue;
            }
            _ => continue,
        };
        prop_assert!(transfer.levels.len() <= machine.dma.levels);
        if &*command.name == "arguments" {
            let first = 0..plan.degree() as u64;
            let of = command.page.map_or(first, |k| k..k + 1);
            for page in of.filter_map(|k| plan.pages().get(k)) {
                let block = plan.args_of(&page);
                slots.insert(block.address, block);
            }
            continue;
        }
        for (s, l, a) in bytes(&transfer, sections) {
            match transfer.direction {
                Direction::Load => dmem[s][l as usize] = Some(a),
                Direction::Store => {
                    let value = dmem[s][l as usize];
                    prop_assert!(value.is_some());
                    prop_assert!(
                        output.insert(a, value.unwrap()).is_none(),
                        "byte {} stored twice",
                        a
                    );
                }
            }
        }
    }
    Ok(output)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn every_block_comes_out_once_and_from_its_input(
        blocks in 1u64..90, granules in 1u64..8, in_place: bool, same: bool, sections in 1usize..10, overlap in 0u64..20,
        size in prop_oneof![(1u32..9).prop_map(BlocksPerSection::Fixed), Just(BlocksPerSection::ANY)],
        buffering in prop::sample::select(vec![Buffering::Auto, Buffering::Single, Buffering::Double, Buffering::Triple]),
        cycles in prop::option::of(1u64..2000),
    ) {
        let mut job = job(blocks, granules * 16, in_place);
        job.size = size;
        job.buffering = buffering;
        job.cycles_per_block = cycles;
        if same {
            job.outputs[0].system = job.inputs[0].system;
        } else {
            let x = &mut job.inputs[0];
            *x = Stream::overlapping("x", x.system, x.stride, 16 * overlap);
        }
        let (x, y) = (job.inputs[0].system, job.outputs[0].system);
        let mut machine = vm7();
        machine.cp2.sections = sections;
        let plan = StreamPlan::new(job, &machine).unwrap();
        let out = run_plan(&plan, &machine)?;
        prop_assert_eq!(out.len() as u64, blocks * granules * 16);
        for (to, from) in out {
            prop_assert_eq!(to - y, from - x);
        }
    }

    #[test]
    fn padded_rows_and_transposed_stores_keep_to_the_levels(blocks in 1u64..20, rows in 1u32..5, size in 1u32..4) {
        // Load rows at a padded pitch; store column groups with two strides.
        let row = 32u64;
        let block = row * u64::from(rows);
        let pitch = (row + 16) * u64::from(rows);
        let level = |system_stride, local_stride| Level { count: rows, system_stride, local_stride };
        let load = BlockPiece::new(row, vec![level(32, 48)]);
        let store = BlockPiece::new(16, vec![level(16, 48), Level { count: 2, system_stride: 16 * i64::from(rows), local_stride: 16 }]);
        let mut job = job(blocks, block, true);
        job.inputs[0] = Stream::strided("x", 0x1000, block, pitch, vec![load]);
        job.outputs[0] = Stream::strided("y", 0x20_0000, block, pitch, vec![store]);
        job.size = BlocksPerSection::Fixed(size);
        let plan = StreamPlan::new(job, &vm7()).unwrap();
        let page = plan.pages().get(0).unwrap();
        for (_, d) in plan.loads(&page).into_iter().chain(plan.stores(&page)) {
            prop_assert!(d.levels.len() <= vm7().dma.levels);
        }
        // The model kernel copies nothing in place; check the mapping itself.
        let mut seen = std::collections::BTreeMap::new();
        for k in 0..plan.pages().len() {
            let page = plan.pages().get(k).unwrap();
            let mut dmem = std::collections::BTreeMap::new();
            for (_, d) in plan.loads(&page) {
                for (s, l, a) in bytes(&d, 4) { dmem.insert((s, l), a); }
            }
            for (_, d) in plan.stores(&page) {
                for (s, l, a) in bytes(&d, 4) { prop_assert!(seen.insert(a - 0x20_0000, dmem[&(s, l)] - 0x1000).is_none()); }
            }
        }
        prop_assert_eq!(seen.len() as u64, blocks * block);
        for (to, from) in seen {
            let (b, within) = (to / block, to % block);
            let (group, r) = (within / (16 * u64::from(rows)), within % (16 * u64::from(rows)));
            prop_assert_eq!(from, b * block + (r / 16) * row + group * 16 + r % 16);
        }
    }
}

#[test]
fn a_page_of_adjacent_blocks_is_one_transfer() {
    let mut job = job(64, 2048, true);
    job.size = BlocksPerSection::Fixed(4);
    job.buffering = Buffering::Double;
    let plan = StreamPlan::new(job, &vm7()).unwrap();
    let loads = plan.loads(&plan.pages().get(1).unwrap());
    assert_eq!(loads.len(), 1);
    let d = &loads[0].1;
    assert_eq!(
        (d.run, d.levels.len(), d.target),
        (4 * 2048, 0, Target::Blocks { stride: 4 * 2048 })
    );
    assert_eq!((d.system, d.local), (0x1000 + 16 * 2048, 8192));
    assert_eq!(plan.args().len(), 2);
    assert_eq!(plan.args()[1].words, [8192, 8192, 4, 0]);
}

/// Blocks that several sections compute are loaded once, for any number of sections.
#[test]
fn a_page_of_few_blocks_loads_each_once() {
    let targets = |blocks: u64, sections: usize| -> Vec<(Target, u64)> {
        let mut machine = vm7();
        machine.cp2.sections = sections;
        let plan = StreamPlan::new(job(blocks, 16, true), &machine).unwrap();
        let loads = plan.loads(&plan.pages().get(0).unwrap());
        let block = |d: &Descriptor| (d.target, (d.system - 0x1000) / 16);
        loads.iter().map(|(_, d)| block(d)).collect()
    };
    assert_eq!(
        targets(2, 4),
        [(Target::Broadcast, 1), (Target::Section(0), 0)]
    );
    assert_eq!(targets(1, 4), [(Target::Broadcast, 0)]);
    assert_eq!(targets(8, 64).len(), 8);
}

#[test]
fn the_estimate_prefers_overlap_and_small_ends() {
    let mut job = job(1024, 2048, true);
    job.cycles_per_block = Some(1024);
    let plan = StreamPlan::new(job.clone(), &vm7()).unwrap();
    assert!(plan.degree() >= 2, "{plan}");
    assert!(plan.pages().edge() < plan.pages().size(), "{plan}");
    job.buffering = Buffering::Single;
    let single = StreamPlan::new(job, &vm7()).unwrap();
    assert!(single.estimate().cycles > 1.5 * plan.estimate().cycles);
    // The bound is 1024 blocks / 4 sections * 1024 cycles; the ends and launches cost little.
    assert!(plan.estimate().cycles < 1.08 * 262_144.0, "{plan}");
}

#[test]
fn what_breaks_a_rule_is_named() {
    let machine = vm7();
    let fails = |change: fn(&mut Paging)| {
        let mut job = job(10, 256, false);
        change(&mut job);
        StreamPlan::new(job, &machine).unwrap_err().to_string()
    };
    assert_eq!(
        fails(|j| j.blocks = 0),
        "number of blocks is zero; it must be at least 1"
    );
    assert!(fails(|j| j.inputs[0].stride = 24).contains("stride is 24 B, which is no multiple of the DMA granule of 16 B (D2); the next that is: 32 B"));
    assert!(fails(|j| j.blocks = u64::MAX).contains("number of blocks is too large"));
    assert!(
        fails(|j| j.inputs[0] = Stream::contiguous("x", 0, 1 << 20)).contains("does not fit in 65536 B of DMEM: single buffering with 1 block(s) per section needs 1048832 B")
    );
    assert!(
        fails(|j| (j.inputs[0], j.buffering) =
            (Stream::contiguous("x", 0, 40_000), Buffering::Double))
        .contains("does not fit in 65536 B")
    );
    assert!(fails(|j| j.outputs[0].system = 0x1010).contains("output `y` overlaps input `x`"));
    assert!(
        fails(|j| j.reserved = vec![Reserved {
            name: "t".into(),
            address: 65_535,
            bytes: 2
        }])
        .contains("leaves the 65536 B")
    );
    assert!(
        fails(|j| j.outputs[0].overlap = 16).contains("`y` has an overlap, and it is an output")
    );
    assert!(
        fails(|j| (j.inputs[0].overlap, j.inputs[0].pitch) = (16, 512)).contains("not adjacent")
    );
    assert!(fails(|j| j.inputs[0].overlap = 8).contains("stream `x`: overlap is 8 B"));
    assert!(
        fails(|j| {
            j.inputs[0] = Stream::overlapping("x", 0x1000, 256, 256);
            j.outputs[0].system = 0x1000;
        })
        .contains("overlaps input")
    );
    assert!(fails(|j| j.inputs[0].align = 48).contains("no power of two"));
    assert!(fails(|j| j.inputs[0].pieces[0].local = 16).contains("outside the block"));
    assert!(fails(|j| j.size = BlocksPerSection::Range { min: 3, max: 2 }).contains("too large"));
    assert!(fails(|j| j.args.words = vec![0; 1 << 20]).contains("argument words"));
    assert!(
        fails(|j| (j.in_place, j.outputs[0].pitch) = (true, 512))
            .contains("they share their pages")
    );
    assert!(fails(|j| j.inputs[0].system = u64::MAX).contains("address is too large"));
}

#[test]
fn a_million_pages_are_planned_at_once() {
    let mut job = job(4_000_000, 16, true);
    job.outputs[0].system = 0x1000_0000;
    job.size = BlocksPerSection::Fixed(1);
    let plan = StreamPlan::new(job, &vm7()).unwrap();
    assert_eq!(plan.pages().len(), 1_000_000);
    let text = plan.to_string();
    assert!(text.lines().count() < 60, "{text}");
}
