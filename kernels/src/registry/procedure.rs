//! A job as a procedure of the performance model.
//!
//! A pass costs by formula: its program and tables, its first page and its last store, one after the other,
//! and between them the longer of two branches: its arithmetic, until the last store can begin, and all other
//! transfers. With room for a single page in DMEM nothing overlaps. Where the first page of a pass is loaded
//! while the pass before ends, this load counts as a transfer of the pass before, and the last store of the
//! pass before as a transfer of this one.

use crate::job::{Job, Pass};
use cp2_dma::{Descriptor, transfer_time};
use cp2_machine::{Class, Machine};
use cp2_model::{Demand, Phase, Procedure, cp2};
use std::ops::AddAssign;

/// Returns the model's procedure of `job`, whose passes have to issue at least `operations`.
#[must_use]
pub fn procedure(name: &str, job: &Job, operations: &[Vec<(Class, u64)>]) -> Procedure {
    let mut procedure = Procedure::new(name);
    let machine = job.machine();
    let mut loaded = None;
    let all = job.passes();
    let early = |index: usize| {
        let before = index.checked_sub(1).and_then(|before| all.get(before));
        before.map_or(0, Pass::next_at_once)
    };
    let moved = all.iter().enumerate();
    let moved: Vec<_> = moved
        .map(|(index, pass)| traffic(pass, machine, early(index)))
        .collect();
    let mut before = ChannelTransfers::default();
    let mut computed = operations.iter();
    let begun = |index: usize| all.get(index).is_some_and(Pass::is_begun);
    for (index, (pass, parts)) in all.iter().zip(&moved).enumerate() {
        let program = pass.program();
        // A program that the pass before has loaded need not be loaded again.
        let [image, brought] = match loaded == Some(program.image) {
            true => [0, 0],
            false => pass.program_bytes(),
        };
        loaded = Some(program.image);
        let [mut first, mut middle, mut last] = *parts;
        // Program bytes that this pass loads for the last pass count here. Those for other passes are hidden
        // behind the pages of this one and left out.
        middle.bytes += if index + 2 == all.len() { brought } else { 0 };
        // A first page loaded while the pass before ends counts in that pass, and the last store of that pass
        // in this one.
        if begun(index) {
            first = ChannelTransfers::default();
            middle += before;
        }
        if let Some([next, ..]) = moved.get(index + 1).filter(|_| begun(index + 1)) {
            middle += *next;
            (before, last) = (last, ChannelTransfers::default());
        }
        // A relayout computes nothing and has no operations; the other passes take `operations` in order.
        let counts = match pass.is_relayout() {
            true => None,
            false => computed.next(),
        };
        let counts = counts.map_or(&[][..], Vec::as_slice);
        let mut compute: Vec<Demand> = section_operations(pass, counts, machine)
            .map(|(class, count)| Demand::operations(unit(class), class.name(), count))
            .collect();
        // The CPU learns of the last page, builds its store, and the DMA, if idle
        // by then, begins it. A busy DMA hides all of this.
        compute.extend([
            Demand::action(cp2::COMPLETION, 1),
            Demand::action(cp2::DESCRIPTOR, 1),
            ChannelTransfers::default().demand(u64::from(
                !begun(index + 1) && idle_at_last(pass, counts, machine),
            )),
        ]);
        // Between two passes the DMA need not stop: its queue holds the first
        // load of the next behind the last store of this one.
        let (begins, ends) = (index == 0, index + 1 == all.len());
        let phase = Phase::new(&format!("pass {}", index + 1))
            .add_serial([
                Demand::action(cp2::DESCRIPTOR, u64::from(begins)),
                Demand::transfer(cp2::DMA, image),
                first.demand(u64::from(begins)),
                last.demand(0),
                Demand::action(cp2::COMPLETION, u64::from(ends)),
            ])
            .branch(compute);
        procedure = procedure.phase(if pass.buffers() > 1 {
            let descriptors = Demand::operations(cp2::CPU, cp2::DESCRIPTORS, middle.transfers);
            phase.branch([middle.demand(0)]).branch([descriptors])
        } else {
            // The CPU learns of every page, and the DMA begins its store.
            let others = pass.pages().saturating_sub(1);
            phase.add_serial([
                middle.demand(others),
                Demand::action(cp2::COMPLETION, others),
                Demand::action(cp2::DESCRIPTOR, others),
            ])
        });
    }
    procedure
}

