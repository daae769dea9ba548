//! Draws linear blocks and machines from a seed.

#[path = "draw_scalars.rs"]
mod draw_scalars;

use super::block::{
    Block, Constant, Count, DATA, Final, Initial, Operand, Operation, Pointer, Value,
};
use cp2_asm::isa::{Form, Kind, Op, Role, Slot};
use cp2_machine::{Class, ClassMap, Cycles, Extensions, Machine};

/// Most iterations after which a value is read.
const FURTHEST: i64 = 3;

/// Numbers from a seed: SplitMix64.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// Draws a number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() >> 11) as usize % n.max(1)
    }

    fn range(&mut self, least: i64, most: i64) -> i64 {
        least + self.below((most - least + 1) as usize) as i64
    }

    /// Draws true once in `n` times.
    pub(super) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    /// Draws the bits of a number: most often one near 1, else any.
    pub(super) fn number(&mut self) -> u32 {
        match self.below(8) {
            0 => self.next() as u32,
            1 => self.below(256) as u32,
            _ => ((self.range(-4096, 4096) as f32) / 1024.0).to_bits(),
        }
    }
}

/// Draws a machine: a built-in one, with extensions perhaps, with other times perhaps.
pub(super) fn draw_machine(random: &mut Random) -> Machine {
    let mut machine = Machine::builtin(random.pick(&["vm7", "vm9"])).unwrap();
    if random.once_in(2) {
        machine.cp2.extensions = Extensions::all();
    }
    if random.once_in(2) {
        let cp2 = &mut machine.cp2;
        let latency: Vec<u64> = Class::ALL
            .iter()
            .map(|_| random.range(1, 15) as u64)
            .collect();
        let interval: Vec<u64> = Class::ALL
            .iter()
            .map(|_| {
                if random.once_in(4) {
                    random.range(2, 3) as u64
                } else {
                    1
                }
            })
            .collect();
        cp2.latency = ClassMap::from_fn(|class| Cycles(latency[class as usize]));
        cp2.interval = ClassMap::from_fn(|class| Cycles(interval[class as usize]));
        if !random.once_in(3) {
            cp2.latency[Class::Scalar] = Cycles(1);
        }
        cp2.branch_penalty = Cycles(random.below(5) as u64);
        cp2.loop_setup = Cycles(random.below(4) as u64);
        cp2.loop_back = Cycles(random.below(3) as u64);
        cp2.registers = random.pick(&[64, 64, 64, 40]);
        cp2.sections = random.pick(&[4, 4, 2]);
    }
    machine
}

/// Rows whose operations a block may have on a machine.
fn rows(machine: &Machine, slot: Slot, stores: bool) -> Vec<Op> {
    let fits = |op: &&Op| {
        let row = op.row();
        let operands = row.form.operands();
        let plain = operands.iter().all(|o| {
            !matches!(
                o.kind,
                Kind::Scalar | Kind::ScalarCouple | Kind::OwnMem { .. }
            ) && o.role != Role::InOut
        });
        let written = operands.iter().any(|o| o.role == Role::Out);
        let access = operands.iter().any(|o| matches!(o.kind, Kind::Mem { .. }));
        row.slot() == slot
            && machine.cp2.extensions.contains(row.requires)
            && plain
            && access == (slot == Slot::Mem)
            && written != stores
    };
    Op::ALL.iter().filter(fits).copied().collect()
}

/// True if a row of the mnemonic with as many operands has quads.
fn has_quad_row(op: Op) -> bool {
    let row = op.row();
    let same = |other: &&Op| {
        let (own, other) = (row.form.operands(), other.row());
        other.mnemonic == row.mnemonic && other.form.operands().len() == own.len()
    };
    let mut others = Op::ALL.iter().filter(same);
    others.any(|other| {
        other
            .row()
            .form
            .operands()
            .iter()
            .any(|o| o.kind == Kind::Quad)
    })
}

