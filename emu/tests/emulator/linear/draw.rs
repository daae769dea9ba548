//! Draws linear blocks and machines from a seed.

#[path = "draw_operations.rs"]
mod draw_operations;
#[path = "draw_scalars.rs"]
mod draw_scalars;

use super::block::{Block, Constant, Count, DATA, Final, Initial, Operand, Pointer};
use cp2_asm::isa::Kind;
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
                let steps: Vec<i64> = (0..steps)
                    .map(|_| unit * self.random.range(-3, 8))
                    .collect();
                let longest = steps.iter().map(|step| step.abs()).max();
                let in_register = self.random.once_in(2);
                pointer.table = Some((steps, in_register));
                pointer.step_in_register = false;
                if self.random.once_in(2) {
                    pointer.step = longest.unwrap_or(0);
                    self.go_round(&mut pointer, unit);
                    // The first step may lead down, and one register cannot have both extents.
                    pointer.bytes = pointer.bytes.max(0);
                    let (extent, written) = pointer.round.unwrap_or_default();
                    pointer.round = Some((extent, written.filter(|_| !in_register)));
                }
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
