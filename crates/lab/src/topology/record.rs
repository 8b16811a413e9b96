//! Records of running networks: a file for each, which identifies its owner process, so that remains of a killed
//! process are recognised.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use files::create::{create, make_dir};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::build::RunningTopology;
use super::plan::{NodeKind, TopologyPlan};
use crate::net::{OwnerProcess, sweep_orphans};

/// A network that is running, or was left by a killed process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TopologyRecord {
    pub name: String,
    /// The file that describes it.
    pub file: PathBuf,
    /// The owner process.
    pub process: u32,
    /// Start time of the owner in the kernel's ticks, because process numbers are reused.
    pub process_began: u64,
    pub nodes: Vec<RecordedNode>,
    /// Its links as text.
    pub links: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RecordedNode {
    pub name: String,
    /// `host`, `router` or `bridge`.
    pub kind: String,
    /// Its namespace, below /run/netns.
    pub namespace: String,
    pub addresses: Vec<String>,
}

/// Why a record could not be read or written.
#[derive(Debug, Error)]
pub enum TopologyRecordError {
    /// The network is already running.
    #[error(
        "the network `{name}` is up already, kept by process {process}; `steelyard lab down {name}` ends it, --name takes another name"
    )]
    Up { name: String, process: u32 },
    #[error("{what} {path}: {source}")]
    File {
        what: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

#[derive(Clone, Debug)]
pub struct TopologyRecords {
    dir: PathBuf,
}

/// The default directory of records.
pub const DIR: &str = "/run/steelyard-lab";

impl TopologyRecord {
    /// The record of a network that this process owns.
    pub fn from_topology(
        plan: &TopologyPlan,
        standing: &RunningTopology,
        file: &Path,
    ) -> TopologyRecord {
        let OwnerProcess { process, began } = OwnerProcess::current();
        let addresses = |number: usize| {
            let ends =
                plan.links.iter().flat_map(|cord| &cord.ends).filter(move |end| end.node == number);
            ends.flat_map(|end| end.addresses.iter().map(ToString::to_string)).collect()
        };
        let nodes = plan.nodes.iter().zip(&standing.nodes).enumerate();
        let nodes = nodes.map(|(number, (node, namespace))| RecordedNode {
            name: node.name.clone(),
            kind: node.kind.keyword().to_owned(),
            namespace: namespace.name().to_owned(),
            addresses: addresses(number),
        });
        TopologyRecord {
            name: plan.name.clone(),
            file: file.to_owned(),
            process,
            process_began: began,
            nodes: nodes.collect(),
            links: plan.links.iter().map(|cord| plan.describe_link(cord)).collect(),
        }
    }

    /// The process that owns or owned the network.
    pub fn owner(&self) -> OwnerProcess {
        OwnerProcess { process: self.process, began: self.process_began }
    }

    /// Whether the owner process is alive.
    pub fn is_running(&self) -> bool {
        self.owner().is_alive()
    }

    /// A node on which programs run.
    pub fn host(&self, name: &str) -> Option<&RecordedNode> {
        self.nodes.iter().find(|node| node.name == name && node.kind != NodeKind::Bridge.keyword())
    }
}

impl TopologyRecords {
    /// The records in a directory.
    pub fn new(dir: &Path) -> TopologyRecords {
        TopologyRecords { dir: dir.to_owned() }
    }

    pub fn log(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.log"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.json"))
    }

    /// Creates the directory, and removes the record of an ended process with this name. A running network with this
    /// name is an error.
    pub fn reserve_name(&self, name: &str) -> Result<(), TopologyRecordError> {
        let made = make_dir(&self.dir, 0o755);
        made.map_err(|source| TopologyRecordError::File {
            what: "cannot make",
            path: self.dir.clone(),
            source,
        })?;
        match self.all()?.into_iter().find(|record| record.name == name) {
            Some(record) if record.is_running() => {
                Err(TopologyRecordError::Up { name: name.to_owned(), process: record.process })
            }
            Some(_) => self.remove_record(name),
            None => Ok(()),
        }
    }

    /// Writes a record, which claims its name.
    pub fn write_record(&self, record: &TopologyRecord) -> Result<(), TopologyRecordError> {
        let path = self.path(&record.name);
        let text = serde_json::to_string_pretty(record).map_err(io::Error::other);
        // Written to a temporary file first, so that the record is never incomplete. A hard link fails if the name
        // exists.
        let beside = self.dir.join(format!("{}.{}.new", record.name, record.process));
        let write = |text: String| {
            // Left by a killed process with our number.
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
                TopologyRecordError::Up { name: record.name.clone(), process }
            }
            _ => TopologyRecordError::File { what: "cannot write", path, source },
        })
    }

    /// Removes a record; a missing record is no error.
    pub fn remove_record(&self, name: &str) -> Result<(), TopologyRecordError> {
        let path = self.path(name);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(TopologyRecordError::File { what: "cannot remove", path, source })
            }
            _ => {
                // Ignored: a remaining log has no effect.
                let _ = fs::remove_file(self.log(name));
                Ok(())
            }
        }
    }

    /// All records, by name; other files are skipped.
    pub fn all(&self) -> Result<Vec<TopologyRecord>, TopologyRecordError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => {
                return Err(TopologyRecordError::File {
                    what: "cannot read",
                    path: self.dir.clone(),
                    source,
                });
            }
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let records = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
        let texts = records.filter_map(|path| fs::read_to_string(path).ok());
        let mut found: Vec<TopologyRecord> =
            texts.filter_map(|text| serde_json::from_str(&text).ok()).collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// Removes records and namespaces of ended processes; returns the names of their networks.
    pub fn sweep_dead(&self) -> Result<Vec<String>, TopologyRecordError> {
        let dead: Vec<TopologyRecord> =
            self.all()?.into_iter().filter(|record| !record.is_running()).collect();
        sweep_orphans();
        for record in &dead {
            self.remove_record(&record.name)?;
        }
        Ok(dead.into_iter().map(|record| record.name).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, keeper: OwnerProcess) -> TopologyRecord {
        TopologyRecord {
            name: name.to_owned(),
            file: "wan.toml".into(),
            process: keeper.process,
            process_began: keeper.began,
            nodes: vec![RecordedNode {
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
        let records = TopologyRecords::new(&dir);
        assert_eq!(records.all().unwrap(), Vec::new(), "no directory");
        records.reserve_name("wan").unwrap();
        let dead = OwnerProcess { process: 4_194_305, began: 1 };
        records.write_record(&record("wan", dead)).unwrap();
        assert!(!records.all().unwrap()[0].is_running());
        let living = record("wan", OwnerProcess::current());
        assert!(
            matches!(records.write_record(&living), Err(TopologyRecordError::Up { .. })),
            "taken, even by the dead"
        );
        records.reserve_name("wan").unwrap();
        records.write_record(&living).unwrap();
        assert_eq!(records.all().unwrap(), std::slice::from_ref(&living));
        assert!(matches!(records.reserve_name("wan"), Err(TopologyRecordError::Up { .. })));
        assert!(living.host("client").is_some() && living.host("server").is_none());
        fs::write(dir.join("other.json"), "{").unwrap();
        records.write_record(&record("lan", dead)).unwrap();
        assert_eq!(records.sweep_dead().unwrap(), ["lan"]);
        assert_eq!(records.all().unwrap(), [living]);
        records.remove_record("wan").unwrap();
        records.remove_record("wan").unwrap();
    }
}