/// Hints about the placement of operations.
const HINTS: [Option<&str>; 6] = [
    None,
    None,
    None,
    Some(".order"),
    Some(".spread"),
    Some(".interval 24"),
];

struct Drawing<'a> {
    random: &'a mut Random,
    block: Block,
    /// Halves of every value that are computed.
    defined: Vec<[bool; 2]>,
    /// For every pointer the unit of its accesses.
    units: Vec<i64>,
    phase: u8,
    /// True if the block has scalar values, with those that are addresses.
    scalars: bool,
    addresses: Vec<usize>,
}

/// Draws a block that `machine` can carry out.
pub(super) fn draw_block(random: &mut Random, machine: &Machine) -> Block {
    let iterations = if random.once_in(8) {
        random.below(4)
    } else {
        random.below(41)
    };
    let block = Block {
        values: Vec::new(),
        constants: Vec::new(),
        bases: Vec::new(),
        pointers: Vec::new(),
        registers: Vec::new(),
        operations: Vec::new(),
        count: Count::Known,
        iterations: iterations as u32,
        initial: Vec::new(),
        finals: Vec::new(),
        hint: random.pick(&HINTS),
        apart: false,
        named_apart: Vec::new(),
        freed: random.once_in(8).then_some(3),
        marked: None,
    };
    let scalars = random.once_in(3);
    let mut drawing = Drawing {
        random,
        block,
        defined: Vec::new(),
        units: Vec::new(),
        phase: 0,
        scalars,
        addresses: Vec::new(),
    };
    drawing.declare(machine);
    drawing.compute(machine);
    drawing.finish();
    drawing.count();
    if drawing.block.count != Count::Straight && drawing.random.once_in(2) {
        drawing.carry();
    }
    if drawing.random.once_in(2) {
        drawing.keep();
        drawing.mark();
    }
    drawing.place_pointers();
    let Drawing {
        random, mut block, ..
    } = drawing;
    block.apart = block.is_apart() && !random.once_in(4);
    for _ in 0..random.below(3) {
        let names = (0..block.pointers.len()).filter(|_| random.once_in(2));
        let names: Vec<usize> = names.collect();
        block.named_apart.push(names);
        if block.named_apart.last().is_some_and(Vec::is_empty) || !block.are_named_apart() {
            block.named_apart.pop();
        }
    }
    block
}

