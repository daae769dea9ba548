//! Finds the table row that an operation's operands fit.

use crate::diag::{Fail, Problem, nearest};
use crate::expr::Expr;
use crate::isa::{Address, AddressOperand, Inst, Isa, Kind, Mode, Op, Operand, OwnAddress, Row};
use crate::source::Span;
use crate::syntax::{Arg, MemArg, ModeArg, Register, SourceInst};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Table rows by mnemonic.
static ROWS: LazyLock<HashMap<&'static str, Vec<Op>>> = LazyLock::new(|| {
    let mut rows: HashMap<_, Vec<Op>> = HashMap::new();
    for &op in Op::ALL {
        rows.entry(op.row().mnemonic).or_default().push(op);
    }
    rows
});

/// Returns the rows of a mnemonic.
pub(super) fn find_rows(name: &str, isa: Isa<'_>) -> Vec<Op> {
    let table = ROWS.get(name).map_or(&[][..], Vec::as_slice);
    table.iter().copied().chain(isa.named(name)).collect()
}

/// Makes the error for a mnemonic without rows. `others` are further names that may stand in its place.
pub(super) fn unknown_mnemonic<'a>(
    name: &str,
    at: Span,
    isa: Isa<'_>,
    others: impl Iterator<Item = &'a str>,
) -> Fail {
    let own = isa
        .rows()
        .iter()
        .map(|row| row.definition().mnemonic.as_str());
    let near = nearest(name, ROWS.keys().copied().chain(own).chain(others));
    let name = name.to_owned();
    Fail::new(Problem::UnknownMnemonic { name, near }, at)
}

/// True if some operation has the mnemonic `name`.
pub(super) fn is_mnemonic(name: &str, isa: Isa<'_>) -> bool {
    ROWS.contains_key(name) || isa.named(name).next().is_some()
}

/// Returns the mnemonic of a row of a machine file that is one of the table: no operand could tell them apart.
pub(super) fn taken_mnemonic(isa: Isa<'_>) -> Option<&str> {
    let mut names = isa
        .rows()
        .iter()
        .map(|row| row.definition().mnemonic.as_str());
    names.find(|name| ROWS.contains_key(name))
}

/// Operation whose row and registers are known, while its expressions are still open.
#[derive(Clone, Debug)]
pub(super) struct Selected {
    pub(super) inst: Inst,
    /// Expression of the immediate operand.
    pub(super) value: Option<(Expr, Span)>,
    /// Expression of the branch target or of a loop's last word.
    pub(super) target: Option<(Expr, Span)>,
    /// Expression of the DMEM offset or increment.
    pub(super) offset: Option<(Expr, Span)>,
    /// True if the loop's end is given by a block.
    pub(super) block: bool,
    /// For an operation that a linear block was scheduled to: the number of the block, or of its chain.
    pub(super) scheduled: Option<usize>,
    pub(super) at: Span,
    pub(super) mnemonic_at: Span,
}

/// Selects the row of an operation and fills in its registers. `others` are further names that may stand in
/// its place, for suggestions.
pub(super) fn select<'a>(
    source: SourceInst<'_>,
    isa: Isa<'_>,
    others: impl Iterator<Item = &'a str>,
) -> Result<Selected, Fail> {
    let rows = find_rows(&source.mnemonic, isa);
    if rows.is_empty() {
        return Err(unknown_mnemonic(
            &source.mnemonic,
            source.mnemonic_at,
            isa,
            others,
        ));
    }
    match rows
        .iter()
        .map(|op| op.row())
        .find(|row| fits(row, &source))
    {
        Some(row) => fill(row, source),
        None => Err(misfit(&rows, &source)),
    }
}

fn fits(row: &Row, source: &SourceInst<'_>) -> bool {
    let operands = row.form.operands();
    operands.len() == source.args.len()
        && operands
            .iter()
            .zip(&source.args)
            .all(|(o, (a, _))| accepts(o.kind, a))
}

fn accepts(kind: Kind, arg: &Arg) -> bool {
    if let Arg::Mem(mem) = arg {
        let own = matches!(mem.mode, ModeArg::Own { .. });
        return match kind {
            Kind::Mem { .. } => !own,
            Kind::OwnMem { .. } => own,
            _ => false,
        };
    }
    matches!(
        (kind, arg),
        (Kind::Pair, Arg::Register(Register::Pair(_)))
            | (Kind::Quad, Arg::Register(Register::Quad(_)))
            | (
                Kind::Scalar | Kind::ScalarCouple,
                Arg::Register(Register::Scalar(_))
            )
            | (
                Kind::Imm { .. } | Kind::Float24 | Kind::Target | Kind::LoopEnd,
                Arg::Expr(_)
            )
            | (Kind::LoopEnd, Arg::Block)
    )
}

