//! The product as a pass: loads and stores of its pages.

use super::layout::BUFFERS;
use super::{PlacedSell, Sell};
use crate::job::Job;
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::{ListedPage, ListedPass};

impl PlacedSell {
    /// Adds a product to a job: y = A x, for the vectors at the addresses `x` and `y`.
    pub fn pass(&self, job: &mut Job, x: u64, y: u64) {
        let Sell {
            shape,
            division,
            pages: packed,
            ..
        } = &*self.sell;
        let layout = &division.layout;
        let (mut index, mut stream) = (self.index.address(), self.streams.address());
        let mut pages = Vec::with_capacity(packed.len());
        for (number, page) in packed.iter().enumerate() {
            let mut listed = ListedPage::default();
            let buffer = number % BUFFERS;
            if let Some(part) = &page.segment {
                // The segment before is in use until its last page is done.
                listed.replaces = number > 0 && part.first;
                let from = x + 4 * part.column as u64;
                let bytes = 4 * part.numbers as u64;
                let segment = Descriptor::load(Target::Broadcast, from, part.address, bytes);
                listed.loads.push(segment);
            }
            let each = 4 * (page.stream.len() / shape.sections) as u64;
            if each > 0 {
                let blocks = Target::Blocks {
                    stride: each as i64,
                };
                let local = layout.streams[buffer];
                listed
                    .early
                    .push(Descriptor::load(blocks, stream, local, each));
                stream += each * shape.sections as u64;
            }
            let bytes = 4 * page.index.len() as u64;
            let local = layout.index[buffer];
            listed
                .loads
                .push(Descriptor::load(Target::Section(0), index, local, bytes));
            index += bytes;
            let rows = page.results.start * shape.sections..page.results.end * shape.sections;
            let rows = rows.start..rows.end.min(shape.rows);
            if !rows.is_empty() {
                let bytes = 4 * shape.round_to_granules(rows.len()) as u64;
                let to = y + 4 * rows.start as u64;
                let local = layout.results[buffer];
                listed
                    .stores
                    .push(Descriptor::store(Target::Deal, to, local, bytes));
            }
            pages.push(listed);
        }
        let pass = ListedPass {
            pages,
            buffers: BUFFERS,
            address: layout.index[0],
            steps: self.sell.steps.clone(),
            protection: None,
        };
        job.listed(&self.program, self.sell.resident.entry.into(), pass);
    }
}
