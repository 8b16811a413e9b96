//! A directory of a test's own, removed with everything in it.
//!
//! Paths are short, because a Unix socket's may have only 107 bytes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// The directory.
#[derive(Debug)]
pub struct Dir(PathBuf);

impl Dir {
    /// A new one, empty.
    pub fn new() -> Dir {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("steelyard-e2e-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap_or_else(|error| panic!("cannot make {path:?}: {error}"));
        Dir(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A path in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file in it.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        fs::write(&path, bytes).unwrap_or_else(|error| panic!("cannot write {path:?}: {error}"));
        path
    }
}

impl Default for Dir {
    fn default() -> Self {
        Dir::new()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
