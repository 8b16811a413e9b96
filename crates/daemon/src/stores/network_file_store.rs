//! Reads the files of networks that services trust: with the configuration, and again when they have changed.
//!
//! All files of a configuration must be valid before the configuration becomes active. Of a file that changes later the
//! previous networks stay until the new ones are valid.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use files::regular_file;
use model::config::{Config, NetworkSet};
use model::network_file::{MAX_FILE_BYTES, NetworkFileError, parse_network_file};

use crate::util::file_stamps::{FileStamps, file_stamps};

/// The networks of the files, by service, and how the files were when they were read.
#[derive(Clone, Debug, Default)]
pub struct NetworkFileStore {
    services: BTreeMap<String, ServiceNetworks>,
    stamps: FileStamps,
    /// How the files were at the last look, if otherwise than when they were read.
    pending_stamps: Option<FileStamps>,
    /// The files were no good at the last reading.
    is_refused: bool,
}

#[derive(Clone, Debug)]
struct ServiceNetworks {
    files: Vec<PathBuf>,
    networks: Arc<NetworkSet>,
}

/// The networks of a configuration's files, and every error that was found in them.
#[derive(Debug)]
pub struct PreparedNetworks {
    pub store: NetworkFileStore,
    pub errors: Vec<NetworkFileFault>,
    /// Services whose changed files were read, a sentence each.
    pub reloaded: Vec<String>,
}

/// The error of one file.
#[derive(Debug)]
pub struct NetworkFileFault {
    /// Its key: `service.shop.trust`.
    pub key: String,
    pub error: UnusableNetworkFile,
}

/// Why a file of networks cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UnusableNetworkFile {
    #[error("cannot read {}: {source}; write the networks there, or remove this entry", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{}, {source}", path.display())]
    Content {
        path: PathBuf,
        #[source]
        source: NetworkFileError,
    },
}

impl NetworkFileStore {
    /// Reads the files of a configuration. Networks that are the same as before stay the same allocation.
    pub fn prepare(&self, config: &Config) -> PreparedNetworks {
        let services = config.services.iter().filter(|(_, it)| !it.trust.files.is_empty());
        let wanted = services.map(|(name, it)| (name.clone(), it.trust.files.clone())).collect();
        self.read(&wanted)
    }

    fn read(&self, wanted: &BTreeMap<String, Vec<PathBuf>>) -> PreparedNetworks {
        let stamps = file_stamps(&paths(wanted.values()));
        let mut prepared = PreparedNetworks {
            store: NetworkFileStore { stamps, ..NetworkFileStore::default() },
            errors: Vec::new(),
            reloaded: Vec::new(),
        };
        for (name, files) in wanted {
            let mut prefixes = Vec::new();
            for path in files {
                match read_file(path) {
                    Ok(networks) => prefixes.extend_from_slice(networks.prefixes()),
                    Err(error) => {
                        let key = format!("service.{name}.trust");
                        prepared.errors.push(NetworkFileFault { key, error });
                    }
                }
            }
            let before = self.services.get(name);
            let same = before.filter(|before| before.networks.prefixes() == prefixes);
            let networks = same.map_or_else(
                || Arc::new(NetworkSet::new(&prefixes)),
                |it| Arc::clone(&it.networks),
            );
            if before.is_some_and(|it| it.files == *files) && same.is_none() {
                let count = prefixes.len();
                let sentence =
                    format!("service.{name}.trust: {count} networks of changed files are active");
                prepared.reloaded.push(sentence);
            }
            let files = files.clone();
            prepared.store.services.insert(name.clone(), ServiceNetworks { files, networks });
        }
        prepared
    }

