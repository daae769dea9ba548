//! DMEM laid out for the pages of a sweep.

use super::grid_plan::PageSize;
use super::march::common;
use super::transfers::PageCompiler;
use crate::schedule::DmemMap;
use cp2_machine::Machine;

/// DMEM laid out for pages of a size.
pub(super) struct PageRoom {
    pub(super) map: DmemMap,
    pub(super) places: Vec<Vec<u32>>,
    pub(super) tables: Vec<u32>,
    pub(super) scratch: u32,
    pub(super) slots: Vec<u32>,
    pub(super) gathered: u32,
}

impl PageRoom {
    pub(super) fn new(maker: &PageCompiler<'_>, machine: &Machine, size: PageSize) -> Option<Self> {
        let (sweep, quad, layout) = (maker.sweep, maker.quad, maker.layout);
        let mut map = DmemMap::new(machine.cp2.dmem.0);
        for r in &sweep.reserved {
            if !map.reserve(&r.name, r.address, r.bytes) {
                return None;
            }
        }
        let mut place = |name: &str, bytes: u64| u32::try_from(map.place(name, bytes, quad)?).ok();
        // There is one more place for the arguments behind the last page of a reduction.
        let pages: u64 = maker.cuts.digits().iter().product();
        let reduced = sweep.partials.is_some();
        let used = (size.degree as u64).min(pages + u64::from(reduced)).max(1);
        let mut places: Vec<Vec<u32>> = Vec::new();
        for field in &sweep.inputs {
            if let Some(within) = maker.find_containing_input(field) {
                let (host, by) = within;
                let first = places.get(host).cloned().unwrap_or_default();
                places.push(shift_addresses(&first, by?)?);
                continue;
            }
            if let Some(ring) = maker.ring(field) {
                let name = format!("{} in a ring of {} lines", field.name, ring.lines);
                places.push(vec![place(&name, maker.bytes(field))?; size.degree]);
                continue;
            }
            let buffers =
                (0..size.degree).map(|b| place(&format!("{} {b}", field.name), maker.bytes(field)));
            places.push(buffers.collect::<Option<Vec<_>>>()?);
        }
        for field in &sweep.outputs {
            let shared = maker.find_containing_input(field);
            places.push(match (sweep.partials, shared) {
                // The result of a reduction stays at one address.
                (Some(_), _) => {
                    let at = place("result", maker.bytes(field))?;
                    vec![at; size.degree]
                }
                (None, Some((host, by))) => {
                    let first = places.get(host).cloned().unwrap_or_default();
                    shift_addresses(&first, by?)?
                }
                (None, None) => {
                    let buffers = (0..size.degree)
                        .map(|b| place(&format!("{} {b}", field.name), maker.bytes(field)));
                    buffers.collect::<Option<Vec<_>>>()?
                }
            });
        }
        let gathered = match (sweep.partials, sweep.outputs.first()) {
            (Some(_), Some(field)) => {
                let bytes = maker.bytes(field) * maker.cuts.sections;
                place("results of all sections", bytes)?
            }
            _ => 0,
        };
        let mut tables = Vec::new();
        for table in &sweep.tables {
            tables.push(place(&table.name, table.bytes.next_multiple_of(quad))?);
        }
        let blocks = sweep
            .scratch_per_block
            .checked_mul(maker.cuts.largest_section())?;
        let scratch = match sweep.scratch.checked_add(blocks)? {
            0 => 0,
            bytes => place("scratch", bytes)?,
        };
        // With sliding windows there are argument blocks for a whole period, until their words repeat, if
        // there is room for them.
        let rings = sweep.inputs.iter().filter_map(|field| maker.ring(field));
        let round = rings.fold(size.degree as u64, |n, ring| common(n, ring.period()));
        let round = round.min(pages + u64::from(reduced)).max(used);
        let slots = |count: u64, map: &mut DmemMap| {
            let place = |_| {
                let at = map.place("arguments", layout.bytes().into(), quad)?;
                Some(u32::try_from(at).ok()? + layout.before)
            };
            (0..count).map(place).collect::<Option<Vec<_>>>()
        };
        let mut more = map.clone();
        let slots = match slots(round, &mut more) {
            Some(slots) => {
                map = more;
                slots
            }
            None => slots(used, &mut map)?,
        };
        Some(Self {
            map,
            places,
            tables,
            scratch,
            slots,
            gathered,
        })
    }
}

/// Returns addresses `by` bytes further on.
fn shift_addresses(places: &[u32], by: u64) -> Option<Vec<u32>> {
    let by = u32::try_from(by).ok()?;
    places.iter().map(|at| at.checked_add(by)).collect()
}
