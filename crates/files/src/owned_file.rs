//! Reads this program's own state files, and only when no other user could have made them. `create` makes the temporary
//! files beside them.
//!
//! The directory and the file belong to root or to us. The file's name is no symbolic link, and nobody else may write
//! it. The error names the owner of anything else.

use std::fs::{self, File, Metadata, ReadDir};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use thiserror::Error;

use crate::safe_path::{PathStatus, effective_uid, is_ours, resolve_path};

/// Write permission of the group and of all others.
const OTHERS_WRITE: u32 = 0o022;

/// Why a state file is not read.
#[derive(Debug, Error)]
pub enum OwnedFileError {
    /// The directory belongs to another user: nothing in it is touched.
    #[error(
        "the directory {} belongs to uid {owner}: expected root or uid {}; remove it, or chown {} {}",
        path.display(), effective_uid(), effective_uid(), path.display()
    )]
    Directory { path: PathBuf, owner: u32 },
    /// The file belongs to another user.
    #[error(
        "{} belongs to uid {owner}: expected root or uid {}; remove it, or chown {} {}",
        path.display(), effective_uid(), effective_uid(), path.display()
    )]
    Foreign { path: PathBuf, owner: u32 },
    /// The name is a symbolic link.
    #[error("{} is a symbolic link: expected a file; remove it", path.display())]
    Link { path: PathBuf },
    /// A directory, a pipe or a device.
    #[error("{} is not a file", path.display())]
    NotAFile { path: PathBuf },
    /// Other users may write it.
    #[error(
        "{} has the mode {mode:04o}, so others can write it: expected that its owner alone may; chmod go-w {}",
        path.display(), path.display()
    )]
    Writable { path: PathBuf, mode: u32 },
}

impl From<OwnedFileError> for io::Error {
    fn from(error: OwnedFileError) -> io::Error {
        let kind = match error {
            // A caller that moves unreadable files away must leave another user's directory alone.
            OwnedFileError::Directory { .. } => io::ErrorKind::PermissionDenied,
            _ => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}

/// Opens a file for reading; `None`: it does not exist.
///
/// # Errors
/// See `OwnedFileError`; the system refuses.
pub fn open(path: &Path) -> io::Result<Option<File>> {
    let Some(place) = file_path(path)? else { return Ok(None) };
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = match File::options().read(true).custom_flags(flags).open(&place) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            return Err(OwnedFileError::Link { path: path.to_owned() }.into());
        }
        Err(error) => return Err(error),
    };
    // Checks the open file: its name may lead to another one by now.
    check_ownership(path, &file.metadata()?)?;
    Ok(Some(file))
}

