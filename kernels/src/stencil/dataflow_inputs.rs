//! A row's dataflow: loads, and sums of what is loaded.

use super::row_dataflow::{
    BlockRow, Classes, NeighbourRows, NeighbourSide, PointerWalkKind, QUAD, RowVariant, SUM_WORDS,
    ScheduledRow, TABLE, THROUGH,
};
use cp2_asm::schedule::{DataOperand, DataPointer, Dataflow, PointerStep};
use cp2_problems::stencil::Edge;
use std::collections::BTreeMap;

/// Number of iterations of a block, as expected in scheduling loops that keep sums.
const TURNS: u64 = 16;

/// Builder of a row's dataflow.
pub(super) struct DataflowBuilder<'a> {
    pub(super) row: &'a BlockRow<'a>,
    pub(super) pitch: [i64; 2],
    pub(super) made: ScheduledRow,
    /// Number of the row of the iteration that is built.
    pub(super) at: i8,
    /// True while the later half of the iteration is built.
    pub(super) late: bool,
    pub(super) loaded: BTreeMap<(i8, i8, i64), DataOperand>,
    /// Sums of the planes before and behind, by row and quad.
    pub(super) planes: BTreeMap<(i8, i64), DataOperand>,
    pub(super) summed: BTreeMap<(NeighbourRows, i8, i64), DataOperand>,
    pub(super) weighed: BTreeMap<(NeighbourSide, i8, i64), DataOperand>,
    /// Stores of weighted sums, by row and quad.
    pub(super) stored: BTreeMap<(i8, i64), usize>,
    pub(super) doubled: BTreeMap<(i8, i64), DataOperand>,
    /// Stores of sums of planes that the next iteration loads, by row and quad.
    pub(super) keeping: BTreeMap<(i8, i64), usize>,
    /// Loads of sums that the iteration before has kept, by the row and quad of its store.
    pub(super) awaited: Vec<((i8, i64), usize)>,
}

impl<'a> DataflowBuilder<'a> {
    /// Begins an empty dataflow of a row.
    pub(super) fn new(row: &'a BlockRow<'a>, way: RowVariant) -> Self {
        Self {
            row,
            pitch: row.pitch(),
            made: ScheduledRow {
                body: Dataflow::in_order(),
                pointers: BTreeMap::new(),
                table: None,
                constants: Vec::new(),
                kept: None,
                sums: 0,
                through: None,
                sum_words: None,
                way,
            },
            at: 0,
            late: false,
            loaded: BTreeMap::new(),
            planes: BTreeMap::new(),
            summed: BTreeMap::new(),
            weighed: BTreeMap::new(),
            stored: BTreeMap::new(),
            doubled: BTreeMap::new(),
            keeping: BTreeMap::new(),
            awaited: Vec::new(),
        }
    }

    /// Builds the whole dataflow.
    pub(super) fn made(mut self) -> ScheduledRow {
        self.all();
        // Sums that are kept leave hardly a memory slot free.
        self.made.body.turns = self.made.way.kept.then_some(TURNS);
        for (place, load) in self.awaited {
            if let Some(&store) = self.keeping.get(&place) {
                self.made.body.reads_what_is_kept(store, load);
            }
        }
        self.made
    }
}