    /// Looks whether files have changed, and reads them if two looks in a row agree, so that no partial file is read.
    /// Returns what has changed: nothing, if files that were refused are as before. `None`: nothing is to be done.
    ///
    /// # Errors
    /// A changed file is no good: all networks stay as they were.
    pub fn reload(&mut self) -> Option<Result<Vec<String>, NetworkFileFault>> {
        let wanted = self.services.iter().map(|(name, it)| (name.clone(), it.files.clone()));
        let wanted: BTreeMap<String, Vec<PathBuf>> = wanted.collect();
        let now = file_stamps(&paths(wanted.values()));
        if now == self.stamps {
            self.pending_stamps = None;
            return None;
        }
        if self.pending_stamps.as_ref() != Some(&now) {
            self.pending_stamps = Some(now);
            return None;
        }
        let read = self.read(&wanted);
        // An invalid file is reported once.
        self.stamps = now;
        self.pending_stamps = None;
        if let Some(fault) = read.errors.into_iter().next() {
            self.is_refused = true;
            return Some(Err(fault));
        }
        self.services = read.store.services;
        let was_refused = std::mem::take(&mut self.is_refused);
        (was_refused || !read.reloaded.is_empty()).then_some(Ok(read.reloaded))
    }

    /// The networks by the names of services.
    pub fn networks(&self) -> BTreeMap<String, Arc<NetworkSet>> {
        self.services.iter().map(|(name, it)| (name.clone(), Arc::clone(&it.networks))).collect()
    }
}

fn read_file(path: &Path) -> Result<NetworkSet, UnusableNetworkFile> {
    let content = regular_file::read(path, MAX_FILE_BYTES)
        .map_err(|source| UnusableNetworkFile::Read { path: path.to_owned(), source })?;
    parse_network_file(&content)
        .map_err(|source| UnusableNetworkFile::Content { path: path.to_owned(), source })
}

/// The files, each once.
fn paths<'c>(files: impl Iterator<Item = &'c Vec<PathBuf>>) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = files.flatten().cloned().collect();
    paths.sort();
    paths.dedup();
    paths
}

#[cfg(test)]
mod tests {
    use model::config::load;

    use super::*;
    use crate::util::scratch_dir::Scratch;

    fn config(file: &Path) -> Config {
        let text = format!(
            "[service.shop]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"web\"\n\
             trust = [\"10.0.0.0/8\", \"file:{}\"]\n[pool.web]\nservers = [\"127.0.0.1:3\"]\n",
            file.display()
        );
        load(&text, "steelyard.toml").unwrap_or_else(|error| panic!("{error}")).config
    }

    #[test]
    fn a_file_is_followed_while_it_is_good() {
        let room = Scratch::new("networks").unwrap();
        let file = room.path().join("cdn.cidr");
        std::fs::write(&file, "192.0.2.0/24\n").unwrap();
        let config = config(&file);
        let mut store = NetworkFileStore::default().prepare(&config).store;
        let has = |store: &NetworkFileStore, address: &str| {
            store.networks()["shop"].contains(address.parse().unwrap())
        };
        assert!(has(&store, "192.0.2.1") && !has(&store, "10.0.0.1"));
        let again = store.prepare(&config);
        assert!(Arc::ptr_eq(&again.store.networks()["shop"], &store.networks()["shop"]));
        assert!(again.reloaded.is_empty() && store.reload().is_none());

        std::fs::write(&file, "198.51.100.0/24\n192.0.2.0/24\n").unwrap();
        assert!(store.reload().is_none(), "it may be half of it");
        assert_eq!(store.reload().unwrap().unwrap().len(), 1);
        assert!(has(&store, "198.51.100.1"));

        for broken in ["198.51.100.0/2", "", "<html>"] {
            std::fs::write(&file, broken).unwrap();
            assert!(store.reload().is_none());
            let fault = store.reload().unwrap().unwrap_err();
            assert_eq!(fault.key, "service.shop.trust");
            assert!(store.reload().is_none(), "reported once");
            assert!(has(&store, "198.51.100.1"), "{broken}: as before");
        }
        std::fs::remove_file(&file).unwrap();
        assert!(store.reload().is_none());
        assert!(store.reload().unwrap().is_err() && has(&store, "192.0.2.1"));
        assert!(
            NetworkFileStore::default().prepare(&config).errors[0]
                .error
                .to_string()
                .contains("cannot read")
        );
    }
}
