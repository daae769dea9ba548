//! An unrolled product of small complex matrices, with sums in registers.

use cp2_asm::schedule::{DataOperand, DataPointer, DataValue, Dataflow};
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
    pub(super) pointer: DataPointer,
    pub(super) place: F,
}

/// Quads that a block has loaded, by their places.
struct LoadedQuads<'a, F> {
    from: &'a Factor<F>,
    quads: BTreeMap<usize, DataValue>,
}

impl<F: Fn(usize, usize) -> usize> LoadedQuads<'_, F> {
    /// Returns the register of an element, and adds the load of its quad if there is none yet.
    fn element(&mut self, body: &mut Dataflow, row: usize, column: usize) -> DataOperand {
        let place = (self.from.place)(row, column);
        let quad = *self.quads.entry(place / 2).or_insert_with(|| {
            let quad = body.quad();
            let offset = COMPLEX * (place - place % 2);
            body.load(DataOperand::Whole(quad), self.from.pointer, offset as i64);
            quad
        });
        half(quad, place)
    }
}

/// Returns the half of a quad at a place.
fn half(quad: DataValue, place: usize) -> DataOperand {
    if place.is_multiple_of(2) {
        DataOperand::Lo(quad)
    } else {
        DataOperand::Hi(quad)
    }
}

impl<F: Fn(usize, usize) -> usize> Factor<F> {
    /// Begins a block, which has loaded nothing yet.
    fn begin_block(&self) -> LoadedQuads<'_, F> {
        LoadedQuads {
            from: self,
            quads: BTreeMap::new(),
        }
    }

    /// Allocates the sums of a block's elements and says where they are stored.
    fn results(
        &self,
        body: &mut Dataflow,
        elements: &[(usize, usize)],
        quads: bool,
    ) -> Vec<SumTarget> {
        let places: Vec<usize> = elements.iter().map(|&(i, j)| (self.place)(i, j)).collect();
        let mut made = BTreeMap::new();
        let targets = places.iter().map(|&place| {
            let whole = quads && [place & !1, place | 1].iter().all(|p| places.contains(p));
            let stored = if whole {
                *made.entry(place / 2).or_insert_with(|| body.quad())
            } else {
                body.pair()
            };
            SumTarget {
                sum: if whole {
                    half(stored, place)
                } else {
                    DataOperand::Whole(stored)
                },
                // A whole quad is stored once.
                store: (!whole || place % 2 == 0)
                    .then_some((DataOperand::Whole(stored), COMPLEX * place)),
            }
        });
        targets.collect()
    }
}

/// Register in which a sum ends, and the store that it needs.
struct SumTarget {
    sum: DataOperand,
    store: Option<(DataOperand, usize)>,
}

/// Adds the block `rows` x `columns` of c = a b to a body; its sums have `depth` terms.
///
/// With `quads`, two elements that fill a quad of c are stored as one. A sum is made of `chains` partial
/// sums, to which terms are added in turn.
pub(super) fn block<A, B, C>(
    body: &mut Dataflow,
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
    let targets = c.results(body, &elements, quads);
    let (mut a, mut b) = (a.begin_block(), b.begin_block());
    let chains = chains.clamp(1, depth.max(1));
    let mut sums: Vec<Vec<DataOperand>> = vec![Vec::new(); elements.len()];
    for k in 0..depth {
        for ((sums, target), &(i, j)) in sums.iter_mut().zip(&targets).zip(&elements) {
            let (x, y) = (a.element(body, i, k), b.element(body, k, j));
            let next = if chains > 1 || k + 1 < depth {
                DataOperand::Whole(body.pair())
            } else {
                target.sum
            };
            match sums.get_mut(k % chains) {
                None => {
                    body.op("cmul", &[next], &[x, y]);
                    sums.push(next);
                }
                Some(sum) => {
                    let before = std::mem::replace(sum, next);
                    body.op("cmadd", &[next], &[x, y, before]);
                }
            }
        }
    }
    for (mut sums, target) in sums.into_iter().zip(&targets) {
        // Partial sums are added as a tree, the two oldest first.
        while let [one, other, rest @ ..] = sums.as_slice() {
            let sum = if rest.is_empty() {
                target.sum
            } else {
                DataOperand::Whole(body.pair())
            };
            body.op("add", &[sum], &[*one, *other]);
            sums.drain(..2);
            sums.push(sum);
        }
    }
    for (reg, offset) in targets.into_iter().filter_map(|t| t.store) {
        body.store(reg, c.pointer, offset as i64);
    }
}
