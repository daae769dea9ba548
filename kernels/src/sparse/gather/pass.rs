//! The product as a pass: loads and stores of its pages.

use super::pages::PAGE_BUFFERS;
use super::{Gather, PlacedGather};
use crate::job::Job;
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::{ListedPage, ListedPass};

impl PlacedGather {
    /// Adds a product to a job: y = A x, for the vectors at the addresses `x` and `y`.
    pub fn pass(&self, job: &mut Job, x: u64, y: u64) {
        let Gather {
            grid,
            layout,
            pages: packed,
            ..
        } = &*self.gather;
        let (mut word, mut value) = (self.words.address(), self.values.address());
        let granule = job.machine().dma.granule.0.max(16);
        let mut pages = Vec::with_capacity(packed.len());
        for (number, page) in packed.iter().enumerate() {
            let side = number % PAGE_BUFFERS;
            // A segment replaces one that is in use until the page before is done. The other loads of that
            // page and of the following ones, whose buffers are free earlier, are moved forward.
            let recent = (number + 2).saturating_sub(PAGE_BUFFERS).max(1)..=number;
            let early =
                number >= PAGE_BUFFERS && packed[recent].iter().any(|page| page.segment.is_some());
            let mut listed = ListedPage::default();
            if number == 0 {
                let bytes = self.gather.mask_bytes() as u64;
                let masks = Target::Blocks {
                    stride: bytes as i64,
                };
                let from = self.masks.address();
                listed.loads.push(Descriptor::load(masks, from, 0, bytes));
                for local in
                    (0..PAGE_BUFFERS).filter_map(|page| layout.single_section_address(page))
                {
                    let zeros = (self.zeros.address(), self.zeros.bytes());
                    let load = Descriptor::load(Target::Broadcast, zeros.0, local, zeros.1);
                    listed.loads.push(load);
                }
            }
            if let Some((columns, local)) = &page.segment {
                // The segment before is in use until its last page is done.
                listed.replaces = number > 0;
                let from = x + (columns.start * grid.number) as u64;
                let bytes = grid.bytes(columns.len()) as u64;
                listed
                    .loads
                    .push(Descriptor::load(Target::Broadcast, from, *local, bytes));
            }
            let mut own = Vec::new();
            for (section, values) in page.alone.iter().enumerate() {
                let bytes = 4 * values.len() as u64;
                if let (true, Some(local)) = (bytes > 0, layout.single_section_address(number)) {
                    let target = Target::Section(section as u32);
                    own.push(Descriptor::load(target, value, local, bytes));
                }
                value += bytes;
            }
            let bytes = 4 * page.values.len() as u64;
            if bytes > 0 {
                let each = bytes / grid.sections as u64;
                let blocks = Target::Blocks {
                    stride: each as i64,
                };
                let local = layout.values[side];
                own.push(Descriptor::load(blocks, value, local, each));
            }
            value += bytes;
            let bytes = 8 * page.words.len() as u64;
            let local = 8 * u32::from(layout.code[side]);
            // A part of every page is loaded in order, so that pages become ready in order.
            let first = match early && page.segment.is_none() {
                true => bytes - granule.min(bytes),
                false => bytes,
            };
            for (from, to) in [(0, first), (first, bytes)] {
                if to > from {
                    let local = local + from as u32;
                    let words = Descriptor::load(Target::Program, word + from, local, to - from);
                    own.push(words);
                }
            }
            let left = match page.segment.is_none() {
                true => own.pop(),
                false => None,
            };
            match early {
                true => listed.early = own,
                false => listed.loads.extend(own),
            }
            listed.loads.extend(left);
            word += bytes;
            if let Some((units, local)) = &page.results {
                let row = units.start * grid.unit_rows();
                let rows = (units.end * grid.unit_rows()).min(grid.rows) - row;
                let to = y + (row * grid.number) as u64;
                let bytes = grid.bytes(rows) as u64;
                listed
                    .stores
                    .push(Descriptor::store(Target::Deal, to, *local, bytes));
            }
            pages.push(listed);
        }
        let pass = ListedPass {
            pages,
            buffers: PAGE_BUFFERS,
            address: 0,
            steps: self.gather.steps.clone(),
            protection: None,
        };
        job.listed(&self.program, self.gather.resident.entry.into(), pass);
    }
}
