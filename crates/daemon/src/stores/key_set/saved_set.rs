//! Sets of keys in the state directory, so that they count after a restart too while their server is away. Only sets of
//! URLs of the configuration stay there.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::digest::{SHA256, digest};
use credentials::jwt::key_set::MAX_SET_BYTES;
use serde::{Deserialize, Serialize};

use crate::util::atomic_file;
use crate::util::wall_clock::unix_ms;

/// The directory below that of the state.
const DIRECTORY: &str = "key-sets";

/// Bytes of a file: JSON in JSON.
const MAX_BYTES: u64 = 4 * MAX_SET_BYTES;

/// A set as it is in its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SavedKeySet {
    /// Where it is from.
    pub origin: String,
    /// When its server said last that this is the set, in milliseconds since 1970.
    pub confirmed_unix_ms: u64,
    pub etag: Option<String>,
    pub content: String,
}

impl SavedKeySet {
    /// How old it is; `None`: it is from the future, so the clock was wrong or is.
    pub fn age(&self, now: SystemTime) -> Option<Duration> {
        let then = UNIX_EPOCH.checked_add(Duration::from_millis(self.confirmed_unix_ms))?;
        now.duration_since(then).ok()
    }

    /// The set from this place, if there is one that can be read.
    pub fn read(state: &Path, origin: &str) -> Option<SavedKeySet> {
        let text = atomic_file::read_own(&path(state, origin), MAX_BYTES).ok().flatten()?;
        let saved: SavedKeySet = serde_json::from_str(&text).ok()?;
        (saved.origin == origin).then_some(saved)
    }

    /// # Errors
    /// The directory cannot be written; an earlier file is as before.
    pub fn write(&self, state: &Path) -> io::Result<()> {
        let path = path(state, &self.origin);
        if let Some(directory) = path.parent() {
            files::create::make_dir(directory, 0o750)?;
        }
        atomic_file::replace(&path, &serde_json::to_vec(self).map_err(io::Error::other)?)
    }
}

/// The time as it is in a file.
pub fn saved_time(now: SystemTime) -> u64 {
    unix_ms(now)
}

/// Removes sets of other places.
pub fn remove_others<'o>(state: &Path, origins: impl Iterator<Item = &'o String>) {
    let Ok(entries) = std::fs::read_dir(state.join(DIRECTORY)) else { return };
    let wanted: BTreeSet<PathBuf> = origins.map(|origin| path(state, origin)).collect();
    for entry in entries.flatten().map(|entry| entry.path()) {
        if entry.extension().is_some_and(|it| it == "json") && !wanted.contains(&entry) {
            // One that stays is only a file too many.
            let _ = std::fs::remove_file(entry);
        }
    }
}

fn path(state: &Path, origin: &str) -> PathBuf {
    let digest = digest(&SHA256, origin.as_bytes());
    let name: String = digest.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    state.join(DIRECTORY).join(format!("{name}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::util::scratch_dir::Scratch;

    #[test]
    fn a_set_is_read_again_for_its_place_alone_and_removed_with_it() {
        let room = Scratch::new("key-sets").unwrap();
        let state = room.path().join("state");
        let saved = |origin: &str| SavedKeySet {
            origin: origin.to_owned(),
            confirmed_unix_ms: 1_000,
            etag: Some("\"1\"".to_owned()),
            content: "{\"keys\":[]}".to_owned(),
        };
        assert_eq!(SavedKeySet::read(&state, "a"), None);
        saved("a").write(&state).unwrap();
        saved("b").write(&state).unwrap();
        assert_eq!(SavedKeySet::read(&state, "a"), Some(saved("a")));
        std::fs::copy(path(&state, "b"), path(&state, "a")).unwrap();
        assert_eq!(SavedKeySet::read(&state, "a"), None, "it is of another place");
        std::fs::write(path(&state, "a"), "half").unwrap();
        assert_eq!(SavedKeySet::read(&state, "a"), None);
        remove_others(&state, ["a".to_owned()].iter());
        assert_eq!(SavedKeySet::read(&state, "b"), None);
        assert!(path(&state, "a").exists());
    }

    #[test]
    fn a_set_of_the_future_has_no_age() {
        let set = SavedKeySet {
            origin: String::new(),
            confirmed_unix_ms: 5_000,
            etag: None,
            content: String::new(),
        };
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(set.age(at(7)), Some(Duration::from_secs(2)));
        assert_eq!(set.age(at(4)), None);
    }
}
