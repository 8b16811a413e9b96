//! A fingerprint of the code that a target covers: it changes with the code.
//!
//! The fingerprint detects mistakes, not manipulation.

use std::fs;
use std::path::{Path, PathBuf};

/// The fingerprint of files and directories below the repository's top, and of libraries in its lock file.
///
/// # Panics
/// A covered path does not exist, because it has moved.
pub fn fingerprint(top: &Path, covers: &[&str]) -> u64 {
    let mut hash = FnvHasher::new();
    for covered in covers {
        hash.take(covered.as_bytes());
        if let Some(library) = covered.strip_prefix("Cargo.lock#") {
            hash.take(locked(top, library).as_bytes());
            continue;
        }
        for file in files(&top.join(covered)) {
            let name = file.strip_prefix(top).unwrap_or(&file);
            hash.take(name.to_string_lossy().as_bytes());
            hash.take(&fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display())));
        }
    }
    hash.0
}

/// Name and version of a library, for each of its versions.
fn locked(top: &Path, library: &str) -> String {
    let text = fs::read_to_string(top.join("Cargo.lock")).expect("a lock file");
    let name = format!("name = \"{library}\"");
    let lines: Vec<&str> = text.lines().collect();
    let found: Vec<&str> =
        lines.windows(2).filter(|two| two[0] == name).map(|two| two[1]).collect();
    assert!(!found.is_empty(), "no library {library} in Cargo.lock");
    found.concat()
}

/// Every file at or below a path, sorted.
fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let below = fs::read_dir(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut below: Vec<PathBuf> = below.map(|entry| entry.expect("an entry").path()).collect();
    below.sort();
    below.iter().flat_map(|path| files(path)).collect()
}

/// The 64-bit hash of Fowler, Noll and Vo.
struct FnvHasher(u64);

impl FnvHasher {
    fn new() -> FnvHasher {
        FnvHasher(0xcbf2_9ce4_8422_2325)
    }

    /// Hashes bytes and their number, so that their boundary affects the hash.
    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().copied().chain((bytes.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
