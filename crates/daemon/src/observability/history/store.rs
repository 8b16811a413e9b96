//! Files of history: one is written at a time, older ones become coarser, the oldest go. It knows nothing of what is measured.
//!
//! A process never appends to a file of another one: a torn end stays where a crash left it, and readers stop there.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use files::create::{create, make_dir};
use model::config::HistoryRetention;
use model::history::{HistoryRecord, MAGIC, encode_frame, merge_rows, read_records};

/// A file is closed after this time, in seconds.
/// Four files a day: removing the oldest one frees a few hours.
const TURN: u64 = 6 * 3600;
/// A file is closed at this fraction of the storage limit, so that removing one frees a small part.
const SHARE: u64 = 16;
/// Records older than this, in seconds, are merged.
/// Two days: yesterday and today are compared in full detail.
const FINE: u64 = 2 * 86_400;
/// This many records are merged into one.
/// Minutes become quarters of an hour.
const COARSER: u64 = 15;
/// Bytes of one file that are read.
const FILE_BYTES: u64 = 8 << 30;

#[derive(Debug)]
pub struct HistoryStore {
    directory: PathBuf,
    open: Option<OpenHistoryFile>,
    refused: Vec<ForeignFile>,
}

/// A foreign file in the directory, with the reason why it is ignored.
#[derive(Debug)]
pub struct ForeignFile {
    pub path: PathBuf,
    pub error: io::Error,
}

#[derive(Debug)]
struct OpenHistoryFile {
    file: File,
    path: PathBuf,
    since: u64,
    /// The last record in it.
    last: u64,
    bytes: u64,
}

/// A reader, which does not block writing.
#[derive(Debug)]
pub struct HistoryReader(PathBuf);

#[derive(Debug, Default)]
pub struct StoredRecords {
    pub records: Vec<HistoryRecord>,
    /// Bytes that could not be read.
    pub unreadable: u64,
}

impl HistoryStore {
    /// A store in this directory, which the first record creates.
    pub fn new(directory: PathBuf) -> HistoryStore {
        HistoryStore { directory, open: None, refused: Vec::new() }
    }

    pub fn reader(&self) -> HistoryReader {
        HistoryReader(self.directory.clone())
    }

    /// Adds a record.
    ///
    /// # Errors
    /// The disk is full, or the directory cannot be written; earlier records remain.
    pub fn add(&mut self, record: &HistoryRecord, keep: &HistoryRetention) -> io::Result<()> {
        let bytes =
            encode_frame(record).ok_or_else(|| io::Error::other("the record is too large"))?;
        let full = self.open.as_ref().is_some_and(|open| {
            // A file's name gives its first record's time, so a clock that was set back starts a new file.
            record.at < open.last
                || record.at.saturating_sub(open.since) >= TURN
                || open.bytes >= keep.size / SHARE
        });
        if full {
            self.open = None;
        }
        let mut open = match self.open.take() {
            Some(open) => open,
            None => {
                self.compact(record.at, keep)?;
                self.begin(record.at)?
            }
        };
        // After a failure the file may end anywhere: another one is begun then.
        open.file.write_all(&bytes)?;
        open.file.sync_data()?;
        open.bytes += bytes.len() as u64;
        open.last = record.at;
        self.open = Some(open);
        Ok(())
    }

    /// Foreign files that were rejected since the last call.
    pub fn take_refused(&mut self) -> Vec<ForeignFile> {
        std::mem::take(&mut self.refused)
    }

    fn begin(&self, at: u64) -> io::Result<OpenHistoryFile> {
        make_dir(&self.directory, 0o750)?;
        for number in 0..1_000 {
            let name = format!("fine-{at:012}-{}-{number}.hist", std::process::id());
            let path = self.directory.join(name);
            let made = create(&path, 0o640);
            match made {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(mut file) => {
                    file.write_all(&MAGIC).inspect_err(|_| drop(std::fs::remove_file(&path)))?;
                    let bytes = MAGIC.len() as u64;
                    return Ok(OpenHistoryFile { file, path, since: at, last: at, bytes });
                }
            }
        }
        Err(io::Error::other("every name for a file of history is taken"))
    }

    /// Makes old files coarser, and removes the oldest until the rest fits.
    fn compact(&mut self, now: u64, keep: &HistoryRetention) -> io::Result<()> {
        for file in all_files(&self.directory)? {
            if let Err(error) = files::owned_file::is_present(&file.path) {
                self.refused.push(ForeignFile { path: file.path, error });
            }
        }
        for file in all_files(&self.directory)?.iter().filter(|file| is_replaced(file)) {
            std::fs::remove_file(&file.path)?;
        }
        let mut files = files(&self.directory)?;
        for at in 0..files.len() {
            let ends = last_record_at(&files, at, now);
            if files[at].is_fine && ends.saturating_add(FINE) < now {
                // Coarser is a saving: where it fails the fine file stays.
                if let Ok(path) = coarsen(&files[at].path) {
                    files[at].bytes = std::fs::metadata(&path)?.len();
                    files[at].path = path;
                }
            }
        }
        let mut bytes: u64 = files.iter().map(|file| file.bytes).sum();
        // Room for the file that is about to begin.
        let most = keep.size - keep.size / SHARE * 2;
        let old = now.saturating_sub(keep.keep.as_secs());
        let ends = |at| last_record_at(&files, at, now);
        let mut order: Vec<usize> = (0..files.len()).collect();
        // Records with times in the future cannot be queried, so their files are removed first.
        order.sort_by_key(|at| files[*at].since <= now);
        for at in order {
            if ends(at) < old || bytes > most {
                std::fs::remove_file(&files[at].path)?;
                bytes = bytes.saturating_sub(files[at].bytes);
            }
        }
        Ok(())
    }

