//! Permissions of written files: those of the file that is replaced.

use std::path::Path;
use std::{fs, io};

/// Creates a temporary file. If it replaces a file, nobody may read it who may not read that file. A new file
/// has the permissions that an ordinary program would give it.
#[cfg(unix)]
pub(super) fn create(
    folder: &Path,
    replaced: Option<&fs::Metadata>,
) -> io::Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::PermissionsExt as _;
    // The process's umask applies to the mode.
    let mode = replaced.map_or(0o666, |_| 0o600);
    let file = tempfile::Builder::new()
        .prefix(".cp2-")
        .permissions(fs::Permissions::from_mode(mode))
        .tempfile_in(folder)?;
    if let Some(replaced) = replaced {
        file.as_file()
            .set_permissions(transfer_owner(file.as_file(), replaced))?;
    }
    Ok(file)
}

/// Gives a file or folder the owner of the one it replaces, as far as the system allows, and returns the
/// permissions that it may have then.
#[cfg(unix)]
fn transfer_owner(new: &fs::File, replaced: &fs::Metadata) -> fs::Permissions {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
    let (user, group) = (replaced.uid(), replaced.gid());
    let same_group = fchown(new, Some(user), Some(group))
        .or_else(|_| fchown(new, None, Some(group)))
        .is_ok();
    let mode = replaced.mode() & 0o777;
    // If the group could not be kept, the new group may do what everybody may.
    fs::Permissions::from_mode(match same_group {
        true => mode,
        false => (mode & !0o070) | (mode & ((mode & 0o007) << 3)),
    })
}

#[cfg(not(unix))]
pub(super) fn create(
    folder: &Path,
    _: Option<&fs::Metadata>,
) -> io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new().prefix(".cp2-").tempfile_in(folder)
}

/// Gives a folder the permissions of the folder that it replaces.
#[cfg(unix)]
pub(super) fn keep_of_folder(new: &Path, old: &Path) -> io::Result<()> {
    let permissions = transfer_owner(&fs::File::open(new)?, &fs::metadata(old)?);
    fs::set_permissions(new, permissions)
}

#[cfg(not(unix))]
pub(super) fn keep_of_folder(_: &Path, _: &Path) -> io::Result<()> {
    Ok(())
}