impl DataflowBuilder<'_> {
    /// Builds all quads; the first one comes last where the row's ends meet.
    pub(super) fn all(&mut self) {
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
                let sum = match outermost {
                    Some(mask) => self.kept(k, sum, mask),
                    None => sum,
                };
                let at = i64::from(row) * self.pitch[1] + QUAD * k;
                let result = self.pointer(PointerWalkKind::Result);
                self.made.body.store(sum, result, at);
            }
        }
    }

    /// Returns a register with a constant of four words: one that holds it, or one that is loaded.
    pub(super) fn constant(&mut self, words: [u32; 4]) -> DataOperand {
        let known = self.made.constants.iter().position(|own| *own == words);
        let index = known.unwrap_or_else(|| {
            self.made.constants.push(words);
            self.made.constants.len() - 1
        });
        if index < self.made.way.count_held_constants() {
            return DataOperand::Quad(self.made.first_constant() - index as u8);
        }
        let body = &mut self.made.body;
        let table = *self
            .made
            .table
            .get_or_insert_with(|| body.pointer(TABLE, PointerStep::Bytes(0)));
        let value = DataOperand::Whole(body.quad());
        body.load(value, table, QUAD * index as i64);
        value
    }

    /// Returns a constant with the same number in all lanes.
    pub(super) fn number(&mut self, x: f32) -> DataOperand {
        self.constant([x.to_bits(); 4])
    }

    /// Adds an operation on quads.
    pub(super) fn q(&mut self, name: &'static str, uses: &[DataOperand]) -> DataOperand {
        DataOperand::Whole(self.made.body.quad_op(name, uses))
    }

    /// Adds a permutation: lane i of the result is lane `lanes[i]` of a value.
    pub(super) fn lanes(&mut self, of: DataOperand, lanes: [usize; 4]) -> DataOperand {
        let code = lanes
            .iter()
            .rev()
            .fold(0, |code, &lane| 4 * code + lane as i64);
        DataOperand::Whole(self.made.body.quad_immediate("perm", &[of], code))
    }

    /// Adds a shift: the result is four lanes from lane `lanes` of the pair of quads a, b.
    pub(super) fn shift(&mut self, a: DataOperand, b: DataOperand, lanes: i64) -> DataOperand {
        DataOperand::Whole(self.made.body.quad_immediate("ext", &[a, b], lanes))
    }

    /// Returns the pointer of this half of the iteration that walks along `stream`.
    pub(super) fn pointer(&mut self, stream: PointerWalkKind) -> DataPointer {
        let points = self.row.stencil.points().len() as i64;
        let row = match stream {
            PointerWalkKind::Plane(_) | PointerWalkKind::Words(_) => self.pitch[0],
            PointerWalkKind::Result | PointerWalkKind::Kept | PointerWalkKind::Keeping => {
                self.pitch[1]
            }
            PointerWalkKind::Own => points * self.pitch[1],
        };
        let step = PointerStep::Bytes(self.made.way.together as i64 * row);
        let register = stream.registers()[usize::from(self.late)];
        let body = &mut self.made.body;
        let made = self.made.pointers.entry((stream, self.late));
        *made.or_insert_with(|| body.pointer(register, step))
    }

    /// Returns a quad of a row of neighbours, loaded if necessary.
    pub(super) fn load(&mut self, (plane, row): (i8, i8), k: i64) -> DataOperand {
        let row = row + self.at;
        if let Some(known) = self.loaded.get(&(plane, row, k)) {
            return *known;
        }
        let pointer = self.pointer(PointerWalkKind::Plane(plane));
        let value = DataOperand::Whole(self.made.body.quad());
        let at = i64::from(row) * self.pitch[0] + QUAD * k;
        self.made.body.load(value, pointer, at);
        if self.made.way.once {
            self.loaded.insert((plane, row, k), value);
        }
        value
    }

    /// Returns the values `lanes` numbers behind quad `k` of a row of neighbours, loaded at a word address.
    pub(super) fn load_words(&mut self, (plane, row): (i8, i8), k: i64, lanes: i64) -> DataOperand {
        let pointer = self.pointer(PointerWalkKind::Words(plane));
        let value = DataOperand::Whole(self.made.body.quad());
        let at = i64::from(row + self.at) * self.pitch[0] + QUAD * k + 4 * lanes;
        self.made.body.load_unaligned(value, pointer, at);
        value
    }

    /// Returns the weighted sums one lane to a side of quad `k`, loaded at a word address from where they have been
    /// stored.
    pub(super) fn load_sum_words(
        &mut self,
        (side, classes): (NeighbourSide, &Classes),
        k: i64,
        lane: i64,
    ) -> DataOperand {
        for k in [k, k + lane] {
            self.weigh(side, classes, k);
        }
        let at = self.sums_at(k) + 4 * lane;
        let body = &mut self.made.body;
        let words = &mut self.made.sum_words;
        let pointer = *words.get_or_insert_with(|| body.pointer(SUM_WORDS, PointerStep::Bytes(0)));
        let value = DataOperand::Whole(body.quad());
        body.load_unaligned(value, pointer, at);
        for k in [k, k + lane] {
            if let Some(&stored) = self.stored.get(&(self.at, k)) {
                body.reads_what_is_stored(stored);
            }
        }
        value
    }

    /// Returns T(k) = x(k) + x(k + 2) of a row of neighbours.
    pub(super) fn double(&mut self, row: (i8, i8), k: i64) -> DataOperand {
        if let Some(known) = self.doubled.get(&(self.at, k)) {
            return *known;
        }
        let own = self.load(row, k);
        let later = if k.checked_rem(self.made.way.shifted) == Some(0) {
            let next = self.load(row, k + 1);
            self.shift(own, next, 2)
        } else {
            let pointer = self.pointer(PointerWalkKind::Plane(row.0));
            let at = i64::from(row.1 + self.at) * self.pitch[0] + QUAD * k;
            let later = self.made.body.quad();
            self.made.body.load(DataOperand::Lo(later), pointer, at + 8);
            self.made
                .body
                .load(DataOperand::Hi(later), pointer, at + 16);
            DataOperand::Whole(later)
        };
        let sum = self.q("add", &[own, later]);
        self.doubled.insert((self.at, k), sum);
        sum
    }

    /// Returns T(k) = s(k) + s(k + 2) for weighted sums s of rows that have been stored.
    pub(super) fn double_sum(
        &mut self,
        side: NeighbourSide,
        classes: &Classes,
        k: i64,
    ) -> DataOperand {
        if let Some(known) = self.doubled.get(&(self.at, k)) {
            return *known;
        }
        let [own, _] = [k, k + 1].map(|k| self.weigh(side, classes, k));
        let later = self.made.body.quad();
        for (half, k, offset) in [
            (DataOperand::Lo(later), k, 8),
            (DataOperand::Hi(later), k + 1, 0),
        ] {
            let at = self.sums_at(k) + offset;
            let stored = self.stored.get(&(self.at, k)).copied();
            if let (Some(through), Some(stored)) = (self.made.through, stored) {
                self.made.body.load(half, through, at);
                self.made.body.reads_what_is_stored(stored);
            }
        }
        let sum = self.q("add", &[own, DataOperand::Whole(later)]);
        self.doubled.insert((self.at, k), sum);
        sum
    }

    /// Returns the place of a quad of sums that goes through memory.
    pub(super) fn sums_at(&self, k: i64) -> i64 {
        // A row has one quad more on either side.
        let row = self.row.quads() + 2;
        QUAD * (i64::from(self.at) * row + k + 1)
    }

    /// Returns the sum of the planes before and behind: u(z-1) + u(z+1).
    pub(super) fn plane_pair(&mut self, row: i8, k: i64) -> DataOperand {
        let key = (row + self.at, k);
        if let Some(known) = self.planes.get(&key) {
            return *known;
        }
        if self.made.way.kept && key.0 < 1 {
            return self.kept_pair(key.0, k);
        }
        let both = [-1, 1].map(|plane| self.load((plane, row), k));
        let sum = self.q("add", &both);
        self.planes.insert(key, sum);
        if self.made.way.kept && !self.keeping.contains_key(&key) {
            let keeping = self.pointer(PointerWalkKind::Keeping);
            let at = i64::from(key.0 + 1) * self.pitch[1] + QUAD * k;
            self.made.body.store(sum, keeping, at);
            self.keeping.insert(key, self.made.body.last());
        }
        sum
    }

    /// Returns the sum of planes of a row of an earlier iteration, loaded from where it is kept; rows are
    /// kept from the one before the block's first on.
    fn kept_pair(&mut self, row: i8, k: i64) -> DataOperand {
        let kept = self.pointer(PointerWalkKind::Kept);
        let value = DataOperand::Whole(self.made.body.quad());
        let at = i64::from(row + 1) * self.pitch[1] + QUAD * k;
        self.made.body.load(value, kept, at);
        self.planes.insert((row, k), value);
        let stored = row + self.made.way.together as i8;
        self.awaited.push(((stored, k), self.made.body.last()));
        value
    }

    /// Returns the sum of the quads of some rows.
    pub(super) fn sum(&mut self, rows: &NeighbourRows, k: i64) -> DataOperand {
        let key = (rows.clone(), self.at, k);
        if let Some(known) = self.summed.get(&key) {
            return *known;
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
        let sum = self.tree(values);
        if rows.len() > 1 || self.made.way.once {
            self.summed.insert(key, sum);
        }
        sum
    }

    /// Adds up values as a binary tree.
    pub(super) fn tree(&mut self, mut values: Vec<DataOperand>) -> DataOperand {
        while values.len() > 1 {
            let pairs: Vec<Vec<DataOperand>> =
                values.chunks(2).map(<[DataOperand]>::to_vec).collect();
            let sums = pairs.into_iter().map(|pair| match pair[..] {
                [a, b] => self.q("add", &[a, b]),
                _ => pair[0],
            });
            values = sums.collect();
        }
        values.first().copied().unwrap_or(DataOperand::Quad(0))
    }

    /// Returns the values of a side that are shifted: the sum of its class if it has one, else the sum over
    /// classes of coefficient times the class's sum.
    pub(super) fn weigh(&mut self, side: NeighbourSide, classes: &Classes, k: i64) -> DataOperand {
        if let [(_, rows)] = &classes[..] {
            return self.sum(rows, k);
        }
        if let Some(known) = self.weighed.get(&(side, self.at, k)) {
            return *known;
        }
        let mut all = None;
        // A class with coefficient 1 needs no product: the others are added to its sum.
        let (once, others): (Vec<_>, Vec<_>) =
            classes.iter().partition(|(weight, _)| *weight == 1.0);
        for (weight, rows) in once.into_iter().chain(others) {
            let sum = self.sum(rows, k);
            let weight = (*weight != 1.0).then(|| self.number(*weight));
            all = Some(match (all, weight) {
                (None, None) => sum,
                (None, Some(weight)) => self.q("mul", &[sum, weight]),
                (Some(before), Some(weight)) => self.q("madd", &[sum, weight, before]),
                (Some(before), None) => self.q("add", &[sum, before]),
            });
        }
        let all = all.unwrap_or(DataOperand::Quad(0));
        self.weighed.insert((side, self.at, k), all);
        if self.made.way.through.is_some() && side == NeighbourSide::Both {
            let at = self.sums_at(k);
            let body = &mut self.made.body;
            let through = *self
                .made
                .through
                .get_or_insert_with(|| body.pointer(THROUGH, PointerStep::Bytes(0)));
            body.store(all, through, at);
            self.stored.insert((self.at, k), body.last());
            self.made.sums = self.made.sums.max((at + QUAD) as u64);
        }
        all
    }
}
