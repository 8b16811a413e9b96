//! A directory of a test's own, removed with everything in it.
//!
//! Paths are short, because a Unix socket's may have only 107 bytes.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use files::TemporaryDir;

#[derive(Debug)]
pub struct TestDir(TemporaryDir);

impl TestDir {
    /// A new one, empty.
    pub fn new() -> TestDir {
        let made = TemporaryDir::new("e2e");
        let made = made.unwrap_or_else(|error| panic!("cannot make a directory: {error}"));
        // Servers that run as another user have files in this directory.
        std::fs::set_permissions(made.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        TestDir(made)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A path in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file in it; a new one is private, as secrets must be.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        let written = files::create::write(&path, bytes, 0o600);
        written.unwrap_or_else(|error| panic!("cannot write {path:?}: {error}"));
        path
    }
}

impl Default for TestDir {
    fn default() -> Self {
        TestDir::new()
    }
}
