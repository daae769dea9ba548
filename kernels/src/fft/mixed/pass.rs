//! One pass over a block.

use super::dft::{Column, LANES, constants as of_radix, powers};
use super::text::Text;
use crate::fft::Direction;
use crate::pipeline::{Body, Pointer, Reg, Schedule, Step, Unschedulable};
use cp2_machine::Machine;

/// Bytes of a complex number.
pub(super) const COMPLEX: i64 = 8;

/// A pass of radix r after L, over a block of 2V transforms of N numbers.
///
/// In the first pass the transforms lie one behind the other, and so they do
/// after the last. In between, number j of transform pair p is the quad j V + p.
/// An iteration takes column c = t L + k of pair p; p runs fastest, then k, then t.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    pub(super) n: usize,
    pub(super) pairs: usize,
    pub(super) radix: usize,
    pub(super) done: usize,
    pub(super) direction: Direction,
    /// Number of the pass, for labels.
    pub(super) index: usize,
    /// Address register of the block it reads.
    pub(super) from: u8,
    /// Address register of the block it writes.
    pub(super) to: u8,
}

/// Address registers of a pass.
const READ: [u8; 2] = [0, 3];
const WRITE: [u8; 2] = [1, 4];
const TWIDDLE: u8 = 2;
const WRITE_STEPS: u8 = 5;
const TWIDDLE_STEPS: u8 = 6;
/// Step registers.
const READ_STEP: u8 = 0;
const WRITE_STEP: u8 = 1;
const TWIDDLE_STEP: u8 = 2;
/// The step of the pointers of step tables.
const EIGHT: u8 = 5;

/// How a pointer steps, decided before the addresses are known.
enum Walk {
    Bytes(i64),
    /// A step modulo a length.
    Modulo(i64, i64),
    /// A table of steps, and the length they are modulo.
    Table(Vec<i64>, Option<i64>),
}

impl Pass {
    fn first(&self) -> bool {
        self.done == 1
    }

    fn last(&self) -> bool {
        self.done * self.radix == self.n
    }

    fn quad(&self) -> i64 {
        2 * COMPLEX * self.pairs as i64
    }

    /// Through transforms that lie one behind the other: pair after pair, then one number on.
    fn apart(&self) -> Walk {
        if self.pairs == 1 {
            Walk::Bytes(COMPLEX)
        } else {
            let pair = 2 * COMPLEX * self.n as i64;
            Walk::Modulo(pair, pair * self.pairs as i64 - COMPLEX)
        }
    }

    fn write_walk(&self) -> Walk {
        let period = self.done * self.pairs;
        let jump = (self.radix as i64 - 1) * self.done as i64 * self.quad();
        if self.last() {
            self.apart()
        } else if period == 1 {
            Walk::Bytes(2 * COMPLEX + jump)
        } else {
            let steps = (1..=period).map(|i| 2 * COMPLEX + if i == period { jump } else { 0 });
            Walk::Table(steps.collect(), None)
        }
    }

    /// Bytes of the factors of one column.
    fn factor_bytes(&self) -> i64 {
        match powers(self.radix).len() {
            1 => COMPLEX,
            count => count.next_multiple_of(2) as i64 * COMPLEX,
        }
    }

    fn twiddle_walk(&self) -> Walk {
        let (step, round) = (self.factor_bytes(), self.done as i64 * self.factor_bytes());
        if self.pairs > 1 {
            let steps = (1..=self.pairs).map(|i| if i == self.pairs { step } else { 0 });
            Walk::Table(steps.collect(), Some(round))
        } else if self.last() {
            Walk::Bytes(step)
        } else {
            Walk::Modulo(step, round)
        }
    }

    fn step(walk: &Walk, step: u8, table: u8) -> Step {
        match walk {
            Walk::Bytes(n) => Step::Bytes(*n),
            Walk::Modulo(..) => Step::Modulo(step),
            Walk::Table(_, modulo) => Step::Table {
                step,
                table,
                by: EIGHT,
                modulo: modulo.is_some(),
            },
        }
    }

