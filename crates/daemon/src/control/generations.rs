//! Every configuration that was active: its text, its number, who applied it, when.
//!
//! Stored in the state directory, a text and a description a generation, and in memory. A directory that is missing,
//! read-only or full costs the history over a restart, nothing else: the trouble is logged and counted. It activates
//! nothing.

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use files::create::make_dir;
use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher13};

use crate::state::change::GenerationRecord;
use crate::state::origin::ChangeOrigin;
use crate::util::atomic_file;
use crate::util::event::EventLog;

/// Limits a configuration's text; longer ones are rejected by the API already.
pub const TEXT_BYTES: u64 = 16 << 20;
/// Files looked at in the directory.
const FILES: usize = 10_000;

#[derive(Debug)]
pub struct GenerationStore {
    directory: Option<PathBuf>,
    limit: usize,
    all: BTreeMap<u64, StoredGeneration>,
    highest: u64,
    failures: u64,
    last_error: String,
    events: EventLog,
}

/// One generation with its text.
#[derive(Clone, Debug)]
pub struct StoredGeneration {
    pub record: GenerationRecord,
    pub text: String,
}

/// The description file beside a text.
#[derive(Serialize, Deserialize)]
struct GenerationFile {
    version: u32,
    #[serde(flatten)]
    record: GenerationRecord,
}

#[derive(Clone, Debug)]
pub struct NewGeneration<'a> {
    pub text: &'a str,
    /// The file that it was read from.
    pub file: &'a str,
    pub origin: &'a ChangeOrigin,
    /// For a rollback: the generation whose text it repeats.
    pub repeats: Option<u64>,
}

impl GenerationStore {
    /// Reads the generations that earlier processes stored below `state`; `None`: nothing is stored on disk.
    pub fn open(state: Option<&Path>, keep: u32, events: EventLog) -> GenerationStore {
        let directory = state.map(|state| state.join("generations"));
        let keep = usize::try_from(keep).unwrap_or(usize::MAX).max(1);
        let all = BTreeMap::new();
        let highest = 0;
        let failed = 0;
        let why = String::new();
        let mut store = GenerationStore {
            directory,
            limit: keep,
            all,
            highest,
            failures: failed,
            last_error: why,
            events,
        };
        if let Some(directory) = store.directory.clone() {
            match make_dir(&directory, 0o750).and_then(|()| store.load(&directory)) {
                Ok(()) => {}
                Err(error) => {
                    store.record_failure("read", &error);
                    // The path is no directory, or is missing; the next generation creates it.
                    if !directory.is_dir() {
                        atomic_file::set_aside(&directory, &error, &store.events);
                    }
                }
            }
        }
        store.forget_old();
        store
    }

    /// The number for this text: the last generation's if its text is the same, else the next one. Stores nothing.
    pub fn number_for(&self, text: &str) -> u64 {
        match self.all.last_key_value() {
            Some((number, last)) if last.text == text => *number,
            _ => self.highest + 1,
        }
    }

    /// Reserves numbers below this one: an earlier process used them and could not store them.
    pub fn reserve_below(&mut self, number: u64) {
        self.highest = self.highest.max(number.saturating_sub(1));
    }

    /// Stores a generation that is active now. One that is stored already stays as it is.
    pub fn add(
        &mut self,
        number: u64,
        entry: &NewGeneration<'_>,
        now: SystemTime,
    ) -> GenerationRecord {
        if let Some(generation) = self.all.get(&number) {
            return generation.record.clone();
        }
        let record = GenerationRecord {
            number,
            origin: entry.origin.clone(),
            file: entry.file.to_owned(),
            at: now,
            digest: digest(entry.text),
            repeats: entry.repeats,
        };
        let generation = StoredGeneration { record: record.clone(), text: entry.text.to_owned() };
        if let Some(directory) = self.directory.clone() {
            match write(&directory, &generation) {
                Ok(()) => self.last_error.clear(),
                Err(error) => self.record_failure("write", &error),
            }
        }
        self.highest = self.highest.max(number);
        self.all.insert(number, generation);
        self.forget_old();
        record
    }

