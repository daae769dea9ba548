//! The runs of several jobs, a directory for each in one.

use super::{EmitError, Run};
use crate::files::{WriteError, check_directory, write_directory};
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};

/// Version of the list of jobs.
const SCHEMA: u32 = 1;
const JOBS: &str = "jobs.json";

/// The runs of several jobs, in the order in which they ran: `1-NAME`, `2-NAME`, ..., each a directory that
/// [`Run::emit`] would write, and their names in `jobs.json`. They appear together, at the end, or not at all.
#[derive(Debug)]
pub struct Series {
    path: PathBuf,
    work: tempfile::TempDir,
    jobs: Vec<String>,
}

#[derive(Serialize)]
struct List<'a> {
    schema: u32,
    jobs: &'a [String],
}

impl Series {
    /// Begins a series that will be at `path`; what replaces it is written beside it.
    ///
    /// # Errors
    /// The path, and what the system said.
    pub fn begin(path: &Path) -> Result<Self, EmitError> {
        Self::check(path)?;
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
        let work = tempfile::Builder::new()
            .prefix(".cp2-")
            .tempdir_in(parent.unwrap_or(Path::new(".")));
        Ok(Self {
            path: path.to_owned(),
            work: work.map_err(|source| WriteError {
                path: path.to_owned(),
                source,
            })?,
            jobs: Vec::new(),
        })
    }

    /// Checks that a series could be written; to be asked before the runs.
    ///
    /// # Errors
    /// The path, and what the system said.
    pub fn check(path: &Path) -> Result<(), EmitError> {
        Ok(check_directory(path, JOBS)?)
    }

    /// Takes the run of the next job.
    ///
    /// # Errors
    /// The run was not recorded, or its directory could not be written.
    pub fn add(&mut self, name: &str, run: &Run) -> Result<(), EmitError> {
        let plain = |c: char| if c.is_alphanumeric() { c } else { '-' };
        let name: String = name.chars().map(plain).collect();
        let name = format!("{}-{name}", self.jobs.len() + 1);
        run.emit(&self.work.path().join(&name))?;
        self.jobs.push(name);
        Ok(())
    }

    /// Lets the series appear.
    ///
    /// # Errors
    /// The path, and what the system said.
    pub fn finish(self) -> Result<(), EmitError> {
        write_directory(&self.path, JOBS, |folder| {
            for name in &self.jobs {
                std::fs::rename(self.work.path().join(name), folder.join(name))?;
            }
            let list = List {
                schema: SCHEMA,
                jobs: &self.jobs,
            };
            let text = serde_json::to_string_pretty(&list).map_err(io::Error::from)?;
            std::fs::write(folder.join(JOBS), text + "\n")
        })?;
        Ok(())
    }
}
