//! Removes what runs left that were killed: namespaces with their links, bpf file systems, directories of studies.
//!
//! Only names that tell of an ended process are touched; processes are left alone.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::bpffs::unmount;
use super::name::is_orphan;
use super::namespace::PLACE;
use super::tool::{find, said};

/// What was removed, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Namespaces.
    pub namespaces: Vec<String>,
    /// Directories of bpf file systems.
    pub file_systems: Vec<String>,
}

/// The role of directories with files of their own: nothing is mounted in them.
const WORKSHOP: &str = "-study";

/// Removes the leavings of dead runs; what cannot be removed stays and is not named.
pub fn sweep() -> Swept {
    let mut swept = Swept::default();
    for name in orphans(Path::new(PLACE)) {
        if said(Command::new(find("ip")).args(["netns", "del", &name])).is_ok() {
            swept.namespaces.push(name);
        }
    }
    let temporary = std::env::temp_dir();
    for name in orphans(&temporary) {
        let dir = temporary.join(&name);
        unmount(&dir);
        if name.ends_with(WORKSHOP) {
            // What stays is found again next time.
            let _ = fs::remove_dir_all(&dir);
        }
        if !dir.exists() {
            swept.file_systems.push(name);
        }
    }
    swept
}

fn orphans(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| is_orphan(name)).collect()
}
