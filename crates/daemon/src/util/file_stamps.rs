//! Whether files were replaced since the last look, without reading them.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Certificates of one directory whose files are looked at.
const CERTIFICATES: usize = 10_000;

/// The state of files at one check: enough to see whether one was replaced.
pub type FileStamps = Vec<WatchedFile>;

/// A path with the state of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedFile {
    path: PathBuf,
    /// `None`: there is no file.
    stamp: Option<FileStamp>,
}

/// One file as it was at a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// When it was modified last, Unix time in seconds.
    modified_s: i64,
    /// The nanoseconds of that second.
    modified_ns: i64,
    /// When its content, owner or permissions changed last, Unix time in seconds.
    changed_s: i64,
    /// The nanoseconds of that second.
    changed_ns: i64,
    /// The permissions too, since two changes may fall into one tick of the file system's clock.
    mode: u32,
    bytes: u64,
    inode: u64,
}

/// The current state of these files.
pub fn file_stamps(paths: &[PathBuf]) -> FileStamps {
    paths.iter().cloned().map(WatchedFile::look).collect()
}

/// The current state of these certificates: of files with the key files beside them, and of directories with all their
/// files.
pub fn certificate_stamps(paths: &[PathBuf]) -> FileStamps {
    let mut marks = Vec::new();
    for path in paths {
        if path.is_dir() {
            let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
            // Each certificate may have up to three files beside it, such as its key and its OCSP
            // response.
            let mut files: Vec<_> =
                entries.map(|entry| entry.path()).take(4 * CERTIFICATES).collect();
            files.sort();
            marks.extend(files.into_iter().map(WatchedFile::look));
            continue;
        }
        let beside = ["key", "ocsp"].map(|extension| path.with_extension(extension));
        let files = [path.clone()].into_iter().chain(beside);
        let files = files.chain([path.with_file_name("privkey.pem")]);
        marks.extend(files.map(WatchedFile::look));
    }
    marks
}

impl WatchedFile {
    fn look(path: PathBuf) -> WatchedFile {
        let stamp = std::fs::metadata(&path).ok().map(|about| FileStamp {
            modified_s: about.mtime(),
            modified_ns: about.mtime_nsec(),
            changed_s: about.ctime(),
            changed_ns: about.ctime_nsec(),
            mode: about.mode(),
            bytes: about.len(),
            inode: about.ino(),
        });
        WatchedFile { path, stamp }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::util::scratch_dir::Scratch;

    #[test]
    fn a_change_of_permissions_alone_is_seen() {
        let room = Scratch::new("stamps").unwrap();
        let file = room.path().join("page");
        std::fs::write(&file, "a").unwrap();
        let look = || file_stamps(std::slice::from_ref(&file));
        let before = look();
        assert_eq!(look(), before);
        std::fs::set_permissions(&file, Permissions::from_mode(0o604)).unwrap();
        assert_ne!(look(), before);
    }

    #[test]
    fn a_certificate_is_looked_at_with_the_files_beside_it_and_a_file_alone() {
        let room = Scratch::new("stamps").unwrap();
        let file = room.path().join("a.pem");
        let names = |stamps: FileStamps| -> Vec<String> {
            let names = stamps.iter().map(|one| one.path.file_name().unwrap_or_default());
            names.map(|name| name.to_string_lossy().into_owned()).collect()
        };
        let one = std::slice::from_ref(&file);
        assert_eq!(names(file_stamps(one)), ["a.pem"]);
        assert_eq!(names(certificate_stamps(one)), ["a.pem", "a.key", "a.ocsp", "privkey.pem"]);
        std::fs::write(&file, "a").unwrap();
        std::fs::write(room.path().join("b.key"), "b").unwrap();
        let directory = [room.path().to_owned()];
        assert_eq!(names(certificate_stamps(&directory)), ["a.pem", "b.key"]);
    }
}
