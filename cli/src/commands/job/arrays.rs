//! The arrays of a job: inputs, outputs, expected results.

use super::LoadedJob;
use super::file::ArraySpec;
use crate::commands::map::{ExpectedResult, element};
use crate::io::{Kind, read_npy};
use crate::outcome::CommandFailure;
use cp2_kernels::map::{ArrayId, Arrays, MapError};
use std::collections::BTreeMap;
use toml::Spanned;

/// Array that the job file declares.
pub(super) struct DeclaredArray {
    pub(super) id: ArrayId,
    pub(super) shape: Vec<u64>,
    /// True for an input, which has its contents before the first pass.
    pub(super) stored: bool,
}

impl LoadedJob<'_> {
    /// Declares the arrays; returns them by name, and the results to write in the end.
    pub(super) fn arrays(
        &self,
        all: &mut Arrays,
        limit: u64,
    ) -> Result<(BTreeMap<&str, DeclaredArray>, Vec<ExpectedResult>), CommandFailure> {
        let (mut known, mut results) = (BTreeMap::new(), Vec::new());
        for (name, spanned) in &self.file.arrays {
            let spec = spanned.get_ref();
            let refuse = |e: MapError| self.fail(spanned, &e.to_string(), "");
            self.check_judged(name, spanned)?;
            let (id, shape, stored) = match (&spec.input, &spec.shape) {
                (Some(input), None) => {
                    let path = self.resolve_path(input.get_ref());
                    let array = read_npy(&path, Kind::ANY, limit)
                        .map_err(|e| self.fail(input, &e.to_string(), ""))?;
                    if array.bytes.is_empty() {
                        return Err(self.fail(
                            input,
                            "an array without elements",
                            "at least one block is expected",
                        ));
                    }
                    if let Some(output) = spec.output.as_ref().or(spec.expect.as_ref()) {
                        return Err(self.fail(
                            output,
                            &format!("`{name}` is an input"),
                            "passes store arrays that have a `shape`",
                        ));
                    }
                    let shape: Vec<u64> = array.shape.iter().map(|&n| n as u64).collect();
                    let id = all
                        .input(name, element(array.kind), &shape, &array.bytes)
                        .map_err(refuse)?;
                    (id, shape, true)
                }
                (None, Some(shape)) => {
                    let kind = self.kind(spec)?;
                    if shape.get_ref().is_empty() || shape.get_ref().contains(&0) {
                        return Err(self.fail(
                            shape,
                            "an array without elements",
                            "give its extents, slowest first",
                        ));
                    }
                    let id = match &spec.output {
                        Some(output) => {
                            let expected = match &spec.expect {
                                Some(path) => {
                                    let file = self.resolve_path(path.get_ref());
                                    let array = read_npy(&file, Kind::ANY, limit);
                                    Some((
                                        file,
                                        array.map_err(|e| self.fail(path, &e.to_string(), ""))?,
                                    ))
                                }
                                None => None,
                            };
                            results.push(ExpectedResult {
                                name: name.clone(),
                                path: self.resolve_path(output.get_ref()),
                                kind,
                                shape: shape
                                    .get_ref()
                                    .iter()
                                    .map(|&n| usize::try_from(n).unwrap_or(usize::MAX))
                                    .collect(),
                                expected,
                                tolerance: spec.tolerance,
                            });
                            all.output(name, element(kind), shape.get_ref())
                        }
                        None => all.temporary(name, element(kind), shape.get_ref()),
                    };
                    (id.map_err(refuse)?, shape.get_ref().clone(), false)
                }
                _ => {
                    let help = "give the file of an input as `input`, or the `shape` of an array that passes store";
                    return Err(self.fail(
                        spanned,
                        &format!("array `{name}` needs either `input` or `shape`"),
                        help,
                    ));
                }
            };
            known.insert(name.as_str(), DeclaredArray { id, shape, stored });
        }
        Ok((known, results))
    }

    /// Checks that an array with a tolerance has an `expect`, and that a stored array with an `expect` has an
    /// `output`.
    fn check_judged(&self, name: &str, spanned: &Spanned<ArraySpec>) -> Result<(), CommandFailure> {
        let spec = spanned.get_ref();
        let message = match (&spec.output, &spec.expect) {
            (None, Some(_)) if spec.input.is_none() => "an `expect`, and no `output`",
            (_, None) if spec.tolerance.is_given() => "a tolerance, and no `expect`",
            _ => return Ok(()),
        };
        let help = "what is compared is an `output` with an `expect`; give both, or neither";
        Err(self.fail(spanned, &format!("array `{name}` has {message}"), help))
    }

    fn kind(&self, spec: &ArraySpec) -> Result<Kind, CommandFailure> {
        let Some(name) = &spec.element else {
            return Ok(Kind::Float32);
        };
        let found = Kind::ANY.iter().find(|kind| kind.name() == name.get_ref());
        found.copied().ok_or_else(|| {
            let help = "expected complex64, float32, int32 or uint32";
            self.fail(
                name,
                &format!("no elements are called `{}`", name.get_ref()),
                help,
            )
        })
    }
}
