//! What of DMEM a page kernel may touch.

use super::plan::{Nest, narrow};
use crate::paging::PAGE_EVENT;
use cp2_emu::{Area, PageAreas, Protection, Sliding};

impl Nest {
    /// What the page kernel may touch: its windows and blocks, tables, scratch, arguments and program data.
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
            // What lies in a buffer of others is theirs.
            let all = all.filter(|((index, (places, _)), ring)| {
                let own = self.lying(*index).0 == *index;
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
        }
    }
}
