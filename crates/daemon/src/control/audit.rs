//! The audit log: one JSON object a line in the state directory, the last ones in memory. Trouble with the disk is
//! logged and counted, and never fails the change.
//!
//! A line is written whole and synced. A partial last line after a crash is counted and skipped. `control::undo` undoes
//! changes.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use api::types::AuditRecord;
use serde::{Deserialize, Serialize};

use crate::state::change::AuditExcerpt;
use crate::state::overlay::MembershipOverride;
use crate::state::saved_state::SavedServerState;
use crate::util::atomic_file;
use crate::util::event::EventLog;

/// Records held in memory.
/// A year of some dozen changes a day.
const RECORDS: usize = 10_000;
/// Bytes of one record; the texts of a longer one are cut.
const RECORD_BYTES: usize = 64 * 1024;
/// Bytes read of the file of an earlier process: its end, which holds more records of the usual size than memory does.
/// The file may exceed its limit if the limit was lowered or another program wrote to it.
const READ_BYTES: u64 = 16 * 1024 * 1024;

/// A record, and how to undo it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AuditEntry {
    /// The record as it is shown.
    #[serde(flatten)]
    pub record: AuditRecord,
    /// How to undo it; `None`: it cannot be undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reversal: Option<UndoAction>,
}

/// How to undo an order: the state before, and the state that must still hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UndoAction {
    /// The commands for a server.
    Words {
        before: Box<SavedServerState>,
        after: Box<SavedServerState>,
    },
    /// Whether a server is there.
    Manual {
        pool: String,
        name: String,
        before: Box<MembershipOverride>,
        after: Box<MembershipOverride>,
    },
    Generation {
        before: u64,
        after: u64,
    },
}

#[derive(Debug)]
pub struct AuditLog {
    path: Option<PathBuf>,
    limit: u64,
    entries: VecDeque<AuditEntry>,
    next: u64,
    bytes: u64,
    /// The file may end within a line.
    torn: bool,
    unreadable: u64,
    failures: u64,
    last_error: String,
    events: EventLog,
}

impl AuditLog {
    /// Reads the records that the previous process stored below `state`; `None`: nothing is stored on disk.
    pub fn open(state: Option<&Path>, limit: u64, events: EventLog) -> AuditLog {
        let mut audit = AuditLog {
            path: state.map(|state| state.join("audit.jsonl")),
            limit,
            entries: VecDeque::new(),
            next: 1,
            bytes: 0,
            torn: false,
            unreadable: 0,
            failures: 0,
            last_error: String::new(),
            events,
        };
        if let Some(path) = audit.path.clone() {
            match read(&path, READ_BYTES) {
                Ok(Some(tail)) => audit.adopt(&tail),
                Ok(None) => {}
                Err(error) => {
                    audit.record_failure("read", &error);
                    atomic_file::set_aside(&path, &error, &audit.events);
                }
            }
        }
        audit
    }

    /// How large the file may grow from now on.
    pub fn set_limit(&mut self, bytes: u64) {
        self.limit = bytes;
    }

    /// Adds one; it gets the next number.
    pub fn add(&mut self, record: AuditRecord, reversal: Option<UndoAction>) -> u64 {
        let id = self.next;
        self.next += 1;
        let reversible = reversal.is_some();
        let mut entry = AuditEntry { record: AuditRecord { id, reversible, ..record }, reversal };
        let mut line = serde_json::to_vec(&entry).unwrap_or_default();
        if line.len() > RECORD_BYTES {
            // A thousand characters of each text show the change and leave the record far below `RECORD_BYTES`.
            let short = |text: &String| text.chars().take(1_000).collect::<String>();
            let AuditRecord { before, after, .. } = &entry.record;
            let before = short(before);
            let after = short(after);
            let record = AuditRecord { before, after, reversible: false, ..entry.record };
            entry = AuditEntry { record, reversal: None };
            line = serde_json::to_vec(&entry).unwrap_or_default();
        }
        line.push(b'\n');
        self.push_entry(entry);
        match self.write(&line) {
            Ok(()) => self.last_error.clear(),
            Err(error) => self.record_failure("write", &error),
        }
        id
    }

    /// One by its number.
    pub fn find(&self, id: u64) -> Option<&AuditEntry> {
        self.entries.iter().rev().find(|entry| entry.record.id == id)
    }

