//! Files written whole or not at all.

mod permissions;

use permissions::{create, keep_of_folder};
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file or directory that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}; nothing was changed there", path.display())]
pub struct WriteError {
    /// The path.
    pub path: PathBuf,
    /// Reason.
    pub source: io::Error,
}

/// Number of symbolic links that are followed at most, as many as Linux follows.
const LINKS: usize = 40;

/// Writes a file through `fill` to a temporary name beside it, then renames
/// it: readers see the old contents or the new, never a part. A symbolic link
/// is followed, also to what is not there yet; what exists and is no regular
/// file (a terminal, `/dev/null`) is written in place. A file that is replaced
/// keeps its permissions, and its owner where the system lets it.
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
        let target = target(path);
        let replaced = existing(&target)?;
        if replaced.as_ref().is_some_and(|m| !m.is_file()) {
            let mut out = BufWriter::new(fs::OpenOptions::new().write(true).open(&target)?);
            fill(&mut out)?;
            return out.flush();
        }
        let mut file = create(folder(&target), replaced.as_ref())?;
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
    let target = target(path);
    let check = || match existing(&target)? {
        Some(found) if !found.is_file() => Ok(()),
        _ => takes_files(folder(&target)),
    };
    check().map_err(|source| WriteError {
        path: path.to_path_buf(),
        source,
    })
}