    /// Writes the words and tables of the pass.
    pub(super) fn write(&self, text: &mut Text, machine: &Machine) -> Result<(), Unschedulable> {
        let label = |what: &str| format!("{what}{}", self.index);
        text.words += &format!("pass{}:\n", self.index);
        let constants = text.constants(&label("constants"), of_radix(self.radix, self.first()));
        let mut body = Body::default();

        // What it reads.
        let rows = (self.n / self.radix) as i64;
        let read = if self.first() {
            self.apart()
        } else {
            Walk::Bytes(2 * COMPLEX)
        };
        let readers: Vec<(u8, i64, Pointer)> = READ
            .iter()
            .take(if self.first() { 2 } else { 1 })
            .map(|&a| {
                let behind = if a == READ[0] {
                    0
                } else {
                    COMPLEX * self.n as i64
                };
                (a, behind, body.pointer(a, Self::step(&read, READ_STEP, 0)))
            })
            .collect();
        let x: Vec<_> = (0..self.radix as i64)
            .map(|m| {
                let x = body.quad();
                match *readers {
                    [(_, _, a), (_, _, b)] => {
                        body.load(Reg::Lo(x), a, m * rows * COMPLEX);
                        body.load(Reg::Hi(x), b, m * rows * COMPLEX);
                    }
                    [(_, _, a), ..] => body.load(Reg::Whole(x), a, m * rows * self.quad()),
                    [] => {}
                }
                x
            })
            .collect();

        // Its factors.
        let twiddle = self.twiddle_walk();
        let mut factors = Vec::new();
        let mut twiddles = None;
        if !self.first() {
            let pointer = body.pointer(TWIDDLE, Self::step(&twiddle, TWIDDLE_STEP, TWIDDLE_STEPS));
            twiddles = Some(pointer);
            let count = powers(self.radix).len();
            if count == 1 {
                let w = body.pair();
                body.load(Reg::Whole(w), pointer, 0);
                factors.push([Reg::Whole(w); 2]);
            }
            for i in 0..if count == 1 { 0 } else { count.div_ceil(2) } {
                let w = body.quad();
                body.load(Reg::Whole(w), pointer, 2 * COMPLEX * i as i64);
                factors.extend([[Reg::Lo(w); 2], [Reg::Hi(w); 2]]);
            }
            factors.truncate(count);
        }

        let column = Column {
            direction: self.direction,
            factors: &factors,
            constants: &|c| constants.register(c),
        };
        let y = column.transform(&mut body, &x);

        // What it writes.
        let write = self.write_walk();
        let writers: Vec<(u8, i64, Pointer)> = WRITE
            .iter()
            .take(if self.last() { 2 } else { 1 })
            .map(|&a| {
                let behind = if a == WRITE[0] {
                    0
                } else {
                    COMPLEX * self.n as i64
                };
                (
                    a,
                    behind,
                    body.pointer(a, Self::step(&write, WRITE_STEP, WRITE_STEPS)),
                )
            })
            .collect();
        for (m, &y) in (0..).zip(&y) {
            match *writers {
                [(_, _, a), (_, _, b)] => {
                    for (lane, pointer) in LANES.iter().zip([a, b]) {
                        body.store(lane(y), pointer, m * self.done as i64 * COMPLEX);
                    }
                }
                [(_, _, a), ..] => body.store(Reg::Whole(y), a, m * self.done as i64 * self.quad()),
                [] => {}
            }
        }

        // Pointers and tables.
        let schedule = body.schedule(machine, constants.first)?;
        for (streams, base, walk, step, table) in [
            (&readers, self.from, &read, READ_STEP, ""),
            (&writers, self.to, &write, WRITE_STEP, "steps"),
        ] {
            for &(a, behind, pointer) in streams {
                text.address(a, base, behind + schedule.bias(pointer));
                if let Walk::Modulo(_, length) = walk {
                    text.circular(a, *length);
                }
            }
            self.walk(text, walk, step, WRITE_STEPS, &label(table));
        }
        if let Some(pointer) = twiddles {
            self.twiddles(text, &label("twiddles"), &schedule, pointer, &twiddle);
            self.walk(text, &twiddle, TWIDDLE_STEP, TWIDDLE_STEPS, &label("held"));
        }
        let loops = schedule.emit((self.n / self.radix * self.pairs) as u64);
        text.words += &loops.text;
        text.cycles += loops.cycles;
        Ok(())
    }

    /// The step register, or the table, of a walk.
    fn walk(&self, text: &mut Text, walk: &Walk, step: u8, table: u8, label: &str) {
        match walk {
            Walk::Bytes(_) => {}
            Walk::Modulo(bytes, _) => text.word(&format!("movi s{step}, {bytes}")),
            Walk::Table(steps, _) => {
                text.word(&format!("movi s{EIGHT}, 8"));
                text.steps(table, label, steps);
            }
        }
    }

    /// The table of factors, column after column, and the pointer to it.
    fn twiddles(
        &self,
        text: &mut Text,
        label: &str,
        schedule: &Schedule,
        pointer: Pointer,
        walk: &Walk,
    ) {
        let circle = self.radix * self.done;
        text.table(label, (self.done as i64 * self.factor_bytes()) as u64);
        let powers = powers(self.radix);
        for k in 0..self.done {
            for (power, eighths) in &powers {
                // Eighths of a turn occur with radix 8, whose circle is a multiple of 8.
                text.line(&format!(
                    ".cis -{}, {circle}",
                    k * power + eighths * circle / 8
                ));
            }
            if powers.len() > 1 && powers.len() % 2 == 1 {
                text.line(".complex 0, 0");
            }
        }
        text.word(&format!(
            "movi a{TWIDDLE}, {label} + {}",
            schedule.bias(pointer)
        ));
        if let Walk::Modulo(_, length) | Walk::Table(_, Some(length)) = walk {
            text.circular(TWIDDLE, *length);
        }
    }
}
