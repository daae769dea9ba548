//! Operators of constant expressions: precedence and evaluation.

use super::Value;
use super::punct::{PUNCTUATION, Punct};
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
    pub(crate) fn of(punct: Punct) -> Option<Self> {
        Some(match punct.first()? {
            b'+' => Self::Plus,
            b'-' => Self::Neg,
            b'!' => Self::Not,
            b'~' => Self::Complement,
            _ => return None,
        })
    }
}

impl Binary {
    /// Returns the operator and its binding strength; operators bind in C's order.
    pub(crate) fn of(punct: Punct) -> Option<(Self, u8)> {
        Some(match &punct.0 {
            b"*\0" => (Self::Mul, 10),
            b"/\0" => (Self::Div, 10),
            b"%\0" => (Self::Rem, 10),
            b"+\0" => (Self::Add, 9),
            b"-\0" => (Self::Sub, 9),
            b"<<" => (Self::Shl, 8),
            b">>" => (Self::Shr, 8),
            b"<\0" => (Self::Lt, 7),
            b"<=" => (Self::Le, 7),
            b">\0" => (Self::Gt, 7),
            b">=" => (Self::Ge, 7),
            b"==" => (Self::Eq, 6),
            b"!=" => (Self::Ne, 6),
            b"&\0" => (Self::And, 5),
            b"^\0" => (Self::Xor, 4),
            b"|\0" => (Self::Or, 3),
            b"&&" => (Self::AndAlso, 2),
            b"||" => (Self::OrElse, 1),
            _ => return None,
        })
    }

    fn text(self) -> &'static str {
        let is = |text: &&str| Self::of(Punct::of(text)).is_some_and(|(op, _)| op == self);
        PUNCTUATION.into_iter().find(is).unwrap_or("?")
    }

    /// Returns the result of `&&` or `||` if the left operand decides it.
    pub(crate) fn decided(self, left: Value) -> Option<Value> {
        match self {
            Self::AndAlso if !left.is_true() => Some(Value::Int(0)),
            Self::OrElse if left.is_true() => Some(Value::Int(1)),
            _ => None,
        }
    }
}

pub(crate) fn unary(op: Unary, a: Value) -> Result<Value, Problem> {
    Ok(match (op, a) {
        (Unary::Plus, a) => a,
        (Unary::Neg, Value::Int(a)) => Value::Int(a.checked_neg().ok_or(Problem::Overflow)?),
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
    // Hosts differ in the sign and payload of a computed NaN: all become one pattern.
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
