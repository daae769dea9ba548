//! Pieces of bodies: constants, carried registers, formulas on quads.

use crate::pipeline::{Body, Reg, Schedule, Unschedulable, Value};
use cp2_machine::Machine;

/// A body together with the registers that outlive an iteration.
#[derive(Debug)]
pub(super) struct Ops {
    pub(super) body: Body,
    /// Bits of each constant, in `q31` downwards.
    constants: Vec<u32>,
    /// Quads carried from iteration to iteration, below the constants.
    carried: u8,
}

/// Quads of a section's register file.
const QUADS: u8 = 32;

impl Ops {
    /// A body that needs no registers beside its values.
    pub(super) fn of(body: Body) -> Self {
        Self {
            body,
            constants: Vec::new(),
            carried: 0,
        }
    }

    /// An empty body with constants, each in the four lanes of a quad.
    pub(super) fn new(constants: &[u32]) -> Self {
        Self {
            body: Body::default(),
            constants: constants.to_vec(),
            carried: 0,
        }
    }

    /// The constant with that index.
    pub(super) fn constant(&self, index: usize) -> Reg {
        Reg::Quad(QUADS - 1 - index as u8)
    }

    /// A quad that is carried along; all of them before the first is used.
    pub(super) fn carry(&mut self) -> u8 {
        self.carried += 1;
        QUADS - self.constants.len() as u8 - self.carried
    }

    /// The schedule of the body.
    pub(super) fn schedule(&self, machine: &Machine) -> Result<Schedule, Unschedulable> {
        let free = 2 * (QUADS - self.constants.len() as u8 - self.carried);
        self.body.schedule(machine, free)
    }

    /// Words that load the constants from label `constants`, through `a0`.
    pub(super) fn load_constants(&self) -> String {
        let load = |i: usize| {
            format!(
                "    ldq q{}, [a0 + {}]\n",
                usize::from(QUADS) - 1 - i,
                16 * i
            )
        };
        if self.constants.is_empty() {
            return String::new();
        }
        let loads: String = (0..self.constants.len()).map(load).collect();
        format!("    movi a0, constants\n{loads}")
    }

    /// Their table.
    pub(super) fn constant_table(&self) -> String {
        let line = |bits: &u32| {
            let word = *bits as i32;
            format!("    .int {word}, {word}, {word}, {word}\n")
        };
        if self.constants.is_empty() {
            return String::new();
        }
        let lines: String = self.constants.iter().map(line).collect();
        format!("    .align 16\nconstants:\n{lines}")
    }

    /// `name` on whole quads.
    pub(super) fn q(&mut self, name: &'static str, uses: &[Reg]) -> Reg {
        Reg::Whole(self.body.quad_op(name, uses))
    }

    /// `name` on each pair of quads.
    pub(super) fn pairs(&mut self, name: &'static str, uses: &[Reg]) -> Reg {
        let value = self.body.quad();
        for half in [lo, hi] {
            let uses: Vec<Reg> = uses.iter().map(|&r| half(r)).collect();
            self.body.op(name, &[half(Reg::Whole(value))], &uses);
        }
        Reg::Whole(value)
    }

    /// Real and imaginary parts of the four complex numbers in two quads.
    pub(super) fn split(&mut self, a: Value, b: Value) -> (Reg, Reg) {
        let mut part = |name| {
            let value = self.body.quad();
            let (lower, upper) = (Reg::Lo(value), Reg::Hi(value));
            self.body.op(name, &[lower], &[Reg::Lo(a), Reg::Hi(a)]);
            self.body.op(name, &[upper], &[Reg::Lo(b), Reg::Hi(b)]);
            Reg::Whole(value)
        };
        (part("trnlo"), part("trnhi"))
    }
}

/// The lower pair of a quad.
fn lo(reg: Reg) -> Reg {
    match reg {
        Reg::Whole(v) => Reg::Lo(v),
        Reg::Quad(q) => Reg::Pair(2 * q),
        other => other,
    }
}

/// The upper pair of a quad.
fn hi(reg: Reg) -> Reg {
    match reg {
        Reg::Whole(v) => Reg::Hi(v),
        Reg::Quad(q) => Reg::Pair(2 * q + 1),
        other => other,
    }
}