    /// All stored generations, oldest first.
    pub fn list(&self) -> Vec<GenerationRecord> {
        self.all.values().map(|generation| generation.record.clone()).collect()
    }

    pub fn find(&self, number: u64) -> Option<&StoredGeneration> {
        self.all.get(&number)
    }

    /// The generation whose text was first activated before that of `number`: where `number` repeats an older one, the
    /// search begins there, so that one rollback after another leads ever further back.
    pub fn previous(&self, number: u64, text: &str) -> Option<&StoredGeneration> {
        let mut first = number;
        while let Some(repeated) =
            self.all.get(&first).and_then(|generation| generation.record.repeats)
            && repeated < first
        {
            first = repeated;
        }
        self.all
            .range(..first)
            .rev()
            .map(|(_, generation)| generation)
            .find(|generation| generation.text != text)
    }

    /// Changes how many generations are stored.
    pub fn set_limit(&mut self, keep: u32) {
        self.limit = usize::try_from(keep).unwrap_or(usize::MAX).max(1);
        self.forget_old();
    }

    /// Attempts to read or write the directory that failed.
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// Why the last attempt failed; empty: it did not.
    pub fn last_error(&self) -> &str {
        &self.last_error
    }

    fn load(&mut self, directory: &Path) -> io::Result<()> {
        for entry in files::owned_file::entries(directory)?.into_iter().flatten().take(FILES) {
            let path = entry?.path();
            if path.extension().is_none_or(|ending| ending != "json") {
                continue;
            }
            match read(&path) {
                Ok(Some(generation)) => {
                    self.highest = self.highest.max(generation.record.number);
                    self.all.insert(generation.record.number, generation);
                }
                Ok(None) => {}
                Err(error) => {
                    let named = format!("{}: {error}", path.display());
                    self.record_failure("read", &io::Error::new(error.kind(), named));
                    self.highest = self.highest.max(numbered(&path));
                    atomic_file::set_aside(&path, &error, &self.events);
                }
            }
        }
        Ok(())
    }

    fn forget_old(&mut self) {
        while self.all.len() > self.limit {
            let Some((number, _)) = self.all.pop_first() else { return };
            if let Some(directory) = &self.directory {
                // A file that cannot be removed is removed at the next start.
                let _ = std::fs::remove_file(description(directory, number));
                let _ = std::fs::remove_file(text(directory, number));
            }
        }
    }

    fn record_failure(&mut self, action: &str, error: &io::Error) {
        self.failures += 1;
        self.last_error = error.to_string();
        let place = self.directory.as_deref().unwrap_or(Path::new("")).display();
        self.events.warn(
            "generations-not-saved",
            format!(
                "cannot {action} generations in {place}: {error}; they are kept in memory and will be lost with this process"
            ),
        );
    }
}

/// A text's digest: SipHash-1-3 of 128 bits with a fixed key. It distinguishes texts and is no protection against
/// forgery.
pub fn digest(text: &str) -> String {
    let mut hasher = SipHasher13::new_with_keys(0x7374_6565_6c79_6172, 0x6400_0000_0000_0001);
    hasher.write(text.as_bytes());
    format!("{:032x}", hasher.finish128().as_u128())
}

/// The text is written first: a description counts only if its text exists.
fn write(directory: &Path, generation: &StoredGeneration) -> io::Result<()> {
    make_dir(directory, 0o750)?;
    atomic_file::replace(&text(directory, generation.record.number), generation.text.as_bytes())?;
    let described = GenerationFile { version: 1, record: generation.record.clone() };
    let json = serde_json::to_vec_pretty(&described).map_err(io::Error::other)?;
    atomic_file::replace(&description(directory, generation.record.number), &json)
}

fn read(path: &Path) -> io::Result<Option<StoredGeneration>> {
    let Some(json) = atomic_file::read_own(path, TEXT_BYTES)? else { return Ok(None) };
    let described: GenerationFile = serde_json::from_str(&json).map_err(io::Error::other)?;
    if described.version != 1 {
        return Err(io::Error::other("written by another version"));
    }
    let record = described.record;
    let text = atomic_file::read_own(&path.with_extension("toml"), TEXT_BYTES)?
        .ok_or_else(|| io::Error::other("its text is missing"))?;
    if digest(&text) != record.digest {
        return Err(io::Error::other("its text was changed since"));
    }
    Ok(Some(StoredGeneration { record, text }))
}

