//! A row's operations: loads, and sums of what is loaded.

use super::row_dataflow::{
    BlockRow, Classes, NeighbourRows, NeighbourSide, PointerWalkKind, QUAD, RowBlock, RowVariant,
};
use crate::pipeline::{BlockWriter, address};
use cp2_problems::stencil::Edge;
use std::collections::{BTreeMap, BTreeSet};

/// Iterations by which loops that keep sums are compared: about as many as blocks have rows.
const TURNS: u64 = 16;

/// Builder of a row's operations. Values are known by their names.
pub(super) struct DataflowBuilder<'a> {
    pub(super) row: &'a BlockRow<'a>,
    pub(super) pitch: [i64; 2],
    pub(super) made: RowBlock,
    /// Number of the row of the iteration that is built.
    pub(super) at: i8,
    /// True while the later half of the iteration is built.
    pub(super) late: bool,
    loaded: BTreeMap<(i8, i8, i64), String>,
    /// Sums of the planes before and behind, by row and quad.
    planes: BTreeMap<(i8, i64), String>,
    summed: BTreeMap<(NeighbourRows, i8, i64), String>,
    weighed: BTreeMap<(NeighbourSide, i8, i64), String>,
    doubled: BTreeMap<(i8, i64), String>,
    /// Sums of planes that are kept for the next iterations, by row and quad.
    keeping: BTreeSet<(i8, i64)>,
}

impl<'a> DataflowBuilder<'a> {
    /// Begins the block of a row without operations.
    pub(super) fn new(row: &'a BlockRow<'a>, way: RowVariant) -> Self {
        let mut block = BlockWriter::default();
        block.declare(".order");
        block.declare(".apart");
        if way.kept {
            // Sums that are kept leave hardly a memory slot free.
            block.declare(&format!(".turns {TURNS}"));
        }
        Self {
            row,
            pitch: row.pitch(),
            made: RowBlock {
                block,
                pointers: BTreeSet::new(),
                constants: Vec::new(),
                keeps_edges: false,
                sums: 0,
                way,
            },
            at: 0,
            late: false,
            loaded: BTreeMap::new(),
            planes: BTreeMap::new(),
            summed: BTreeMap::new(),
            weighed: BTreeMap::new(),
            doubled: BTreeMap::new(),
            keeping: BTreeSet::new(),
        }
    }

    /// Writes all operations.
    pub(super) fn made(mut self) -> RowBlock {
        self.all();
        self.made
    }
}

