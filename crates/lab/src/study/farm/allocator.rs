//! Finds the allocators that the balancer can run with, and checks that a process uses one.
//!
//! It starts no process.

use std::fs;
use std::path::{Path, PathBuf};

use crate::study::balancer::EnvironmentVariable;

/// The system's own allocator.
pub const SYSTEM: &str = "the system's";
/// Other allocators and their libraries, the most common first.
const LIBRARIES: [(&str, &str); 3] = [
    ("jemalloc", "libjemalloc.so.2"),
    ("tcmalloc", "libtcmalloc_minimal.so.4"),
    ("mimalloc", "libmimalloc.so.2"),
];
const PLACES: [&str; 5] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocator {
    pub name: &'static str,
    /// Makes a process use this allocator.
    pub environment: Vec<EnvironmentVariable>,
    /// The library that a process with this allocator maps into memory; `None`: the system's allocator.
    library: Option<PathBuf>,
}

/// The system's allocator and one other: an installed library, otherwise the system's with a single arena.
pub fn available_allocators() -> [Allocator; 2] {
    let own = Allocator { name: SYSTEM, environment: Vec::new(), library: None };
    let one_arena = || {
        let tunable = "glibc.malloc.arena_max=1".to_owned();
        let environment = vec![EnvironmentVariable { name: "GLIBC_TUNABLES", value: tunable }];
        Allocator { name: "the system's with one arena", environment, library: None }
    };
    [
        own,
        LIBRARIES
            .iter()
            .find_map(|(name, file)| find_installed(name, file))
            .unwrap_or_else(one_arena),
    ]
}

fn find_installed(name: &'static str, file: &str) -> Option<Allocator> {
    let mut places = PLACES.iter().map(|place| Path::new(place).join(file));
    let path = places.find(|path| path.is_file())?;
    let value = path.display().to_string();
    let environment = vec![EnvironmentVariable { name: "LD_PRELOAD", value }];
    // Memory maps show the target of a symbolic link.
    let library = fs::canonicalize(&path).unwrap_or(path);
    Some(Allocator { name, environment, library: Some(library) })
}

impl Allocator {
    /// Why a process does not run with this allocator; `None`: it does.
    pub fn missing(&self, process: u32) -> Option<String> {
        let maps = fs::read_to_string(format!("/proc/{process}/maps"));
        self.missing_of(&maps.unwrap_or_default())
    }

    fn missing_of(&self, maps: &str) -> Option<String> {
        let library = self.library.as_ref()?.display().to_string();
        let names =
            |line: &str| line.strip_suffix(&library).is_some_and(|rest| rest.ends_with(' '));
        let text = || {
            format!(
                "the allocator {} did not take effect, so it is not measured: {library} is not in the balancer's memory",
                self.name
            )
        };
        (!maps.lines().any(names)).then(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rows: Z13
    #[test]
    fn a_library_took_effect_when_it_is_in_memory() {
        let library = Some(PathBuf::from("/usr/lib/libjemalloc.so.2"));
        let other = Allocator { name: "jemalloc", environment: Vec::new(), library };
        let maps = |path: &str| {
            format!(
                "55d0c0000000-55d0c0021000 r-xp 00000000 fe:00 1234    {path}\n7ffc0000-7ffc1000 rw-p 0 0 0 [stack]\n"
            )
        };
        assert_eq!(other.missing_of(&maps("/usr/lib/libjemalloc.so.2")), None);
        for others in [
            "/usr/lib/libc.so.6",
            "/opt/usr/lib/libjemalloc.so.2",
            "/usr/lib/libjemalloc.so.2 (deleted)",
            "",
        ] {
            let why = other.missing_of(&maps(others)).unwrap();
            assert!(why.contains("jemalloc did not take effect"), "{others}: {why}");
        }
        assert_eq!(
            available_allocators()[0].missing_of(""),
            None,
            "nothing is loaded for the system's"
        );
        // This process was started without any of the libraries, unless the environment preloads one.
        let here = std::process::id();
        let preloaded = std::env::var_os("LD_PRELOAD").is_some();
        if let Some(found) = LIBRARIES.iter().find_map(|(name, file)| find_installed(name, file)) {
            assert!(preloaded || found.missing(here).is_some(), "{found:?}");
        }
    }
}
