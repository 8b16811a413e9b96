//! A private BPF file system of one run; its pins vanish when it is dropped.
//!
//! It is mounted in a directory below the temporary one, separate from the pins of other runs.

use std::io;
use std::path::Path;
use std::process::Command;

use files::TemporaryDir;
use rustix::mount::{UnmountFlags, unmount as detach};
use thiserror::Error;

use super::namespace_name::unique_name;
use super::tool::{ToolError, find, run_command};

#[derive(Debug, Error)]
pub enum BpfFsError {
    /// A temporary directory could not be created.
    #[error("no directory for a bpf file system: {0}")]
    Dir(#[source] io::Error),
    /// The mount failed.
    #[error("a bpf file system cannot be mounted; that needs root and a kernel with BPF")]
    Mount(#[from] ToolError),
}

#[derive(Debug)]
pub struct BpfFs {
    dir: TemporaryDir,
}

impl BpfFs {
    /// Mounts a new, empty file system.
    pub fn mount() -> Result<BpfFs, BpfFsError> {
        let dir = TemporaryDir::with_prefix(&unique_name("bpf")).map_err(BpfFsError::Dir)?;
        let fs = BpfFs { dir };
        let mut mount = Command::new(find("mount"));
        run_command(mount.args(["-t", "bpf", "bpf"]).arg(fs.path()))?;
        Ok(fs)
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for BpfFs {
    fn drop(&mut self) {
        unmount(self.path());
    }
}

/// Unmounts a file system; a symbolic link is not followed.
pub(super) fn unmount(dir: &Path) {
    // Ignored: nothing is mounted after a failed mount, and a later sweep removes the rest.
    let _ = detach(dir, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW);
}
