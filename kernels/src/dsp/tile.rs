//! An unrolled product of small complex matrices, with sums in registers.

use crate::pipeline::{BlockWriter, address};
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of a complex number.
pub(super) const COMPLEX: usize = 8;
/// Number of independent sums that hides the latency of a multiply-add.
pub(super) const SUMS: usize = 8;

/// Divides `total` numbers into the fewest parts of at most `most`, whose lengths differ by at most one;
/// returns the lengths and the number of parts of each.
pub(super) fn shares(total: usize, most: usize) -> Vec<(usize, usize)> {
    let parts = total.div_ceil(most.max(1)).max(1);
    let (least, more) = (total / parts, total % parts);
    let all = [(least + 1, more), (least, parts - more)];
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// Divides `total` numbers into the parts of [`shares`], as ranges.
pub(super) fn parts(total: usize, most: usize) -> Vec<Range<usize>> {
    let lengths = shares(total, most);
    let lengths = lengths.into_iter();
    let each = lengths.flat_map(|(length, count)| std::iter::repeat_n(length, count));
    let mut begin = 0;
    each.map(|length| {
        begin += length;
        begin - length..begin
    })
    .collect()
}

/// A matrix of contiguous complex numbers from a quad's boundary on; `place` returns the index of an element.
pub(super) struct Factor<F> {
    /// Name of the pointer, and of the quads.
    pub(super) name: &'static str,
    pub(super) place: F,
}

/// Quads that a block has loaded, by their places.
struct LoadedQuads<'a, F> {
    from: &'a Factor<F>,
    quads: BTreeMap<usize, String>,
}

impl<F: Fn(usize, usize) -> usize> LoadedQuads<'_, F> {
    /// Returns the name of an element, and adds the load of its quad if there is none yet.
    fn element(&mut self, block: &mut BlockWriter, row: usize, column: usize) -> String {
        let place = (self.from.place)(row, column);
        let name = self.from.name;
        let quad = self.quads.entry(place / 2).or_insert_with(|| {
            let offset = COMPLEX * (place - place % 2);
            let from = address(name, offset as i64);
            block.compute(&format!("{name}[{}]", place / 2), "ldq", &[&from])
        });
        half(quad, place)
    }
}

/// Returns the half of a quad at a place.
fn half(quad: &str, place: usize) -> String {
    let half = if place.is_multiple_of(2) { "lo" } else { "hi" };
    format!("{quad}.{half}")
}

impl<F: Fn(usize, usize) -> usize> Factor<F> {
    /// Begins a block, which has loaded nothing yet.
    fn begin_block(&self) -> LoadedQuads<'_, F> {
        LoadedQuads {
            from: self,
            quads: BTreeMap::new(),
        }
    }

    /// Names the sums of a block's elements and says how they are stored.
    fn results(&self, elements: &[(usize, usize)], quads: bool) -> Vec<SumTarget> {
        let places: Vec<usize> = elements.iter().map(|&(i, j)| (self.place)(i, j)).collect();
        let targets = places.iter().map(|&place| {
            let whole = quads && [place & !1, place | 1].iter().all(|p| places.contains(p));
            let quad = format!("{}[{}]", self.name, place / 2);
            let pair = format!("{}.pair[{place}]", self.name);
            let to = address(self.name, (COMPLEX * place) as i64);
            match (whole, place % 2) {
                (false, _) => SumTarget {
                    sum: pair.clone(),
                    store: Some(("stp", pair, to)),
                },
                // A whole quad is stored once.
                (true, lane) => SumTarget {
                    sum: half(&quad, place),
                    store: (lane == 0).then_some(("stq", quad, to)),
                },
            }
        });
        targets.collect()
    }
}

/// Value in which a sum ends, and the store that it needs: mnemonic, value, address.
struct SumTarget {
    sum: String,
    store: Option<(&'static str, String, String)>,
}

/// Adds the block `rows` x `columns` of c = a b; its sums have `depth` terms.
///
/// With `quads`, two elements that fill a quad of c are stored as one. A sum is made of `chains` partial
/// sums, to which terms are added in turn.
pub(super) fn block<A, B, C>(
    block: &mut BlockWriter,
    (a, b, c): (&Factor<A>, &Factor<B>, &Factor<C>),
    (rows, columns, depth): (Range<usize>, Range<usize>, usize),
    (quads, chains): (bool, usize),
) where
    A: Fn(usize, usize) -> usize,
    B: Fn(usize, usize) -> usize,
    C: Fn(usize, usize) -> usize,
{
    let elements: Vec<(usize, usize)> = rows
        .flat_map(|i| columns.clone().map(move |j| (i, j)))
        .collect();
    let targets = c.results(&elements, quads);
    let (mut x, mut y) = (a.begin_block(), b.begin_block());
    let chains = chains.clamp(1, depth.max(1));
    let mut sums: Vec<Vec<String>> = vec![Vec::new(); elements.len()];
    for k in 0..depth {
        for ((sums, target), &(i, j)) in sums.iter_mut().zip(&targets).zip(&elements) {
            let (x, y) = (x.element(block, i, k), y.element(block, k, j));
            let next = match chains > 1 || k + 1 < depth {
                true => block.name(&partial_sum(c, (i, j))),
                false => target.sum.clone(),
            };
            match sums.get_mut(k % chains) {
                None => {
                    block.operation("cmul", &[&next, &x, &y]);
                    sums.push(next);
                }
                Some(sum) => {
                    block.operation("cmadd", &[&next, &x, &y, sum]);
                    *sum = next;
                }
            }
        }
    }
    for ((mut sums, target), &at) in sums.into_iter().zip(&targets).zip(&elements) {
        // Partial sums are added as a tree, the two oldest first.
        while let [one, other, rest @ ..] = sums.as_slice() {
            let sum = match rest.is_empty() {
                true => target.sum.clone(),
                false => block.name(&partial_sum(c, at)),
            };
            block.operation("add", &[&sum, one, other]);
            sums.drain(..2);
            sums.push(sum);
        }
    }
    for (store, value, to) in targets.into_iter().filter_map(|t| t.store) {
        block.operation(store, &[&value, &to]);
    }
}

/// Returns the name of the sums that lead to an element.
fn partial_sum<F: Fn(usize, usize) -> usize>(c: &Factor<F>, (i, j): (usize, usize)) -> String {
    format!("sum[{}]", (c.place)(i, j))
}