    /// The file that is written now.
    pub fn path(&self) -> Option<&Path> {
        self.open.as_ref().map(|open| open.path.as_path())
    }
}

impl HistoryReader {
    /// Records whose end lies between two moments, seconds since 1970.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn read(&self, since: u64, until: u64) -> io::Result<StoredRecords> {
        self.read_rows(since, until, |_| true)
    }

    /// The same, limited to rows of these names.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn read_rows(
        &self,
        since: u64,
        until: u64,
        wanted: impl Fn(&str) -> bool,
    ) -> io::Result<StoredRecords> {
        let mut found = StoredRecords::default();
        let files = files(&self.0)?;
        for (at, file) in files.iter().enumerate() {
            let over = files.get(at + 1).is_some_and(|next| next.since + TURN < since);
            if over || file.since > until {
                continue;
            }
            match read_whole(&file.path) {
                Ok(bytes) => {
                    let reading = read_records(&bytes, since);
                    found.unreadable += reading.damaged_bytes as u64;
                    let records = reading.records.into_iter().filter(|it| it.at <= until);
                    found.records.extend(records.map(|mut record| {
                        record.rows.retain(|row| wanted(&row.name));
                        record
                    }));
                }
                // It was made coarser or removed meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => found.unreadable += file.bytes,
            }
        }
        found.records.sort_by_key(|record| record.at);
        Ok(found)
    }
}

struct HistoryFile {
    path: PathBuf,
    since: u64,
    is_fine: bool,
    bytes: u64,
}

/// Whether a fine file has been merged: a crash happened after writing the merged file and before removing the fine
/// one.
fn is_replaced(file: &HistoryFile) -> bool {
    file.is_fine && coarse_path(&file.path).exists()
}

fn coarse_path(fine: &Path) -> PathBuf {
    let name = fine.file_name().unwrap_or_default().to_string_lossy();
    fine.with_file_name(name.replacen("fine-", "coarse-", 1))
}

/// The files that count, the oldest first; none when there is no directory.
fn files(directory: &Path) -> io::Result<Vec<HistoryFile>> {
    let mut files = all_files(directory)?;
    files.retain(|file| !is_replaced(file));
    Ok(files)
}

fn all_files(directory: &Path) -> io::Result<Vec<HistoryFile>> {
    let mut files = Vec::new();
    for entry in files::owned_file::entries(directory)?.into_iter().flatten() {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(stem) = name.strip_suffix(".hist") else { continue };
        let mut parts = stem.split('-');
        let kind = parts.next();
        let since = parts.next().and_then(|it| it.parse().ok());
        let (Some("fine" | "coarse"), Some(since)) = (kind, since) else { continue };
        let bytes = std::fs::symlink_metadata(&path).map_or(0, |it| it.len());
        files.push(HistoryFile { is_fine: kind == Some("fine"), path, since, bytes });
    }
    files.sort_by(|a, b| (a.since, &a.path).cmp(&(b.since, &b.path)));
    Ok(files)
}

/// When the last record of a file was written, at the latest.
fn last_record_at(files: &[HistoryFile], at: usize, now: u64) -> u64 {
    let next = files.get(at + 1).map_or(now, |next| next.since);
    files.get(at).map_or(next, |file| next.min(file.since.saturating_add(TURN)))
}

fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = files::owned_file::open(path)?.ok_or(io::ErrorKind::NotFound)?;
    file.take(FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Merges a file's records; returns the path of the new file, which replaces the old one.
fn coarsen(fine: &Path) -> io::Result<PathBuf> {
    let path = coarse_path(fine);
    let mut bytes = MAGIC.to_vec();
    for record in merge_records(&read_records(&read_whole(fine)?, 0).records) {
        bytes.extend(encode_frame(&record).ok_or_else(|| io::Error::other("too large"))?);
    }
    crate::util::atomic_file::replace(&path, &bytes)?;
    std::fs::remove_file(fine)?;
    Ok(path)
}

/// Several records as one: counts added up, levels at their highest.
fn merge_records(records: &[HistoryRecord]) -> Vec<HistoryRecord> {
    let mut out = Vec::new();
    for some in records.chunks(usize::try_from(COARSER).unwrap_or(1)) {
        let mut rows: BTreeMap<&str, model::history::MetricRow> = BTreeMap::new();
        for row in some.iter().flat_map(|record| &record.rows) {
            match rows.get_mut(row.name.as_str()) {
                Some(known) => merge_rows(known, row),
                None => drop(rows.insert(&row.name, row.clone())),
            }
        }
        let span = some.iter().map(|record| record.span).fold(0, u32::saturating_add);
        let at = some.last().map_or(0, |record| record.at);
        out.push(HistoryRecord { at, span, rows: rows.into_values().collect() });
    }
    out
}

#[cfg(test)]
mod tests;
