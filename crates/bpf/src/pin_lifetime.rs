//! Whether pins outlive the process: a BPF file system vanishes with the last mount namespace that has it.
//!
//! The first process of the system decides: if it has mounted the same file system, the pins stay.

use std::fs::read_to_string;
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

/// The mark of a file system that Steelyard mounted: a dangling symbolic link.
const MARK: &str = "steelyard-mounted";
/// The inode of the host's own PID namespace (`PROC_PID_INIT_INO`).
const MACHINE: u64 = 0xefff_fffc;

/// How the file system of the pins is mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MountVisibility {
    /// The first process has it mounted too.
    init_has_mount: bool,
    is_init: bool,
    /// This is the PID namespace of a container.
    container: bool,
    /// A Steelyard process mounted it.
    mounted_by_us: bool,
}

impl MountVisibility {
    fn warning(self) -> Option<&'static str> {
        match self {
            MountVisibility { mounted_by_us: true, container: true, .. } => Some(
                "the BPF file system was mounted inside this container, and goes with it: mount the host's /sys/fs/bpf into it",
            ),
            MountVisibility { init_has_mount: false, is_init: false, .. } => Some(
                "the BPF file system is mounted in this process's mount namespace alone (as `ip netns exec` and `unshare -m` \
                 make one), and goes with that: mount one outside first and have packets.pin-path lie there",
            ),
            _ => None,
        }
    }
}

/// Why the pins in a directory vanish with the process. `None`: as far as can be seen they do not, or there is no such
/// directory.
pub fn lifetime_warning(root: &Path) -> Option<&'static str> {
    let found = std::fs::metadata(root).ok()?;
    let device = device_numbers(found.dev());
    let mounted = |of: &str| read_to_string(format!("/proc/{of}/mountinfo")).ok();
    let own = mount_of(&mounted("self")?, &device)?;
    // If the first process is hidden, the lifetime is unknown.
    let first = mounted("1")?;
    let namespace = std::fs::metadata("/proc/self/ns/pid").map_or(MACHINE, |found| found.ino());
    let sight = MountVisibility {
        init_has_mount: mount_of(&first, &device).is_some(),
        is_init: std::process::id() == 1,
        container: namespace != MACHINE,
        mounted_by_us: std::fs::symlink_metadata(own.join(MARK)).is_ok(),
    };
    sight.warning()
}

/// Marks a newly mounted file system as Steelyard's.
pub(crate) fn mark_mount(at: &Path) -> io::Result<()> {
    symlink("steelyard", at.join(MARK))
}

fn device_numbers(number: u64) -> String {
    let major = rustix::fs::major(number);
    let minor = rustix::fs::minor(number);
    format!("{major}:{minor}")
}

/// Where a BPF file system is mounted.
fn mount_of(mounts: &str, device: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut words = place.split(' ').skip(2);
        let (found, _, at) = (words.next()?, words.next()?, words.next()?);
        (found == device && kind.starts_with("bpf ")).then(|| PathBuf::from(at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_process_decides_the_lifetime_of_pins() {
        // Columns: the first process has the mount, this is the first process, in a container, mounted by Steelyard;
        // and whether a warning follows.
        let rows = [
            ([true, false, false, false], false),
            ([true, false, false, true], false),
            ([false, false, false, false], true),
            ([false, false, false, true], true),
            ([true, true, true, false], false),
            ([true, true, true, true], true),
            ([true, false, true, false], false),
            ([true, false, true, true], true),
            ([true, true, false, true], false),
        ];
        for ([first_has_it, is_first, container, ours], wanted) in rows {
            let sight = MountVisibility {
                init_has_mount: first_has_it,
                is_init: is_first,
                container,
                mounted_by_us: ours,
            };
            assert_eq!(sight.warning().is_some(), wanted, "{sight:?}");
        }
    }

    #[test]
    fn mounts_are_found_by_their_device() {
        let mounts = "25 30 0:23 / /sys rw shared:7 - sysfs sysfs rw\n\
                      249 27 0:57 / /sys/fs/bpf rw,relatime shared:9 - bpf bpf rw\n\
                      250 27 0:58 / /other rw - tmpfs tmpfs rw\nodd\n";
        assert_eq!(mount_of(mounts, "0:57"), Some(PathBuf::from("/sys/fs/bpf")));
        assert_eq!(mount_of(mounts, "0:58"), None);
        assert_eq!(mount_of(mounts, "0:5"), None);
    }

    #[test]
    fn a_directory_elsewhere_is_not_doubted() {
        assert_eq!(lifetime_warning(Path::new("/")), None);
        assert_eq!(lifetime_warning(Path::new("/nowhere/at/all")), None);
    }
}
