//! Building blocks of bodies: constants, carried registers, operations on quads.

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
}
