//! A directory of a test's own, removed at the end. It is short: a unix socket's path has at most 107 bytes.

use std::path::Path;

use files::TemporaryDir;

pub struct SocketDir(TemporaryDir);

impl SocketDir {
    /// An empty one; tests of one program differ by `name`.
    pub fn new(name: &str) -> SocketDir {
        SocketDir(TemporaryDir::new(name).unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}
