//! The operators.

use super::Value;
use crate::diag::Problem;

/// Prefix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Plus,
    Neg,
    Not,
    Complement,
}

/// Infix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    And,
    Xor,
    Or,
    AndAlso,
    OrElse,
}

impl Unary {
    pub(crate) fn by_text(text: &str) -> Option<Self> {
        Some(match text {
            "+" => Self::Plus,
            "-" => Self::Neg,
            "!" => Self::Not,
            "~" => Self::Complement,
            _ => return None,
        })
    }
}

/// Text, binding strength (C's order) and operator.
const BINARY: [(&str, u8, Binary); 18] = [
    ("*", 10, Binary::Mul),
    ("/", 10, Binary::Div),
    ("%", 10, Binary::Rem),
    ("+", 9, Binary::Add),
    ("-", 9, Binary::Sub),
    ("<<", 8, Binary::Shl),
    (">>", 8, Binary::Shr),
    ("<", 7, Binary::Lt),
    ("<=", 7, Binary::Le),
    (">", 7, Binary::Gt),
    (">=", 7, Binary::Ge),
    ("==", 6, Binary::Eq),
    ("!=", 6, Binary::Ne),
    ("&", 5, Binary::And),
    ("^", 4, Binary::Xor),
    ("|", 3, Binary::Or),
    ("&&", 2, Binary::AndAlso),
    ("||", 1, Binary::OrElse),
];

impl Binary {
    /// The operator and how strongly it binds.
    pub(crate) fn by_text(text: &str) -> Option<(Self, u8)> {
        // One or two bytes: not worth a call for each row.
        let [first, second] = [0, 1].map(|i| text.as_bytes().get(i));
        let same = |row: &&(&str, u8, Self)| {
            let row = row.0.as_bytes();
            row.first() == first && row.get(1) == second && row.len() == text.len()
        };
        BINARY.iter().find(same).map(|row| (row.2, row.1))
    }

    fn text(self) -> &'static str {
        BINARY
            .iter()
            .find(|row| row.2 == self)
            .map_or("?", |row| row.0)
    }

    /// The result, where the left operand of `&&` or `||` decides.
    pub(crate) fn decided(self, left: Value) -> Option<Value> {
        match self {
            Self::AndAlso if !left.is_true() => Some(Value::Int(0)),
            Self::OrElse if left.is_true() => Some(Value::Int(1)),
            _ => None,
        }
    }
}

pub(crate) fn unary(op: Unary, a: Value) -> Result<Value, Problem> {
    let overflow = Problem::Overflow;
    Ok(match (op, a) {
        (Unary::Plus, a) => a,
        (Unary::Neg, Value::Int(a)) => Value::Int(a.checked_neg().ok_or(overflow)?),
        (Unary::Neg, Value::Float(a)) => Value::Float(-a),
        (Unary::Not, a) => Value::Int(i64::from(!a.is_true())),
        (Unary::Complement, Value::Int(a)) => Value::Int(!a),
        (Unary::Complement, Value::Float(_)) => {
            return Err(Problem::NotInteger {
                what: "`~`".into(),
                value: a,
            });
        }
    })
}

pub(crate) fn binary(op: Binary, a: Value, b: Value) -> Result<Value, Problem> {
    use Binary as B;
    let truth = |v: bool| Ok(Value::Int(i64::from(v)));
    match op {
        B::AndAlso => return truth(a.is_true() && b.is_true()),
        B::OrElse => return truth(a.is_true() || b.is_true()),
        _ => {}
    }
    let (Value::Int(x), Value::Int(y)) = (a, b) else {
        return float(op, a, b);
    };
    let shift = || {
        u32::try_from(y)
            .ok()
            .filter(|&n| n < 64)
            .ok_or(Problem::ShiftCount { count: y })
    };
    let value = match op {
        B::Mul => x.checked_mul(y),
        B::Div if y == 0 => return Err(Problem::DivisionByZero),
        B::Div => x.checked_div(y),
        B::Rem if y == 0 => return Err(Problem::DivisionByZero),
        B::Rem => x.checked_rem(y),
        B::Add => x.checked_add(y),
        B::Sub => x.checked_sub(y),
        B::Shl => {
            let n = shift()?;
            x.checked_shl(n).filter(|v| v >> n == x)
        }
        B::Shr => Some(x >> shift()?),
        B::And => Some(x & y),
        B::Xor => Some(x ^ y),
        B::Or => Some(x | y),
        B::Lt => return truth(x < y),
        B::Le => return truth(x <= y),
        B::Gt => return truth(x > y),
        B::Ge => return truth(x >= y),
        B::Eq => return truth(x == y),
        B::Ne => return truth(x != y),
        B::AndAlso | B::OrElse => None,
    };
    value.map(Value::Int).ok_or(Problem::Overflow)
}

fn float(op: Binary, a: Value, b: Value) -> Result<Value, Problem> {
    use Binary as B;
    let (x, y) = (a.to_f64(), b.to_f64());
    let truth = |v: bool| Ok(Value::Int(i64::from(v)));
    // Hosts differ in the sign and payload of a NaN that they compute.
    let one_nan = |v: f64| Ok(Value::Float(if v.is_nan() { f64::NAN } else { v }));
    match op {
        B::Mul => one_nan(x * y),
        B::Div => one_nan(x / y),
        B::Add => one_nan(x + y),
        B::Sub => one_nan(x - y),
        B::Lt => truth(x < y),
        B::Le => truth(x <= y),
        B::Gt => truth(x > y),
        B::Ge => truth(x >= y),
        B::Eq => truth(x == y),
        B::Ne => truth(x != y),
        _ => {
            let value = if a.as_int().is_none() { a } else { b };
            Err(Problem::NotInteger {
                what: format!("`{}`", op.text()),
                value,
            })
        }
    }
}