/// Returns the metadata of a path, or nothing if it does not exist. Links that lead to each other are an
/// error.
fn existing(target: &Path) -> io::Result<Option<fs::Metadata>> {
    match fs::metadata(target) {
        Ok(found) => Ok(Some(found)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

fn takes_files(folder: &Path) -> io::Result<()> {
    // The temporary file has no name and is gone when it is closed.
    tempfile::tempfile_in(folder).map(|_| ())
}

/// Follows all links of a path to the file that it names, whether that exists or not: two names of one file
/// give the same path.
#[must_use]
pub fn target(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        if let Ok(found) = fs::canonicalize(&path) {
            return found;
        }
        match fs::read_link(&path) {
            Ok(next) => path = folder(&path).join(next),
            Err(_) => break,
        }
    }
    match (fs::canonicalize(folder(&path)), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

/// Makes a directory through `fill`, which gets an empty one beside it, then
/// renames it. An existing directory is replaced only if it holds a file
/// named `marker`: it is one of ours. Links, permissions and owners are kept as those of files are, see
/// [`write_file`].
///
/// # Errors
/// The path, and what the system said.
pub fn write_directory(
    path: &Path,
    marker: &str,
    fill: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<(), WriteError> {
    let write = || -> io::Result<()> {
        let path = &target(path);
        may_replace(path, marker)?;
        let work = tempfile::Builder::new()
            .prefix(".cp2-")
            .tempdir_in(folder(path))?;
        let new = work.path().join("new");
        fs::create_dir(&new)?;
        fill(&new)?;
        replace(path, marker, work.path())
    };
    write().map_err(|source| WriteError {
        path: path.to_path_buf(),
        source,
    })
}

/// Number of times that a writer tries to take the name at most. It fails when another writer was faster,
/// which has then written its whole directory.
const TRIES: u32 = 10_000;

/// Gives the directory `work/new` the name `path`. A directory of that name is moved into `work` first, where
/// nobody else changes it while it is judged; it is moved back if it is none of ours or if nothing takes its
/// place. If several writers write one directory at the same time, the last one's stays, whole.
fn replace(path: &Path, marker: &str, work: &Path) -> io::Result<()> {
    let new = work.join("new");
    let mut moved: Option<PathBuf> = None;
    let mut result = Ok(());
    for number in 0..TRIES {
        let there = |e: &io::Error| e.kind() != io::ErrorKind::NotFound;
        result = keep_of_folder(&new, path);
        if result.as_ref().is_err_and(there) {
            break;
        }
        result = fs::rename(&new, path);
        let taken = |e: &io::Error| {
            use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotADirectory};
            matches!(e.kind(), AlreadyExists | DirectoryNotEmpty | NotADirectory)
        };
        if !result.as_ref().is_err_and(taken) {
            break;
        }
        let old = work.join(format!("old{number}"));
        match fs::rename(path, &old) {
            Ok(()) if is_ours(&old, marker) => moved = Some(old),
            Ok(()) => {
                result = Err(foreign(marker));
                moved = Some(old);
                break;
            }
            // Another writer has just moved it.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => {
                result = Err(e);
                break;
            }
        }
    }
    if let (Err(_), Some(old)) = (&result, moved) {
        // The first error is the one to report.
        let _ = fs::rename(old, path);
    }
    result
}

/// Checks that [`write_directory`] could begin; see [`check_file`].
///
/// # Errors
/// The path, and what the system said.
pub fn check_directory(path: &Path, marker: &str) -> Result<(), WriteError> {
    let target = target(path);
    may_replace(&target, marker)
        .and_then(|()| takes_files(folder(&target)))
        .map_err(|source| WriteError {
            path: path.to_path_buf(),
            source,
        })
}

/// Number of times that a directory which seems to be none of ours is examined: another writer may be moving
/// it away and taking files out of it.
const LOOKS: usize = 8;

/// Returns an error if the directory exists and is not one of ours.
fn may_replace(path: &Path, marker: &str) -> io::Result<()> {
    let is_foreign = || path.symlink_metadata().is_ok() && !is_ours(path, marker);
    match (0..LOOKS).all(|_| is_foreign()) {
        true => Err(foreign(marker)),
        false => Ok(()),
    }
}

fn foreign(marker: &str) -> io::Error {
    let reason = format!("it exists and holds no {marker}: it is not replaced");
    io::Error::new(io::ErrorKind::AlreadyExists, reason)
}

/// Returns true if a directory holds the marker or is empty.
fn is_ours(path: &Path, marker: &str) -> bool {
    path.join(marker).is_file()
        || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
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

    #[cfg(unix)]
    #[test]
    fn what_is_replaced_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let (plain, file) = (folder.path().join("plain"), folder.path().join("f"));
        fs::write(&plain, "").unwrap();
        write_file(&file, |out| out.write_all(b"new")).unwrap();
        assert_eq!(mode(&file), mode(&plain), "of a new file as of any other");
        for wanted in [0o600, 0o640, 0o400, 0o666, 0o755, 0o604] {
            set(&file, wanted);
            write_file(&file, |out| {
                // The temporary file is never readable by anyone who may not read the old one.
                for entry in fs::read_dir(folder.path())? {
                    let entry = entry?;
                    if entry.file_name().to_string_lossy().starts_with(".cp2-") {
                        assert_eq!(mode(&entry.path()), wanted);
                    }
                }
                out.write_all(b"private")
            })
            .unwrap();
            assert_eq!(
                (mode(&file), fs::read(&file).unwrap()),
                (wanted, b"private".to_vec())
            );
        }
        let path = folder.path().join("d");
        for wanted in [0o700, 0o750] {
            write_directory(&path, "mark", |p| fs::write(p.join("mark"), "")).unwrap();
            set(&path, wanted);
            write_directory(&path, "mark", |p| fs::write(p.join("mark"), "")).unwrap();
            assert_eq!(mode(&path), wanted);
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_to_what_is_not_there_yet_are_followed() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("results")).unwrap();
        symlink("results/real", at("first")).unwrap();
        symlink(at("first"), at("second")).unwrap();
        for contents in [&b"new"[..], b"newer"] {
            check_file(&at("second")).unwrap();
            write_file(&at("second"), |out| out.write_all(contents)).unwrap();
            assert_eq!(fs::read(at("results/real")).unwrap(), contents);
            assert!(["first", "second"].iter().all(|name| at(name).is_symlink()));
        }
        symlink("results/d", at("link")).unwrap();
        for text in ["1", "2"] {
            check_directory(&at("link"), "mark").unwrap();
            write_directory(&at("link"), "mark", |p| fs::write(p.join("mark"), text)).unwrap();
            assert_eq!(fs::read_to_string(at("results/d/mark")).unwrap(), text);
            assert!(at("link").is_symlink());
        }
        assert_eq!(target(&at("link/../x")), target(&at("results/x")));
        symlink("none/real", at("nowhere")).unwrap();
        symlink("ring", at("ring")).unwrap();
        for name in ["nowhere", "ring"] {
            assert!(
                write_file(&at(name), |out| out.write_all(b"x")).is_err(),
                "{name}"
            );
            assert!(check_file(&at(name)).is_err(), "{name}");
            assert!(at(name).is_symlink(), "{name}");
        }
        assert_eq!(fs::read_dir(at("results")).unwrap().count(), 2);
    }

    /// Several writers of one directory all succeed, and the result is whole and of one of them.
    #[test]
    fn writers_of_one_directory_replace_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                let write = move || {
                    for turn in 0..20 {
                        let text = format!("{writer} {turn}");
                        let fill = |p: &Path| {
                            fs::write(p.join("mark"), &text)?;
                            fs::write(p.join("more"), &text)
                        };
                        write_directory(path, "mark", fill).unwrap();
                    }
                };
                std::thread::Builder::new()
                    .spawn_scoped(scope, write)
                    .unwrap();
            }
        });
        assert_eq!(
            fs::read(path.join("mark")).unwrap(),
            fs::read(path.join("more")).unwrap()
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
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