impl Drawing<'_> {
    /// Draws constants, registers, pointers.
    fn declare(&mut self, machine: &Machine) {
        for _ in 0..self.random.below(4) {
            let constant = self.constant();
            self.block.constants.push(constant);
        }
        let last = machine.cp2.registers as u8 / 2 - 1;
        for _ in 0..self.random.below(4) {
            let quad = self.random.range(0, last.into()) as u8;
            if !self.block.registers.contains(&quad) && quad != 1 {
                self.block.registers.push(quad);
            }
        }
        let bases = 1 + self.random.below(3);
        for n in 0..bases {
            let kind = self.random.pick(&["c", "s", "a"]);
            self.block.bases.push((format!("{kind}{}", n + 4), 0));
        }
        let words = machine.cp2.extensions.contains(Extensions::WORD_ADDRESSING);
        let mut steps: Vec<(i64, i64)> = Vec::new();
        for _ in 0..1 + self.random.below(5) {
            let unit = self.random.pick(&[16, 16, 8, if words { 4 } else { 8 }]);
            let step = unit * self.random.range(-3, 8);
            // Several pointers often have one base and one step.
            let (unit, step) = match steps.last() {
                Some(&old) if self.random.once_in(2) => old,
                _ => (unit, step),
            };
            steps.push((unit, step));
            let base = if self.random.once_in(2) {
                0
            } else {
                self.random.below(bases)
            };
            let mut pointer = Pointer {
                base,
                bytes: unit * self.random.range(-4, 4),
                step,
                step_in_register: self.random.once_in(4),
                round: None,
                table: None,
            };
            if self.random.once_in(3) {
                self.go_round(&mut pointer, unit);
            } else if self.random.once_in(4) {
                let steps = 1 + self.random.below(6);
                let steps = (0..steps)
                    .map(|_| unit * self.random.range(-3, 8))
                    .collect();
                pointer.table = Some((steps, self.random.once_in(2)));
                pointer.step_in_register = false;
            }
            self.block.pointers.push(pointer);
            self.units.push(unit);
        }
    }

    /// Lets a pointer go round.
    fn go_round(&mut self, pointer: &mut Pointer, unit: i64) {
        let least = (pointer.step.abs() / unit).max(1);
        let extent = unit * self.random.range(least, least + 12);
        pointer.bytes = match self.random.once_in(4) && pointer.step - unit >= -extent {
            // It begins below its range, as one does whose last place is the extent.
            true => -unit.min(extent),
            false => unit * self.random.range(0, extent / unit - 1),
        };
        let written = self.random.once_in(3);
        let written = written.then(|| self.random.pick(&[0, -32, 48, 4096]));
        pointer.round = Some((extent, written));
    }

    fn constant(&mut self) -> Constant {
        let random = &mut *self.random;
        let float = |random: &mut Random| random.range(-64, 64) as f32 / 16.0;
        match random.below(5) {
            0 => {
                let x = float(random);
                Constant {
                    text: format!("{x:?}"),
                    words: [x.to_bits(); 4],
                }
            }
            1 => {
                let (a, b) = (float(random), float(random));
                let [x, y] = [a.to_bits(), b.to_bits()];
                Constant {
                    text: format!("complex({a:?}, {b:?})"),
                    words: [x, y, x, y],
                }
            }
            2 => {
                let x = f64::from(float(random)) / 3.0;
                let [low, high] = [x.to_bits() as u32, (x.to_bits() >> 32) as u32];
                Constant {
                    text: format!("double({x:?})"),
                    words: [low, high, low, high],
                }
            }
            3 => {
                let all: [i32; 4] = std::array::from_fn(|_| random.number() as i32);
                Constant {
                    text: all.map(|n| format!("int({n})")).join(" "),
                    words: all.map(|n| n as u32),
                }
            }
            _ => {
                let all: [f32; 4] = std::array::from_fn(|_| float(random));
                Constant {
                    text: all.map(|x| format!("({x:?})")).join(" "),
                    words: all.map(f32::to_bits),
                }
            }
        }
    }

    /// Draws the operations.
    fn compute(&mut self, machine: &Machine) {
        let arithmetic = rows(machine, Slot::Arith, false);
        let loads = rows(machine, Slot::Mem, false);
        let stores = rows(machine, Slot::Mem, true);
        let wanted = 1 + self.random.below(20);
        for n in 0..wanted {
            if self.scalars && n >= 1 && self.random.once_in(3) {
                self.compute_scalar();
                continue;
            }
            let kind = if n < 2 { 9 } else { self.random.below(10) };
            let ops = match kind {
                0..=5 => &arithmetic,
                6..=7 => &stores,
                _ => &loads,
            };
            let op = self.random.pick(ops);
            if self.random.once_in(6) {
                self.phase = self.random.range(self.phase.into(), 8) as u8;
            }
            let phase = self.random.once_in(6).then_some(self.phase);
            if let Some((operands, halves)) = self.operands(op) {
                self.block.operations.push(Operation {
                    op,
                    halves,
                    operands,
                    phase,
                });
            }
        }
    }

    /// Draws operands of a row; none if there is nothing to read.
    fn operands(&mut self, op: Op) -> Option<(Vec<Operand>, bool)> {
        let form = op.row().form.operands();
        let pairs_only = op.row().slot() == Slot::Arith
            && !has_quad_row(op)
            && form
                .iter()
                .any(|o| o.kind == Kind::Pair && o.role == Role::In);
        let halves = pairs_only && self.random.once_in(3);
        let mut operands = vec![Operand::Number(String::new()); form.len()];
        // Sources come first: an operation does not read its own results.
        for (place, o) in form.iter().enumerate().filter(|(_, o)| !o.role.writes()) {
            operands[place] = match o.kind {
                Kind::Pair if !halves => self.pair()?,
                Kind::Pair | Kind::Quad => self.quad()?,
                Kind::Mem { bytes, align } => self.address(i64::from(bytes), i64::from(align))?,
                Kind::Imm { signed, min } => {
                    let (least, most) = match signed {
                        true => (-(1 << (o.field.bits - 1)), (1 << (o.field.bits - 1)) - 1),
                        false => (i64::from(min), (1 << o.field.bits) - 1),
                    };
                    Operand::Number(self.random.range(least, most).to_string())
                }
                Kind::Float24 => {
                    let value = self.random.range(-100, 100) as f64 / 4.0;
                    Operand::Number(format!("{value:?}"))
                }
                _ => return None,
            };
        }
        let sources = || operands.iter().zip(form).filter(|(_, o)| !o.role.writes());
        let whole_constant =
            |operand: &Operand| matches!(operand, Operand::Constant { half: None, .. });
        let registers = || sources().filter(|(_, o)| matches!(o.kind, Kind::Pair | Kind::Quad));
        // Constants alone leave it open whether they are pairs: quads are meant.
        let pairs = form.iter().all(|o| o.kind != Kind::Quad) && !halves;
        let open = registers().all(|(operand, _)| whole_constant(operand));
        if (pairs && has_quad_row(op) || halves) && open && registers().next().is_some() {
            return None;
        }
        for (place, o) in form.iter().enumerate().filter(|(_, o)| o.role.writes()) {
            operands[place] = self.result(o.kind == Kind::Quad || halves, halves);
            if op.row().form == Form::P2
                && op.row().mnemonic == "ftod"
                && let Operand::Value {
                    value, half: None, ..
                } = operands[place]
            {
                self.block.values[value].declared = true;
            }
        }
        Some((operands, halves))
    }

    /// Draws the result of an operation: a new value, or for pairs half of a quad.
    fn result(&mut self, quad: bool, halves: bool) -> Operand {
        let whole = quad || halves;
        if !whole && self.random.once_in(3) {
            let open = self.half_open();
            let value = match open {
                Some(value) if self.random.once_in(2) => value,
                _ => self.enter(true),
            };
            let half = match self.defined[value] {
                [true, _] => 1,
                [_, true] => 0,
                _ => self.random.below(2),
            };
            self.defined[value][half] = true;
            return Operand::Value {
                value,
                half: Some(half as u8),
                back: 0,
            };
        }
        let value = self.enter(whole);
        self.defined[value] = [true; 2];
        Operand::Value {
            value,
            half: None,
            back: 0,
        }
    }

    /// Returns a quad of which one half is computed.
    fn half_open(&self) -> Option<usize> {
        (self.defined.iter()).position(|defined| defined.contains(&false))
    }

    fn enter(&mut self, quad: bool) -> usize {
        self.block.values.push(Value {
            quad,
            declared: false,
            scalar: false,
        });
        self.defined.push([false; 2]);
        self.block.values.len() - 1
    }

    /// Draws a pair to read.
    fn pair(&mut self) -> Option<Operand> {
        let mut found = Vec::new();
        for (value, (own, defined)) in self.block.values.iter().zip(&self.defined).enumerate() {
            let of = |half| Operand::Value {
                value,
                half,
                back: 0,
            };
            match own.quad {
                _ if own.scalar => {}
                false => found.push(of(None)),
                true => {
                    let halves = (0..2).filter(|&half| defined[usize::from(half)]);
                    found.extend(halves.map(|half| of(Some(half))));
                }
            }
        }
        let late = found.len().saturating_sub(6);
        if !found.is_empty() && !self.random.once_in(5) {
            return Some(self.random.pick(&found[late..]));
        }
        for (index, own) in self.block.constants.iter().enumerate() {
            let same = own.words[..2] == own.words[2..];
            let whole = same.then_some(None);
            let halves = [Some(0), Some(1)].into_iter().chain(whole);
            found.extend(halves.map(|half| Operand::Constant { index, half }));
        }
        for &quad in &self.block.registers {
            found.extend([0, 1].map(|half| Operand::Register {
                quad,
                half: Some(half),
            }));
        }
        (!found.is_empty()).then(|| self.random.pick(&found))
    }

    /// Draws a quad to read.
    fn quad(&mut self) -> Option<Operand> {
        let whole = |(value, (own, defined)): (usize, (&Value, &[bool; 2]))| {
            (own.quad && *defined == [true; 2]).then_some(Operand::Value {
                value,
                half: None,
                back: 0,
            })
        };
        let values = self.block.values.iter().zip(&self.defined).enumerate();
        let mut found: Vec<Operand> = values.filter_map(whole).collect();
        let late = found.len().saturating_sub(4);
        if !found.is_empty() && !self.random.once_in(5) {
            return Some(self.random.pick(&found[late..]));
        }
        let constants = 0..self.block.constants.len();
        found.extend(constants.map(|index| Operand::Constant { index, half: None }));
        let registers = self.block.registers.iter();
        found.extend(registers.map(|&quad| Operand::Register { quad, half: None }));
        (!found.is_empty()).then(|| self.random.pick(&found))
    }

    /// Draws the place of an access.
    fn address(&mut self, bytes: i64, align: i64) -> Option<Operand> {
        let fits = |pointer: &usize| self.units[*pointer] % align == 0;
        let pointers: Vec<usize> = (0..self.units.len()).filter(fits).collect();
        if pointers.is_empty() {
            return None;
        }
        let pointer = self.random.pick(&pointers);
        let reach = if self.random.once_in(4) { 24 } else { 4 };
        let offset = align * self.random.range(-reach, reach);
        debug_assert!(bytes <= 16);
        Some(Operand::Address { pointer, offset })
    }

    /// Completes values of which one half is computed, and stores most of what nothing reads.
    fn finish(&mut self) {
        if self.block.operations.is_empty() {
            let result = self.result(false, false);
            self.push(Op::Lii, vec![result, Operand::Number("-7".to_owned())]);
        }
        while let Some(value) = self.half_open() {
            let half = u8::from(self.defined[value][0]);
            let Some(source) = self.pair() else {
                break;
            };
            self.defined[value] = [true; 2];
            let result = Operand::Value {
                value,
                half: Some(half),
                back: 0,
            };
            self.push(Op::NegP, vec![result, source]);
        }
        if self.random.once_in(8) {
            return;
        }
        let read: Vec<usize> = self
            .block
            .operations
            .iter()
            .flat_map(|own| own.reads().map(|read| read.0))
            .collect();
        for value in (0..self.block.values.len()).filter(|value| !read.contains(value)) {
            if self.block.values[value].scalar {
                continue;
            }
            let quad = self.block.values[value].quad;
            let (op, bytes) = if quad { (Op::StQ, 16) } else { (Op::StP, 8) };
            let Some(place) = self.address(bytes, bytes) else {
                continue;
            };
            let source = Operand::Value {
                value,
                half: None,
                back: 0,
            };
            self.push(op, vec![source, place]);
        }
    }

    fn push(&mut self, op: Op, operands: Vec<Operand>) {
        self.block.operations.push(Operation {
            op,
            halves: false,
            operands,
            phase: None,
        });
    }

    /// Draws how the block says its number of iterations.
    fn count(&mut self) {
        let block = &mut self.block;
        block.count = match self.random.below(4) {
            0 => {
                block.iterations = 1;
                Count::Straight
            }
            1 => {
                let multiple = self.random.pick(&[1, 1, 2, 3, 4, 8]);
                block.iterations = block.iterations.next_multiple_of(multiple);
                let least = self.random.below(block.iterations as usize + 1) as u32;
                Count::Register {
                    least: self.random.pick(&[0, least, block.iterations]),
                    multiple,
                }
            }
            _ => Count::Known,
        };
    }

    /// Lets operations read values of earlier iterations.
    fn carry(&mut self) {
        let mut changed = Vec::new();
        for (index, own) in self.block.operations.iter().enumerate() {
            for (place, (operand, kind, written)) in own.kinds().enumerate() {
                let reads = !written && matches!(operand, Operand::Value { .. });
                if !reads || !self.random.once_in(4) {
                    continue;
                }
                if kind == Kind::Scalar {
                    continue;
                }
                let quad = kind == Kind::Quad || own.halves;
                let found: Vec<(usize, Option<u8>)> = (self.block.values.iter().enumerate())
                    .filter(|(_, own)| !own.scalar)
                    .flat_map(|(value, own)| match (own.quad, quad) {
                        (true, true) | (false, false) => vec![(value, None)],
                        (true, false) => vec![(value, Some(0)), (value, Some(1))],
                        (false, true) => Vec::new(),
                    })
                    .collect();
                let (value, half) = self.random.pick(&found);
                let back = self.random.range(1, FURTHEST) as u32;
                let back = if self.random.once_in(2) { 1 } else { back };
                changed.push((index, place, Operand::Value { value, half, back }));
            }
        }
        self.carry_scalars();
        for (index, place, operand) in changed {
            if let Operand::Value { value, .. } = operand {
                self.block.values[value].declared |= !self.block.values[value].quad;
            }
            self.block.operations[index].operands[place] = operand;
        }
        for value in 0..self.block.values.len() {
            for back in 1..=self.block.furthest(value) {
                if self.block.values[value].scalar {
                    let initial = self.initial_scalar();
                    self.block.initial.push((value, back, initial));
                    continue;
                }
                let registers = self.block.registers.clone();
                let initial = if registers.is_empty() || self.random.once_in(3) {
                    Initial::Numbers(self.constant())
                } else {
                    let half = self.random.below(2) as u8;
                    Initial::Register {
                        quad: self.random.pick(&registers),
                        half: (!self.block.values[value].quad).then_some(half),
                    }
                };
                self.block.initial.push((value, back, initial));
            }
        }
    }

    /// Lets registers get values behind the last iteration.
    fn keep(&mut self) {
        for quad in self.block.registers.clone() {
            let value = self.random.below(self.block.values.len());
            if self.block.values.get(value).is_some_and(|own| own.scalar) {
                continue;
            }
            // The value of a register is not said where no iteration computes it and none before the first is given.
            let given = self.block.iterations > 0 || self.block.furthest(value) > 0;
            let Some(own) = self.block.values.get_mut(value).filter(|_| given) else {
                continue;
            };
            let half = (!own.quad).then_some(self.random.below(2) as u8);
            own.declared |= !own.quad;
            self.block.finals.push(Final { quad, half, value });
        }
    }

    /// Draws the addresses of the bases so that no access leaves the data.
    fn place_pointers(&mut self) {
        for base in 0..self.block.bases.len() {
            self.block.bases[base].1 = 0;
            let all = self.block.accesses();
            let own = || {
                all.iter()
                    .filter(|access| self.block.pointers[access.pointer].base == base)
            };
            let least = own().map(|access| access.place).min().unwrap_or(0);
            let most = own().map(|access| access.place + access.bytes).max();
            let room = DATA - (most.unwrap_or(0) - least);
            let room = (room / 16).max(0);
            // Close by one another, so that pointers of different bases meet, or anywhere.
            let place = match self.random.once_in(2) {
                true => self.random.range(0, room.min(16)),
                false => self.random.range(0, room),
            };
            let unit = |n: i64| n.div_euclid(16) * 16;
            self.block.bases[base].1 = unit(-least + 15) + 16 * (place - 1).max(0);
        }
    }
}
