//! Makes directories and files at configured paths, and never uses an entry that another user could have put there.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::safe_path::{PathError, PathStatus, resolve_path};

/// Attempts at a path that changes meanwhile: bounds a race with another process.
/// Each attempt fails only if another process won a race in between; eight in a row mean an attack.
const TRIES: usize = 8;

/// Makes a directory and its missing parents with this mode. An existing directory stays unchanged.
///
/// # Errors
/// Another user could have made an entry on the path, or the system refuses.
pub fn make_dir(path: &Path, mode: u32) -> io::Result<()> {
    for _ in 0..TRIES {
        let (mut at, names) = match resolve_path(path)? {
            PathStatus::Present { about, .. } if about.is_dir() => return Ok(()),
            PathStatus::Present { path, .. } => {
                return Err(PathError::NotADirectory { path }.into());
            }
            PathStatus::Missing { at, names } => (at, names),
        };
        let mut made = Ok(());
        for name in names {
            at.push(plain_name(name)?);
            made = DirBuilder::new().mode(mode).create(&at);
            if made.is_err() {
                break;
            }
        }
        match made {
            // Another process made the directory first: the next round checks its owner.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Makes a new file.
///
/// # Errors
/// The name exists, even as a dangling symbolic link; its directory is missing or not trusted.
pub fn create(path: &Path, mode: u32) -> io::Result<File> {
    match resolve_path(path) {
        Ok(PathStatus::Present { .. }) => Err(io::ErrorKind::AlreadyExists.into()),
        Ok(PathStatus::Missing { at, names }) => {
            create_new(&missing_file_path(at, names)?, mode, OFlags::empty())
        }
        // The name exists, whoever owns it.
        Err(error) if fs::symlink_metadata(path).is_ok() => Err(already_exists(error)),
        Err(error) => Err(error),
    }
}

/// Opens a file to write from its beginning: a new one, or an existing one, which may be a device or a pipe.
///
/// # Errors
/// Another user could have made an entry on the path, or the system refuses.
pub fn overwrite(path: &Path, mode: u32) -> io::Result<File> {
    open(path, mode, OFlags::TRUNC)
}

/// Opens a file to write at its end: a new one, or an existing one.
///
/// # Errors
/// As `overwrite`.
pub fn append(path: &Path, mode: u32) -> io::Result<File> {
    open(path, mode, OFlags::APPEND)
}

/// Like `append`, but does not wait for a reader of a pipe (`O_NONBLOCK`).
///
/// # Errors
/// As `overwrite`.
pub fn append_log(path: &Path, mode: u32) -> io::Result<File> {
    open(path, mode, OFlags::APPEND | OFlags::NONBLOCK | OFlags::NOCTTY)
}

/// Overwrites a file with this text.
///
/// # Errors
/// As `overwrite`.
pub fn write(path: &Path, text: impl AsRef<[u8]>, mode: u32) -> io::Result<()> {
    overwrite(path, mode)?.write_all(text.as_ref())
}

/// Replaces a file atomically: writes `FILE.new` beside it, syncs and renames it. `dress` may change the new file while
/// it is empty.
///
/// # Errors
/// The directory is missing, read-only or not trusted, or the disk is full; then the old file is unchanged.
pub fn replace(
    path: &Path,
    bytes: &[u8],
    mode: u32,
    dress: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let beside = temporary_path(path);
    let put = |mut file: File| -> io::Result<()> {
        dress(&file)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        // The sync makes the rename survive a power cut. A file system that cannot sync directories is no reason to
        // fail.
        if let Some(directory) = path.parent().and_then(|it| File::open(it).ok()) {
            let _ = directory.sync_all();
        }
        Ok(())
    };
    let fresh = match create(&beside, mode) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // A leftover of a killed process is never written to.
            fs::remove_file(&beside)?;
            create(&beside, mode)?
        }
        other => other?,
    };
    put(fresh).inspect_err(|_| {
        // Half a file is useless. Ignored: the file may not exist.
        let _ = fs::remove_file(&beside);
    })
}

/// The name of the temporary file of `replace`.
pub fn temporary_path(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    beside.into()
}

fn open(path: &Path, mode: u32, how: OFlags) -> io::Result<File> {
    for _ in 0..TRIES {
        match resolve_path(path)? {
            PathStatus::Present { path, .. } => return open_existing(&path, how),
            PathStatus::Missing { at, names } => {
                match create_new(&missing_file_path(at, names)?, mode, how) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    other => return other,
                }
            }
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// The path changed since it was resolved: a symbolic link appeared or vanished.
fn open_existing(path: &Path, how: OFlags) -> io::Result<File> {
    let flags = (how | OFlags::NOFOLLOW).bits();
    OpenOptions::new().write(true).custom_flags(flags.cast_signed()).open(path)
}

fn create_new(path: &Path, mode: u32, how: OFlags) -> io::Result<File> {
    let flags = (how - OFlags::TRUNC) | OFlags::NOFOLLOW;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode).custom_flags(flags.bits().cast_signed());
    options.open(path)
}

/// The path of a file whose directory exists.
fn missing_file_path(at: PathBuf, names: Vec<OsString>) -> io::Result<PathBuf> {
    match <[OsString; 1]>::try_from(names) {
        Ok([name]) => Ok(at.join(plain_name(name)?)),
        Err(_) => Err(Errno::NOENT.into()),
    }
}

/// A missing entry has no parent to go to.
fn plain_name(name: OsString) -> io::Result<OsString> {
    if name == ".." { Err(Errno::NOENT.into()) } else { Ok(name) }
}

fn already_exists(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound => {
            io::Error::new(io::ErrorKind::AlreadyExists, error)
        }
        _ => error,
    }
}

/// Whether this directory is private: no symbolic link, ours, and closed to other users.
pub fn is_private_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| {
        about.is_dir()
            && about.uid() == crate::safe_path::effective_uid()
            && about.mode() & 0o077 == 0
    })
}

#[cfg(test)]
mod tests;
