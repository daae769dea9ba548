//! Every problem that the assembler may report about a source.

use super::near::{REGISTERS, like_register};
use crate::analysis::RegisterFlaw;
use crate::expr::Value;
use cp2_machine::Class;

/// Problem found in a source. The message names it; [`Problem::help`] says how to fix it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // The messages document the variants.
pub enum Problem {
    // --- characters ---
    #[error("unexpected character {character:?}")]
    Character { character: char },
    #[error("this comment never ends")]
    OpenComment,
    #[error("this string never ends on its line")]
    OpenString,
    #[error("`{text}` is no number")]
    Number { text: String },
    #[error("`{text}` does not fit in 64 bits")]
    NumberRange { text: String },

    // --- structure ---
    #[error("expected {wanted}, found {found}")]
    Expected { wanted: String, found: String },
    #[error("`{opener}` has no `{closer}`")]
    Unclosed {
        opener: String,
        closer: &'static str,
    },
    #[error("`{closer}` without {opener}")]
    Unopened {
        closer: String,
        opener: &'static str,
    },
    #[error("{what} cannot stand here")]
    Misplaced { what: String, why: &'static str },
    #[error("unknown directive `{name}`")]
    UnknownDirective { name: String, near: Option<String> },
    #[error("{what} takes {}, found {found}", count(*fewest, *most))]
    ArgumentCount {
        what: String,
        fewest: usize,
        most: usize,
        found: usize,
    },
    #[error("{text}")]
    UserError { text: String },

    // --- limits ---
    #[error("{what} exceeds the limit of {limit}")]
    Limit { what: &'static str, limit: u64 },

    // --- names ---
    #[error("unknown name `{name}`")]
    UnknownName {
        name: String,
        near: Option<String>,
        hint: Option<&'static str>,
    },
    #[error("`{name}` is already defined")]
    Redefined { name: String, repeated: bool },
    #[error("`{name}` is the name of {what}")]
    Reserved { name: String, what: &'static str },
    #[error("the value of `{name}` depends on itself, or on too long a chain of later definitions")]
    Circular { name: String },
    #[error("no parameter `\\{name}`")]
    UnknownParameter { name: String, near: Option<String> },
    #[error("macro `{name}` has no argument for its parameter `{parameter}`")]
    MissingArgument { name: String, parameter: String },
    #[error("unknown extension `{name}`")]
    UnknownExtension { name: String, near: Option<String> },
    #[error("cannot include {name:?}: {reason}")]
    Include { name: String, reason: String },

    // --- expressions ---
    #[error("division by zero")]
    DivisionByZero,
    #[error("the result does not fit in a 64-bit integer")]
    Overflow,
    #[error("{value} is beyond the largest binary32, {}", f32::MAX)]
    FloatRange { value: Value },
    #[error("shift count {count} is not in 0..63")]
    ShiftCount { count: i64 },
    #[error("{what} needs an integer, found {value}")]
    NotInteger { what: String, value: Value },
    #[error("`{function}` is not defined for {value}")]
    Domain {
        function: &'static str,
        value: Value,
    },

    // --- instructions ---
    #[error("unknown instruction `{name}`")]
    UnknownMnemonic { name: String, near: Option<String> },
    #[error("a row of the machine file has the mnemonic `{name}`, which the instruction table has")]
    TakenMnemonic { name: String },
    #[error("these operands do not fit `{mnemonic}`: {found}")]
    Operands {
        mnemonic: String,
        found: String,
        forms: Vec<String>,
        /// Name that stands in place of a register.
        name: Option<String>,
        near: Option<String>,
    },
    #[error("`{first}` and `{second}` both need the {slot} slot")]
    SlotConflict {
        first: String,
        second: String,
        slot: &'static str,
    },
    #[error("{what} is {value}, not in {least}..{most}")]
    OutOfRange {
        what: String,
        value: i64,
        least: i64,
        most: i64,
    },
    #[error("{what} is {value}, not a multiple of {multiple}")]
    Misaligned {
        what: String,
        value: i64,
        multiple: i64,
    },
    #[error("{value} has no short float form: the low eight bits of {bits:#010x} are not zero")]
    Float24 {
        value: Value,
        bits: u32,
        below: Value,
        above: Value,
    },
    #[error("register {register} is written twice in this word")]
    WrittenTwice { register: String },
    #[error("`{register}` is odd: a couple of scalars begins with an even one")]
    OddCouple { register: String },
    #[error("`{register}` is no address register")]
    NotAddress { register: String },
    #[error("`{register}` has no modulo base and length: only a0..a7 have")]
    NoModulo { register: String },
    #[error("`{name}` is a DMEM address, not a place in the program")]
    NotProgram { name: String },

    // --- loops ---
    #[error("a loop cannot end with `{mnemonic}`")]
    LoopLast { mnemonic: &'static str },
    #[error("two loops end at the same word")]
    LoopShared,
    #[error("this loop ends at word {end}, after the loop around it, which ends at word {outer}")]
    LoopOverlap { end: usize, outer: usize },
    #[error(
        "words of the linear block `{name}` lie outside this loop, which a branch to them would leave"
    )]
    LoopLeft { name: String },
    #[error("a loop's body is {words} words, not in 1..{most}")]
    LoopLength { words: i64, most: i64 },
    #[error("{depth} nested loops; machine {machine} allows {most}")]
    LoopDepth {
        depth: usize,
        most: usize,
        machine: String,
    },

    // --- linear blocks ---
    #[error("`{name}` is no value, constant or register")]
    UnknownValue { name: String, later: bool },
    #[error("no pointer `{name}`")]
    UnknownPointer { name: String, near: Option<String> },
    #[error("{} of `{name}` is never computed", if *half { "a half" } else { "the value" })]
    Uncomputed { name: String, half: bool },
    #[error("`{name}` of an iteration before: this block is carried out once")]
    NoEarlierIteration { name: String },
    #[error("`{name}@{distance}` has no value in the first iteration")]
    NoInitialValue { name: String, distance: u32 },
    #[error("{what} of `{name}`, which goes round, is {value}, not in {least}..{most}")]
    RoundRange {
        name: String,
        what: &'static str,
        value: i64,
        least: i64,
        most: i64,
        help: &'static str,
    },
    #[error("a linear block is scheduled for a machine, and none is given")]
    NeedsMachine,
    #[error(
        "block `{name}` writes {register}, and a word behind it reads what {register} had before"
    )]
    BlockOverwrites { name: String, register: String },
    #[error("block `{name}` finds too few {what}")]
    LacksRegisters { name: String, what: &'static str },
    #[error("`{name}` is {width}, and the block begins with `{from}`, which is {other}")]
    HandedWidth {
        name: String,
        width: &'static str,
        from: String,
        other: &'static str,
    },
    #[error("block `{name}` has no effect: it stores nothing, and leaves no value")]
    WithoutEffect { name: String },
    #[error("block `{name}` has no schedule: {refusal}")]
    Unschedulable {
        name: String,
        refusal: crate::schedule::Unschedulable,
    },

    // --- memory and machine ---
    #[error("{what} in {section}")]
    WrongSection { what: String, section: &'static str },
    #[error("the program has {words} words; {whose} {most}")]
    ProgramFull {
        words: usize,
        most: usize,
        whose: String,
    },
    #[error("DMEM is used up to byte {end}; {whose} {most} bytes")]
    DmemFull { end: u64, most: u64, whose: String },
    #[error("this overlaps DMEM bytes {start}..{end}, which are taken")]
    DmemOverlap { start: u32, end: u32 },
    #[error("`{what}` needs extension {names}, which machine {machine} lacks")]
    Extension {
        what: String,
        names: String,
        machine: String,
    },
    #[error("{what} {index} does not exist on machine {machine}, which has {count}")]
    Absent {
        what: &'static str,
        index: usize,
        count: usize,
        machine: String,
    },
    #[error("the target is word {target}, but the program has only {words}")]
    Target { target: i64, words: usize },
    #[error("`{mnemonic}` is the last word: execution runs off the end of the program")]
    RunsOff { mnemonic: String },

    // --- more than can be listed ---
    #[error("reading stopped after {shown} errors: there may be more")]
    MoreErrors { shown: usize },
    #[error("{shown} warnings are listed, {more} more are not")]
    MoreWarnings { shown: usize, more: usize },

    // --- warnings ---
    #[error("stalls {cycles} {}: {register} comes from the {class} unit{}{back}", if *cycles == 1 { "cycle" } else { "cycles" }, if back.is_empty() { "" } else { " " })]
    Stall {
        cycles: u64,
        register: String,
        class: Class,
        back: &'static str,
    },
    #[error("stalls {cycles} {}: the {class} unit is busy", if *cycles == 1 { "cycle" } else { "cycles" })]
    UnitBusy { cycles: u64, class: Class },
    #[error("`{name}` is computed, but nothing reads it")]
    UnreadValue { name: String },
    #[error("{register} {flaw}")]
    RegisterUse {
        register: String,
        flaw: RegisterFlaw,
    },
}

fn count(fewest: usize, most: usize) -> String {
    let plural = |n: usize| {
        if n == 1 {
            "1 argument".to_owned()
        } else {
            format!("{n} arguments")
        }
    };
    match (fewest, most) {
        (a, b) if a == b => plural(a),
        (a, usize::MAX) => format!("at least {}", plural(a)),
        (a, b) => format!("{a} to {b} arguments"),
    }
}

impl Problem {
    /// Returns a short stable name of the kind, for `--json` and for tests.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Character { .. } => "character",
            Self::OpenComment => "open-comment",
            Self::OpenString => "open-string",
            Self::Number { .. } => "number",
            Self::NumberRange { .. } => "number-range",
            Self::Expected { .. } => "expected",
            Self::Unclosed { .. } => "unclosed",
            Self::Unopened { .. } => "unopened",
            Self::Misplaced { .. } => "misplaced",
            Self::UnknownDirective { .. } => "unknown-directive",
            Self::ArgumentCount { .. } => "argument-count",
            Self::UserError { .. } => "error-directive",
            Self::Limit { .. } => "limit",
            Self::UnknownName { .. } => "unknown-name",
            Self::Redefined { .. } => "redefined",
            Self::Reserved { .. } => "reserved-name",
            Self::Circular { .. } => "circular",
            Self::UnknownParameter { .. } => "unknown-parameter",
            Self::MissingArgument { .. } => "missing-argument",
            Self::UnknownExtension { .. } => "unknown-extension",
            Self::Include { .. } => "include",
            Self::DivisionByZero => "division-by-zero",
            Self::Overflow => "overflow",
            Self::FloatRange { .. } => "float-range",
            Self::ShiftCount { .. } => "shift-count",
            Self::NotInteger { .. } => "not-integer",
            Self::Domain { .. } => "domain",
            Self::UnknownMnemonic { .. } => "unknown-instruction",
            Self::TakenMnemonic { .. } => "taken-mnemonic",
            Self::Operands { .. } => "operands",
            Self::SlotConflict { .. } => "slot-conflict",
            Self::OutOfRange { .. } => "out-of-range",
            Self::Misaligned { .. } => "misaligned",
            Self::Float24 { .. } => "float-immediate",
            Self::WrittenTwice { .. } => "written-twice",
            Self::OddCouple { .. } => "odd-couple",
            Self::NotAddress { .. } => "not-address",
            Self::NoModulo { .. } => "no-modulo",
            Self::NotProgram { .. } => "not-program",
            Self::LoopLast { .. } => "loop-last",
            Self::LoopShared => "loop-shared-end",
            Self::LoopOverlap { .. } => "loop-overlap",
            Self::LoopLeft { .. } => "loop-left",
            Self::LoopLength { .. } => "loop-length",
            Self::LoopDepth { .. } => "loop-depth",
            Self::UnknownValue { .. } => "unknown-value",
            Self::UnknownPointer { .. } => "unknown-pointer",
            Self::Uncomputed { .. } => "uncomputed",
            Self::NoEarlierIteration { .. } => "no-earlier-iteration",
            Self::NoInitialValue { .. } => "no-initial-value",
            Self::RoundRange { .. } => "round-range",
            Self::NeedsMachine => "needs-machine",
            Self::BlockOverwrites { .. } => "block-overwrites",
            Self::LacksRegisters { .. } => "lacks-registers",
            Self::HandedWidth { .. } => "handed-width",
            Self::WithoutEffect { .. } => "without-effect",
            Self::Unschedulable { .. } => "unschedulable",
            Self::WrongSection { .. } => "wrong-section",
            Self::ProgramFull { .. } => "program-full",
            Self::DmemFull { .. } => "dmem-full",
            Self::DmemOverlap { .. } => "dmem-overlap",
            Self::Extension { .. } => "extension",
            Self::Absent { .. } => "absent",
            Self::Target { .. } => "target",
            Self::RunsOff { .. } => "runs-off",
            Self::MoreErrors { .. } => "more-errors",
            Self::MoreWarnings { .. } => "more-warnings",
            Self::Stall { .. } | Self::UnitBusy { .. } => "stall",
            Self::UnreadValue { .. } => "unread",
            Self::RegisterUse { flaw, .. } => match flaw {
                RegisterFlaw::Unwritten => "unwritten",
                RegisterFlaw::Unread => "unread",
                RegisterFlaw::ChangedByPage { .. } => "changed-by-page",
            },
        }
    }

