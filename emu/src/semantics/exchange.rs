//! Movements of registers between sections: which section a value comes from.

use crate::semantics::action::ExchangeOp;

/// Returns the section with which section `section` of `sections` has to do; itself if that does not exist.
const fn source(op: ExchangeOp, section: usize, sections: usize) -> usize {
    let distance = op.distance as usize;
    if !op.mutual {
        return (section + distance) % sections;
    }
    let partner = section ^ distance;
    if partner < sections { partner } else { section }
}

/// Returns the new values of both operands of a section, from the values that the word found:
/// `first(section)` and `second(section)`.
///
/// A rotation writes the second operand of the section `distance` further on to the first. In a mutual exchange
/// the second operand of a section and the first of its partner, whose number differs in the bits of `distance`,
/// change places, where the section is the smaller of both. A section without a partner keeps what it has.
#[inline(always)]
pub fn values<T>(
    op: ExchangeOp,
    (section, sections): (usize, usize),
    first: impl Fn(usize) -> T,
    second: impl Fn(usize) -> T,
) -> (T, T) {
    let other = source(op, section, sections);
    if !op.mutual {
        return (second(other), second(section));
    }
    match section.cmp(&other) {
        std::cmp::Ordering::Less => (first(section), first(other)),
        std::cmp::Ordering::Greater => (second(other), second(section)),
        std::cmp::Ordering::Equal => (first(section), second(section)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(mutual: bool, distance: u32) -> ExchangeOp {
        ExchangeOp {
            mutual,
            first: 0,
            second: 2,
            count: 1,
            distance,
        }
    }

    #[test]
    fn a_rotation_takes_from_further_on() {
        let all = |n| (0..5).map(move |s| values(op(false, n), (s, 5), |s| 10 + s, |s| 20 + s).0);
        assert!(all(2).eq([22, 23, 24, 20, 21]));
        assert!(all(7).eq(all(2)));
    }

    /// Two exchanges at distance 1, then two at distance 2, transpose four registers of four sections.
    #[test]
    fn four_exchanges_transpose() {
        // `[register][section]`
        let mut r: [[usize; 4]; 4] = std::array::from_fn(|i| std::array::from_fn(|s| 10 * i + s));
        for (a, b, n) in [(0, 1, 1), (2, 3, 1), (0, 2, 2), (1, 3, 2)] {
            let old = r;
            let moved: [(usize, usize); 4] =
                std::array::from_fn(|s| values(op(true, n), (s, 4), |s| old[a][s], |s| old[b][s]));
            r[a] = moved.map(|(first, _)| first);
            r[b] = moved.map(|(_, second)| second);
        }
        assert_eq!(
            r,
            std::array::from_fn(|i| std::array::from_fn(|s| 10 * s + i))
        );
    }

    #[test]
    fn a_section_without_a_partner_keeps_its_registers() {
        let all: Vec<_> = (0..3)
            .map(|s| values(op(true, 2), (s, 3), |s| 10 + s, |s| 20 + s))
            .collect();
        assert_eq!(all, [(10, 12), (11, 21), (20, 22)]);
    }
}
