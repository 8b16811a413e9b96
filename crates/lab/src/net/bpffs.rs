//! A bpf file system of one run's own: what is pinned there is gone when it is dropped.
//!
//! Mounted in a directory below the temporary one, so that no other run's pins are near.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

use super::name::fresh;
use super::tool::{ToolError, find, said};

/// Why there is none.
#[derive(Debug, Error)]
pub enum BpfFsError {
    /// No directory for it.
    #[error("no directory {dir} for a bpf file system")]
    Dir {
        /// The directory.
        dir: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It cannot be mounted.
    #[error("a bpf file system cannot be mounted; that needs root and a kernel with BPF")]
    Mount(#[from] ToolError),
}

/// The file system.
#[derive(Debug)]
pub struct BpfFs {
    dir: PathBuf,
}

impl BpfFs {
    /// A new one, empty.
    pub fn mount() -> Result<BpfFs, BpfFsError> {
        let dir = std::env::temp_dir().join(fresh("bpf"));
        let made = std::fs::create_dir(&dir);
        made.map_err(|source| BpfFsError::Dir { dir: dir.clone(), source })?;
        let fs = BpfFs { dir };
        let mut mount = Command::new(find("mount"));
        said(mount.args(["-t", "bpf", "bpf"]).arg(&fs.dir))?;
        Ok(fs)
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.dir
    }
}

impl Drop for BpfFs {
    fn drop(&mut self) {
        unmount(&self.dir);
    }
}

/// Detaches what is mounted here and removes the directory, which must be empty then.
pub(super) fn unmount(dir: &Path) {
    let _ = said(Command::new(find("umount")).arg("-l").arg(dir));
    let _ = std::fs::remove_dir(dir);
}
