//! The blocks, sections and pages of a result's elements.

use super::pattern::Feature;
use cp2_host::nest::{AXES, GridField, GridPlan};
use cp2_kernels::Pass;
use std::collections::BTreeMap;

/// Pages that store an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredPages<'a> {
    plan: &'a GridPlan,
    field: &'a GridField,
}

impl<'a> StoredPages<'a> {
    /// Finds the last pass that stores the array with this name in blocks. There is none if a reduction makes it.
    pub(crate) fn find(passes: &'a [Pass], name: &str) -> Option<Self> {
        let plans = passes.iter().rev().filter_map(Pass::nest);
        let mut blocks = plans.filter(|plan| plan.sweep().partials.is_none());
        blocks.find_map(|plan| {
            let mut outputs = plan.sweep().outputs.iter();
            let field = outputs.find(|field| field.name == name)?;
            Some(Self { plan, field })
        })
    }

    /// Returns the number of the last block that a section has in each page.
    fn list_last_blocks(&self) -> BTreeMap<u64, u64> {
        let count = |axis: usize| self.field.shape[axis].div_ceil(self.field.block[axis].max(1));
        let [planes, rows, columns] = [0, 1, 2].map(count);
        let mut last = BTreeMap::new();
        for number in 0..planes * rows * columns {
            let block = [
                number / columns / rows,
                number / columns % rows,
                number % columns,
            ];
            let place = self.plan.find_block(block);
            let most = last.entry(place.page).or_insert(0);
            *most = place.number.max(*most);
        }
        last
    }

    /// Returns the section, page and block of elements as features.
    fn features(self) -> Vec<Feature<'a>> {
        let shape = self.field.shape;
        let mut all = Vec::new();
        let mut add = |name: String, of: Box<dyn Fn(usize) -> usize + 'a>| {
            all.push(Feature { name, of });
        };
        let block = move |index: usize| self.block(coordinates(index, shape));
        let place = move |index: usize| self.plan.find_block(block(index).0);
        let last = self.list_last_blocks();
        let from_end = move |index: usize| {
            let place = place(index);
            let last = last.get(&place.page).copied().unwrap_or(0);
            small(last.saturating_sub(place.number))
        };
        add(
            "section".to_owned(),
            Box::new(move |i| small(place(i).section)),
        );
        add("page".to_owned(), Box::new(move |i| small(place(i).page)));
        add(
            "block of its section".to_owned(),
            Box::new(move |i| small(place(i).number)),
        );
        add(
            "block of its section from the end".to_owned(),
            Box::new(from_end),
        );
        // Blocks of an array that is taken as one row are numbered, and so are their elements.
        let names = match shape {
            [1, 1, _] => [("", ""), ("", ""), ("index in its block", "block")],
            _ => [
                ("plane in its block", "block along planes"),
                ("row in its block", "block along rows"),
                ("column in its block", "block along columns"),
            ],
        };
        let axes = (0..AXES).filter(|&axis| shape[axis] > 1);
        for axis in axes.clone().filter(|&axis| self.field.block[axis] > 1) {
            add(
                names[axis].0.to_owned(),
                Box::new(move |i| small(block(i).1[axis])),
            );
        }
        for axis in axes {
            add(
                names[axis].1.to_owned(),
                Box::new(move |i| small(block(i).0[axis])),
            );
        }
        all
    }

    /// Returns the block of an element by its coordinates, and the element's place in the block.
    fn block(&self, at: [u64; AXES]) -> ([u64; AXES], [u64; AXES]) {
        let from_first = |axis: usize| at[axis].saturating_add_signed(-self.field.offset[axis]);
        let size = |axis: usize| self.field.block[axis].max(1);
        let axes = [0, 1, 2];
        (
            axes.map(|axis| from_first(axis) / size(axis)),
            axes.map(|axis| from_first(axis) % size(axis)),
        )
    }
}

/// Returns the coordinates of an element, slowest axis first.
fn coordinates(index: usize, shape: [u64; AXES]) -> [u64; AXES] {
    let index = index as u64;
    let [_, rows, columns] = shape.map(|n| n.max(1));
    [
        index / columns / rows,
        index / columns % rows,
        index % columns,
    ]
}

/// Returns an array's extents along three axes, slowest first; further axes join the slowest one.
fn three_axes(shape: &[usize]) -> [u64; AXES] {
    let mut extents = [1; AXES];
    for (from_fastest, &n) in shape.iter().rev().enumerate() {
        extents[(AXES - 1).saturating_sub(from_fastest)] *= n as u64;
    }
    extents
}

/// Converts a number of elements or blocks, which memory holds.
fn small(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// Returns what elements of a result may have in common: section, page and block, as far as the pages are known, and
/// coordinates. Features that say more about a kernel come first.
pub(crate) fn features<'a>(shape: &[usize], pages: Option<StoredPages<'a>>) -> Vec<Feature<'a>> {
    let own = three_axes(shape);
    let elements: u64 = own.iter().product();
    let pages = pages.filter(|pages| pages.field.shape.iter().product::<u64>() == elements);
    let mut all = pages.map_or_else(Vec::new, StoredPages::features);
    let names = match shape {
        [_] => ["", "", "index"],
        _ => ["plane", "row", "column"],
    };
    for axis in (0..AXES).filter(|&axis| own[axis] > 1) {
        all.push(Feature {
            name: names[axis].to_owned(),
            of: Box::new(move |i| small(coordinates(i, own)[axis])),
        });
    }
    all
}
