//! What stands, and who keeps it: a file for each network, which tells the living from what a killed keeper left.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use files::make::{create, make_dir};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::build::Standing;
use super::plan::{Kind, Plan};
use crate::net::{Keeper, sweep};

/// A network that stands or stood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Record {
    /// What it is called.
    pub name: String,
    /// The file that it was read from.
    pub file: PathBuf,
    /// The process that keeps it.
    pub process: u32,
    /// When that process began, in the kernel's ticks: its number may come again.
    pub process_began: u64,
    /// Who is in it.
    pub nodes: Vec<Place>,
    /// Its links, in words.
    pub links: Vec<String>,
}

/// A node of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Place {
    /// Its name.
    pub name: String,
    /// `host`, `router` or `bridge`.
    pub kind: String,
    /// Its namespace, below /run/netns.
    pub namespace: String,
    /// Its addresses.
    pub addresses: Vec<String>,
}

/// Why a record could not be kept or read.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The network is up.
    #[error(
        "the network `{name}` is up already, kept by process {process}; `steelyard lab down {name}` ends it, --name takes another name"
    )]
    Up {
        /// Which.
        name: String,
        /// Whose.
        process: u32,
    },
    /// A file.
    #[error("{what} {path}: {source}")]
    File {
        /// What was tried.
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Where records lie.
#[derive(Clone, Debug)]
pub struct Records {
    dir: PathBuf,
}

/// Where they lie unless told otherwise.
pub const DIR: &str = "/run/steelyard-lab";

impl Record {
    /// Of a network that this process keeps.
    pub fn of(plan: &Plan, standing: &Standing, file: &Path) -> Record {
        let Keeper { process, began } = Keeper::this();
        let addresses = |number: usize| {
            let ends =
                plan.cords.iter().flat_map(|cord| &cord.ends).filter(move |end| end.node == number);
            ends.flat_map(|end| end.addresses.iter().map(ToString::to_string)).collect()
        };
        let nodes = plan.nodes.iter().zip(&standing.nodes).enumerate();
        let nodes = nodes.map(|(number, (node, namespace))| Place {
            name: node.name.clone(),
            kind: node.kind.word().to_owned(),
            namespace: namespace.name().to_owned(),
            addresses: addresses(number),
        });
        Record {
            name: plan.name.clone(),
            file: file.to_owned(),
            process,
            process_began: began,
            nodes: nodes.collect(),
            links: plan.cords.iter().map(|cord| plan.told(cord)).collect(),
        }
    }

    /// Who keeps it, or kept it.
    pub fn keeper(&self) -> Keeper {
        Keeper { process: self.process, began: self.process_began }
    }

    /// Whether its keeper lives.
    pub fn lives(&self) -> bool {
        self.keeper().lives()
    }

    /// A node where programs run.
    pub fn host(&self, name: &str) -> Option<&Place> {
        self.nodes.iter().find(|node| node.name == name && node.kind != Kind::Bridge.word())
    }
}

impl Records {
    /// Those in a directory.
    pub fn new(dir: &Path) -> Records {
        Records { dir: dir.to_owned() }
    }

    /// A keeper's log.
    pub fn log(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.log"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.json"))
    }

    /// Makes the directory; removes what a dead keeper of this name left. Of a living one: an error.
    pub fn prepare(&self, name: &str) -> Result<(), RecordError> {
        let made = make_dir(&self.dir, 0o755);
        made.map_err(|source| RecordError::File {
            what: "cannot make",
            path: self.dir.clone(),
            source,
        })?;
        match self.all()?.into_iter().find(|record| record.name == name) {
            Some(record) if record.lives() => {
                Err(RecordError::Up { name: name.to_owned(), process: record.process })
            }
            Some(_) => self.remove(name),
            None => Ok(()),
        }
    }

    /// Writes a record; the name is taken by it.
    pub fn keep(&self, record: &Record) -> Result<(), RecordError> {
        let path = self.path(&record.name);
        let text = serde_json::to_string_pretty(record).map_err(io::Error::other);
        // Under another name until it is whole; a link takes no name that is taken.
        let beside = self.dir.join(format!("{}.{}.new", record.name, record.process));
        let write = |text: String| {
            // Left by a keeper with our number that was killed.
            let _ = fs::remove_file(&beside);
            create(&beside, 0o644)?.write_all(text.as_bytes())?;
            let linked = fs::hard_link(&beside, &path);
            fs::remove_file(&beside)?;
            linked
        };
        text.and_then(write).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => {
                let others = self.all().unwrap_or_default();
                let other = others.into_iter().find(|other| other.name == record.name);
                let process = other.map_or(0, |other| other.process);
                RecordError::Up { name: record.name.clone(), process }
            }
            _ => RecordError::File { what: "cannot write", path, source },
        })
    }

    /// Removes a record; one that is not there is no error.
    pub fn remove(&self, name: &str) -> Result<(), RecordError> {
        let path = self.path(name);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(RecordError::File { what: "cannot remove", path, source })
            }
            _ => {
                // A log that cannot be removed says nothing wrong.
                let _ = fs::remove_file(self.log(name));
                Ok(())
            }
        }
    }

    /// All of them, by name; what is no record is passed over.
    pub fn all(&self) -> Result<Vec<Record>, RecordError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => {
                return Err(RecordError::File {
                    what: "cannot read",
                    path: self.dir.clone(),
                    source,
                });
            }
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let records = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
        let texts = records.filter_map(|path| fs::read_to_string(path).ok());
        let mut found: Vec<Record> =
            texts.filter_map(|text| serde_json::from_str(&text).ok()).collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// Removes what dead keepers left: their records, and every namespace of a dead run. Names of the networks.
    pub fn sweep(&self) -> Result<Vec<String>, RecordError> {
        let dead: Vec<Record> = self.all()?.into_iter().filter(|record| !record.lives()).collect();
        sweep();
        for record in &dead {
            self.remove(&record.name)?;
        }
        Ok(dead.into_iter().map(|record| record.name).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, keeper: Keeper) -> Record {
        Record {
            name: name.to_owned(),
            file: "wan.toml".into(),
            process: keeper.process,
            process_began: keeper.began,
            nodes: vec![Place {
                name: "client".to_owned(),
                kind: "host".to_owned(),
                namespace: "sylab-1-1-0-client".to_owned(),
                addresses: vec!["10.0.1.2/24".to_owned()],
            }],
            links: Vec::new(),
        }
    }

    #[test]
    fn a_name_is_taken_while_its_keeper_lives() {
        let room = files::TemporaryDir::new("records").unwrap();
        let dir = room.path().join("records");
        let records = Records::new(&dir);
        assert_eq!(records.all().unwrap(), Vec::new(), "no directory");
        records.prepare("wan").unwrap();
        let dead = Keeper { process: 4_194_305, began: 1 };
        records.keep(&record("wan", dead)).unwrap();
        assert!(!records.all().unwrap()[0].lives());
        let living = record("wan", Keeper::this());
        assert!(
            matches!(records.keep(&living), Err(RecordError::Up { .. })),
            "taken, even by the dead"
        );
        records.prepare("wan").unwrap();
        records.keep(&living).unwrap();
        assert_eq!(records.all().unwrap(), std::slice::from_ref(&living));
        assert!(matches!(records.prepare("wan"), Err(RecordError::Up { .. })));
        assert!(living.host("client").is_some() && living.host("server").is_none());
        fs::write(dir.join("other.json"), "{").unwrap();
        records.keep(&record("lan", dead)).unwrap();
        assert_eq!(records.sweep().unwrap(), ["lan"]);
        assert_eq!(records.all().unwrap(), [living]);
        records.remove("wan").unwrap();
        records.remove("wan").unwrap();
    }
}
