//! Suggestions for misspelt names.

/// Longest name that is compared, in bytes: the cost of a comparison is quadratic.
const LONGEST: usize = 64;

/// Returns the candidate most similar to `name`, if one is similar enough.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let length = name.chars().count();
    if length > LONGEST {
        return None;
    }
    let allowed = (length / 3).max(1);
    candidates
        .into_iter()
        .filter(|c| c.len() <= LONGEST && *c != name)
        .map(|c| (strsim::damerau_levenshtein(name, c), c))
        .filter(|(distance, c)| *distance <= allowed && *distance < c.chars().count())
        .min()
        .map(|(_, c)| c.to_owned())
}

/// List of all registers, for messages.
pub(crate) const REGISTERS: &str =
    "registers: r0..r63, q0..q31, a0..a15, s0..s15, c0..c15, b0..b7, l0..l7";

/// True if the name begins like a register's.
pub(crate) fn like_register(name: &str) -> bool {
    name.starts_with(['r', 'q', 'a', 's', 'c', 'b', 'l'])
        && name
            .get(1..)
            .is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_close_names_are_suggested() {
        let names = ["bfly", "bflyc", "add", "ldp"];
        assert_eq!(nearest("bfyl", names).as_deref(), Some("bfly"));
        assert_eq!(nearest("butterfly", names), None);
        assert_eq!(nearest("x", names), None);
    }
}
