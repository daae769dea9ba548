//! Flaws of a row of a machine file, and their remedies.

use crate::error::suggest;
use crate::user_row::{Primitive, RowForm};

/// A flaw of a row: what was found; [`RowFlaw::help`] says what is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RowFlaw {
    /// The text of an expression does not go on as it must.
    #[error("column {column} of `lanes`: {found} where {expected} is expected")]
    Syntax {
        /// Character of the text, from 1.
        column: usize,
        /// Text that stands there.
        found: String,
        /// Text that may stand there.
        expected: &'static str,
    },
    /// Expressions are nested too deep, or there is too much of them.
    #[error("`lanes` has more than {most} {what}")]
    TooLong {
        /// Things that are counted.
        what: &'static str,
        /// Most that there may be.
        most: usize,
    },
    /// A function that is no primitive.
    #[error("`{name}` is no primitive on lanes")]
    UnknownPrimitive {
        /// The name.
        name: String,
    },
    /// Something that rows cannot say.
    #[error("a row cannot say `{name}`: {what}")]
    Unsayable {
        /// Text as written.
        name: String,
        /// Reason why rows cannot say it.
        what: &'static str,
    },
    /// A primitive with too few arguments, or with too many.
    #[error("`{name}` has {found} arguments")]
    Arguments {
        /// The primitive.
        name: &'static str,
        /// Arguments found.
        found: usize,
        /// Arguments that it takes.
        expected: usize,
    },
    /// A float where an integer belongs, or the other way round.
    #[error("`{name}` takes {expected}, and `{found}` is none")]
    Constant {
        /// The primitive.
        name: &'static str,
        /// The constant.
        found: String,
        /// Kind that it should have.
        expected: &'static str,
    },
    /// A name that is neither an operand nor a name given before.
    #[error("`{name}` is no operand of the form {form}, and no name given before")]
    UnknownName {
        /// The name.
        name: String,
        /// The form.
        form: RowForm,
        /// Names that may stand there.
        known: Vec<String>,
    },
    /// A lane that the operands do not have.
    #[error("`{name}[{lane}]`: the form {form} has lanes 0 to {}", form.lanes() - 1)]
    Lane {
        /// The operand.
        name: String,
        /// The lane, or what the number of the lane is combined with.
        lane: u32,
        /// The form.
        form: RowForm,
    },
    /// A lane of a result is given twice.
    #[error("`{name}` is given twice")]
    Twice {
        /// The lane, or the name.
        name: String,
    },
    /// A lane of a result is never given.
    #[error("`{name}` is never given")]
    Missing {
        /// The lane.
        name: String,
    },
    /// An operand or a name that nothing depends on.
    #[error("`{name}` is never used")]
    Unused {
        /// The operand or the name.
        name: String,
    },
    /// The row takes more units than a section has.
    #[error("the row takes {found} {unit}, a section has {most}")]
    Units {
        /// Units that are missing.
        unit: &'static str,
        /// Units that the expression takes.
        found: u32,
        /// Units that the section has.
        most: u32,
    },
    /// A class that does not compute this.
    #[error("{what} is more than an operation of the class {class} computes")]
    Class {
        /// Chain of the row.
        what: String,
        /// The class.
        class: crate::Class,
    },
    /// A field of the row that has another value than it may have.
    #[error("`{key}` cannot be {found}")]
    Field {
        /// The key.
        key: &'static str,
        /// Value found.
        found: String,
        /// Values that are expected.
        expected: String,
    },
    /// A row without one of its fields.
    #[error("the row has no `{key}`")]
    NoField {
        /// The key.
        key: &'static str,
    },
    /// An opcode that another row has.
    #[error("opcode {opcode} is that of `{other}`")]
    Opcode {
        /// The opcode.
        opcode: u8,
        /// Mnemonic of the other row.
        other: String,
    },
    /// Two rows that operands do not tell apart.
    #[error("`{mnemonic}` is also a row of the form {other}, with the same kinds of operands")]
    Ambiguous {
        /// The mnemonic.
        mnemonic: String,
        /// The form of the other row.
        other: RowForm,
    },
    /// No opcode or no place for one more row is left.
    #[error("there is no room for one more row, of at most {most}")]
    Full {
        /// Most rows.
        most: usize,
    },
}

impl RowFlaw {
    /// Returns the remedy, in words.
    #[must_use]
    pub fn help(&self) -> String {
        let quoted = |names: &[String]| {
            let names: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
            names.join(", ")
        };
        let near = |near: Option<String>| match near {
            Some(name) => format!("did you mean `{name}`? "),
            None => String::new(),
        };
        match self {
            Self::Syntax { .. } => {
                "write NAME = EXPRESSION; d[i] = EXPRESSION, with calls of primitives, as in \
                 t = fmul(a[i], b[i]); d[i] = fadd(t, c[i])"
                    .into()
            }
            Self::TooLong { .. } => "a row is one operation: divide it into several rows".into(),
            Self::UnknownPrimitive { name } => {
                let all = Primitive::ALL.iter().map(|one| one.name());
                format!(
                    "{}expected one of {}",
                    near(suggest(name, all.clone())),
                    all.collect::<Vec<_>>().join(", ")
                )
            }
            Self::Unsayable { .. } => {
                "a row computes lanes of its results from lanes of its operands, and nothing else: \
                 leave that to other instructions"
                    .into()
            }
            Self::Arguments { name, expected, .. } => {
                format!("expected {expected} arguments of `{name}`")
            }
            Self::Constant { expected, .. } => {
                format!("write {expected}: floats have a point or an exponent, integers have none")
            }
            Self::UnknownName { name, known, .. } => format!(
                "{}known here: {}",
                near(suggest(name, known.iter().filter_map(|one| one.split('[').next()))),
                quoted(known)
            ),
            Self::Lane { form, .. } => format!(
                "write i, i^N or a number, all below {}",
                form.lanes()
            ),
            Self::Twice { .. } => "give every lane of a result and every name once".into(),
            Self::Missing { name } => format!(
                "write {} = EXPRESSION for every lane of a result",
                name.split('[').next().map_or_else(|| name.clone(), |n| format!("{n}[i]"))
            ),
            Self::Unused { .. } => {
                "use it or leave it out; a form with fewer operands leaves an operand out".into()
            }
            Self::Units { unit, found, .. } => format!(
                "divide the row, take a form of pairs, or say that the section has them: \
                 {unit} = {found}"
            ),
            Self::Class { .. } => {
                "a chain passes at most no stage of arithmetic in the class integer, 1 in add, 2 in madd, 3 in \
                 butterfly, and at most 4 operations on bits; choose another class, or give the `latency`"
                    .into()
            }
            Self::Field { expected, .. } => format!("expected {expected}"),
            Self::NoField { key } => format!("add {key} = ..."),
            Self::Opcode { .. } => {
                "choose another one, or leave `opcode` out: the lowest that is free is taken".into()
            }
            Self::Ambiguous { .. } => "give one of them another mnemonic".into(),
            Self::Full { .. } => "leave rows out".into(),
        }
    }
}
