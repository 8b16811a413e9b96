//! Where a path leads, and whether another user could have made an entry on it. It makes nothing.
//!
//! In a directory that everybody may write (`/tmp`), any user may have made a name before us: it is used only when it
//! belongs to root or to us. A directory that only some users may write is its administrator's choice.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use thiserror::Error;

/// S_IWOTH of stat(2).
const EVERYBODY_WRITES: u32 = 0o002;
/// The sticky bit: only the owner of an entry may rename or remove it.
const STICKY: u32 = 0o1000;
/// Stands for every owner without a number in this user namespace (proc(5), `overflowuid`).
const NO_NUMBER: u32 = 65_534;

#[derive(Debug, Error)]
pub enum PathError {
    /// The entry belongs to another user, in a directory that everybody may write.
    #[error(
        "{} belongs to uid {owner} and stands where everybody may make files: expected one of root or uid {}; \
         remove it or name another place", path.display(), effective_uid()
    )]
    Foreign { path: PathBuf, owner: u32 },
    /// The file has another name elsewhere.
    #[error(
        "{} has {links} names and stands where everybody may make files: expected a file with one name; remove it or \
         name another place", path.display()
    )]
    Linked {
        path: PathBuf,
        /// The number of hard links.
        links: u64,
    },
    /// A file stands where a directory is needed.
    #[error("{} is not a directory", path.display())]
    NotADirectory { path: PathBuf },
    /// Other users could rename entries of the directory.
    #[error(
        "{} has the mode {mode:04o}, so others can rename what is made there: expected the sticky bit (chmod +t {}), \
         or another place in TMPDIR", path.display(), path.display()
    )]
    NotSticky { path: PathBuf, mode: u32 },
}

impl From<PathError> for io::Error {
    fn from(error: PathError) -> io::Error {
        let kind = match error {
            PathError::NotADirectory { .. } => io::ErrorKind::NotADirectory,
            _ => io::ErrorKind::PermissionDenied,
        };
        io::Error::new(kind, error)
    }
}

#[derive(Debug)]
pub(crate) enum PathStatus {
    Present {
        /// The path without symbolic links.
        path: PathBuf,
        about: Metadata,
    },
    Missing {
        /// The existing part, without symbolic links.
        at: PathBuf,
        /// The names that are missing below it.
        names: Vec<OsString>,
    },
}

/// Follows a path, name by name, and rejects entries that another user could have made.
pub(crate) fn resolve_path(path: &Path) -> io::Result<PathStatus> {
    let path = std::path::absolute(path)?;
    let mut at = PathBuf::from("/");
    let mut about = fs::symlink_metadata(&at)?;
    let mut components = path.components();
    while let Some(component) = components.next() {
        let name = match component {
            Component::Normal(name) => name,
            Component::ParentDir => {
                at.pop();
                about = fs::symlink_metadata(&at)?;
                continue;
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => continue,
        };
        if !about.is_dir() {
            return Err(PathError::NotADirectory { path: at }.into());
        }
        let shared = about.mode() & EVERYBODY_WRITES != 0;
        let next = at.join(name);
        let found = match fs::symlink_metadata(&next) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let names = std::iter::once(name).chain(components.map(Component::as_os_str));
                return Ok(PathStatus::Missing { at, names: names.map(OsString::from).collect() });
            }
            Err(error) => return Err(error),
        };
        if shared {
            check_shared_directory(&next, &found)?;
        }
        if found.is_symlink() {
            at = fs::canonicalize(&next)?;
            about = fs::symlink_metadata(&at)?;
        } else {
            at = next;
            about = found;
        }
    }
    Ok(PathStatus::Present { path: at, about })
}

/// Checks a name in a directory that everybody may write.
fn check_shared_directory(path: &Path, found: &Metadata) -> Result<(), PathError> {
    if !is_ours(found.uid()) {
        return Err(PathError::Foreign { path: path.to_owned(), owner: found.uid() });
    }
    // Any user may make a hard link there to a file of ours or of root.
    if !found.is_dir() && found.nlink() > 1 {
        return Err(PathError::Linked { path: path.to_owned(), links: found.nlink() });
    }
    Ok(())
}

/// Checks that other users cannot rename or remove entries of this directory.
pub(crate) fn check_stable_names(path: &Path) -> io::Result<()> {
    let about = fs::metadata(path)?;
    let owner = about.uid();
    if !is_ours(owner) && owner != NO_NUMBER {
        return Err(PathError::Foreign { path: path.to_owned(), owner }.into());
    }
    if about.mode() & EVERYBODY_WRITES != 0 && about.mode() & STICKY == 0 {
        let mode = about.mode() & 0o7777;
        return Err(PathError::NotSticky { path: path.to_owned(), mode }.into());
    }
    Ok(())
}

/// Whether the owner is root or us.
pub(crate) fn is_ours(owner: u32) -> bool {
    owner == 0 || owner == effective_uid()
}

pub(crate) fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}