/// Makes the error for an operation that fits no row, at the operand where the best row stops fitting.
fn misfit(rows: &[Op], source: &SourceInst<'_>) -> Fail {
    let good = |op: &Op| {
        let pairs = op.row().form.operands().iter().zip(&source.args);
        pairs.take_while(|(o, (a, _))| accepts(o.kind, a)).count()
    };
    let best = rows.iter().map(good).max().unwrap_or(0);
    let at = source.args.get(best).map_or(source.at, |a| a.1);
    let found = if source.args.is_empty() {
        "none".to_owned()
    } else {
        source
            .args
            .iter()
            .map(|(a, _)| describe(a))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let forms = rows.iter().map(|op| describe_row(op.row())).collect();
    let mnemonic = source.mnemonic.to_string();
    // A single name in place of a register is taken for a misspelt register or alias.
    let name = match source.args.get(best) {
        Some((Arg::Expr(expr), _)) => expr.symbol().map(|(key, _)| key.to_string()),
        _ => None,
    };
    Fail::new(
        Problem::Operands {
            mnemonic,
            found,
            forms,
            name,
            near: None,
        },
        at,
    )
}

fn describe(arg: &Arg) -> String {
    match arg {
        Arg::Register(r) => format!("`{r}`"),
        Arg::Expr(expr) => match expr.symbol() {
            Some((key, _)) => format!("`{key}`"),
            None => "a value".to_owned(),
        },
        Arg::Mem(MemArg {
            mode: ModeArg::Own { .. },
            ..
        }) => "an address of each section's own".to_owned(),
        Arg::Mem(_) => "an address".to_owned(),
        Arg::Block => "`{`".to_owned(),
    }
}

/// Formats a row's operands for messages: `ldp d:pair, addr:[address]`.
pub(crate) fn describe_row(row: &Row) -> String {
    let operand = |o: &Operand| {
        let kind = match o.kind {
            Kind::Pair => "pair".to_owned(),
            Kind::Quad => "quad".to_owned(),
            Kind::Scalar => "scalar".to_owned(),
            Kind::ScalarCouple => "even scalar".to_owned(),
            Kind::Imm { .. } => {
                let (least, most) = immediate_range(o);
                format!("{least}..{most}")
            }
            Kind::Float24 => "float".to_owned(),
            Kind::Target => "label".to_owned(),
            Kind::LoopEnd => "label or {".to_owned(),
            Kind::Mem { .. } => "[address]".to_owned(),
            Kind::OwnMem { .. } => "[address + half-word]".to_owned(),
        };
        format!("{}:{kind}", o.name)
    };
    let operands: Vec<_> = row.form.operands().iter().map(operand).collect();
    let text = format!("{} {}", row.mnemonic, operands.join(", "));
    let requires: Vec<_> = row.requires.names().collect();
    match requires.as_slice() {
        [] => text.trim_end().to_owned(),
        names => format!("{text} (extension {})", names.join(", ")),
    }
}

/// Returns the least and the largest value of an immediate operand.
pub(super) fn immediate_range(operand: &Operand) -> (i64, i64) {
    let bits = operand.field.bits;
    match operand.kind {
        Kind::Imm { signed: true, min } => (
            i64::from(min).max(-(1 << (bits - 1))),
            (1 << (bits - 1)) - 1,
        ),
        Kind::Imm { signed: false, min } => (i64::from(min).max(0), (1 << bits) - 1),
        Kind::LoopEnd => (1, (1 << bits) - 1),
        _ => (0, (1 << bits) - 1),
    }
}

fn fill(row: &Row, source: SourceInst<'_>) -> Result<Selected, Fail> {
    let mut selected = Selected {
        inst: Inst::new(row.op),
        value: None,
        target: None,
        offset: None,
        block: false,
        scheduled: None,
        at: source.at,
        mnemonic_at: source.mnemonic_at,
    };
    let mut registers = selected.inst.r.iter_mut();
    for (operand, (arg, at)) in row.form.operands().iter().zip(source.args) {
        match arg {
            Arg::Register(register) => {
                let index = match register {
                    Register::Pair(i) | Register::Quad(i) => i,
                    Register::Scalar(s) => s.0,
                };
                if operand.kind == Kind::ScalarCouple && index % 2 == 1 {
                    return Err(Fail::new(
                        Problem::OddCouple {
                            register: register.to_string(),
                        },
                        at,
                    ));
                }
                if let Some(r) = registers.next() {
                    *r = index;
                }
            }
            Arg::Expr(expr) => {
                let part = match operand.kind {
                    Kind::Target | Kind::LoopEnd => &mut selected.target,
                    _ => &mut selected.value,
                };
                *part = Some((expr, at));
            }
            Arg::Block => selected.block = true,
            Arg::Mem(mem) => {
                let mode = match mem.mode {
                    ModeArg::Offset(expr) => {
                        selected.offset = Some((expr, mem.at));
                        Mode::Offset(0)
                    }
                    ModeArg::Post(expr) => {
                        selected.offset = Some((expr, mem.at));
                        Mode::Post(0)
                    }
                    ModeArg::Step(s) => Mode::Step(s),
                    ModeArg::Modulo(s) => Mode::Modulo(s),
                    ModeArg::Reverse(s) => Mode::Reverse(s),
                    ModeArg::Own { register, half } => {
                        selected.inst.place = AddressOperand::Own(OwnAddress {
                            base: mem.base,
                            register,
                            half,
                        });
                        continue;
                    }
                };
                selected.inst.place = AddressOperand::Shared(Address {
                    base: mem.base,
                    mode,
                });
            }
        }
    }
    Ok(selected)
}
