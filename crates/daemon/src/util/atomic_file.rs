//! Small files of the state directory, written so that a reader finds the old text or the new one, whole.
//!
//! It knows nothing of what is in them. One that cannot be read is set aside.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::util::event::EventLog;

/// Replaces `path` by `bytes`: written beside it, synced, renamed over it.
///
/// # Errors
/// The directory is missing or read-only, the disk is full; the old file is untouched then.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_with(path, bytes, |_| Ok(()))
}

/// The same for a file that only the daemon's user may read.
///
/// # Errors
/// As `replace`.
pub fn replace_secret(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o600);
    replace_with(path, bytes, |file| file.set_permissions(mode))
}

fn replace_with(
    path: &Path,
    bytes: &[u8],
    dress: impl FnOnce(&std::fs::File) -> io::Result<()>,
) -> io::Result<()> {
    files::create::replace(path, bytes, 0o640, dress)
}

/// The same for a file of another owner: its mode and owner stay. The new text is in a file beside it for a moment.
///
/// # Errors
/// As `replace`; the old file is untouched then.
pub fn replace_keeping_owner(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let old = std::fs::metadata(path)?;
    replace_with(path, bytes, |file| {
        let owner = rustix::fs::Uid::from_raw(old.uid());
        let group = rustix::fs::Gid::from_raw(old.gid());
        rustix::fs::fchown(file, Some(owner), Some(group))?;
        file.set_permissions(old.permissions())
    })
}

/// Renames an unreadable file, so that a new one can be written and no text is lost. A file that this user may not read
/// is left in place, which is logged; a missing one is ignored.
pub fn set_aside(path: &Path, why: &io::Error, events: &EventLog) {
    let there = std::fs::symlink_metadata(path).is_ok();
    if why.kind() == io::ErrorKind::PermissionDenied {
        return events.warn("state-set-aside", format!("{} is not read: {why}", path.display()));
    }
    if !there {
        return;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".damaged-{now}"));
    let from = path.display();
    let to = Path::new(&aside).display();
    let text = match std::fs::rename(path, &aside) {
        Ok(()) => {
            format!("{from} cannot be read ({why}) and was renamed to {to}; it is begun anew")
        }
        Err(error) => format!("{from} cannot be read ({why}), nor renamed to {to}: {error}"),
    };
    events.warn("state-set-aside", text);
}

/// Reads a file of at most `limit` bytes; `None`: there is none.
///
/// # Errors
/// It cannot be read, is larger, or is not text.
pub fn read(path: &Path, limit: u64) -> io::Result<Option<String>> {
    let file = match files::regular_file::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    whole(file, limit).map(Some)
}

/// The same for the daemon's own files: a file that another user wrote is rejected.
///
/// # Errors
/// As `read`, and `OwnedFileError`, which names the owner.
pub fn read_own(path: &Path, limit: u64) -> io::Result<Option<String>> {
    files::owned_file::open(path)?.map(|file| whole(file, limit)).transpose()
}

fn whole(file: std::fs::File, limit: u64) -> io::Result<String> {
    files::regular_file::read_open_text(file, limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::util::scratch_dir::Scratch;

    #[test]
    fn a_file_is_replaced_whole_and_bounded_when_read() {
        let scratch = Scratch::new("keep").unwrap();
        let path = scratch.path().join("file");
        assert_eq!(read(&path, 10).unwrap(), None);
        replace(&path, b"first").unwrap();
        replace(&path, b"second").unwrap();
        assert_eq!(read(&path, 6).unwrap().as_deref(), Some("second"));
        assert!(read(&path, 5).is_err());
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failure_leaves_the_old_file() {
        let scratch = Scratch::new("keep").unwrap();
        let path = scratch.path().join("file");
        replace(&path, b"old").unwrap();
        // A directory exists where the new text would be written.
        std::fs::create_dir(scratch.path().join("file.new")).unwrap();
        assert!(replace(&path, b"new").is_err());
        assert_eq!(read(&path, 10).unwrap().as_deref(), Some("old"));
        assert!(replace(&scratch.path().join("none/file"), b"x").is_err());
    }

    #[test]
    fn what_another_user_planted_is_not_read_and_set_aside() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let scratch = Scratch::new("planted").unwrap();
        let file = scratch.path().join("servers.json");
        std::fs::write(&file, "{}").unwrap();
        std::os::unix::fs::chown(&file, Some(12_345), None).unwrap();
        let error = read_own(&file, 10).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("uid 12345") && said.contains("root or uid 0"), "{said}");
        set_aside(&file, &error, &EventLog::quiet());
        assert!(!file.exists());
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1, "renamed");
        // In another user's directory nothing is renamed.
        std::fs::write(&file, "{}").unwrap();
        std::os::unix::fs::chown(scratch.path(), Some(12_345), None).unwrap();
        set_aside(&file, &read_own(&file, 10).unwrap_err(), &EventLog::quiet());
        assert!(file.exists());
    }
}