    /// Returns advice on how to fix the problem, one line for each hint.
    #[must_use]
    pub fn help(&self) -> Vec<String> {
        let near = |n: &Option<String>| n.iter().map(|n| format!("did you mean `{n}`?")).collect();
        let one = |s: &str| vec![s.to_owned()];
        match self {
            Self::UnknownName { near: n, hint, .. } => {
                let mut help: Vec<String> = near(n);
                help.extend(hint.map(str::to_owned));
                help
            }
            Self::UnknownMnemonic { near: n, .. }
            | Self::UnknownDirective { near: n, .. }
            | Self::UnknownParameter { near: n, .. } => near(n),
            Self::TakenMnemonic { .. } => {
                vec!["give the row another mnemonic in the machine file".to_owned()]
            }
            Self::UnknownValue { later: true, .. } => one(
                "it is computed further down: `@1` behind its name is its value of the iteration before",
            ),
            Self::UnknownValue { .. } => one(
                "a value is computed by an operation before it is used; a constant is declared by `.const`",
            ),
            Self::UnknownPointer { near: n, .. } => {
                let mut help: Vec<String> = near(n);
                help.push("declare it: `.pointer p = c4 by 16`".to_owned());
                help
            }
            Self::NoEarlierIteration { .. } => one("give the block a count: `.linear name, count`"),
            Self::NoInitialValue { name, distance } => {
                vec![format!(
                    "give it: `.before {name}@{distance} = q20`, or a number"
                )]
            }
            Self::RoundRange { help, .. } => one(help),
            Self::NeedsMachine => one("give one: --machine vm7"),
            Self::BlockOverwrites { .. } => one(
                "a block uses registers that no word before it names, and those of `.free`: take another register, or set it before the block",
            ),
            Self::LacksRegisters { .. } => {
                one("`.free` names registers that the block may use although other words name them")
            }
            Self::HandedWidth { .. } => {
                one("a later block begins with a value as it is: compute both alike")
            }
            Self::WithoutEffect { .. } => {
                one("store a result, or leave it in a register: `.after q20 = x`")
            }
            Self::Unschedulable { .. } => one(
                "split the block, load values again instead of keeping them, or free registers by `.free`; scalar values that are addresses take a0 .. a14",
            ),
            Self::Extension { names, machine, .. } => vec![format!(
                "give a machine that has it: --machine {machine}+{}",
                names.replace(", ", "+")
            )],
            Self::UnknownExtension { near: n, .. } => {
                let mut help: Vec<String> = near(n);
                let all: Vec<_> = cp2_machine::Extensions::all().names().collect();
                help.push(format!("extensions: {}", all.join(", ")));
                help
            }
            Self::Operands {
                forms,
                near: n,
                name,
                ..
            } => {
                let mut help: Vec<String> = near(n);
                if name.as_deref().is_some_and(like_register) {
                    help.push(REGISTERS.to_owned());
                }
                help.extend(forms.iter().map(|f| format!("expected: {f}")));
                help
            }
            Self::Character { character: '\r' } => one("a line ends with a line feed"),
            Self::NumberRange { .. } => one("integers are -2^63..2^63 - 1, floats doubles"),
            Self::FloatRange { .. } => one("infinity is `bits(0x7f800000)`"),
            Self::Misplaced { why, .. } => one(why),
            Self::Redefined { name, .. } if name.starts_with('.') && name != ".entry" => one(
                "a local label is unique between two plain labels, or within one macro expansion; in `.rept`, number it: `.name{i}:`",
            ),
            Self::Redefined { repeated: true, .. } => {
                one("this line is expanded more than once: number the name, as in `name{i}`")
            }
            Self::Misaligned {
                value, multiple, ..
            } => {
                let below = value.div_euclid(*multiple).saturating_mul(*multiple);
                vec![format!(
                    "nearest: {below} or {}",
                    below.saturating_add(*multiple)
                )]
            }
            Self::Float24 { below, above, .. } => vec![
                format!("nearest: {below} or {above}"),
                "any other constant can be loaded from DMEM".to_owned(),
            ],
            Self::NotInteger { .. } => one("convert with `int`, `round`, `floor` or `ceil`"),
            Self::NotAddress { .. } => one("addresses are formed from a0..a15, steps from s0..s15"),
            Self::SlotConflict { .. } => one(
                "a word issues one arithmetic and one memory or control operation: use two lines",
            ),
            Self::LoopLast { .. } => one("put a `nop` behind it"),
            Self::LoopShared => {
                one("end the inner loop one word earlier, or add a `nop` behind it")
            }
            Self::LoopOverlap { .. } => one("a loop must lie entirely within the loop around it"),
            Self::LoopLeft { .. } => one(
                "write the loop as `loop count { .. }`, or promise the count by `at least` and `multiple of`",
            ),
            Self::RunsOff { .. } => one("end the kernel with `stop`"),
            Self::WrongSection { .. } => one("`.dmem` and `.program` switch the section"),
            Self::WrittenTwice { .. } => one(
                "every result of a word, an address update included, needs a register of its own",
            ),
            Self::Circular { .. } => one("define constants before they are used"),
            Self::Stall { .. } | Self::UnitBusy { .. } => {
                one("move independent words in between, or end the line with `.allow stall`")
            }
            Self::UnreadValue { .. } => {
                one("it is not carried out: delete it, or store its result")
            }
            Self::RegisterUse { flaw, .. } => one(match flaw {
                RegisterFlaw::Unwritten => {
                    "write it first; a register that is undefined at launch, but harmless, ends its line with `.allow register`"
                }
                RegisterFlaw::Unread => {
                    "drop the operation, or read its result; if it is meant, end the line with `.allow register`"
                }
                RegisterFlaw::ChangedByPage { .. } => {
                    "set it inside the page loop, or use another register for one of the two; if the value is meant to go from page to page, end the line with `.allow register`"
                }
            }),
            _ => Vec::new(),
        }
    }
}