impl DataflowBuilder<'_> {
    /// Writes all quads; the first one comes last where the row's ends meet.
    fn all(&mut self) {
        let quads = self.row.quads();
        let outermost = self.outermost();
        let ends_meet = self.row.whole && self.row.edge == Edge::Periodic;
        let order = match ends_meet {
            true => (1..quads).chain(0..1),
            false => (0..quads).chain(0..0),
        };
        let rows = 0..self.made.way.together as i8;
        let sides = self.row.sides();
        for (place, k) in (0..).zip(order) {
            self.late = 2 * place >= quads && quads > 1;
            if ends_meet && k == 0 {
                // Values loaded for the first quad would otherwise stay in registers all along.
                self.loaded.clear();
                self.planes.clear();
                self.summed.clear();
            }
            self.made.block.comment(&format!("quad {k}"));
            let ahead = self.made.way.through.map(|ahead| (ahead, rows.clone()));
            for (ahead, row) in ahead
                .into_iter()
                .flat_map(|(ahead, rows)| rows.map(move |row| (ahead, row)))
            {
                self.at = row;
                for (side, classes) in sides.iter().filter(|(_, classes)| classes.len() > 1) {
                    self.weigh(*side, classes, (k + ahead).min(quads - 1));
                }
            }
            for row in rows.clone() {
                self.at = row;
                let sum = match self.row.per_element {
                    true => self.sum_own_coefficients(k),
                    false => self.common(k),
                };
                let sum = match &outermost {
                    Some(mask) => self.kept(k, &sum, mask),
                    None => sum,
                };
                let at = i64::from(row) * self.pitch[1] + QUAD * k;
                self.store(&sum, PointerWalkKind::Result, at);
            }
        }
    }

    /// Returns a constant of four words: one that a register holds, or one that is loaded.
    pub(super) fn constant(&mut self, words: [u32; 4]) -> String {
        let known = self.made.constants.iter().position(|own| *own == words);
        let index = known.unwrap_or_else(|| {
            self.made.constants.push(words);
            self.made.constants.len() - 1
        });
        // The table has those that find no register.
        match index.checked_sub(self.made.way.count_held_constants()) {
            None => format!("C{index}"),
            Some(place) => {
                let at = QUAD * place as i64;
                self.load_quad(&format!("c[{index}]"), PointerWalkKind::Table, at)
            }
        }
    }

    /// Returns a constant with the same number in all lanes.
    pub(super) fn number(&mut self, x: f32) -> String {
        self.constant([x.to_bits(); 4])
    }

    /// Returns the name of a value of quad `k` of the row that is built.
    pub(super) fn name(&self, what: &str, k: i64) -> String {
        format!("{what}[{}][{k}]", self.at)
    }

    /// Adds an operation that computes a value of quad `k`.
    pub(super) fn q(
        &mut self,
        (what, k): (&str, i64),
        operation: &str,
        operands: &[&str],
    ) -> String {
        let name = self.name(what, k);
        self.made.block.compute(&name, operation, operands)
    }

    /// Adds a permutation: lane i of the result is lane `lanes[i]` of a value.
    pub(super) fn lanes(&mut self, to: (&str, i64), of: &str, lanes: [usize; 4]) -> String {
        let [a, b, c, d] = lanes.map(|lane| format!("{lane:02b}"));
        self.q(to, "perm", &[of, &format!("0b{d}_{c}_{b}_{a}")])
    }

    /// Adds a shift: the result is four lanes from lane `lanes` of the pair of quads a, b.
    pub(super) fn shift(&mut self, to: (&str, i64), [a, b]: [&str; 2], lanes: u8) -> String {
        self.q(to, "ext", &[a, b, &lanes.to_string()])
    }

    /// Returns the operand of an access so many bytes from the pointer of this half of the iteration that walks along
    /// `stream`.
    fn place(&mut self, stream: PointerWalkKind, bytes: i64) -> String {
        let late = self.late && stream.steps();
        self.made.pointers.insert((stream, late));
        address(&stream.name(late), bytes)
    }

    /// Adds a load of a quad.
    pub(super) fn load_quad(&mut self, name: &str, stream: PointerWalkKind, bytes: i64) -> String {
        let from = self.place(stream, bytes);
        self.made.block.compute(name, "ldq", &[&from])
    }

    /// Adds a store of a quad.
    fn store(&mut self, value: &str, stream: PointerWalkKind, bytes: i64) {
        let to = self.place(stream, bytes);
        self.made.block.operation("stq", &[value, &to]);
    }

    /// Returns a quad of a row of neighbours, loaded if necessary.
    pub(super) fn load(&mut self, (plane, row): (i8, i8), k: i64) -> String {
        let row = row + self.at;
        if let Some(known) = self.loaded.get(&(plane, row, k)) {
            return known.clone();
        }
        let at = i64::from(row) * self.pitch[0] + QUAD * k;
        let name = format!("u[{plane}][{row}][{k}]");
        let value = self.load_quad(&name, PointerWalkKind::Plane(plane), at);
        if self.made.way.once {
            self.loaded.insert((plane, row, k), value.clone());
        }
        value
    }

    /// Returns the values `lanes` numbers behind quad `k` of a row of neighbours, loaded at a word address.
    pub(super) fn load_words(&mut self, (plane, row): (i8, i8), k: i64, lanes: i64) -> String {
        let row = row + self.at;
        let at = i64::from(row) * self.pitch[0] + QUAD * k + 4 * lanes;
        let from = self.place(PointerWalkKind::Words(plane), at);
        let what = if lanes < 0 { "west" } else { "east" };
        let name = format!("u[{plane}][{row}][{k}].{what}");
        self.made.block.compute(&name, "ldqu", &[&from])
    }

    /// Returns the weighted sums one lane to a side of quad `k`, loaded at a word address from where they have been
    /// stored.
    pub(super) fn load_sum_words(
        &mut self,
        (side, classes): (NeighbourSide, &Classes),
        k: i64,
        lane: i64,
    ) -> String {
        for k in [k, k + lane] {
            self.weigh(side, classes, k);
        }
        let at = self.sums_at(k) + 4 * lane;
        let from = self.place(PointerWalkKind::SumWords, at);
        let name = self.name(if lane < 0 { "west" } else { "east" }, k);
        self.made.block.compute(&name, "ldqu", &[&from])
    }

    /// Returns T(k) = x(k) + x(k + 2) of a row of neighbours.
    pub(super) fn double(&mut self, row: (i8, i8), k: i64) -> String {
        if let Some(known) = self.doubled.get(&(self.at, k)) {
            return known.clone();
        }
        let own = self.load(row, k);
        let later = if k.checked_rem(self.made.way.shifted) == Some(0) {
            let next = self.load(row, k + 1);
            self.shift(("later", k), [&own, &next], 2)
        } else {
            let at = i64::from(row.1 + self.at) * self.pitch[0] + QUAD * k;
            let from = [8, 16].map(|bytes| (PointerWalkKind::Plane(row.0), at + bytes));
            self.load_halves(("later", k), from)
        };
        let sum = self.q(("twice", k), "add", &[&own, &later]);
        self.doubled.insert((self.at, k), sum.clone());
        sum
    }

    /// Adds loads of the halves of a quad.
    fn load_halves(&mut self, (what, k): (&str, i64), from: [(PointerWalkKind, i64); 2]) -> String {
        let name = self.name(what, k);
        let value = self.made.block.name(&name);
        for (half, (stream, bytes)) in ["lo", "hi"].into_iter().zip(from) {
            let from = self.place(stream, bytes);
            let half = format!("{value}.{half}");
            self.made.block.operation("ldp", &[&half, &from]);
        }
        value
    }

    /// Returns T(k) = s(k) + s(k + 2) for weighted sums s of rows that have been stored.
    pub(super) fn double_sum(&mut self, side: NeighbourSide, classes: &Classes, k: i64) -> String {
        if let Some(known) = self.doubled.get(&(self.at, k)) {
            return known.clone();
        }
        let [own, _] = [k, k + 1].map(|k| self.weigh(side, classes, k));
        let from =
            [(k, 8), (k + 1, 0)].map(|(k, bytes)| (PointerWalkKind::Sums, self.sums_at(k) + bytes));
        let later = self.load_halves(("later", k), from);
        let sum = self.q(("twice", k), "add", &[&own, &later]);
        self.doubled.insert((self.at, k), sum.clone());
        sum
    }

    /// Returns the place of a quad of sums that goes through memory.
    fn sums_at(&self, k: i64) -> i64 {
        // A row has one quad more on either side.
        let row = self.row.quads() + 2;
        QUAD * (i64::from(self.at) * row + k + 1)
    }

    /// Returns the sum of the planes before and behind: u(z-1) + u(z+1).
    fn plane_pair(&mut self, row: i8, k: i64) -> String {
        let key = (row + self.at, k);
        if let Some(known) = self.planes.get(&key) {
            return known.clone();
        }
        let name = format!("planes[{}][{k}]", key.0);
        if self.made.way.kept && key.0 < 1 {
            // Sums of planes are kept from the row before the block's first on.
            let at = i64::from(key.0 + 1) * self.pitch[1] + QUAD * k;
            let value = self.load_quad(&name, PointerWalkKind::Kept, at);
            self.planes.insert(key, value.clone());
            return value;
        }
        let [before, behind] = [-1, 1].map(|plane| self.load((plane, row), k));
        let sum = self.made.block.compute(&name, "add", &[&before, &behind]);
        self.planes.insert(key, sum.clone());
        if self.made.way.kept && self.keeping.insert(key) {
            let at = i64::from(key.0 + 1) * self.pitch[1] + QUAD * k;
            self.store(&sum, PointerWalkKind::Keeping, at);
        }
        sum
    }

    /// Returns the sum of the quads of some rows.
    pub(super) fn sum(&mut self, rows: &NeighbourRows, k: i64) -> String {
        let key = (rows.clone(), self.at, k);
        if let Some(known) = self.summed.get(&key) {
            return known.clone();
        }
        let has = |plane: i8, row: i8| rows.contains(&(plane, row));
        let mut values = Vec::new();
        for &(plane, row) in rows {
            match plane {
                -1 if has(1, row) => values.push(self.plane_pair(row, k)),
                1 if has(-1, row) => {}
                _ => values.push(self.load((plane, row), k)),
            }
        }
        let sum = self.tree(("rows", k), values);
        if rows.len() > 1 || self.made.way.once {
            self.summed.insert(key, sum.clone());
        }
        sum
    }

    /// Adds up values as a binary tree; there is one at least.
    pub(super) fn tree(&mut self, to: (&str, i64), mut values: Vec<String>) -> String {
        while values.len() > 1 {
            let sums = values.chunks(2).map(|pair| match pair {
                [a, b] => self.q(to, "add", &[a, b]),
                rest => rest.concat(),
            });
            values = sums.collect();
        }
        values.pop().unwrap_or_default()
    }

    /// Returns the values of a side that are shifted: the sum of its class if it has one, else the sum over
    /// classes of coefficient times the class's sum.
    pub(super) fn weigh(&mut self, side: NeighbourSide, classes: &Classes, k: i64) -> String {
        if let [(_, rows)] = &classes[..] {
            return self.sum(rows, k);
        }
        if let Some(known) = self.weighed.get(&(side, self.at, k)) {
            return known.clone();
        }
        // A class with coefficient 1 needs no product: the others are added to its sum.
        let (once, others): (Vec<_>, Vec<_>) =
            classes.iter().partition(|(weight, _)| *weight == 1.0);
        let mut all = None;
        for (weight, rows) in once.into_iter().chain(others) {
            let sum = self.sum(rows, k);
            let weight = (*weight != 1.0).then(|| self.number(*weight));
            all = Some(self.add_term(("weighed", k), all, (weight, sum)));
        }
        let all = all.unwrap_or_default();
        self.weighed.insert((side, self.at, k), all.clone());
        if self.made.way.through.is_some() && side == NeighbourSide::Both {
            let at = self.sums_at(k);
            self.store(&all, PointerWalkKind::Sums, at);
            self.made.sums = self.made.sums.max((at + QUAD) as u64);
        }
        all
    }

    /// Adds a term to a sum, if there is one: a value, or a coefficient times the value.
    pub(super) fn add_term(
        &mut self,
        to: (&str, i64),
        before: Option<String>,
        (weight, value): (Option<String>, String),
    ) -> String {
        match (before, weight) {
            (None, None) => value,
            (None, Some(weight)) => self.q(to, "mul", &[&value, &weight]),
            (Some(before), Some(weight)) => self.q(to, "madd", &[&value, &weight, &before]),
            (Some(before), None) => self.q(to, "add", &[&value, &before]),
        }
    }
}
