//! The radices there are, factorisation, and the issues of a column.

/// All radices.
pub(super) const RADICES: [usize; 14] = [2, 3, 4, 5, 6, 7, 8, 11, 13, 17, 19, 23, 29, 31];

/// True if a column is too large for the registers, so that its pass is three loops.
pub(super) fn is_large(radix: usize) -> bool {
    radix > 8
}

/// True if the last of the three loops is too large as well, so that sums with sines and butterflies are two
/// loops.
pub(super) fn is_divided(radix: usize) -> bool {
    radix > 19
}

/// Returns the arithmetic issues of a column of one transform, without factors if `plain`. An odd radix with
/// h = (r - 1)/2 has h products and 2 h butterflies, and quad operations that serve two columns: h for
/// `y[0]`, h^2 and h (h - 1) for the other sums, see `butterflies`; in all h^2 + 3 h, or h^2 + 2 h without
/// the products. Radix 6 is two columns of radix 3, and 3 butterflies.
pub(super) fn issues(radix: usize, plain: bool) -> u64 {
    let h = (radix as u64).saturating_sub(1) / 2;
    match radix {
        2 => 1,
        4 => 4,
        8 => 12,
        r if r % 2 == 0 => 2 * issues(r / 2, plain) + r as u64 / 2,
        _ if plain => h * h + 2 * h,
        _ => h * h + 3 * h,
    }
}

/// Returns the least arithmetic issues known for a column: those of [`issues`], or of Rader's algorithm.
/// Rader's has two transforms of r - 1 numbers (that of the other operand is a table) and its products.
fn least(radix: usize, plain: bool) -> u64 {
    let own = issues(radix, plain);
    match factorize(radix - 1) {
        Some(inner) if is_large(radix) => {
            let products = (radix as u64 - 1) * if plain { 1 } else { 2 };
            own.min(2 * least_issues(&inner) + products)
        }
        _ => own,
    }
}

/// Returns the least arithmetic issues of one transform by passes of these radices in any order: the issues
/// of all columns, where the first pass, which has no factors, has the radix that saves most by that.
pub(super) fn least_issues(radices: &[usize]) -> u64 {
    let n: usize = radices.iter().product();
    let columns = |r: usize| (n / r) as u64;
    let all: u64 = radices.iter().map(|&r| columns(r) * least(r, false)).sum();
    let saved = radices
        .iter()
        .map(|&r| columns(r) * (least(r, false) - least(r, true)));
    all - saved.max().unwrap_or(0)
}

/// True if a transform of `n` numbers is a product of the radices; other lengths are convolutions of about
/// twice the length or more.
#[must_use]
pub fn has_small_factors(n: usize) -> bool {
    factorize(n).is_some()
}

/// Returns radices whose product is `n`, in no particular order; 1 for 1.
pub(super) fn factorize(n: usize) -> Option<Vec<usize>> {
    if n <= 1 {
        return (n == 1).then(|| vec![1]);
    }
    let (mut rest, mut radices) = (n, Vec::new());
    for radix in RADICES.into_iter().rev().filter(|r| r % 2 == 1) {
        while rest % radix == 0 {
            rest /= radix;
            radices.push(radix);
        }
    }
    if !rest.is_power_of_two() {
        return None;
    }
    let mut twos = rest.trailing_zeros();
    // 4 x 4 costs less than 8 x 2.
    while twos >= 3 && twos != 4 {
        radices.push(8);
        twos -= 3;
    }
    while twos >= 2 {
        radices.push(4);
        twos -= 2;
    }
    if twos == 1 {
        radices.push(2);
    }
    Some(radices)
}

/// Returns the number of factors that a column loads, unless it has none.
pub(super) fn factors(radix: usize) -> u64 {
    match radix {
        2 => 1,
        4 => 2,
        8 => 4,
        r => (r as u64).saturating_sub(1),
    }
}

/// Returns the slots of a column of two transforms: for each of its loops the arithmetic or the memory slots,
/// whichever are more. `apart` says whether it loads and stores single numbers; `steps` are loads beside the
/// column's own.
pub(super) fn slots(radix: usize, plain: bool, apart: (bool, bool), steps: u64) -> u64 {
    let (r, apart) = (radix as u64, (u64::from(apart.0), u64::from(apart.1)));
    let factors = if plain { 0 } else { factors(radix).div_ceil(2) };
    if !is_large(radix) {
        return (r * (2 + apart.0 + apart.1) + factors + steps).max(2 * issues(radix, plain));
    }
    let h = (r - 1) / 2;
    let pairs = if plain { 2 * h } else { 4 * h };
    let pairs = (r * (2 + apart.0) + factors + steps).max(pairs);
    let cosines = (2 * h + 2 + apart.1 + steps).max(h * h + h);
    let ends = 2 * h * (1 + apart.1) + steps;
    let sines = if is_divided(radix) {
        (2 * h + steps).max(h * h) + (2 * h + ends).max(2 * h)
    } else {
        (3 * h + ends).max(h * h + h)
    };
    pairs + cosines + sines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issues_are_those_of_the_table_in_the_documentation() {
        let rows = [
            (1, 0, 0),
            (2, 1, 1),
            (3, 4, 3),
            (4, 4, 4),
            (5, 10, 8),
            (6, 11, 9),
            (7, 18, 15),
            (8, 12, 12),
            (11, 40, 35),
            (13, 54, 48),
            (31, 270, 255),
        ];
        for (radix, with, without) in rows {
            assert_eq!(issues(radix, false), with, "{radix}");
            assert_eq!(issues(radix, true), without, "{radix}");
        }
    }

    /// Rader's algorithm for 29 and 31 takes two transforms of 4 x 7 and 2 x 3 x 5 numbers, and 28 and 30
    /// products.
    #[test]
    fn rader_takes_fewer_for_the_largest() {
        for radix in RADICES {
            let least = match radix {
                29 => 2 * (7 * 4 + 4 * 15) + 28,
                31 => 2 * (15 + 10 * 4 + 6 * 8) + 30,
                _ => issues(radix, true),
            };
            assert_eq!(super::least(radix, true), least, "{radix}");
        }
    }
}