    /// The orders of the latest command that can be undone, were not, and are no undo themselves; the latest first.
    pub fn latest_command(&self) -> Vec<&AuditEntry> {
        let undone: HashSet<u64> =
            self.entries.iter().filter_map(|entry| entry.record.undoes).collect();
        let command = |record: &AuditRecord| record.part_of.unwrap_or(record.id);
        let mut left = self.entries.iter().rev().filter(|entry| {
            let record = &entry.record;
            entry.reversal.is_some() && record.undoes.is_none() && !undone.contains(&record.id)
        });
        let Some(latest) = left.next() else { return Vec::new() };
        let others = left.filter(|entry| command(&entry.record) == command(&latest.record));
        std::iter::once(latest).chain(others).collect()
    }

    /// The stored records from this moment (Unix milliseconds) on.
    pub fn records_since(&self, since_unix_ms: u64) -> AuditExcerpt {
        let wanted = self.entries.iter().filter(|stored| stored.record.at_unix_ms >= since_unix_ms);
        AuditExcerpt {
            records: wanted.map(|entry| entry.record.clone()).collect(),
            unreadable: self.unreadable,
            failures: self.failures,
        }
    }

    /// Records that could not be written, or a file that could not be read.
    pub fn failures(&self) -> u64 {
        self.failures
    }

    fn adopt(&mut self, tail: &AuditFileTail) {
        self.bytes = tail.file_bytes;
        self.torn = tail.torn;
        for line in tail.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice::<AuditEntry>(line) {
                Ok(entry) => {
                    self.next = self.next.max(entry.record.id.saturating_add(1));
                    self.push_entry(entry);
                }
                Err(_) => self.unreadable += 1,
            }
        }
    }

    fn push_entry(&mut self, entry: AuditEntry) {
        if self.entries.len() == RECORDS {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    /// Why the last one could not.
    pub fn last_error(&self) -> &str {
        &self.last_error
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let Some(path) = self.path.clone() else { return Ok(()) };
        if self.bytes + line.len() as u64 > self.limit {
            return self.shorten(&path);
        }
        let mut file = match open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if let Some(directory) = path.parent() {
                    files::create::make_dir(directory, 0o750)?;
                }
                open(&path)?
            }
            other => other?,
        };
        let mut whole = Vec::with_capacity(line.len() + 1);
        if self.torn {
            whole.push(b'\n');
        }
        whole.extend_from_slice(line);
        // Until it is known to be whole the file may end anywhere.
        self.torn = true;
        file.write_all(&whole)?;
        self.torn = false;
        self.bytes += whole.len() as u64;
        file.sync_data()
    }

    /// Writes the newer half anew.
    fn shorten(&mut self, path: &Path) -> io::Result<()> {
        let mut lines: VecDeque<Vec<u8>> = VecDeque::new();
        let mut bytes = 0;
        for entry in self.entries.iter().rev() {
            let mut line = serde_json::to_vec(entry).unwrap_or_default();
            line.push(b'\n');
            bytes += line.len() as u64;
            if bytes > self.limit / 2 && !lines.is_empty() {
                break;
            }
            lines.push_front(line);
        }
        let text: Vec<u8> = lines.into_iter().flatten().collect();
        atomic_file::replace(path, &text)?;
        self.bytes = text.len() as u64;
        self.torn = false;
        Ok(())
    }

    fn record_failure(&mut self, action: &str, error: &io::Error) {
        self.failures += 1;
        self.last_error = error.to_string();
        let path = self.path.as_deref().unwrap_or(Path::new("")).display();
        let text = format!("cannot {action} {path}: {error}; the audit log has a gap there");
        self.events.warn("audit-not-saved", text);
    }
}

/// The end of a file.
struct AuditFileTail {
    /// Whole lines, but perhaps for the last one.
    bytes: Vec<u8>,
    /// The last line has no end.
    torn: bool,
    /// How long the whole file is.
    file_bytes: u64,
}

fn read(path: &Path, most: u64) -> io::Result<Option<AuditFileTail>> {
    let Some(mut file) = files::owned_file::open(path)? else { return Ok(None) };
    let file_bytes = file.metadata()?.len();
    // One more byte shows whether the first line is complete.
    let before = file_bytes.saturating_sub(most + 1);
    file.seek(SeekFrom::Start(before))?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    let torn = bytes.last().is_some_and(|last| *last != b'\n');
    if before > 0 {
        let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
        bytes.drain(..end);
    }
    Ok(Some(AuditFileTail { bytes, torn, file_bytes }))
}

