//! Reads files with secrets, and files that must be trusted: only when no other user could have read or written them.
//!
//! The file belongs to root or to us. No other user may write it. No other user may read a secret either, with one
//! exception as in PostgreSQL: the group of a file that belongs to root. So a daemon with its own user can read a file
//! that it cannot change.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::regular_file;
use crate::safe_path::{effective_uid, is_ours};

/// What other users must not be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretProtection {
    /// Only the owner may write it: the contents are trusted, and no secret.
    NotWritable,
    /// The file contains a secret.
    NotReadable,
}

#[derive(Debug, Error)]
pub enum SecretError {
    #[error("cannot read {}: {source}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A directory, a pipe or a device.
    #[error("{} is {found}: expected a regular file", path.display())]
    NotAFile { path: PathBuf, found: &'static str },
    #[error("{} belongs to uid {owner}: expected root or uid {}; chown {} {}", path.display(), effective_uid(), effective_uid(), path.display())]
    Owner { path: PathBuf, owner: u32 },
    /// Other users have access.
    #[error(
        "{} has the mode {mode:04o}, so others can {use_it} it: expected {expected}; {mend} {}",
        path.display(), path.display()
    )]
    Open {
        path: PathBuf,
        mode: u32,
        /// What other users can do.
        use_it: &'static str,
        expected: &'static str,
        /// The command that fixes the mode.
        mend: &'static str,
    },
}

/// Reads a file of at most `limit` bytes that no other user could have read or written.
///
/// # Errors
/// See `SecretError`; no error contains the file's contents.
pub fn read(path: &Path, limit: u64, protection: SecretProtection) -> Result<Vec<u8>, SecretError> {
    let failed = |source| SecretError::Read { path: path.to_owned(), source };
    // Opening a device or a pipe may have side effects, or wait.
    check_access(path, &fs::metadata(path).map_err(failed)?, protection)?;
    let file = regular_file::open(path).map_err(failed)?;
    // Checks the open file: its name may lead to another one by now.
    check_access(path, &file.metadata().map_err(failed)?, protection)?;
    regular_file::read_open(file, limit).map_err(failed)
}

/// Like `read`, for text.
///
/// # Errors
/// See `SecretError`.
pub fn read_text(
    path: &Path,
    limit: u64,
    protection: SecretProtection,
) -> Result<String, SecretError> {
    let bytes = read(path, limit, protection)?;
    String::from_utf8(bytes).map_err(|_| SecretError::Read {
        path: path.to_owned(),
        source: io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"),
    })
}

/// Checks a file by its metadata.
///
/// # Errors
/// Other users could have read or written the file.
pub fn check_access(
    path: &Path,
    about: &Metadata,
    protection: SecretProtection,
) -> Result<(), SecretError> {
    let owner = about.uid();
    if about.is_file() && !is_ours(owner) {
        return Err(SecretError::Owner { path: path.to_owned(), owner });
    }
    check_mode(path, about, protection)
}

