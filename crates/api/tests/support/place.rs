//! A directory of a test's own, removed at the end. It is short: a unix socket's path has at most 107 bytes.

use std::path::{Path, PathBuf};

/// The directory.
pub struct Place(PathBuf);

impl Place {
    /// An empty one; tests of one program differ by `name`.
    pub fn new(name: &str) -> Place {
        let dir =
            std::env::temp_dir().join(format!("steelyard-test-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Place(dir)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
