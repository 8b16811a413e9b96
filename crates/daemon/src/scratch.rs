//! A directory of its own in the system's temporary place, removed when dropped. It holds nothing secret and is
//! open to this user alone.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Names tried before giving up.
const TRIES: u32 = 1000;

/// The directory.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes one; `name` says what for.
    ///
    /// # Errors
    /// The temporary place is not writable.
    pub fn new(name: &str) -> io::Result<Scratch> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let (place, pid) = (std::env::temp_dir(), std::process::id());
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for _ in 0..TRIES {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = place.join(format!("steelyard-{name}-{pid}-{number}"));
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Scratch(path)),
                // Left by a process of that number long ago.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is left to the system's own cleaning.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
