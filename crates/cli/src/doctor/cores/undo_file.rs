//! Applies changes of steering, and saves the previous settings so that they can be reverted.
//!
//! It plans nothing. The previous settings are on disk before anything is changed.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

use files::create::{make_dir, replace};
use lab::net::{find, run_command};
use links::steering::plan::SteeringChange;
use serde::{Deserialize, Serialize};

use crate::outcome::{CommandError, sentence};

/// The previous settings, in a file.
#[derive(Debug)]
pub struct UndoFile {
    file: PathBuf,
    entries: Vec<UndoEntry>,
}

/// A change that was made, as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum UndoEntry {
    Write { file: String, from: String, to: String },
    Ethtool { from: Vec<String>, to: Vec<String> },
}

/// What became of the changes that were to be reverted.
pub struct SteeringUndo {
    /// The reverting changes that were applied.
    pub done: Vec<SteeringChange>,
    /// Why the others could not be reverted.
    pub failed: Vec<String>,
}

impl UndoFile {
    /// Reads the undo file; empty if there is no such file.
    pub fn open(file: &Path) -> Result<UndoFile, CommandError> {
        let entries = match read(file) {
            Ok(Some(bytes)) => serde_json::from_slice(&bytes).map_err(|error| {
                CommandError::Unusable(format!(
                    "{} is not what `doctor cores --apply` wrote: {error}; move it away",
                    file.display()
                ))
            })?,
            Ok(None) => Vec::new(),
            Err(error) => return Err(file_failure("read", file, &error)),
        };
        Ok(UndoFile { file: file.to_owned(), entries })
    }

    /// Adds changes that are about to be made, and writes all down.
    pub fn add(
        &mut self,
        changes: impl Iterator<Item = SteeringChange>,
    ) -> Result<(), CommandError> {
        for change in changes {
            let new = to_entry(change);
            // A setting is reverted to its value before the first change.
            let earlier = self.entries.iter_mut().find_map(|old| match (old, &new) {
                (
                    UndoEntry::Write { file, to, .. },
                    UndoEntry::Write { file: same, to: now, .. },
                ) if file == same => Some((to, now)),
                _ => None,
            });
            match earlier {
                Some((to, now)) => to.clone_from(now),
                None => self.entries.push(new),
            }
        }
        self.write()
    }

    /// Reverts everything, the last change first. Changes that cannot be reverted stay in the file.
    pub fn undo(mut self) -> Result<SteeringUndo, CommandError> {
        let mut done = Vec::new();
        let mut failed = Vec::new();
        let mut left = Vec::new();
        for entry in self.entries.drain(..).rev() {
            let back = from_entry(entry.clone()).into_reverse();
            match apply_change(&back) {
                Ok(()) => done.push(back),
                Err(why) => {
                    failed.push(why);
                    left.insert(0, entry);
                }
            }
        }
        self.entries = left;
        self.write()?;
        Ok(SteeringUndo { done, failed })
    }

    /// Whole or not at all.
    fn write(&self) -> Result<(), CommandError> {
        if self.entries.is_empty() {
            return match fs::remove_file(&self.file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(file_failure("remove", &self.file, &error))
                }
                _ => Ok(()),
            };
        }
        let dir = self.file.parent().filter(|dir| !dir.as_os_str().is_empty());
        let made = dir.map_or(Ok(()), |dir| make_dir(dir, 0o755));
        let text = serde_json::to_vec_pretty(&self.entries).map_err(io::Error::from);
        let written = made.and(text).and_then(|text| replace(&self.file, &text, 0o644, |_| Ok(())));
        written.map_err(|error| file_failure("write", &self.file, &error))
    }
}

/// Applies a change. On failure returns the kernel's error, with the command.
pub fn apply_change(change: &SteeringChange) -> Result<(), String> {
    match change {
        SteeringChange::Write { file, to, .. } => {
            fs::write(file, format!("{to}\n")).map_err(|error| {
                let why = match error.raw_os_error() {
                    // The kernel's answer for interrupts that it places itself.
                    Some(5) => "the kernel places this interrupt itself".to_owned(),
                    _ => error.to_string(),
                };
                format!("`{}` failed: {why}", change.command())
            })
        }
        SteeringChange::Ethtool { to, .. } => run_command(Command::new(find("ethtool")).args(to))
            .map(drop)
            .map_err(|error| sentence(&error)),
    }
}

/// Reads the file only if root owns it: root writes its content into the kernel's files.
fn read(file: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(mut open) = files::owned_file::open(file)? else { return Ok(None) };
    let mut bytes = Vec::new();
    open.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

fn to_entry(change: SteeringChange) -> UndoEntry {
    match change {
        SteeringChange::Write { file, from, to } => UndoEntry::Write { file, from, to },
        SteeringChange::Ethtool { to, from } => UndoEntry::Ethtool { from, to },
    }
}

fn from_entry(entry: UndoEntry) -> SteeringChange {
    match entry {
        UndoEntry::Write { file, from, to } => SteeringChange::Write { file, from, to },
        UndoEntry::Ethtool { from, to } => SteeringChange::Ethtool { to, from },
    }
}

fn file_failure(verb: &str, file: &Path, error: &io::Error) -> CommandError {
    let hint = if error.kind() == io::ErrorKind::PermissionDenied {
        "; run as root, or name another place with --undo-file"
    } else {
        ""
    };
    CommandError::Unusable(format!("cannot {verb} {}: {error}{hint}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(file: &Path, from: &str, to: &str) -> SteeringChange {
        SteeringChange::Write { file: file.display().to_string(), from: from.into(), to: to.into() }
    }

    #[test]
    fn what_was_there_first_comes_back() {
        let room = files::TemporaryDir::new("kept").expect("a directory");
        let dir = room.path();
        let mask = dir.join("mask");
        let undo_path = dir.join("state/kept.json");
        for (from, to) in [("0", "3"), ("3", "f")] {
            let change = write(&mask, from, to);
            let mut open = UndoFile::open(&undo_path).expect("readable");
            open.add([change.clone()].into_iter()).expect("written");
            apply_change(&change).expect("changed");
        }
        let SteeringUndo { done, failed } =
            UndoFile::open(&undo_path).expect("readable").undo().expect("undone");
        assert_eq!((done.len(), failed.len()), (1, 0));
        assert_eq!(fs::read_to_string(&mask).expect("a file"), "0\n");
        assert!(!undo_path.exists(), "nothing is left to undo");
        // A change that cannot be reverted stays in the file, and is reported.
        let gone = write(&dir.join("no/such"), "0", "3");
        UndoFile::open(&undo_path)
            .and_then(|mut open| open.add([gone].into_iter()))
            .expect("written");
        let SteeringUndo { done, failed } =
            UndoFile::open(&undo_path).expect("readable").undo().expect("undone");
        assert_eq!((done.len(), failed.len()), (0, 1), "{failed:?}");
        assert_eq!(UndoFile::open(&undo_path).expect("readable").entries.len(), 1);
        fs::write(&undo_path, "{}").expect("written");
        assert!(
            UndoFile::open(&undo_path)
                .is_err_and(|error| error.to_string().contains("move it away"))
        );
    }
}