/// Like `check_access`, with any owner: for a user who inspects another user's files.
///
/// # Errors
/// As `check_access`.
pub fn check_mode(
    path: &Path,
    about: &Metadata,
    protection: SecretProtection,
) -> Result<(), SecretError> {
    let path = || path.to_owned();
    if !about.is_file() {
        return Err(SecretError::NotAFile {
            path: path(),
            found: regular_file::describe_kind(about.file_type()),
        });
    }
    let owner = about.uid();
    match mode_fault(about.mode() & 0o777, owner == 0, protection) {
        None => Ok(()),
        Some(ModeFault { use_it, expected, mend }) => {
            let mode = about.mode() & 0o777;
            Err(SecretError::Open { path: path(), mode, use_it, expected, mend })
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct ModeFault {
    use_it: &'static str,
    expected: &'static str,
    mend: &'static str,
}

fn mode_fault(mode: u32, roots: bool, protection: SecretProtection) -> Option<ModeFault> {
    let (allowed, expected, mend) = match (protection, roots) {
        (SecretProtection::NotWritable, _) => {
            (0o755, "that its owner alone may write it", "chmod go-w")
        }
        (SecretProtection::NotReadable, true) => {
            (0o750, "0600, or 0640 for a group that may read it", "chmod g-w,o=")
        }
        (SecretProtection::NotReadable, false) => (0o700, "0600", "chmod go="),
    };
    let loose = mode & !allowed & 0o077;
    let reads = loose & 0o055 != 0;
    let use_it = match (reads, loose & 0o022 != 0) {
        (false, false) => return None,
        (true, false) => "read",
        (false, true) => "write",
        (true, true) => "read and write",
    };
    Some(ModeFault { use_it, expected, mend })
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::temporary::TemporaryDir;

    #[test]
    fn modes_that_others_can_use_are_refused() {
        let verdict =
            |mode, roots, protection| mode_fault(mode, roots, protection).map(|fault| fault.use_it);
        for roots in [true, false] {
            for good in [0o600, 0o400, 0o700] {
                assert_eq!(verdict(good, roots, SecretProtection::NotReadable), None, "{good:o}");
            }
            for (mode, does) in [
                (0o644, "read"),
                (0o604, "read"),
                (0o666, "read and write"),
                (0o602, "write"),
                (0o620, "write"),
                (0o660, if roots { "write" } else { "read and write" }),
                (0o601, "read"),
                (0o444, "read"),
                (0o777, "read and write"),
            ] {
                assert_eq!(
                    verdict(mode, roots, SecretProtection::NotReadable),
                    Some(does),
                    "{mode:o}"
                );
            }
            for good in [0o644, 0o600, 0o755, 0o444] {
                assert_eq!(verdict(good, roots, SecretProtection::NotWritable), None, "{good:o}");
            }
            for bad in [0o666, 0o620, 0o602, 0o664] {
                assert_eq!(
                    verdict(bad, roots, SecretProtection::NotWritable),
                    Some("write"),
                    "{bad:o}"
                );
            }
        }
        // The group of root's file is root's choice.
        assert_eq!(verdict(0o640, true, SecretProtection::NotReadable), None);
        assert_eq!(verdict(0o640, false, SecretProtection::NotReadable), Some("read"));
    }

    #[test]
    fn a_refusal_says_the_path_both_modes_and_the_command() {
        let room = TemporaryDir::new("secret").unwrap();
        let file = room.write("key", "hidden").unwrap();
        assert_eq!(read_text(&file, 6, SecretProtection::NotReadable).unwrap(), "hidden");
        let large = read(&file, 5, SecretProtection::NotReadable).unwrap_err().to_string();
        assert!(large.contains("it has 6 bytes: expected at most 5"), "{large}");
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        let message = read(&file, 10, SecretProtection::NotReadable).unwrap_err().to_string();
        for part in [file.to_str().unwrap(), "0644", "0600", "chmod", "read"] {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert!(!message.contains("hidden"));
        assert!(matches!(
            read(room.path(), 9, SecretProtection::NotReadable),
            Err(SecretError::NotAFile { .. })
        ));
        let none = read(&room.path().join("none"), 9, SecretProtection::NotReadable)
            .unwrap_err()
            .to_string();
        assert!(none.contains("none") && none.contains("No such file"), "{none}");
        if effective_uid() == 0 {
            fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
            std::os::unix::fs::chown(&file, Some(12_345), None).unwrap();
            let message = read(&file, 10, SecretProtection::NotReadable).unwrap_err().to_string();
            assert!(message.contains("uid 12345") && message.contains("chown"), "{message}");
        }
    }

    #[test]
    fn a_pipe_and_a_device_are_refused_and_not_waited_for() {
        let room = TemporaryDir::new("pipe").unwrap();
        let pipe = room.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600))
            .unwrap();
        for (path, found) in
            [(pipe.as_path(), "a named pipe"), (Path::new("/dev/null"), "a device")]
        {
            let message = read(path, 9, SecretProtection::NotReadable).unwrap_err().to_string();
            assert_eq!(message, format!("{} is {found}: expected a regular file", path.display()));
        }
    }
}
