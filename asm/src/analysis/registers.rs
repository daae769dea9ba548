//! Flaws in the use of registers: values that nothing reads, or nothing writes.

use super::liveness::Liveness;
use crate::flow::{Flow, FlowError, Loop, Trips};
use crate::isa::{AddressOperand, Inst, Mode, Op, Reg, RegSet, Scalar, Word};
use crate::program::Program;
use std::fmt::{self, Display};

/// Registers that have a value at launch: `a15`, the argument block (`docs/abi.md`).
const AT_LAUNCH: RegSet = RegSet::one(Scalar::address(15).reg());

/// Event that the page loop waits for.
const PAGE_EVENT: i32 = 0;

/// Kinds of flaws in the use of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterFlaw {
    /// A word reads the register, and on no way to it has the register been written.
    Unwritten,
    /// A word writes the register, and on no way behind it is that value read.
    Unread,
    /// The register has one value before the page loop, and the first page changes it: the word reads another
    /// one in every later page.
    ChangedByPage {
        /// Program address of a word of the page loop that changes it.
        by: usize,
    },
}

/// Flaw of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterFinding {
    /// Program address of the word.
    pub pc: usize,
    /// The register; of several that a result has, the first.
    pub register: Reg,
    /// Kind of the flaw.
    pub flaw: RegisterFlaw,
}

impl Display for RegisterFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unwritten => "is read here, but nothing has written it on any way to this word",
            Self::Unread => "is written here, but nothing reads this value",
            Self::ChangedByPage { .. } => {
                "is set before the page loop and read here, but each page changes it for the next one"
            }
        })
    }
}

/// Finds the flaws of a program that is reached from its entry, in the order of the words.
///
/// # Errors
/// The program has no control flow graph.
pub fn check_registers(program: &Program) -> Result<Vec<RegisterFinding>, FlowError> {
    let flow = Flow::of_program(program)?;
    let words = program
        .decode()
        .map_err(|(pc, source)| FlowError::Word { pc, source })?;
    Ok(find_flaws(&words, &flow))
}

/// Finds the flaws of words with their control flow.
pub(crate) fn find_flaws(words: &[Word], flow: &Flow) -> Vec<RegisterFinding> {
    let liveness = Liveness::new(words, flow);
    let written = WrittenRegisters::new(words, flow);
    let predecessors = flow.predecessors(words);
    let mut found = Vec::new();
    for pc in flow.blocks().iter().flat_map(|block| block.words.clone()) {
        let word = &words[pc];
        let mut report = |register: Reg, flaw| {
            found.push(RegisterFinding { pc, register, flaw });
        };
        let mut unwritten = without(reads(word), written.before[pc]);
        // A sum that nothing sets is written by its own word alone, in the iteration before.
        let sums = reads(word) & writes(word) & written.before[pc];
        for register in without(sums, AT_LAUNCH).iter() {
            let writers = flow.find_writers(words, &predecessors, pc, register);
            if writers.iter().all(|&by| by.is_none_or(|by| by == pc)) {
                unwritten |= RegSet::one(register);
            }
        }
        for register in unwritten.iter() {
            // The first pair of a quad stands for both.
            let is_second = register.0 < 64 && register.0 % 2 == 1;
            let first = Reg(register.0 - u8::from(is_second));
            if !is_second || !unwritten.contains(first) {
                report(register, RegisterFlaw::Unwritten);
            }
        }
        for inst in [&word.arith, &word.mem] {
            let results = inst.writes();
            let used = results & liveness.after(pc);
            if let Some(register) = results.iter().next().filter(|_| used.is_empty()) {
                report(register, RegisterFlaw::Unread);
            }
        }
    }
    for page in flow.loops().iter().filter(|l| is_page_loop(words, l)) {
        find_changed(words, page, &liveness, &written, &mut found);
    }
    found.sort_by_key(|finding| finding.pc);
    found
}

fn without(set: RegSet, taken: RegSet) -> RegSet {
    RegSet(set.0 & !taken.0)
}

fn reads(word: &Word) -> RegSet {
    word.arith.reads() | word.mem.reads()
}

fn writes(word: &Word) -> RegSet {
    word.arith.writes() | word.mem.writes() | word.mem.address_write()
}

/// True for the loop that `page_begin` of `page.s` opens.
fn is_page_loop(words: &[Word], found: &Loop) -> bool {
    let is_counted =
        matches!(found.trips, Trips::Register { register, .. } if register == Scalar::control(15));
    let first = words.get(found.first).map(|word| word.mem);
    is_counted && first.is_some_and(|inst| inst.op == Op::Wait && inst.imm == PAGE_EVENT)
}

