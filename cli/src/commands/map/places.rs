//! The blocks, sections and pages of a result's elements.

use super::pattern::Feature;
use cp2_host::nest::{AXES, GridField, GridPlan};
use cp2_kernels::Pass;

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

/// Returns what elements of a result may have in common: section, page and block, as far as the pages are known, and
/// coordinates. Features that say more about a kernel come first.
pub(crate) fn features<'a>(shape: &[usize], pages: Option<StoredPages<'a>>) -> Vec<Feature<'a>> {
    let elements: u64 = shape.iter().map(|&n| n as u64).product();
    let pages = pages.filter(|pages| pages.field.shape.iter().product::<u64>() == elements);
    let own = match pages {
        Some(pages) => pages.field.shape,
        None => {
            let mut own = [1; AXES];
            // Axes beyond three join the slowest one.
            for (from_fastest, &n) in shape.iter().rev().enumerate() {
                own[(AXES - 1).saturating_sub(from_fastest)] *= n as u64;
            }
            own
        }
    };
    let names = match own {
        [1, 1, _] => ["plane", "row", "element"],
        _ => ["plane", "row", "column"],
    };
    let small = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let mut all = Vec::new();
    let mut add =
        |name: String, of: Box<dyn Fn(usize) -> usize + 'a>| all.push(Feature { name, of });
    let axes = (0..AXES).filter(|&axis| own[axis] > 1);
    if let Some(pages) = pages {
        let place = move |index: usize| {
            pages
                .plan
                .find_block(pages.block(coordinates(index, own)).0)
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
        for axis in axes.clone().filter(|&axis| pages.field.block[axis] > 1) {
            let of = move |i: usize| small(pages.block(coordinates(i, own)).1[axis]);
            add(format!("{} in its block", names[axis]), Box::new(of));
        }
        for axis in axes.clone() {
            let of = move |i: usize| small(pages.block(coordinates(i, own)).0[axis]);
            add(format!("block along {}s", names[axis]), Box::new(of));
        }
    }
    for axis in axes {
        let of = move |i: usize| small(coordinates(i, own)[axis]);
        add(names[axis].to_owned(), Box::new(of));
    }
    all
}
