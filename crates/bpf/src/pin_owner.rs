//! The owner of a pin directory: a record in it, and a lock that ends with the process. It removes nothing.
//!
//! Pins of a daemon in another network namespace belong to interfaces there, whose indexes mean other interfaces here.
//! Those pins are removed when the directory changes its owner; tables stay.
//!
//! The record is a symbolic link, because a BPF file system holds no files. The lock is on the directory itself, so it
//! is visible in every namespace with the same file system; process numbers would not be.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use thiserror::Error;

/// The record's name. BPF file systems allow no dots in names.
const RECORD: &str = "owner";
/// The network namespace of the thread.
const NAMESPACE: &str = "/proc/thread-self/ns/net";
/// Attempts to claim a directory while others claim or remove it: bounds the race.
const ATTEMPTS: usize = 16;

#[derive(Debug, Error)]
pub enum ClaimError {
    /// Another running daemon owns the directory.
    #[error(
        "`{}` is another daemon's, which runs: {holder}; give this one a place of its own by `packets.pin-path`, such as \
         \"/sys/fs/bpf/steelyard-2\", or stop the other one",
        path.display()
    )]
    Foreign { path: PathBuf, holder: OwnerRecord },
    /// Another process of the same daemon owns the directory, or a process without a record.
    #[error(
        "another process writes to the packet plane in `{}`: stop it, or let this one take over",
        path.display()
    )]
    Locked { path: PathBuf },
    #[error("cannot {act} `{}`", path.display())]
    Directory {
        act: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// A daemon's identity, the same over its restarts and upgrades.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinOwner {
    /// The inode of its network namespace.
    pub namespace: u64,
    pub state: PathBuf,
    /// The inode of the state directory, because containers have directories of the same name. 0: there is none.
    pub inode: u64,
}

/// The contents of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerRecord {
    pub owner: PinOwner,
    /// The process that wrote it, by its number in its own namespace.
    pub pid: u32,
}

/// How many processes may own a directory at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimScope {
    Process,
    /// All processes of one daemon: an upgrade has two.
    Daemon,
}

impl PinOwner {
    /// The identity of this thread's daemon, with its state directory.
    pub fn current(state: &Path) -> PinOwner {
        let inode = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.ino());
        PinOwner {
            namespace: inode(Path::new(NAMESPACE)),
            state: state.to_owned(),
            inode: inode(state),
        }
    }

    fn is_same(&self, other: &PinOwner) -> bool {
        let inodes = self.inode == other.inode || self.inode == 0 || other.inode == 0;
        self.namespace == other.namespace && self.state == other.state && inodes
    }
}

impl fmt::Display for OwnerRecord {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OwnerRecord { owner, pid } = self;
        let state = owner.state.display();
        write!(
            to,
            "process {pid} in network namespace {}, with its state in `{state}`",
            owner.namespace
        )
    }
}

/// Makes this owner the directory's owner. The directory of a dead daemon changes its owner.
///
/// # Errors
/// `Foreign`: another live daemon owns it. `Locked`: another process of the same daemon owns it, or one without a
/// record.
pub(crate) fn claim(
    root: &Path,
    owner: &PinOwner,
    sharing: ClaimScope,
) -> Result<File, ClaimError> {
    let failed = |act| {
        let path = root.to_owned();
        move |source| ClaimError::Directory { act, path, source }
    };
    for _ in 0..ATTEMPTS {
        let directory = File::open(root).map_err(failed("open"))?;
        let found = read_owner(root);
        if sharing == ClaimScope::Daemon
            && found.as_ref().is_some_and(|found| found.owner.is_same(owner))
        {
            lock(&directory, FlockOperation::LockShared).map_err(failed("lock"))?;
            if is_current(root, &directory) && is_owned_by(root, owner) {
                return Ok(directory);
            }
            continue;
        }
        match lock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(claim_error(root, owner, found));
            }
            Err(error) => return Err(failed("lock")(error)),
        }
        if !is_current(root, &directory) {
            continue;
        }
        if found.is_some_and(|found| found.owner.namespace != owner.namespace) {
            detach_foreign_interfaces(root).map_err(failed("take over"))?;
        }
        write_owner(root, owner).map_err(failed("mark"))?;
        if sharing == ClaimScope::Daemon {
            lock(&directory, FlockOperation::LockShared).map_err(failed("lock"))?;
            // Another process can get the lock between the two lock calls.
            if !is_owned_by(root, owner) {
                continue;
            }
        }
        return Ok(directory);
    }
    Err(ClaimError::Locked { path: root.to_owned() })
}

