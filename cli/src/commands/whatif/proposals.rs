//! Proposals: named changes of a machine, and their combinations.

use crate::commands::text;
use crate::io::read_small;
use crate::outcome::CommandFailure;
use cp2_problems::npb::Precision;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::path::Path;

/// Largest file of proposals accepted.
const LIMIT: u64 = 1 << 20;

/// Proposals that every `cp2 whatif` knows.
pub(super) const CATALOGUE: &str = include_str!("catalogue.toml");

/// A proposal: what is changed, and who says so.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Proposal {
    /// Name on the command line and in tables.
    pub(super) name: String,
    /// Changes of a machine, as they stand behind its name.
    pub(super) changes: String,
    /// Precision in which rows compute with the proposal; none if rows stay the same.
    #[serde(default, deserialize_with = "read_precision")]
    pub(super) precision: Option<Precision>,
    /// Description in one line.
    #[serde(default)]
    pub(super) about: String,
    /// Statement of a source document.
    #[serde(default)]
    pub(super) fact: String,
    /// Additions of this project to the statement.
    #[serde(default)]
    pub(super) inferred: String,
    /// Names of what is combined; empty for a single proposal.
    #[serde(skip)]
    pub(super) parts: Vec<String>,
}

/// Contents of a file of proposals.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProposalFile {
    proposal: Vec<Proposal>,
    /// Names with + between them.
    #[serde(default)]
    combinations: Vec<String>,
}

/// Reads the name of a precision.
fn read_precision<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<Precision>, D::Error> {
    let name = String::deserialize(reader)?;
    name.parse().map(Some).map_err(D::Error::custom)
}

/// Reads proposals: the single ones, then the combinations.
fn read(source: &str) -> Result<Vec<Proposal>, String> {
    let file: ProposalFile = toml::from_str(source).map_err(|e| e.to_string())?;
    let combinations = file.combinations.iter();
    let combined: Result<Vec<Proposal>, String> = combinations
        .map(|item| combine(item, &file.proposal))
        .collect();
    Ok([file.proposal, combined?].concat())
}

/// Returns the catalogue.
pub(super) fn catalogue() -> Result<Vec<Proposal>, CommandFailure> {
    read(CATALOGUE).map_err(CommandFailure::input)
}

/// Returns the proposals that the option names: `all`, a file, or names and changes with commas between them.
pub(super) fn select_proposals(option: &str) -> Result<Vec<Proposal>, CommandFailure> {
    let known = catalogue()?;
    let path = Path::new(option);
    if option == "all" {
        return Ok(known);
    }
    let names_a_file = option.ends_with(".toml") && !option.contains('=');
    if names_a_file || path.is_file() {
        let source = text(path, read_small(path, LIMIT)?)?;
        let all = read(&source).map_err(|e| CommandFailure::in_file(path, e))?;
        return match all.is_empty() {
            true => Err(CommandFailure::in_file(
                path,
                "has no proposal; expected [[proposal]] with name and changes",
            )),
            false => Ok(all),
        };
    }
    let mut all: Vec<Proposal> = Vec::new();
    for item in option.split(',').map(str::trim) {
        if item.is_empty() {
            return Err(CommandFailure::input(format!(
                "--proposals {option}: a name is empty; expected names or changes with commas between them"
            )));
        }
        let proposal = combine(item, &known)
            .map_err(|e| CommandFailure::input(format!("--proposals {option}: {e}")))?;
        if !all.iter().any(|one| one.name == proposal.name) {
            all.push(proposal);
        }
    }
    Ok(all)
}

/// Returns the proposal of a text such as `dmem-x2+dma.granule=4B`.
fn combine(item: &str, known: &[Proposal]) -> Result<Proposal, String> {
    let parts: Vec<Proposal> = item.split('+').map(|part| single(part, known)).collect();
    let mut precisions = parts.iter().filter_map(|part| part.precision);
    let precision = precisions.next();
    if let (Some(one), Some(other)) = (precision, precisions.find(|p| Some(*p) != precision)) {
        return Err(format!(
            "`{item}` combines rows in {one} with rows in {other} precision; expected one precision"
        ));
    }
    Ok(match parts.as_slice() {
        [one] => one.clone(),
        parts => {
            let join = |text: fn(&Proposal) -> &str, between: &str| {
                let texts: Vec<&str> = parts.iter().map(text).filter(|t| !t.is_empty()).collect();
                texts.join(between)
            };
            Proposal {
                name: join(|p| &p.name, "+"),
                changes: join(|p| &p.changes, "+"),
                precision,
                about: join(|p| &p.about, "; "),
                fact: join(|p| &p.fact, "; "),
                inferred: join(|p| &p.inferred, "; "),
                parts: parts.iter().map(|p| p.name.clone()).collect(),
            }
        }
    })
}

fn single(part: &str, known: &[Proposal]) -> Proposal {
    let found = known.iter().find(|one| one.name == part);
    found.cloned().unwrap_or_else(|| Proposal {
        name: part.to_owned(),
        changes: part.to_owned(),
        precision: None,
        about: String::new(),
        fact: String::new(),
        inferred: "given on the command line".to_owned(),
        parts: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cp2_machine::Machine;

    #[test]
    fn every_proposal_of_the_catalogue_changes_both_machines() {
        let all = catalogue().unwrap_or_else(|e| panic!("{}", e.message));
        assert!(all.len() >= 7);
        let both = all.last().map(|one| one.parts.clone()).unwrap_or_default();
        assert_eq!(both, ["section-addressing", "word-addressing"]);
        for one in &all {
            for name in Machine::names() {
                let machine = Machine::load(name).unwrap_or_else(|e| panic!("{e}"));
                let changed = machine.with_changes(&one.changes);
                let changed = changed.unwrap_or_else(|e| panic!("{}: {e}", one.name));
                assert_ne!(changed.hash, machine.hash, "{}", one.name);
            }
            assert!(!one.about.is_empty() && !one.fact.is_empty() && !one.inferred.is_empty());
        }
    }

    #[test]
    fn names_and_changes_combine() {
        let select = |option| select_proposals(option).unwrap_or_else(|e| panic!("{}", e.message));
        let [a, both] = &select("dmem-x2,dmem-x2+dma.granule=4B,dmem-x2")[..] else {
            panic!("two proposals");
        };
        assert_eq!((a.changes.as_str(), a.parts.len()), ("cp2.dmem=x2", 0));
        assert_eq!(both.changes, "cp2.dmem=x2+dma.granule=4B");
        assert_eq!(both.parts, ["dmem-x2", "dma.granule=4B"]);
        assert!(select_proposals("dmem-x2,,granule-4").is_err());
        // One precision may be named twice.
        assert_eq!(
            select("double+dmem-x2")[0].precision,
            Some(Precision::Double)
        );
        assert_eq!(
            select("double+double")[0].precision,
            Some(Precision::Double)
        );
    }
}
