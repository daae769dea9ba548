//! Files written whole or not at all.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file or directory that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}; nothing was changed there", path.display())]
pub struct WriteError {
    /// The path.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

/// Writes a file through `fill` to a temporary name beside it, then renames
/// it: readers see the old contents or the new, never a part. A symbolic link
/// is followed; what exists and is no regular file (a terminal, `/dev/null`)
/// is written in place.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("out.txt");
/// cp2_host::files::write_file(&path, |out| out.write_all(b"whole"))?;
/// assert_eq!(std::fs::read(&path)?, b"whole");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The path, and what the system said.
pub fn write_file(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), WriteError> {
    let write = || -> io::Result<()> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        if fs::metadata(&target).is_ok_and(|m| !m.is_file()) {
            let mut out = BufWriter::new(fs::OpenOptions::new().write(true).open(&target)?);
            fill(&mut out)?;
            return out.flush();
        }
        let mut file =
            named(tempfile::Builder::new().prefix(".cp2-")).tempfile_in(folder(&target))?;
        {
            let mut out = BufWriter::new(file.as_file_mut());
            fill(&mut out)?;
            out.flush()?;
        }
        file.persist(&target).map_err(|e| e.error)?;
        Ok(())
    };
    write().map_err(|source| WriteError {
        path: path.to_path_buf(),
        source,
    })
}

/// Checks that [`write_file`] could begin: its folder exists and takes new
/// files. To be asked before long work whose result would be lost.
///
/// # Errors
/// The path, and what the system said.
pub fn check_file(path: &Path) -> Result<(), WriteError> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if fs::metadata(&target).is_ok_and(|m| !m.is_file()) {
        return Ok(());
    }
    takes_files(folder(&target)).map_err(|source| WriteError {
        path: path.to_path_buf(),
        source,
    })
}

fn takes_files(folder: &Path) -> io::Result<()> {
    // It has no name and is gone when it is closed.
    tempfile::tempfile_in(folder).map(|_| ())
}

/// Gives new files the permissions an ordinary program would.
#[cfg(unix)]
fn named<'a, 'b, 'c>(
    builder: &'c mut tempfile::Builder<'a, 'b>,
) -> &'c mut tempfile::Builder<'a, 'b> {
    use std::os::unix::fs::PermissionsExt;
    // The process's umask applies to it.
    builder.permissions(fs::Permissions::from_mode(0o666))
}

#[cfg(not(unix))]
fn named<'a, 'b, 'c>(
    builder: &'c mut tempfile::Builder<'a, 'b>,
) -> &'c mut tempfile::Builder<'a, 'b> {
    builder
}

/// Makes a directory through `fill`, which gets an empty one beside it, then
/// renames it. An existing directory is replaced only if it holds a file
/// named `marker`: it is one of ours.
///
/// # Errors
/// The path, and what the system said.
pub fn write_directory(
    path: &Path,
    marker: &str,
    fill: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<(), WriteError> {
    let write = || -> io::Result<()> {
        let exists = may_replace(path, marker)?;
        let work = tempfile::Builder::new()
            .prefix(".cp2-")
            .tempdir_in(folder(path))?;
        let (new, old) = (work.path().join("new"), work.path().join("old"));
        fs::create_dir(&new)?;
        fill(&new)?;
        if exists {
            fs::rename(path, &old)?;
        }
        fs::rename(&new, path).inspect_err(|_| {
            if exists {
                // Puts back what was there; the first error is the one to report.
                let _ = fs::rename(&old, path);
            }
        })
    };
    write().map_err(|source| WriteError {
        path: path.to_path_buf(),
        source,
    })
}

/// Checks that [`write_directory`] could begin; see [`check_file`].
///
/// # Errors
/// The path, and what the system said.
pub fn check_directory(path: &Path, marker: &str) -> Result<(), WriteError> {
    may_replace(path, marker)
        .and_then(|_| takes_files(folder(path)))
        .map_err(|source| WriteError {
            path: path.to_path_buf(),
            source,
        })
}

/// Whether the directory exists; an error if it is not one of ours.
fn may_replace(path: &Path, marker: &str) -> io::Result<bool> {
    let exists = path.symlink_metadata().is_ok();
    if exists && !path.join(marker).is_file() && !is_empty(path) {
        let reason = format!("it exists and holds no {marker}: it is not replaced");
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, reason));
    }
    Ok(exists)
}

fn is_empty(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        write_file(&path, |out| out.write_all(b"old")).unwrap();
        let error = write_file(&path, |out| {
            out.write_all(b"new")?;
            Err(io::Error::other("disk full"))
        });
        assert!(error.unwrap_err().to_string().contains("disk full"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_survive() {
        use std::os::unix::fs::FileTypeExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_file(&link, |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert!(link.symlink_metadata().unwrap().is_symlink());
        let null = Path::new("/dev/null");
        write_file(null, |out| out.write_all(b"gone")).unwrap();
        assert!(fs::metadata(null).unwrap().file_type().is_char_device());
        let error = write_file(folder.path(), |out| out.write_all(b"x")).unwrap_err();
        assert!(error.to_string().contains("directory"), "{error}");
    }

    #[test]
    fn only_our_own_directories_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d");
        let fill = |text: &'static str| move |p: &Path| fs::write(p.join("mark"), text);
        write_directory(&path, "mark", fill("1")).unwrap();
        write_directory(&path, "mark", fill("2")).unwrap();
        assert_eq!(fs::read(path.join("mark")).unwrap(), b"2");
        let error = write_directory(&path, "mark", |_| Err(io::Error::other("no"))).unwrap_err();
        assert!(error.to_string().contains("nothing was changed"));
        assert_eq!(fs::read(path.join("mark")).unwrap(), b"2");
        let foreign = folder.path().join("home");
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join("thesis"), "x").unwrap();
        assert!(write_directory(&foreign, "mark", fill("3")).is_err());
        assert!(foreign.join("thesis").exists());
        assert!(check_directory(&foreign, "mark").is_err());
        assert!(check_directory(&path, "mark").is_ok());
        let missing = folder.path().join("no").join("x");
        assert!(check_directory(&missing, "mark").is_err() && check_file(&missing).is_err());
        assert!(check_file(&foreign.join("new")).is_ok());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
