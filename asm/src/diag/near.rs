//! Suggestions for misspelt names.

/// Names longer than this are not compared: the cost is quadratic.
const LONGEST: usize = 64;

/// The candidate most like `name`, if one is like it at all.
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
