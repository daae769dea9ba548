//! Areas of DMEM that a page kernel of a nest may access.

use super::field::{GridField, X};
use super::grid_plan::{GridPlan, narrow};
use crate::paging::PAGE_EVENT;
use cp2_emu::{Area, PageAreas, Protection, Results, Sliding, StoredRows};

impl GridPlan {
    /// Returns the areas that the page kernel may access: its windows and blocks, tables, scratch, arguments
    /// and program data.
    #[must_use]
    pub fn protection(&self) -> Protection {
        let area = |address: u64, bytes: u64| Area {
            address: u32::try_from(address).unwrap_or(u32::MAX),
            bytes: u32::try_from(bytes.next_multiple_of(16)).unwrap_or(u32::MAX),
        };
        let named = |name: &str| {
            self.map
                .regions
                .iter()
                .find(|r| r.name == name)
                .map(|r| area(r.address, r.bytes))
        };
        let reserved = self.sweep.reserved.iter().map(|r| area(r.address, r.bytes));
        let tables = self.sweep.tables.iter().zip(&self.tables);
        let tables = tables.map(|(table, &at)| area(at.into(), table.bytes));
        let resident = ["scratch", "results of all sections", "result"]
            .into_iter()
            .filter_map(named);
        let arguments = self.slots.iter().map(|&slot| {
            area(
                u64::from(slot - self.layout.before),
                self.layout.bytes().into(),
            )
        });
        let buffers = (0..self.degree).map(|buffer| {
            let all = self.places.iter().zip(&self.bytes).enumerate();
            let all = all.zip(&self.rings);
            // A stream in the buffer of another one has no area of its own.
            let all = all.filter(|((index, (places, _)), ring)| {
                let own = self.resolve_buffer(*index).0 == *index;
                own && ring.is_none() && (places.len() > 1 || self.degree == 1)
            });
            all.map(|((_, (places, &bytes)), _)| area(places[buffer].into(), bytes))
                .collect()
        });
        let rings = self.places.iter().zip(&self.bytes).zip(&self.rings);
        let sliding = rings
            .enumerate()
            .filter_map(|(index, ((places, &bytes), ring))| {
                let (&at, ring) = (places.first()?, ring.as_ref()?);
                let input = self.sweep.inputs.get(index);
                let writes = input.is_some_and(|input| input.room > 0);
                Some(Sliding {
                    area: area(at.into(), bytes),
                    pitch: narrow(ring.pitch),
                    lines: ring.lines,
                    window: ring.window,
                    first: ring.begin(0),
                    step: ring.block,
                    row: (ring.pages, ring.begin(ring.pages) - ring.begin(0)),
                    writes,
                })
            });
        Protection {
            signal: PAGE_EVENT,
            own: reserved.chain(tables).chain(resident).collect(),
            arguments: arguments.collect(),
            pages: vec![PageAreas {
                pages: self.len(),
                areas: buffers.collect(),
            }],
            windows: sliding.collect(),
            results: self.results(),
        }
    }

    /// Returns the buffers of the streams, and the arrays that their contents are stored to. Streams in the
    /// buffer of an input and the result of a reduction are left out, because pages do not replace them.
    fn results(&self) -> Results {
        let inputs = self.sweep.inputs.len();
        let all = self.places.iter().zip(&self.bytes).zip(&self.rings);
        let own = all.enumerate().filter(|(index, (_, ring))| {
            let reduced = *index >= inputs && self.sweep.partials.is_some();
            ring.is_none() && !reduced && self.resolve_buffer(*index).0 == *index
        });
        let (mut streams, mut first) = (Vec::new(), 0);
        for (index, ((places, &bytes), _)) in own {
            let area = |&address: &u32| Area {
                address,
                bytes: narrow(bytes),
            };
            first += usize::from(index < inputs);
            streams.push(places.iter().map(area).collect());
        }
        let outputs = self.sweep.outputs.iter();
        let mut rows: Vec<StoredRows> = outputs
            .filter_map(|field| stored(field, self.granule))
            .collect();
        rows.extend(self.gathered_rows());
        Results {
            head: self.layout.before,
            streams,
            inputs: first,
            pages: self.len(),
            rows,
        }
    }

    /// Returns the rows of the gathered results of all sections.
    fn gathered_rows(&self) -> Option<StoredRows> {
        let (system, field) = (self.sweep.partials?, self.sweep.outputs.first()?);
        let pitch = field.pitch(field.block[X], self.quad);
        Some(StoredRows {
            system,
            bytes: field.result_bytes(self.quad) * self.cuts.sections,
            plane: pitch * field.block[1],
            pitch,
            row: field.block[X] * field.element,
        })
    }
}

/// Returns the rows of an array that is stored, with the rest of the last granule of each.
fn stored(field: &GridField, granule: u64) -> Option<StoredRows> {
    let own = field.strips.iter().find(|strip| strip.from == 0)?;
    let row = field.shape[X] * field.element;
    let whole = row.next_multiple_of(granule.max(1));
    let [planes, rows, _] = field.shape;
    // An array of one row, or of one plane, defines no distance to the next.
    let pitch = if rows > 1 { own.row } else { whole };
    let plane = if planes > 1 { own.plane } else { pitch * rows };
    Some(StoredRows {
        system: own.system,
        bytes: plane * (planes - 1) + pitch * (rows - 1) + whole,
        plane,
        pitch,
        row,
    })
}
