//! Removes the remains of killed runs: namespaces with their links, BPF file systems, directories of studies.
//!
//! It touches only names whose process has ended. In the temporary directory any user can create such a name, so it
//! touches only mounted BPF file systems and private directories of this user. Processes are left alone.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::Command;

use files::create::is_private_dir;
use files::temporary::temporary_root;

use super::bpffs::unmount;
use super::namespace::PLACE;
use super::namespace_name::is_orphan;
use super::tool::{find, run_command};

/// Names of what was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    pub namespaces: Vec<String>,
    /// Temporary directories of BPF file systems and of studies.
    pub file_systems: Vec<String>,
}

/// The mounts that this process sees.
const MOUNTS: &str = "/proc/self/mountinfo";

/// Removes the remains of ended runs. What cannot be removed stays and is not reported.
pub fn sweep_orphans() -> SweepReport {
    let mut swept = SweepReport::default();
    for name in find_orphans(Path::new(PLACE)) {
        if run_command(Command::new(find("ip")).args(["netns", "del", &name])).is_ok() {
            swept.namespaces.push(name);
        }
    }
    let Ok(temporary) = temporary_root() else { return swept };
    for name in find_orphans(&temporary) {
        let dir = temporary.join(&name);
        if is_bpf_mount(&fs::read_to_string(MOUNTS).unwrap_or_default(), &dir) {
            unmount(&dir);
        }
        // A directory with a mount left is not private, so it stays, and the next sweep tries again.
        if is_private_dir(&dir) && fs::remove_dir_all(&dir).is_ok() {
            swept.file_systems.push(name);
        }
    }
    swept
}

/// Whether only BPF file systems are mounted at exactly this path (proc(5), mountinfo, fields 5 and 9). Only root can
/// mount one, and the kernel reports the resolved path, so a symbolic link cannot imitate it.
fn is_bpf_mount(mounts: &str, dir: &Path) -> bool {
    let kind = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let here = before.split(' ').nth(4).is_some_and(|at| unescaped(at) == dir.as_os_str());
        here.then(|| after.starts_with("bpf "))
    };
    let kinds: Vec<bool> = mounts.lines().filter_map(kind).collect();
    !kinds.is_empty() && kinds.into_iter().all(|is_bpf| is_bpf)
}

/// Decodes the kernel's octal escapes in a path (`\\040` for a space).
fn unescaped(text: &str) -> OsString {
    let mut out = Vec::new();
    let mut bytes = text.as_bytes();
    while let Some((first, rest)) = bytes.split_first() {
        let octal = rest.get(..3).filter(|_| *first == b'\\');
        let number = octal.and_then(|digits| std::str::from_utf8(digits).ok());
        match number.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                out.push(byte);
                bytes = &rest[3..];
            }
            None => {
                out.push(*first);
                bytes = rest;
            }
        }
    }
    OsString::from_vec(out)
}

fn find_orphans(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| is_orphan(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bpf_file_system_at_exactly_this_place_is_ours() {
        let bpf = "36 25 0:32 / /tmp/sylab-9-1-0-bpf rw - bpf bpf rw,mode=700";
        let disk = "37 25 8:1 / /tmp/sylab-9-1-0-bpf rw shared:1 - ext4 /dev/sda1 rw";
        let below = "38 25 0:33 / /tmp/sylab-9-1-0-bpf/in rw - bpf bpf rw";
        let spaced = "39 25 0:34 / /tmp/a\\040b rw - bpf bpf rw";
        let place = Path::new("/tmp/sylab-9-1-0-bpf");
        assert!(is_bpf_mount(bpf, place));
        for other in ["", disk, below, "nonsense", &format!("{bpf}\n{disk}")] {
            assert!(!is_bpf_mount(other, place), "{other}");
        }
        assert!(is_bpf_mount(spaced, Path::new("/tmp/a b")));
    }
}