/// Whether a readable file exists.
///
/// # Errors
/// As `open`.
pub fn is_present(path: &Path) -> io::Result<bool> {
    let Some(place) = file_path(path)? else { return Ok(false) };
    match fs::symlink_metadata(place) {
        Ok(about) if about.is_symlink() => {
            Err(OwnedFileError::Link { path: path.to_owned() }.into())
        }
        Ok(about) => Ok(check_ownership(path, &about).map(|()| true)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The entries of our own directory; `None`: it does not exist.
///
/// # Errors
/// The directory belongs to another user, or the system refuses.
pub fn entries(directory: &Path) -> io::Result<Option<ReadDir>> {
    match own_directory(directory)? {
        Some(place) => fs::read_dir(place).map(Some),
        None => Ok(None),
    }
}

/// Where a file is, or would be; `None`: its directory is missing.
fn file_path(path: &Path) -> io::Result<Option<PathBuf>> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(OwnedFileError::NotAFile { path: path.to_owned() }.into());
    };
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    Ok(own_directory(directory)?.map(|directory| directory.join(name)))
}

/// The directory without symbolic links.
fn own_directory(path: &Path) -> io::Result<Option<PathBuf>> {
    match resolve_path(path)? {
        PathStatus::Missing { .. } => Ok(None),
        PathStatus::Present { about, .. } if !is_ours(about.uid()) => {
            Err(OwnedFileError::Directory { path: path.to_owned(), owner: about.uid() }.into())
        }
        PathStatus::Present { path, .. } => Ok(Some(path)),
    }
}

fn check_ownership(path: &Path, about: &Metadata) -> Result<(), OwnedFileError> {
    let path = || path.to_owned();
    if !is_ours(about.uid()) {
        return Err(OwnedFileError::Foreign { path: path(), owner: about.uid() });
    }
    if !about.is_file() {
        return Err(OwnedFileError::NotAFile { path: path() });
    }
    let mode = about.mode() & 0o777;
    if mode & OTHERS_WRITE != 0 {
        return Err(OwnedFileError::Writable { path: path(), mode });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;
    use crate::temporary::TemporaryDir;

    const OTHER: u32 = 12_345;

    fn text(path: &Path) -> Result<Option<String>, String> {
        let Some(mut file) = open(path).map_err(|error| error.to_string())? else {
            return Ok(None);
        };
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        Ok(Some(text))
    }

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn our_own_is_read_and_what_is_missing_is_none() {
        let room = TemporaryDir::new("own").unwrap();
        let file = room.write("a", "kept").unwrap();
        assert_eq!(text(&file), Ok(Some("kept".to_owned())));
        assert!(is_present(&file).unwrap());
        for missing in ["b", "none/b"] {
            let path = room.path().join(missing);
            assert_eq!((text(&path), is_present(&path).unwrap()), (Ok(None), false), "{missing}");
        }
        assert_eq!(entries(room.path()).unwrap().unwrap().count(), 1);
        assert!(entries(&room.path().join("none")).unwrap().is_none());
    }

    #[test]
    fn links_pipes_and_what_others_may_write_are_refused_by_name() {
        let room = TemporaryDir::new("own").unwrap();
        let file = room.write("a", "kept").unwrap();
        let link = room.path().join("link");
        symlink(&file, &link).unwrap();
        let pipe = room.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600))
            .unwrap();
        for (path, says) in [(&link, "symbolic link"), (&pipe, "not a file")] {
            for said in [text(path).unwrap_err(), is_present(path).unwrap_err().to_string()] {
                assert!(said.contains(path.to_str().unwrap()) && said.contains(says), "{said}");
            }
        }
        for loose in [0o660, 0o606, 0o666] {
            mode(&file, loose);
            let error = text(&file).unwrap_err();
            assert!(
                error.contains(&format!("{loose:04o}")) && error.contains("chmod go-w"),
                "{error}"
            );
        }
        mode(&file, 0o640);
        assert!(text(&file).is_ok(), "others may read it");
    }

    /// The directory itself may be reached by an administrator's symbolic link.
    #[test]
    fn a_directory_behind_a_link_is_read() {
        let room = TemporaryDir::new("own").unwrap();
        let far = TemporaryDir::new("far").unwrap();
        far.write("a", "kept").unwrap();
        symlink(far.path(), room.path().join("state")).unwrap();
        assert_eq!(text(&room.path().join("state/a")), Ok(Some("kept".to_owned())));
    }

    #[test]
    fn what_another_user_planted_is_refused_with_both_owners() {
        if effective_uid() != 0 {
            return;
        }
        let room = TemporaryDir::new("own").unwrap();
        let file = room.write("a", "planted").unwrap();
        chown(&file, Some(OTHER), None).unwrap();
        let directory = room.path().join("dir");
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("a"), "planted").unwrap();
        chown(&directory, Some(OTHER), None).unwrap();
        let listed = entries(&directory).unwrap_err().to_string();
        let inside = directory.join("a");
        for (said, about) in [
            (text(&file).unwrap_err(), &file),
            (is_present(&file).unwrap_err().to_string(), &file),
            (text(&inside).unwrap_err(), &directory),
            (listed, &directory),
        ] {
            for part in [about.to_str().unwrap(), "uid 12345", "root or uid 0", "chown"] {
                assert!(said.contains(part), "{part}: {said}");
            }
        }
        // In a directory that everybody may write, another user may have made a hard link to our file.
        mode(room.path(), 0o1777);
        assert!(text(&directory.join("a")).is_err());
    }
}
