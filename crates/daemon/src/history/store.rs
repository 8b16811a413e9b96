//! Files of history: one is written at a time, older ones become coarser, the oldest go. It knows nothing of what is measured.
//!
//! A process never appends to a file of another one: a torn end stays where a crash left it, and readers stop there.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use files::make::{create, make_dir};
use model::config::HistoryKeep;
use model::history::{MAGIC, Record, frame, merge, read};

/// A file is closed after so many seconds.
const TURN: u64 = 6 * 3600;
/// A file is closed at this share of all that may be kept.
const SHARE: u64 = 16;
/// What is older than so many seconds is kept coarser.
const FINE: u64 = 2 * 86_400;
/// So many records become one.
const COARSER: u64 = 15;
/// Bytes of one file that are read.
const FILE_BYTES: u64 = 8 << 30;

/// The directory.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    open: Option<Open>,
    /// Files that somebody else put there, and how that is known.
    refused: Vec<(PathBuf, io::Error)>,
}

#[derive(Debug)]
struct Open {
    file: File,
    path: PathBuf,
    since: u64,
    /// The last record in it.
    last: u64,
    bytes: u64,
}

/// One who reads; writing goes on meanwhile.
#[derive(Debug)]
pub struct Reader(PathBuf);

/// What was read.
#[derive(Debug, Default)]
pub struct Found {
    /// Records, by time.
    pub records: Vec<Record>,
    /// Bytes that could not be read.
    pub unreadable: u64,
}

impl Store {
    /// In this directory, which is made when something is kept.
    pub fn new(directory: PathBuf) -> Store {
        Store { directory, open: None, refused: Vec::new() }
    }

    /// One who reads.
    pub fn reader(&self) -> Reader {
        Reader(self.directory.clone())
    }

    /// Keeps a record.
    ///
    /// # Errors
    /// The disk is full, or the directory cannot be written; what was kept before stays.
    pub fn add(&mut self, record: &Record, keep: &HistoryKeep) -> io::Result<()> {
        let bytes = frame(record).ok_or_else(|| io::Error::other("the record is too large"))?;
        let full = self.open.as_ref().is_some_and(|open| {
            // A file's name says from when on its records are: a clock that was set back begins another one.
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
                self.tidy(record.at, keep)?;
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

    /// Files that somebody else put there, as they were found since the last call.
    pub fn refused(&mut self) -> Vec<(PathBuf, io::Error)> {
        std::mem::take(&mut self.refused)
    }

    fn begin(&self, at: u64) -> io::Result<Open> {
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
                    return Ok(Open { file, path, since: at, last: at, bytes });
                }
            }
        }
        Err(io::Error::other("every name for a file of history is taken"))
    }

    /// Makes old files coarser, and removes the oldest until the rest fits.
    fn tidy(&mut self, now: u64, keep: &HistoryKeep) -> io::Result<()> {
        for file in all_files(&self.directory)? {
            if let Err(error) = files::own::is_there(&file.path) {
                self.refused.push((file.path, error));
            }
        }
        for file in all_files(&self.directory)?.iter().filter(|file| is_replaced(file)) {
            std::fs::remove_file(&file.path)?;
        }
        let mut files = files(&self.directory)?;
        for at in 0..files.len() {
            let ends = end(&files, at, now);
            if files[at].fine && ends.saturating_add(FINE) < now {
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
        let ends = |at| end(&files, at, now);
        let mut order: Vec<usize> = (0..files.len()).collect();
        // What was written by a clock that was ahead says of no time that can be asked for: it goes before the rest.
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

impl Reader {
    /// Records whose end lies between two moments, seconds since 1970.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn read(&self, since: u64, until: u64) -> io::Result<Found> {
        self.read_rows(since, until, |_| true)
    }

    /// The same, with those rows alone whose names are wanted.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn read_rows(
        &self,
        since: u64,
        until: u64,
        wanted: impl Fn(&str) -> bool,
    ) -> io::Result<Found> {
        let mut found = Found::default();
        let files = files(&self.0)?;
        for (at, file) in files.iter().enumerate() {
            let over = files.get(at + 1).is_some_and(|next| next.since + TURN < since);
            if over || file.since > until {
                continue;
            }
            match whole(&file.path) {
                Ok(bytes) => {
                    let reading = read(&bytes, since);
                    found.unreadable += reading.torn as u64;
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

struct Kept {
    path: PathBuf,
    since: u64,
    fine: bool,
    bytes: u64,
}

/// A fine file whose coarse one is there: a crash came between writing that and removing this.
fn is_replaced(file: &Kept) -> bool {
    file.fine && coarse_path(&file.path).exists()
}

fn coarse_path(fine: &Path) -> PathBuf {
    let name = fine.file_name().unwrap_or_default().to_string_lossy();
    fine.with_file_name(name.replacen("fine-", "coarse-", 1))
}

/// The files that count, the oldest first; none when there is no directory.
fn files(directory: &Path) -> io::Result<Vec<Kept>> {
    let mut files = all_files(directory)?;
    files.retain(|file| !is_replaced(file));
    Ok(files)
}

fn all_files(directory: &Path) -> io::Result<Vec<Kept>> {
    let mut files = Vec::new();
    for entry in files::own::entries(directory)?.into_iter().flatten() {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(stem) = name.strip_suffix(".hist") else { continue };
        let mut parts = stem.split('-');
        let (kind, since) = (parts.next(), parts.next().and_then(|it| it.parse().ok()));
        let (Some("fine" | "coarse"), Some(since)) = (kind, since) else { continue };
        let bytes = std::fs::symlink_metadata(&path).map_or(0, |it| it.len());
        files.push(Kept { fine: kind == Some("fine"), path, since, bytes });
    }
    files.sort_by(|a, b| (a.since, &a.path).cmp(&(b.since, &b.path)));
    Ok(files)
}

/// When the last record of a file was written, at the latest.
fn end(files: &[Kept], at: usize, now: u64) -> u64 {
    let next = files.get(at + 1).map_or(now, |next| next.since);
    files.get(at).map_or(next, |file| next.min(file.since.saturating_add(TURN)))
}

fn whole(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = files::own::open(path)?.ok_or(io::ErrorKind::NotFound)?;
    file.take(FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a file's records anew, several of them as one; the path of the new file, which stands in its stead.
fn coarsen(fine: &Path) -> io::Result<PathBuf> {
    let path = coarse_path(fine);
    let mut bytes = MAGIC.to_vec();
    for record in coarser(&read(&whole(fine)?, 0).records) {
        bytes.extend(frame(&record).ok_or_else(|| io::Error::other("too large"))?);
    }
    crate::keep::replace(&path, &bytes)?;
    std::fs::remove_file(fine)?;
    Ok(path)
}

/// Several records as one: counts added up, levels at their highest.
fn coarser(records: &[Record]) -> Vec<Record> {
    let mut out = Vec::new();
    for some in records.chunks(usize::try_from(COARSER).unwrap_or(1)) {
        let mut rows: BTreeMap<&str, model::history::Row> = BTreeMap::new();
        for row in some.iter().flat_map(|record| &record.rows) {
            match rows.get_mut(row.name.as_str()) {
                Some(known) => merge(known, row),
                None => drop(rows.insert(&row.name, row.clone())),
            }
        }
        let span = some.iter().map(|record| record.span).fold(0, u32::saturating_add);
        let at = some.last().map_or(0, |record| record.at);
        out.push(Record { at, span, rows: rows.into_values().collect() });
    }
    out
}

#[cfg(test)]
mod tests;
