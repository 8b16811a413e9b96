//! Temporary directories of this process: with an unpredictable name, made exclusively, and removed when dropped.

use std::fmt::Write;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::rand::{GetRandomFlags, getrandom};

use crate::create::create;
use crate::safe_path::{PathError, check_stable_names, effective_uid};

/// Names that are tried. Two of 64 random bits are equal only when somebody watches and plants them.
const TRIES: usize = 16;
/// Random bytes of a name.
const RANDOM_BYTES: usize = 8;

/// The directory. No other user may read it or make entries in it.
#[derive(Debug)]
pub struct TemporaryDir(PathBuf);

impl TemporaryDir {
    /// Makes a directory; its name contains `purpose`.
    ///
    /// # Errors
    /// The temporary place is not writable, or other users could rename its entries.
    pub fn new(purpose: &str) -> io::Result<TemporaryDir> {
        TemporaryDir::with_prefix(&format!("steelyard-{purpose}"))
    }

    /// Makes a directory whose name begins with `prefix`.
    ///
    /// # Errors
    /// As `new`.
    pub fn with_prefix(prefix: &str) -> io::Result<TemporaryDir> {
        TemporaryDir::create_in(&temporary_root()?, prefix)
    }

    fn create_in(place: &Path, prefix: &str) -> io::Result<TemporaryDir> {
        check_stable_names(place)?;
        for _ in 0..TRIES {
            let path = place.join(format!("{prefix}-{}", random_word()?));
            // `mkdir` uses no existing name and follows no symbolic link.
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return verify_created(path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Makes a file in it that only its owner can read.
    ///
    /// # Errors
    /// The name exists, or the disk is full.
    pub fn create(&self, name: &str) -> io::Result<File> {
        create(&self.0.join(name), 0o600)
    }

    /// Makes a file with this text in it and returns its path.
    ///
    /// # Errors
    /// As `create`.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> io::Result<PathBuf> {
        self.create(name)?.write_all(text.as_ref())?;
        Ok(self.0.join(name))
    }
}

impl Drop for TemporaryDir {
    fn drop(&mut self) {
        // Ignored: the system's own cleaning removes the rest.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The system's temporary place without symbolic links: `TMPDIR`, or `/tmp`.
///
/// # Errors
/// There is none.
pub fn temporary_root() -> io::Result<PathBuf> {
    fs::canonicalize(std::env::temp_dir())
}

/// Sixteen unpredictable hexadecimal digits.
fn random_word() -> io::Result<String> {
    let mut bytes = [0_u8; RANDOM_BYTES];
    let got = getrandom(&mut bytes, GetRandomFlags::empty())?;
    if got < RANDOM_BYTES {
        return Err(io::Error::other("the kernel gave too few random bytes"));
    }
    let mut word = String::new();
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(word, "{byte:02x}");
    }
    Ok(word)
}

/// Checks that the path still leads to the directory that was made.
fn verify_created(path: PathBuf) -> io::Result<TemporaryDir> {
    let about = fs::symlink_metadata(&path)?;
    if !about.is_dir() {
        return Err(PathError::NotADirectory { path }.into());
    }
    if about.uid() != effective_uid() || about.mode() & 0o077 != 0 {
        return Err(PathError::Foreign { path, owner: about.uid() }.into());
    }
    Ok(TemporaryDir(path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_directory_is_ours_alone_and_goes_with_its_handle() {
        let one = TemporaryDir::new("x").unwrap();
        let other = TemporaryDir::new("x").unwrap();
        assert_ne!(one.path(), other.path());
        let about = fs::symlink_metadata(one.path()).unwrap();
        assert_eq!((about.mode() & 0o777, about.uid()), (0o700, effective_uid()));
        let file = one.write("a", "text").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        assert!(one.write("a", "again").is_err(), "a name is taken once");
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists() && other.path().exists());
    }

    #[test]
    fn nothing_is_made_where_others_could_rename_it() {
        let place = TemporaryDir::new("place").unwrap();
        let loose = |mode| {
            fs::set_permissions(place.path(), fs::Permissions::from_mode(mode)).unwrap();
            TemporaryDir::create_in(place.path(), "x").map(drop).map_err(|error| error.to_string())
        };
        assert!(loose(0o777).unwrap_err().contains("chmod +t"));
        assert_eq!(loose(0o1777), Ok(()));
        assert_eq!(loose(0o755), Ok(()));
    }
}
