//! A temporary directory of one test, removed with everything in it.
//!
//! Paths are short, because a Unix socket's path is limited to 107 bytes.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use files::TemporaryDir;

#[derive(Debug)]
pub struct TestDir(TemporaryDir);

impl TestDir {
    /// A new, empty directory.
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

    /// A path in the directory.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file in the directory. A new file is private, because it may be a secret.
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
