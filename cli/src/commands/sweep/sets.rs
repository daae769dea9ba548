//! Values of `--set`: lists and ranges of a parameter of the machine.

use crate::outcome::CommandFailure;

/// Most points of a sweep.
const POINTS: usize = 4096;

/// Values of one parameter, as texts of changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SweptValues {
    pub(super) key: String,
    pub(super) values: Vec<String>,
}

/// Reads `KEY=V,V..`, or a range: `8..64` doubles, `8..64/8` adds 8; a unit behind the last value is that of all.
pub(super) fn parse_set(text: &str) -> Result<SweptValues, CommandFailure> {
    let fail = |why: &str| {
        CommandFailure::input(format!(
            "--set {text}: {why}; expected KEY=VALUE,VALUE.., KEY=FIRST..LAST (doubling) or KEY=FIRST..LAST/STEP"
        ))
    };
    let (key, values) = text.split_once('=').ok_or_else(|| fail("no `=`"))?;
    let values = match values.split_once("..") {
        Some((first, last)) => range(first.trim(), last.trim()).map_err(|why| fail(&why))?,
        None => list(values).map_err(fail)?,
    };
    if values.len() > POINTS {
        return Err(fail(&format!("more than {POINTS} values")));
    }
    Ok(SweptValues {
        key: key.trim().to_owned(),
        values,
    })
}

fn list(text: &str) -> Result<Vec<String>, &'static str> {
    let values: Vec<&str> = text.split(',').map(str::trim).collect();
    if values.iter().any(|value| value.is_empty()) {
        return Err("a value is empty");
    }
    let unit = values.last().map_or("", |last| split_unit(last).1);
    let with_unit = |value: &&str| match split_unit(value) {
        (number, "") if !number.is_empty() => format!("{number}{unit}"),
        _ => (*value).to_owned(),
    };
    Ok(values.iter().map(with_unit).collect())
}

/// Divides a value behind its number; a fraction such as 64/5 is a number.
fn split_unit(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let in_number = |at: &usize| match bytes[*at] {
        b'/' => bytes.get(at + 1).is_some_and(u8::is_ascii_digit),
        byte => byte.is_ascii_digit() || byte == b'.' || byte == b'_',
    };
    let end = (0..bytes.len()).find(|at| !in_number(at));
    text.split_at(end.unwrap_or(bytes.len()))
}

fn range(first: &str, last: &str) -> Result<Vec<String>, String> {
    // A unit such as B/cycle has a slash too: a step begins with a digit.
    let (last, step) = match last.rsplit_once('/') {
        Some((before, step)) if step.starts_with(|c: char| c.is_ascii_digit()) => {
            (before, Some(step))
        }
        _ => (last, None),
    };
    let (end, unit) = split_unit(last);
    let (begin, own) = split_unit(first);
    let number = |text: &str| {
        let number = text.replace('_', "").parse::<f64>();
        let number = number.ok().filter(|n| n.is_finite() && *n > 0.0);
        number.ok_or_else(|| format!("`{text}` is no number above 0"))
    };
    if !own.is_empty() && own != unit {
        return Err(format!("`{first}` and `{last}` have different units"));
    }
    let (begin, end) = (number(begin)?, number(end)?);
    let step = step.map(number).transpose()?;
    if begin > end {
        return Err(format!("{begin} is more than {end}"));
    }
    let next = |at: f64| match step {
        Some(step) => at + step,
        None => 2.0 * at,
    };
    let all = std::iter::successors(Some(begin), |at| Some(next(*at)));
    let all = all
        .take_while(|at| *at <= end * (1.0 + 1e-12))
        .take(POINTS + 1);
    Ok(all.map(|at| format!("{at}{unit}")).collect())
}

/// Returns the product of the sets: texts of changes in the order of the sets, the last set fastest.
pub(super) fn multiply(sets: &[SweptValues]) -> Result<Vec<Vec<String>>, CommandFailure> {
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    for set in sets {
        if all.len().saturating_mul(set.values.len()) > POINTS {
            return Err(CommandFailure::input(format!(
                "--set: more than {POINTS} points; give fewer values"
            )));
        }
        let more = all.iter().flat_map(|before| {
            let with = |value: &String| [before.as_slice(), std::slice::from_ref(value)].concat();
            set.values.iter().map(with)
        });
        all = more.collect();
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        parse_set(text)
            .unwrap_or_else(|e| panic!("{}", e.message))
            .values
    }

    #[test]
    fn lists_and_ranges_are_read() {
        assert_eq!(
            values("cp2.dmem=32,64,128KiB"),
            ["32KiB", "64KiB", "128KiB"]
        );
        assert_eq!(values("cp2.dmem=x1,x2"), ["x1", "x2"]);
        assert_eq!(values("cp2.dmem=512B,1KiB"), ["512B", "1KiB"]);
        assert_eq!(values("dma.bandwidth=8..64"), ["8", "16", "32", "64"]);
        assert_eq!(values("dma.bandwidth=8..30/8"), ["8", "16", "24"]);
        assert_eq!(
            values("dma.bandwidth=8..16B/cycle"),
            ["8B/cycle", "16B/cycle"]
        );
        assert_eq!(
            values("cp2.dmem=32KiB..64KiB/16"),
            ["32KiB", "48KiB", "64KiB"]
        );
        for wrong in [
            "x",
            "x=",
            "x=1,,2",
            "x=8..4",
            "x=0..4",
            "x=a..b",
            "x=1KiB..2MiB",
            "x=1..9999/0.1",
        ] {
            assert!(parse_set(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_last_set_is_the_fastest() {
        let sets = ["a=1,2", "b=3,4,5"]
            .map(|text| parse_set(text).unwrap_or_else(|e| panic!("{}", e.message)));
        let all = multiply(&sets).unwrap_or_else(|e| panic!("{}", e.message));
        assert_eq!(all.len(), 6);
        assert_eq!(
            (all[1].as_slice(), all[3].as_slice()),
            (
                &["1".to_owned(), "4".to_owned()][..],
                &["2".to_owned(), "3".to_owned()][..]
            )
        );
    }
}
