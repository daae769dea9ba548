//! Building blocks of bodies: constants, carried registers, formulas on quads.

use cp2_asm::schedule::{DataOperand, Dataflow, ModuloSchedule, Unschedulable};
use cp2_machine::Machine;

/// A body together with the registers that are kept across iterations.
#[derive(Debug)]
pub(crate) struct Ops {
    pub(crate) body: Dataflow,
    /// Lanes of each constant; the first is in `q31`, the next in `q30`, and so on.
    constants: Vec<[u32; 4]>,
    /// Number of quads carried from iteration to iteration, in the registers below the constants.
    carried: u8,
}

/// Quads of a section's register file.
const QUAD_REGISTERS: u8 = 32;

impl Ops {
    /// Creates an empty body with constants, each in the four lanes of a quad.
    pub(crate) fn new(constants: &[u32]) -> Self {
        Self::from_body(Dataflow::default(), constants)
    }

    /// Adds constants to a body that exists, each in the four lanes of a quad.
    pub(crate) fn from_body(body: Dataflow, constants: &[u32]) -> Self {
        Self::from_quads(body, constants.iter().map(|&bits| [bits; 4]).collect())
    }

    /// Adds constants to a body that exists, given by the lanes of their quads.
    pub(crate) fn from_quads(body: Dataflow, constants: Vec<[u32; 4]>) -> Self {
        Self {
            body,
            constants,
            carried: 0,
        }
    }

    /// Returns the register of the constant with an index.
    pub(crate) fn constant(&self, index: usize) -> DataOperand {
        DataOperand::Quad(QUAD_REGISTERS - 1 - index as u8)
    }

    /// Reserves a quad that is carried along; all of them must be reserved before the first is used.
    pub(crate) fn carry(&mut self) -> u8 {
        self.carried += 1;
        QUAD_REGISTERS - self.constants.len() as u8 - self.carried
    }

    /// Schedules the body.
    pub(crate) fn schedule(&self, machine: &Machine) -> Result<ModuloSchedule, Unschedulable> {
        self.body.schedule(machine, self.free())
    }

    /// Returns the number of pair registers that are free.
    fn free(&self) -> u8 {
        2 * (QUAD_REGISTERS - self.constants.len() as u8 - self.carried)
    }

    /// Writes the words that load the constants from label `constants`, through `a0`.
    pub(crate) fn load_constants(&self) -> String {
        let load = |i: usize| {
            format!(
                "    ldq q{}, [a0 + {}]\n",
                usize::from(QUAD_REGISTERS) - 1 - i,
                16 * i
            )
        };
        if self.constants.is_empty() {
            return String::new();
        }
        let loads: String = (0..self.constants.len()).map(load).collect();
        format!("    movi a0, constants\n{loads}")
    }

    /// Writes the table of the constants.
    pub(crate) fn constant_table(&self) -> String {
        let line = |lanes: &[u32; 4]| {
            let [a, b, c, d] = lanes.map(|bits| bits as i32);
            format!("    .int {a}, {b}, {c}, {d}\n")
        };
        if self.constants.is_empty() {
            return String::new();
        }
        let lines: String = self.constants.iter().map(line).collect();
        format!("    .align 16\nconstants:\n{lines}")
    }

    /// Applies operation `name` to whole quads.
    pub(crate) fn q(&mut self, name: &'static str, uses: &[DataOperand]) -> DataOperand {
        DataOperand::Whole(self.body.quad_op(name, uses))
    }

    /// Applies operation `name` to each pair of quads.
    pub(crate) fn pairs(&mut self, name: &'static str, uses: &[DataOperand]) -> DataOperand {
        let value = self.body.quad();
        for which in [0, 1] {
            let uses: Vec<DataOperand> = uses.iter().map(|&r| half(r, which)).collect();
            self.body
                .op(name, &[half(DataOperand::Whole(value), which)], &uses);
        }
        DataOperand::Whole(value)
    }

    /// Applies operation `name` to the two halves of each quad: the lower half of the result is from `a`, the
    /// upper from `b`.
    fn apply_across_halves(
        &mut self,
        name: &'static str,
        a: DataOperand,
        b: DataOperand,
    ) -> DataOperand {
        let value = self.body.quad();
        for (to, from) in [(DataOperand::Lo(value), a), (DataOperand::Hi(value), b)] {
            self.body.op(name, &[to], &[half(from, 0), half(from, 1)]);
        }
        DataOperand::Whole(value)
    }

    /// Separates the four complex numbers in two quads into a quad of real and a quad of imaginary parts.
    pub(crate) fn split(&mut self, a: DataOperand, b: DataOperand) -> (DataOperand, DataOperand) {
        (
            self.apply_across_halves("trnlo", a, b),
            self.apply_across_halves("trnhi", a, b),
        )
    }

    /// Transposes four quads: result i has lane i of each of them.
    pub(crate) fn lanes(&mut self, rows: [DataOperand; 4]) -> [DataOperand; 4] {
        [(0, "trnlo"), (0, "trnhi"), (1, "trnlo"), (1, "trnhi")].map(|(which, name)| {
            let value = self.body.quad();
            for (to, two) in [DataOperand::Lo(value), DataOperand::Hi(value)]
                .into_iter()
                .zip(rows.chunks(2))
            {
                let from: Vec<DataOperand> = two.iter().map(|&row| half(row, which)).collect();
                self.body.op(name, &[to], &from);
            }
            DataOperand::Whole(value)
        })
    }

    /// Selects from two candidates, values and places, lane by lane the larger value and its place; of equal
    /// ones the first.
    pub(crate) fn larger(
        &mut self,
        (a, at): (DataOperand, DataOperand),
        (b, other): (DataOperand, DataOperand),
    ) -> (DataOperand, DataOperand) {
        let larger = self.q("cmplt", &[a, b]);
        let value = self.q("sel", &[b, a, larger]);
        (value, self.q("sel", &[other, at, larger]))
    }

    /// Combines all values by an operation, as a binary tree.
    pub(crate) fn tournament(&mut self, name: &'static str, values: &[DataOperand]) -> DataOperand {
        match values {
            [one] => *one,
            _ => {
                let (a, b) = values.split_at(values.len() / 2);
                let both = [self.tournament(name, a), self.tournament(name, b)];
                self.q(name, &both)
            }
        }
    }

    /// Adds the halves of each quad: the lower half of the result is the sum for `a`, the upper for `b`.
    pub(crate) fn fold(&mut self, a: DataOperand, b: DataOperand) -> DataOperand {
        self.apply_across_halves("add", a, b)
    }

    /// Computes the square root as `p * rsqrt(min(max(p, least), most))`; 0 and infinity stay as they are.
    pub(crate) fn root(
        &mut self,
        p: DataOperand,
        (least, most): (DataOperand, DataOperand),
    ) -> DataOperand {
        let above = self.q("max", &[p, least]);
        let inside = self.q("min", &[above, most]);
        let root = self.pairs("rsqrt", &[inside]);
        self.q("mul", &[p, root])
    }
}

/// Returns the lower (0) or upper (1) pair of a quad.
pub(crate) fn half(reg: DataOperand, which: usize) -> DataOperand {
    match (reg, which) {
        (DataOperand::Whole(v), 0) => DataOperand::Lo(v),
        (DataOperand::Whole(v), _) => DataOperand::Hi(v),
        (DataOperand::Quad(q), _) => DataOperand::Pair(2 * q + which as u8),
        (other, _) => other,
    }
}
