//! The product as a pass: loads and stores of its pages.

use super::layout::BUFFERS;
use super::{PlacedSell, Sell};
use crate::job::Job;
use crate::sparse::listed_pages::PageSources;
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::ListedPage;

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
        let mut sources = PageSources {
            streams: self.streams.address(),
            index: self.index.address(),
            sections: shape.sections,
        };
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
            let stream = sources.load_stream(page.stream.len(), layout.streams[buffer]);
            listed.early.extend(stream);
            let index = sources.load_index(page.index.len(), layout.index[buffer]);
            listed.loads.push(index);
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
        self.resident.pass(job, &layout.index, pages);
    }
}