/// Removes the pins at interfaces of another network namespace.
fn detach_foreign_interfaces(root: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(root)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(has_interface_links) {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Whether a directory of this name has pins at interfaces.
fn has_interface_links(name: &str) -> bool {
    name == "links" || name.ends_with("-links") || name.ends_with("-hooks")
}

/// Another live daemon that owns the directory.
pub fn foreign_owner(root: &Path, owner: &PinOwner) -> Option<OwnerRecord> {
    let found = read_owner(root).filter(|found| !found.owner.is_same(owner))?;
    let directory = File::open(root).ok()?;
    let free = lock(&directory, FlockOperation::NonBlockingLockExclusive);
    free.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock).then_some(found)
}

/// Whether no other daemon, live or dead, has claimed the directory: then its pins may be removed.
pub fn is_own(root: &Path, owner: &PinOwner) -> bool {
    read_owner(root).is_none_or(|found| found.owner.is_same(owner))
}

fn is_owned_by(root: &Path, owner: &PinOwner) -> bool {
    read_owner(root).is_some_and(|found| found.owner.is_same(owner))
}

fn claim_error(root: &Path, owner: &PinOwner, found: Option<OwnerRecord>) -> ClaimError {
    let path = root.to_owned();
    match found.filter(|found| !found.owner.is_same(owner)) {
        Some(holder) => ClaimError::Foreign { path, holder },
        None => ClaimError::Locked { path },
    }
}

/// Whether the open directory is still the one at the path.
fn is_current(root: &Path, directory: &File) -> bool {
    let there = std::fs::metadata(root).map(|found| (found.dev(), found.ino()));
    let open = directory.metadata().map(|found| (found.dev(), found.ino()));
    matches!((there, open), (Ok(there), Ok(open)) if there == open)
}

fn lock(directory: &File, how: FlockOperation) -> io::Result<()> {
    loop {
        match flock(directory, how) {
            Err(Errno::INTR) => {}
            done => return done.map_err(io::Error::from),
        }
    }
}

fn write_owner(root: &Path, owner: &PinOwner) -> io::Result<()> {
    let new = root.join(format!("{RECORD}~"));
    let record = root.join(RECORD);
    let PinOwner { namespace, state, inode } = owner;
    let pid = std::process::id();
    match std::fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    symlink(format!("{namespace} {inode} {pid} {}", state.display()), &new)?;
    std::fs::rename(&new, &record)
}

fn read_owner(root: &Path) -> Option<OwnerRecord> {
    let text = std::fs::read_link(root.join(RECORD)).ok()?;
    parse(text.to_str()?)
}

fn parse(text: &str) -> Option<OwnerRecord> {
    let mut words = text.splitn(4, ' ');
    let namespace = words.next()?.parse().ok()?;
    let inode = words.next()?.parse().ok()?;
    let pid = words.next()?.parse().ok()?;
    let state = PathBuf::from(words.next()?);
    Some(OwnerRecord { owner: PinOwner { namespace, state, inode }, pid })
}

#[cfg(test)]
mod tests {
    use files::TemporaryDir;

    use super::*;

    fn owner(namespace: u64, inode: u64) -> PinOwner {
        PinOwner { namespace, state: "/var/lib/a b.c".into(), inode }
    }

    fn place() -> TemporaryDir {
        TemporaryDir::new("owner").unwrap()
    }

    #[test]
    fn a_foreign_directory_is_refused_as_long_as_its_daemon_lives() {
        let place = place();
        let root = place.path();
        let first = owner(1, 7);
        let second = owner(2, 7);
        for sharing in [ClaimScope::Process, ClaimScope::Daemon] {
            let held = claim(root, &first, sharing).unwrap();
            for again in [ClaimScope::Process, ClaimScope::Daemon] {
                let refused = claim(root, &second, again).unwrap_err();
                let message = refused.to_string();
                assert!(matches!(refused, ClaimError::Foreign { .. }), "{message}");
                for part in ["network namespace 1", "/var/lib/a b.c", "packets.pin-path"] {
                    assert!(message.contains(part), "{message}");
                }
            }
            assert_eq!(foreign_owner(root, &second).map(|found| found.owner), Some(first.clone()));
            assert_eq!(foreign_owner(root, &first), None);
            assert!(is_own(root, &first) && !is_own(root, &second));
            drop(held);
            assert_eq!(foreign_owner(root, &second), None, "it lives no more");
            assert!(!is_own(root, &second), "and yet what is in it is not the second's");
            drop(claim(root, &second, sharing).unwrap());
            assert!(is_own(root, &second) && !is_own(root, &first), "taken over");
        }
    }

    #[test]
    fn what_stands_at_interfaces_of_another_namespace_is_not_taken_for_what_stands_here() {
        let place = place();
        let root = place.path();
        let names = ["balance", "gate-links", "links", "uplinks-hooks"];
        names
            .iter()
            .for_each(|name| std::fs::create_dir_all(root.join(name).join("eth0")).unwrap());
        let left = || {
            let there = names.iter().filter(|name| root.join(name).exists());
            there.copied().collect::<Vec<&str>>()
        };
        drop(claim(root, &owner(1, 7), ClaimScope::Process).unwrap());
        // Another daemon of the same namespace uses the same interfaces.
        drop(claim(root, &owner(1, 8), ClaimScope::Process).unwrap());
        assert_eq!(left(), names);
        drop(claim(root, &owner(2, 8), ClaimScope::Process).unwrap());
        assert_eq!(left(), ["balance"]);
    }

    #[test]
    fn a_daemon_shares_with_its_next_process_what_two_may_hold() {
        let place = place();
        let root = place.path();
        let first = claim(root, &owner(1, 7), ClaimScope::Daemon).unwrap();
        let next = claim(root, &owner(1, 7), ClaimScope::Daemon).unwrap();
        drop(first);
        assert!(foreign_owner(root, &owner(2, 7)).is_some(), "the next one lives");
        let alone = claim(root, &owner(1, 7), ClaimScope::Process).unwrap_err();
        assert!(matches!(alone, ClaimError::Locked { .. }), "{alone}");
        drop(next);
        claim(root, &owner(1, 7), ClaimScope::Process).unwrap();
    }

    #[test]
    fn a_state_directory_is_known_by_its_inode_once_it_has_one() {
        let rows = [(7, 7, true), (7, 8, false), (0, 8, true), (7, 0, true)];
        for (one, other, same) in rows {
            assert_eq!(owner(1, one).is_same(&owner(1, other)), same, "{one} {other}");
        }
        assert!(!owner(1, 7).is_same(&PinOwner { state: "/elsewhere".into(), ..owner(1, 7) }));
    }

    #[test]
    fn records_of_another_form_are_nobodys() {
        for text in ["", "1", "1 2 3", "x 2 3 /state", "1 2 -3 /state"] {
            assert_eq!(parse(text), None, "{text}");
        }
        let place = place();
        symlink("nothing of ours", place.path().join(RECORD)).unwrap();
        assert!(is_own(place.path(), &owner(1, 1)));
        claim(place.path(), &owner(1, 1), ClaimScope::Daemon).unwrap();
        assert_eq!(read_owner(place.path()).map(|found| found.owner), Some(owner(1, 1)));
    }

    #[test]
    fn a_directory_without_a_record_whose_lock_is_held_is_waited_for() {
        let place = place();
        let older = File::open(place.path()).unwrap();
        lock(&older, FlockOperation::NonBlockingLockExclusive).unwrap();
        let refused = claim(place.path(), &owner(1, 1), ClaimScope::Process).unwrap_err();
        assert!(matches!(refused, ClaimError::Locked { .. }), "{refused}");
    }
}