fn open(path: &Path) -> io::Result<File> {
    files::create::append(path, 0o640)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::util::scratch_dir::Scratch;

    fn record(action: &str) -> AuditRecord {
        AuditRecord { action: action.into(), at_unix_ms: 5, ..AuditRecord::default() }
    }

    fn open_in(scratch: &Scratch) -> AuditLog {
        AuditLog::open(Some(scratch.path()), 1 << 20, EventLog::quiet())
    }

    fn reversal() -> Option<UndoAction> {
        Some(UndoAction::Generation { before: 1, after: 2 })
    }

    #[test]
    fn numbers_go_on_after_a_restart_and_a_torn_line_costs_itself_alone() {
        let scratch = Scratch::new("audit").unwrap();
        let mut audit = open_in(&scratch);
        assert_eq!((audit.add(record("a"), None), audit.add(record("b"), reversal())), (1, 2));
        let path = scratch.path().join("audit.jsonl");
        let whole = std::fs::read(&path).unwrap();
        for end in 0..whole.len() {
            std::fs::write(&path, &whole[..end]).unwrap();
            let mut audit = open_in(&scratch);
            let stored = audit.records_since(0).records.len();
            let id = audit.add(record("c"), None);
            let reopened = open_in(&scratch).records_since(0);
            assert_eq!(reopened.records.len(), stored + 1, "{end}");
            assert!(reopened.unreadable <= 1 && id as usize == stored + 1, "{end}");
        }
    }

    #[test]
    fn the_file_stays_below_its_limit_and_keeps_the_newest() {
        let scratch = Scratch::new("audit").unwrap();
        let mut audit = AuditLog::open(Some(scratch.path()), 4_096, EventLog::quiet());
        for _ in 0..200 {
            audit.add(record("drain"), None);
            let size = std::fs::metadata(scratch.path().join("audit.jsonl")).unwrap().len();
            assert!(size <= 4_096, "{size}");
        }
        let records = open_in(&scratch).records_since(0).records;
        assert_eq!(records.last().unwrap().id, 200);
        assert!(records.len() > 5);
    }

    #[test]
    fn no_more_than_the_end_of_a_long_file_is_read() {
        let scratch = Scratch::new("audit").unwrap();
        let path = scratch.path().join("audit.jsonl");
        let tail = |most: u64| {
            let tail = read(&path, most).unwrap().unwrap();
            (String::from_utf8(tail.bytes).unwrap(), tail.file_bytes)
        };
        std::fs::write(&path, "one\ntwo\nthree").unwrap();
        for (most, read) in [
            (13, "one\ntwo\nthree"),
            (99, "one\ntwo\nthree"),
            (12, "one\ntwo\nthree"),
            (11, "two\nthree"),
            (9, "two\nthree"),
            (8, "three"),
            (5, "three"),
            (4, ""),
            (0, ""),
        ] {
            assert_eq!(tail(most), (read.to_owned(), 13), "{most}");
        }
        // A file beyond its limit is rewritten.
        File::create(&path).unwrap().set_len(READ_BYTES * 4).unwrap();
        let mut audit = open_in(&scratch);
        assert_eq!(audit.add(record("a"), None), 1);
        assert!(std::fs::metadata(&path).unwrap().len() < 1 << 20);
        assert_eq!(open_in(&scratch).records_since(0).records.len(), 1);
    }

    #[test]
    fn a_disk_that_takes_nothing_is_reported_and_the_record_goes_on_in_memory() {
        let scratch = Scratch::new("audit").unwrap();
        let state = scratch.path().join("file");
        std::fs::write(&state, "not a directory").unwrap();
        let mut audit = AuditLog::open(Some(&state), 1 << 20, EventLog::quiet());
        audit.add(record("a"), reversal());
        assert!(audit.failures() >= 2);
        assert_eq!(audit.records_since(0).records.len(), 1);
        assert!(audit.records_since(6).records.is_empty());
    }

    #[test]
    fn the_latest_is_the_one_that_was_not_taken_back() {
        let mut audit = AuditLog::open(None, 1 << 20, EventLog::quiet());
        let first = audit.add(record("a"), reversal());
        let second = audit.add(record("b"), reversal());
        audit.add(record("c"), None);
        let latest = |audit: &AuditLog| {
            audit.latest_command().iter().map(|entry| entry.record.id).collect::<Vec<_>>()
        };
        assert_eq!(latest(&audit), [second]);
        audit.add(AuditRecord { undoes: Some(second), ..record("undo") }, reversal());
        assert_eq!(latest(&audit), [first]);
        let begins = audit.add(record("drain"), reversal());
        let between = audit.add(record("drain"), reversal());
        let part = AuditRecord { part_of: Some(begins), ..record("drain") };
        let second = audit.add(part.clone(), reversal());
        let third = audit.add(part, reversal());
        assert_eq!(latest(&audit), [third, second, begins]);
        audit.add(AuditRecord { undoes: Some(second), ..record("undo") }, reversal());
        assert_eq!(latest(&audit), [third, begins]);
        for id in [third, begins] {
            audit.add(AuditRecord { undoes: Some(id), ..record("undo") }, reversal());
        }
        assert_eq!(latest(&audit), [between]);
    }
}
