//! The directory of a BPF file system for all pins, and the reasons why it may be unusable. Loads nothing.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::mount::{MountFlags, mount};
use thiserror::Error;

use crate::pin_lifetime;
use crate::pin_owner::{self, ClaimError, ClaimScope, PinOwner};

/// The usual mount point of BPF file systems.
const CUSTOM: &str = "/sys/fs/bpf";
/// BPF_FS_MAGIC of the kernel's uapi header linux/magic.h.
const MAGIC: u64 = 0xcafe_4a11;
/// Numbers of capabilities, here and below, of the kernel's uapi header linux/capability.h.
const NET_ADMIN: u32 = 12;
/// `CAP_SYS_ADMIN`, which includes `CAP_BPF`.
const SYS_ADMIN: u32 = 21;
/// `CAP_PERFMON`: without it the kernel allows no program to calculate with pointers.
const PERFMON: u32 = 38;
const BPF: u32 = 39;

#[derive(Debug, Error)]
pub enum PinDirectoryError {
    /// The process lacks capabilities.
    #[error(
        "loading packet programs needs {missing}: run as root, or choose the drop-in of the plane for the service \
         (/usr/share/steelyard/systemd)"
    )]
    NotPermitted {
        /// The missing capabilities by name.
        missing: String,
    },
    /// The kernel provides no type information (BTF).
    #[error(
        "the kernel has no type information (/sys/kernel/btf/vmlinux): a kernel with CONFIG_DEBUG_INFO_BTF=y is needed"
    )]
    NoBtf,
    /// The directory is not on a BPF file system.
    #[error("`{}` is not on a BPF file system: mount one with `mount -t bpf bpf {}`", path.display(), path.display())]
    NotBpf {
        path: PathBuf,
        /// Why no file system could be mounted.
        #[source]
        source: io::Error,
    },
    #[error("cannot {act} `{}`", path.display())]
    Directory {
        act: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Another process owns the directory.
    #[error(transparent)]
    Claim(#[from] ClaimError),
}

#[derive(Clone, Debug)]
pub struct PinDirectory {
    root: PathBuf,
    /// Locked while this process owns the directory.
    _lock: Option<Arc<File>>,
}

impl PinDirectory {
    /// Checks rights and kernel, and makes the directory. Mounts a BPF file system at `/sys/fs/bpf` where none is.
    pub fn open(root: &Path) -> Result<PinDirectory, PinDirectoryError> {
        check_permissions(PointerArithmetic::Unused)?;
        if !Path::new("/sys/kernel/btf/vmlinux").exists() {
            return Err(PinDirectoryError::NoBtf);
        }
        if root.starts_with(CUSTOM) && !is_bpf(Path::new(CUSTOM)) {
            mount_at(Path::new(CUSTOM))?;
            // Ignored: without the mark only a warning is missing.
            let _ = pin_lifetime::mark_mount(Path::new(CUSTOM));
        }
        let home = PinDirectory { root: root.to_owned(), _lock: None };
        home.create_directory(root)?;
        if !is_bpf(root) {
            let source = io::ErrorKind::Unsupported.into();
            return Err(PinDirectoryError::NotBpf { path: root.to_owned(), source });
        }
        Ok(home)
    }

    /// Like `open`, and owns the directory: while this value or a clone exists, no other daemon gets it.
    ///
    /// # Errors
    /// As `open`, and where another process owns it.
    pub fn claim(
        root: &Path,
        owner: &PinOwner,
        sharing: ClaimScope,
    ) -> Result<PinDirectory, PinDirectoryError> {
        let home = PinDirectory::open(root)?;
        let lock = pin_owner::claim(root, owner, sharing)?;
        Ok(PinDirectory { _lock: Some(Arc::new(lock)), ..home })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A directory below it, made when missing.
    pub fn subdirectory(&self, name: &str) -> Result<PathBuf, PinDirectoryError> {
        let path = self.root.join(name);
        self.create_directory(&path)?;
        Ok(path)
    }

    /// Removes a directory below it with all pins; packets that relied on them go to the host. No error when it is
    /// missing.
    pub fn remove(&self, name: &str) -> Result<(), PinDirectoryError> {
        let path = self.root.join(name);
        match std::fs::remove_dir_all(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(PinDirectoryError::Directory { act: "remove", path, source })
            }
            _ => Ok(()),
        }
    }

    /// Removes the directory and all its pins. A directory that another user created for the daemon stays, but empty.
    pub fn clear(&self) -> Result<(), PinDirectoryError> {
        let left = self.remove("");
        let is_empty = || std::fs::read_dir(&self.root).is_ok_and(|mut left| left.next().is_none());
        match left {
            Err(PinDirectoryError::Directory { source, .. })
                if source.kind() == io::ErrorKind::PermissionDenied && is_empty() =>
            {
                Ok(())
            }
            done => done,
        }
    }

    fn create_directory(&self, path: &Path) -> Result<(), PinDirectoryError> {
        files::create::make_dir(path, 0o755).map_err(|source| PinDirectoryError::Directory {
            act: "make",
            path: path.to_owned(),
            source,
        })
    }
}

pub fn mount_at(path: &Path) -> Result<(), PinDirectoryError> {
    mount("bpf", path, "bpf", MountFlags::empty(), None)
        .map_err(|error| PinDirectoryError::NotBpf { path: path.to_owned(), source: error.into() })
}

fn is_bpf(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|found| found.f_type as u64 & 0xffff_ffff == MAGIC)
}

/// Whether programs calculate with pointers, which needs its own capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointerArithmetic {
    Unused,
    Used,
}

/// Checks that this process may load such programs.
///
/// # Errors
/// `NotPermitted`, with all missing capabilities.
pub fn check_permissions(pointers: PointerArithmetic) -> Result<(), PinDirectoryError> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = line.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    let missing = missing_capabilities(held, pointers);
    if missing.is_empty() {
        return Ok(());
    }
    Err(PinDirectoryError::NotPermitted { missing: missing.join(" and ") })
}

/// Names of the capabilities that are missing in a set.
fn missing_capabilities(held: u64, pointers: PointerArithmetic) -> Vec<&'static str> {
    let has = |bit: u32| held & (1 << bit) != 0;
    let mut out = Vec::new();
    if !has(BPF) && !has(SYS_ADMIN) {
        out.push("CAP_BPF");
    }
    if !has(NET_ADMIN) {
        out.push("CAP_NET_ADMIN");
    }
    if pointers == PointerArithmetic::Used && !has(PERFMON) && !has(SYS_ADMIN) {
        out.push("CAP_PERFMON");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities() {
        use PointerArithmetic::{Unused, Used};
        let none = Vec::<&str>::new();
        for pointers in [Unused, Used] {
            assert_eq!(missing_capabilities(u64::MAX, pointers), none);
            assert_eq!(missing_capabilities(1 << SYS_ADMIN | 1 << NET_ADMIN, pointers), none);
        }
        assert_eq!(missing_capabilities(1 << BPF, Unused), ["CAP_NET_ADMIN"]);
        assert_eq!(missing_capabilities(0, Unused), ["CAP_BPF", "CAP_NET_ADMIN"]);
        assert_eq!(missing_capabilities(1 << BPF | 1 << NET_ADMIN, Used), ["CAP_PERFMON"]);
        assert_eq!(missing_capabilities(0, Used), ["CAP_BPF", "CAP_NET_ADMIN", "CAP_PERFMON"]);
    }
}
