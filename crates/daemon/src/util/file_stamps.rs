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
    bytes: u64,
    inode: u64,
}

/// The current state of these files, including key files beside them.
pub fn file_stamps(paths: &[PathBuf]) -> FileStamps {
    let mut marks = Vec::new();
    let mut look = |path: PathBuf| {
        let stamp = std::fs::metadata(&path).ok().map(|about| FileStamp {
            modified_s: about.mtime(),
            modified_ns: about.mtime_nsec(),
            bytes: about.len(),
            inode: about.ino(),
        });
        marks.push(WatchedFile { path, stamp });
    };
    for path in paths {
        if path.is_dir() {
            let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
            // Each certificate may have up to three files beside it, such as its key and its OCSP
            // response.
            let mut files: Vec<_> =
                entries.map(|entry| entry.path()).take(4 * CERTIFICATES).collect();
            files.sort();
            files.into_iter().for_each(&mut look);
            continue;
        }
        look(path.clone());
        look(path.with_extension("key"));
        look(path.with_extension("ocsp"));
        look(path.with_file_name("privkey.pem"));
    }
    marks
}