/// The number in a file's name; 0: none.
fn numbered(path: &Path) -> u64 {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    // A number from nowhere may not use up all that are to come.
    stem.and_then(|stem| stem.parse().ok()).filter(|number| *number < u64::MAX / 2).unwrap_or(0)
}

fn description(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:08}.json"))
}

fn text(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:08}.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::origin::ChangeTrigger;
    use crate::util::scratch_dir::Scratch;

    fn add(generations: &mut GenerationStore, text: &str) -> u64 {
        let origin = ChangeOrigin::new("tester", ChangeTrigger::Api);
        let number = generations.number_for(text);
        let entry = NewGeneration { text, file: "f.toml", origin: &origin, repeats: None };
        generations.add(number, &entry, SystemTime::now());
        number
    }

    #[test]
    fn they_outlive_the_process_and_go_on_counting() {
        let scratch = Scratch::new("generations").unwrap();
        let mut first = GenerationStore::open(Some(scratch.path()), 20, EventLog::quiet());
        assert_eq!(add(&mut first, "a"), 1);
        assert_eq!(add(&mut first, "b"), 2);
        assert_eq!(add(&mut first, "b"), 2, "the same text is the same generation");
        let generations = first.list();
        drop(first);
        let mut second = GenerationStore::open(Some(scratch.path()), 20, EventLog::quiet());
        assert_eq!(second.list(), generations);
        assert_eq!(add(&mut second, "b"), 2);
        assert_eq!(add(&mut second, "a"), 3);
        assert_eq!(second.previous(3, "a").map(|generations| generations.record.number), Some(2));
        assert_eq!(second.failures(), 0);
    }

    #[test]
    fn the_oldest_go_from_memory_and_disk() {
        let scratch = Scratch::new("generations").unwrap();
        let mut store = GenerationStore::open(Some(scratch.path()), 3, EventLog::quiet());
        for text in ["a", "b", "c", "d", "e"] {
            add(&mut store, text);
        }
        let numbers =
            |store: &GenerationStore| store.list().iter().map(|r| r.number).collect::<Vec<_>>();
        assert_eq!(numbers(&store), [3, 4, 5]);
        assert_eq!(std::fs::read_dir(scratch.path().join("generations")).unwrap().count(), 6);
        store.set_limit(2);
        assert_eq!(numbers(&store), [4, 5]);
        assert!(store.find(3).is_none());
    }

    #[test]
    fn a_place_that_cannot_be_written_costs_nothing_but_an_event() {
        let scratch = Scratch::new("generations").unwrap();
        let place = scratch.path().join("file");
        std::fs::write(&place, "not a directory").unwrap();
        let events = EventLog::quiet();
        let mut store = GenerationStore::open(Some(&place), 20, events.clone());
        add(&mut store, "a");
        add(&mut store, "b");
        assert_eq!(store.list().len(), 2);
        assert_eq!(store.failures(), 3);
        assert!(events.recent().iter().all(|event| event.kind == "generations-not-saved"));
        assert_eq!(events.recent().len(), 3);
    }

    #[test]
    fn what_was_tampered_with_is_reported_and_left_out() {
        let scratch = Scratch::new("generations").unwrap();
        let mut store = GenerationStore::open(Some(scratch.path()), 20, EventLog::quiet());
        for text in ["a", "b", "c"] {
            add(&mut store, text);
        }
        let place = scratch.path().join("generations");
        std::fs::write(place.join("00000001.toml"), "other").unwrap();
        std::fs::remove_file(place.join("00000002.toml")).unwrap();
        std::fs::write(place.join("odd.json"), "{").unwrap();
        let reopened = GenerationStore::open(Some(scratch.path()), 20, EventLog::quiet());
        assert_eq!(reopened.list().iter().map(|r| r.number).collect::<Vec<_>>(), [3]);
        assert_eq!(reopened.failures(), 3);
        assert_eq!(reopened.number_for("new"), 4);
    }
}