/// Returns true if the DMA is idle when the last page has been computed.
///
/// Then the last store pays the start of an idle channel; otherwise it follows the store before without a new
/// start. The DMA is idle if the last page's arithmetic takes as long as a start and the store of the page
/// before.
fn idle_at_last(pass: &Pass, counts: &[(Class, u64)], machine: &Machine) -> bool {
    let Some(before) = pass.pages().checked_sub(2) else {
        return true;
    };
    let arithmetic = counts.iter().filter(|(c, _)| unit(*c) == cp2::ARITHMETIC);
    let issued: u64 = arithmetic.map(|(_, count)| count).sum();
    let page = issued / (machine.cp2.sections as u64 * pass.pages()).max(1);
    let stores = [before, before + 1].map(|page| pass.stores(page));
    // The last page may be partly filled; its arithmetic shrinks in proportion to its stored bytes.
    let [all, rest] = stores
        .each_ref()
        .map(|s| ChannelTransfers::sum_transfers(s, machine).bytes);
    let last = u128::from(page) * u128::from(rest) / u128::from(all.max(1));
    let base = machine.time_base();
    let bodies = stores[0].iter().map(|s| transfer_time(s, machine).body);
    let stored = bodies.map(|body| base.ceil_cycles(body).0).sum::<u64>();
    last >= u128::from(machine.dma.setup_idle.0.saturating_add(stored))
}

/// Returns the name of the slot of a word that issues a class.
fn unit(class: Class) -> &'static str {
    match class.is_memory() {
        true => cp2::MEMORY_SLOT,
        false => cp2::ARITHMETIC,
    }
}

/// Returns the operations of all sections, including those that have no block of their own left in a page.
///
/// There is one instruction stream, so idle sections do what the others do: counts grow by block slots /
/// blocks.
fn section_operations<'a>(
    pass: &Pass,
    counts: &'a [(Class, u64)],
    machine: &Machine,
) -> impl Iterator<Item = (Class, u64)> + use<'a> {
    let asked: u64 = counts.iter().map(|(_, count)| count).sum();
    let sections = machine.cp2.sections as u64;
    let (done, needed) = pass.rounds(sections).unwrap_or((asked, asked));
    counts.iter().map(move |&(class, count)| {
        let all = u128::from(count) * u128::from(done) / u128::from(needed.max(1));
        (class, count.max(u64::try_from(all).unwrap_or(u64::MAX)))
    })
}

/// Splits the transfers of a pass: those that its first page waits for, with the loads of `early` pages
/// loaded with it; all in between; and the last page's store.
fn traffic(pass: &Pass, machine: &Machine, early: u64) -> [ChannelTransfers; 3] {
    let mut parts = [ChannelTransfers::default(); 3];
    for page in 0..pass.pages() {
        let loads = pass.loads(page);
        // Loads of the first page behind the one that signals an event belong to later pages' work.
        let said = loads.iter().position(|load| load.event.is_some());
        let first = match said {
            _ if page > 0 && page < early => loads.len(),
            _ if page > 0 => 0,
            Some(last) => last + 1,
            None => loads.len(),
        };
        parts[0] += ChannelTransfers::sum_transfers(&loads[..first], machine);
        parts[1] += ChannelTransfers::sum_transfers(&loads[first..], machine);
        let store = if page + 1 == pass.pages() {
            &mut parts[2]
        } else {
            &mut parts[1]
        };
        *store += ChannelTransfers::sum_transfers(&pass.stores(page), machine);
    }
    parts
}

/// Transfers of the DMA channel, added up: bytes, transfers, and runs beyond the first of each.
#[derive(Clone, Copy, Debug, Default)]
struct ChannelTransfers {
    bytes: u64,
    transfers: u64,
    runs: u64,
}

impl AddAssign for ChannelTransfers {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.transfers += other.transfers;
        self.runs += other.runs;
    }
}

impl ChannelTransfers {
    /// Adds up transfers with their bytes in whole granules.
    fn sum_transfers(transfers: &[Descriptor], machine: &Machine) -> Self {
        let mut traffic = Self::default();
        for descriptor in transfers {
            let time = transfer_time(descriptor, machine);
            traffic += Self {
                bytes: time.crossing,
                transfers: 1,
                runs: time.runs.saturating_sub(1),
            };
        }
        traffic
    }

    /// Returns the demand for the channel, of which `latencies` transfers start it when it is idle.
    fn demand(self, latencies: u64) -> Demand {
        Demand::Transfer {
            channel: cp2::DMA.to_owned(),
            bytes: self.bytes,
            // A transfer that starts an idle channel pays its latency instead.
            transfers: self.transfers.saturating_sub(latencies),
            runs: self.runs,
            latencies,
        }
    }
}