/// Finds registers that are set before the page loop, read in it, and changed in it without a plan: values that
/// are made from themselves, such as a sum over all pages, are meant to go from page to page.
fn find_changed(
    words: &[Word],
    page: &Loop,
    liveness: &Liveness,
    written: &WrittenRegisters,
    found: &mut Vec<RegisterFinding>,
) {
    let body = page.first..page.last + 1;
    // The argument block and the next page's are the loop's own.
    let own = AT_LAUNCH | RegSet::one(Scalar::control(15).reg());
    let changed = body
        .clone()
        .fold(RegSet::EMPTY, |all, pc| all | writes(&words[pc]));
    let kept = without(
        liveness.before(page.first) & written.before[page.setup],
        own,
    );
    for register in kept.iter() {
        let mut writers = body
            .clone()
            .filter(|&pc| writes(&words[pc]).contains(register));
        let Some(by) = writers.clone().next_back() else {
            continue;
        };
        if is_restored(words, page.setup, by, register, changed) {
            continue;
        }
        let is_meant = match writers
            .clone()
            .all(|pc| steps(&words[pc], register).is_some())
        {
            // A pointer that comes back to its begin takes steps of both signs.
            true => {
                let sign = |pc: usize| steps(&words[pc], register).map(i32::signum);
                let last = sign(by);
                writers.any(|pc| sign(pc) != last)
            }
            false => {
                writers.any(|pc| is_made_from_itself(&words[body.clone()], &words[pc], register))
            }
        };
        let read = body
            .clone()
            .find(|&pc| reads(&words[pc]).contains(register));
        if let Some(pc) = read.filter(|_| !is_meant) {
            let flaw = RegisterFlaw::ChangedByPage { by };
            found.push(RegisterFinding { pc, register, flaw });
        }
    }
}

/// True if the word at `by` gives a register the value that it had before the page loop: by an operation that
/// stands there too, or by a copy of a register that no page changes.
fn is_restored(words: &[Word], setup: usize, by: usize, register: Reg, changed: RegSet) -> bool {
    let makes = |inst: &&Inst| inst.writes().contains(register);
    let insts = |word: &Word| [word.arith, word.mem];
    let Some(last) = insts(&words[by]).iter().find(makes).copied() else {
        return false;
    };
    let sources = last.reads();
    let is_constant = sources.is_empty() && !last.has_address();
    let stands_before = || {
        words[..setup]
            .iter()
            .any(|word| insts(word).contains(&last))
    };
    match is_constant {
        true => stands_before(),
        false => !last.has_address() && (sources & changed).is_empty(),
    }
}

/// Returns the sign and size of the step by which a word's access moves an address register in one direction;
/// of a step in a register, 1.
fn steps(word: &Word, register: Reg) -> Option<i32> {
    if !word.mem.address_write().contains(register) {
        return None;
    }
    let AddressOperand::Shared(address) = word.mem.place else {
        return None;
    };
    match address.mode {
        Mode::Post(step) => Some(step),
        Mode::Step(_) => Some(1),
        // These come back to their begin.
        Mode::Modulo(_) | Mode::Reverse(_) | Mode::Offset(_) => None,
    }
}

/// True if the result that a word writes to `register` depends on the register's old value, directly or by way
/// of other registers of the body.
fn is_made_from_itself(body: &[Word], word: &Word, register: Reg) -> bool {
    let maker = |inst: &Inst| (inst.writes() | inst.address_write()).contains(register);
    let insts = [&word.arith, &word.mem]
        .into_iter()
        .filter(|inst| maker(inst));
    let mut sources = insts.fold(RegSet::EMPTY, |all, inst| all | inst.reads());
    loop {
        let before = sources;
        for inst in body.iter().flat_map(|word| [&word.arith, &word.mem]) {
            if !(inst.writes() & sources).is_empty() {
                sources |= inst.reads();
            }
        }
        if sources.contains(register) || sources == before {
            return sources.contains(register);
        }
    }
}

/// Registers that may have been written before each word, from launch on.
struct WrittenRegisters {
    /// By program address.
    before: Vec<RegSet>,
}

