//! Directories in the system's temporary place, for this process alone: with a name that nobody can foresee, made
//! exclusively, and removed when dropped.

use std::fmt::Write;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::rand::{GetRandomFlags, getrandom};

use crate::create::create;
use crate::safe_path::{PathError, check_stable_names, effective_uid};

/// Names that are tried: two of 64 random bits are equal by design of somebody who watches, or never.
const TRIES: usize = 16;
/// Random bytes of a name.
const RANDOM_BYTES: usize = 8;

/// The directory. Nobody else may read it, and nobody else can put anything in it.
#[derive(Debug)]
pub struct TemporaryDir(PathBuf);

impl TemporaryDir {
    /// A new one; `purpose` stands in its name.
    ///
    /// # Errors
    /// The temporary place is not writable, or others could rename what is made in it.
    pub fn new(purpose: &str) -> io::Result<TemporaryDir> {
        TemporaryDir::with_prefix(&format!("steelyard-{purpose}"))
    }

    /// The same, with a name that begins so.
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
            // It takes no name that is there, and follows no symbolic link.
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

    /// A new file in it, readable by its owner alone.
    ///
    /// # Errors
    /// The name is taken, or the disk does not take it.
    pub fn create(&self, name: &str) -> io::Result<File> {
        create(&self.0.join(name), 0o600)
    }

    /// A new file in it with this text; its path.
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
        // What cannot be removed now is left to the system's own cleaning.
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

/// Sixteen hexadecimal digits that nobody can foresee.
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

/// What stands there is what was made.
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
