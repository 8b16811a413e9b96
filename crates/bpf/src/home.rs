//! The directory of a BPF file system under which everything is pinned. Says why it cannot be had; loads nothing.

use std::io;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, mount};
use thiserror::Error;

/// Where BPF file systems are mounted by custom.
const CUSTOM: &str = "/sys/fs/bpf";
/// `BPF_FS_MAGIC` of `linux/magic.h`.
const MAGIC: u64 = 0xcafe_4a11;
/// `CAP_NET_ADMIN` of `linux/capability.h`.
const NET_ADMIN: u32 = 12;
/// `CAP_SYS_ADMIN`, which includes `CAP_BPF`.
const SYS_ADMIN: u32 = 21;
/// `CAP_BPF`.
const BPF: u32 = 39;

/// Why BPF cannot be used here.
#[derive(Debug, Error)]
pub enum HomeError {
    /// The process may not.
    #[error(
        "loading packet programs needs {missing}: run as root, or give the service AmbientCapabilities=CAP_BPF CAP_NET_ADMIN"
    )]
    NotPermitted {
        /// The missing capabilities by name.
        missing: String,
    },
    /// The kernel does not describe its types.
    #[error(
        "the kernel has no type information (/sys/kernel/btf/vmlinux): a kernel with CONFIG_DEBUG_INFO_BTF=y is needed"
    )]
    NoBtf,
    /// The directory is no place for pins.
    #[error("`{}` is not on a BPF file system: mount one with `mount -t bpf bpf {}`", path.display(), path.display())]
    NotBpf {
        /// The directory.
        path: PathBuf,
        /// Why one could not be mounted.
        #[source]
        source: io::Error,
    },
    /// The directory cannot be made or read.
    #[error("cannot {act} `{}`", path.display())]
    Directory {
        /// What was attempted.
        act: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

/// A directory for pins.
#[derive(Clone, Debug)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// Checks rights and kernel, and makes the directory. Where no BPF file system is mounted at `/sys/fs/bpf` one is.
    pub fn open(root: &Path) -> Result<Home, HomeError> {
        permitted()?;
        if !Path::new("/sys/kernel/btf/vmlinux").exists() {
            return Err(HomeError::NoBtf);
        }
        if root.starts_with(CUSTOM) && !is_bpf(Path::new(CUSTOM)) {
            mount_at(Path::new(CUSTOM))?;
        }
        let home = Home { root: root.to_owned() };
        home.make(root)?;
        if !is_bpf(root) {
            let source = io::ErrorKind::Unsupported.into();
            return Err(HomeError::NotBpf { path: root.to_owned(), source });
        }
        Ok(home)
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A directory below it, made when missing.
    pub fn below(&self, name: &str) -> Result<PathBuf, HomeError> {
        let path = self.root.join(name);
        self.make(&path)?;
        Ok(path)
    }

    /// Removes a directory below it with all pins; packets that relied on them go to the host. No error when missing.
    pub fn remove(&self, name: &str) -> Result<(), HomeError> {
        let path = self.root.join(name);
        match std::fs::remove_dir_all(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(HomeError::Directory { act: "remove", path, source })
            }
            _ => Ok(()),
        }
    }

    /// Removes the directory and every pin in it.
    pub fn clear(&self) -> Result<(), HomeError> {
        self.remove("")
    }

    fn make(&self, path: &Path) -> Result<(), HomeError> {
        files::make::make_dir(path, 0o755).map_err(|source| HomeError::Directory {
            act: "make",
            path: path.to_owned(),
            source,
        })
    }
}

/// Mounts a BPF file system at an existing directory.
pub fn mount_at(path: &Path) -> Result<(), HomeError> {
    mount("bpf", path, "bpf", MountFlags::empty(), None)
        .map_err(|error| HomeError::NotBpf { path: path.to_owned(), source: error.into() })
}

fn is_bpf(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|found| found.f_type as u64 & 0xffff_ffff == MAGIC)
}

fn permitted() -> Result<(), HomeError> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = line.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    let missing = missing(held);
    if missing.is_empty() {
        return Ok(());
    }
    Err(HomeError::NotPermitted { missing: missing.join(" and ") })
}

/// Names of the capabilities that a set of them lacks.
fn missing(held: u64) -> Vec<&'static str> {
    let has = |bit: u32| held & (1 << bit) != 0;
    let mut out = Vec::new();
    if !has(BPF) && !has(SYS_ADMIN) {
        out.push("CAP_BPF");
    }
    if !has(NET_ADMIN) {
        out.push("CAP_NET_ADMIN");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities() {
        assert_eq!(missing(u64::MAX), Vec::<&str>::new());
        assert_eq!(missing(1 << SYS_ADMIN | 1 << NET_ADMIN), Vec::<&str>::new());
        assert_eq!(missing(1 << BPF), ["CAP_NET_ADMIN"]);
        assert_eq!(missing(0), ["CAP_BPF", "CAP_NET_ADMIN"]);
    }
}