impl WrittenRegisters {
    fn new(words: &[Word], flow: &Flow) -> Self {
        let mut before = vec![RegSet::EMPTY; words.len()];
        for &entry in flow.entries() {
            if let Some(set) = before.get_mut(entry) {
                *set = AT_LAUNCH;
            }
        }
        // Which call a function returns to is left open.
        let calls = flow
            .functions()
            .iter()
            .flat_map(|function| &function.callers);
        let returns: Vec<usize> = calls.map(|pc| pc + 1).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for block in flow.blocks() {
                let mut set = before[block.words.start];
                for pc in block.words.clone() {
                    before[pc] |= set;
                    set = before[pc] | writes(&words[pc]);
                }
                let mut enter = |to: usize| {
                    if let Some(next) = before.get_mut(to)
                        && !without(set, *next).is_empty()
                    {
                        *next |= set;
                        changed = true;
                    }
                };
                block.next.iter().for_each(|&(_, to)| enter(to));
                if words[block.words.end - 1].mem.op == Op::Ret {
                    returns.iter().for_each(|&to| enter(to));
                }
            }
        }
        Self { before }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Source, assemble};

    fn find(text: &str) -> Vec<(u32, String, RegisterFlaw)> {
        let text = format!(".include \"page.s\"\n.program\n{text}");
        let source = Source::new("a.s", text);
        let program = assemble(&source, &Options::default()).unwrap().program;
        let found = check_registers(&program).unwrap().into_iter();
        // Lines count from the first of the program itself.
        let line = |pc: usize| {
            program
                .chain(pc)
                .last()
                .map_or(program.lines[pc], |outer| outer.at)
        };
        found
            .map(|f| (line(f.pc).line - 2, f.register.to_string(), f.flaw))
            .collect()
    }

    #[test]
    fn a_register_that_nothing_writes_is_found_at_its_reader() {
        assert_eq!(
            find("ldq q0, [a15]\nadd q1, q0, q2\nstq q1, [a15 + 16]\nstop\n"),
            [(2, "r4".into(), RegisterFlaw::Unwritten)]
        );
        // One of two ways writes it.
        let text = "ldx c0, [a15]\nbz c0, skip\nlif r0, 1.0\nskip: stp r0, [a15 + 16]\nstop\n";
        assert_eq!(find(text), []);
    }

    /// A sum that nothing sets is read in the first iteration, whatever later ones add to it.
    #[test]
    fn a_sum_that_nothing_sets_is_found() {
        let sum = |begin: &str| {
            let body = "loop 8 {\nldq q1, [a15]\nmadd q0, q1, q1, q0\n}\nstq q0, [a15]\nstop\n";
            find(&format!("{begin}\n{body}"))
        };
        assert_eq!(sum("nop"), [(4, "r0".into(), RegisterFlaw::Unwritten)]);
        assert_eq!(
            sum("lif r0, 0.0"),
            [(4, "r1".into(), RegisterFlaw::Unwritten)]
        );
        assert_eq!(
            sum("mul q0, q1, q1 .allow register"),
            [(1, "r2".into(), RegisterFlaw::Unwritten)]
        );
    }

    /// Each operand that nothing has written has its own warning.
    #[test]
    fn all_operands_are_named() {
        let found = find("sub r0, r2, r4\nstp r0, [a15]\nstop\n");
        let names: Vec<_> = found
            .iter()
            .map(|(_, register, _)| register.as_str())
            .collect();
        assert_eq!(names, ["r2", "r4"]);
    }

    /// A function's readers are those of all its callers.
    #[test]
    fn functions_write_for_their_callers() {
        let text = "call one\nstp r0, [a15]\ncall one\nstop\none: lif r0, 1.0\nret\n";
        assert_eq!(find(text), []);
        let text = "call one\nstop\none: lif r0, 1.0\nret\n";
        assert_eq!(find(text), [(3, "r0".into(), RegisterFlaw::Unread)]);
    }

    #[test]
    fn a_result_without_reader_is_found_and_one_of_a_later_iteration_is_not() {
        let text =
            "ldp r0, [a15]\nlif r1, 2.0\nloop 4 {\nstp r0, [a15 + 8]\nmul r0, r0, r1\n}\nstop\n";
        assert_eq!(find(text), []);
        assert_eq!(
            find("lif r0, 1.0\nlif r0, 2.0\nstp r0, [a15]\nstop\n"),
            [(1, "r0".into(), RegisterFlaw::Unread)]
        );
    }

    fn pages(before: &str, inside: &str) -> Vec<RegisterFlaw> {
        let found = find(&format!("{before}\npage_begin\n{inside}\npage_end\nstop\n"));
        found.into_iter().map(|(_, _, flaw)| flaw).collect()
    }

    #[test]
    fn values_that_a_page_changes_for_the_next_one_are_found() {
        let is_changed =
            |flaws: &[RegisterFlaw]| matches!(flaws, [RegisterFlaw::ChangedByPage { .. }]);
        // A table's pointer runs on, page after page.
        let table = "movi a1, 0x100";
        let step = "ldx a0, [a15]\nldq q0, [a1]+16\nstq q0, [a0]";
        assert!(is_changed(&pages(table, step)));
        assert_eq!(pages("", &format!("{table}\n{step}")), []);
        // Its way back.
        let back = "ldx a0, [a15]\nldq q0, [a1]+16\nstq q0, [a0]+16\nldq q0, [a1]-16\nstq q0, [a0]";
        assert_eq!(pages(table, back), []);
        // A constant whose register is used again.
        let constant = "lif r0, 2.0";
        let reuse = "ldx a0, [a15]\nldp r1, [a0]\nmul r1, r1, r0\nldp r0, [a0 + 8]\nadd r1, r1, r0\nstp r1, [a0]";
        assert!(is_changed(&pages(constant, reuse)));
        // The constant comes back, by the operation that made it, or from a register of its own.
        let again = format!("{reuse}\nlif r0, 2.0");
        assert_eq!(pages(constant, &again), []);
        let copied = format!("{reuse}\nmov r0, r9");
        assert_eq!(pages("lif r9, 2.0\nmov r0, r9", &copied), []);
        // A sum over all pages.
        let sum = "ldx a0, [a15]\nldp r1, [a0]\nadd r0, r0, r1\nstp r0, [a0]";
        assert_eq!(pages(constant, sum), []);
    }
}
