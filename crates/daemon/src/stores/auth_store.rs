//! Reads the files of authentication: with the configuration, and again when they have changed. Keys of a URL are taken
//! up when they were fetched (`key_set`).
//!
//! All files of a configuration must be valid before it becomes active. Of a file that changes later the previous
//! content stays until the new one is valid.

mod auth_entry;
pub mod auth_fault;
mod fetched_keys;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use files::regular_file;
use l7::auth_object::{AuthObject, AuthObjects, MAX_AUTH_FILE_BYTES};
use model::config::{AuthConfig, AuthKind, Config, KeySetUrl};
use model::monotonic_time::MonotonicTime;
use model::snapshot::OpaqueMaterial;

use self::auth_entry::{AuthEntry, key_of};
use self::auth_fault::{AS_BEFORE, AuthFault, AuthFileError, ReloadedAuth};
use self::fetched_keys::{FetchedKeys, FetchedObject};
use crate::stores::key_set::refresh_state::FetchResult;
use crate::stores::key_set::{
    KeySetSetup, KeySetSource, KeySetSources, key_set_origin, lock_source, remove_unused,
};
use crate::util::file_stamps::{FileStamps, file_stamps};
use crate::util::monotonic_clock::monotonic_now;

/// The objects of a configuration with what was read of their files.
#[derive(Clone, Debug, Default)]
pub struct AuthStore {
    entries: BTreeMap<String, AuthEntry>,
    /// What is fetched.
    sources: KeySetSources,
    material: Option<OpaqueMaterial>,
}

/// The objects of a configuration, and every error that was found in their files.
#[derive(Debug)]
pub struct PreparedAuth {
    pub store: AuthStore,
    pub errors: Vec<AuthFault>,
    /// Objects whose changed files were read, a sentence each.
    pub reloaded: Vec<String>,
}

impl AuthStore {
    /// Reads the files of a configuration. Objects that are the same as before, with unchanged files, stay the same with
    /// all they have proven. `setup`: for keys that are fetched.
    pub fn prepare(&self, config: &Config, setup: &KeySetSetup) -> PreparedAuth {
        let mut prepared =
            PreparedAuth { store: AuthStore::default(), errors: Vec::new(), reloaded: Vec::new() };
        for (name, config) in &config.auths {
            if let Some(url) = &config.jwks_url {
                let entry = self.prepare_fetched(config, url, setup, &mut prepared.store.sources);
                prepared.store.entries.insert(name.clone(), entry);
                continue;
            }
            let before = self.entries.get(name).filter(|entry| entry.object.config == *config);
            let stamps = stamps_of(config);
            if let Some(before) = before.filter(|before| before.stamps == stamps) {
                prepared.store.entries.insert(name.clone(), before.clone());
                continue;
            }
            match read(config) {
                Ok(object) => {
                    if before.is_some() {
                        prepared.reloaded.push(renewal(name));
                    }
                    let entry = AuthEntry::new(object, stamps, None);
                    prepared.store.entries.insert(name.clone(), entry);
                }
                Err(error) => {
                    prepared.errors.push(AuthFault {
                        key: key_of(config),
                        error,
                        effect: AS_BEFORE,
                    });
                }
            }
        }
        let is_same = self.entries.len() == prepared.store.entries.len()
            && self.entries.iter().zip(&prepared.store.entries).all(|(one, other)| {
                one.0 == other.0 && Arc::ptr_eq(&one.1.object, &other.1.object)
            });
        prepared.store.material = match is_same {
            true => self.material.clone(),
            false => prepared.store.build_material(),
        };
        prepared
    }

    /// Looks whether files have changed, and reads those of which two looks in a row agree, so that no partial file is
    /// read.
    pub fn reload(&mut self) -> ReloadedAuth {
        let mut result = ReloadedAuth::default();
        for (name, entry) in self.entries.iter_mut().filter(|it| it.1.fetched.is_none()) {
            let now = stamps_of(&entry.object.config);
            if now == entry.stamps {
                entry.pending_stamps = None;
                continue;
            }
            if entry.pending_stamps.as_ref() != Some(&now) {
                entry.pending_stamps = Some(now);
                continue;
            }
            // An invalid file is reported once.
            entry.stamps = now;
            entry.pending_stamps = None;
            match read(&entry.object.config) {
                Ok(object) => {
                    entry.is_refused = false;
                    entry.object = object;
                    result.is_changed = true;
                    result.renewed.push(renewal(name));
                }
                Err(error) => {
                    entry.is_refused = true;
                    let key = key_of(&entry.object.config);
                    result.refused.push(AuthFault { key, error, effect: AS_BEFORE });
                }
            }
        }
        self.take_up_key_sets(monotonic_now(), &mut result);
        if result.is_changed {
            self.material = self.build_material();
        }
        result
    }

    /// Whether the file of this key was no good at the last reading.
    pub fn is_refused(&self, key: &str) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|(_, entry)| entry.is_refused && key == key_of(&entry.object.config))
    }

    /// Begins to fetch what this configuration needs, and ends what earlier ones kept.
    pub fn begin_fetching(&self, state_dir: Option<&Path>) {
        let now = monotonic_now();
        let mut intervals: BTreeMap<&String, Duration> = BTreeMap::new();
        for entry in self.entries.values() {
            let Some(fetched) = &entry.fetched else { continue };
            let refresh = entry.object.config.refresh;
            let interval = intervals.entry(&fetched.origin).or_insert(refresh);
            *interval = refresh.min(*interval);
        }
        for (origin, source) in &self.sources {
            let mut source = lock_source(source);
            if let Some(interval) = intervals.get(origin) {
                source.state().set_refresh(*interval, now);
            }
            source.fetch_if_due(now);
        }
        if let Some(state_dir) = state_dir {
            remove_unused(state_dir, &self.sources);
        }
    }

    /// The object of a URL, with keys that were fetched before.
    fn prepare_fetched(
        &self,
        config: &Arc<AuthConfig>,
        url: &KeySetUrl,
        setup: &KeySetSetup,
        next: &mut KeySetSources,
    ) -> AuthEntry {
        let now = monotonic_now();
        let origin = key_set_origin(config, url);
        let before = next.get(&origin).or_else(|| self.sources.get(&origin)).cloned();
        let source = before.unwrap_or_else(|| {
            Arc::new(Mutex::new(KeySetSource::new(config, url, origin.clone(), setup, now)))
        });
        next.insert(origin.clone(), Arc::clone(&source));
        let same = self.entries.get(&config.name).filter(|entry| entry.object.config == *config);
        if let Some(same) = same {
            return same.clone();
        }
        let FetchedObject { object, keys } = FetchedKeys::make_object(config, origin, &source, now);
        AuthEntry::new(object, FileStamps::new(), Some(keys))
    }

    /// Takes up what was fetched, and begins to fetch what is due.
    fn take_up_key_sets(&mut self, now: MonotonicTime, result: &mut ReloadedAuth) {
        let mut results: BTreeMap<&String, FetchResult> = BTreeMap::new();
        for (origin, source) in &self.sources {
            let mut source = lock_source(source);
            results.extend(source.take_result(now).map(|it| (origin, it)));
            let unsaved = source.take_save_error();
            result.unsaved.extend(unsaved.map(|error| {
                format!("the keys of {origin} cannot be stored for a restart: {error}")
            }));
        }
        for entry in self.entries.values_mut() {
            entry.look_at_keys(&results, now, result);
        }
        self.sources.values().for_each(|source| lock_source(source).fetch_if_due(now));
    }

    pub fn material(&self) -> Option<OpaqueMaterial> {
        self.material.clone()
    }

    fn build_material(&self) -> Option<OpaqueMaterial> {
        let objects = self.entries.iter().map(|(name, entry)| (name.clone(), entry.object.clone()));
        let objects = AuthObjects { objects: objects.collect() };
        (!objects.objects.is_empty()).then(|| OpaqueMaterial::new(Arc::new(objects)))
    }
}

fn renewal(name: &str) -> String {
    format!("auth.{name}: its changed file is active")
}

/// Who is asked over the network has no file.
fn stamps_of(config: &AuthConfig) -> FileStamps {
    match config.kind {
        AuthKind::Request => file_stamps(&[]),
        AuthKind::Basic | AuthKind::ApiKey | AuthKind::Jwt => {
            file_stamps(std::slice::from_ref(&config.file))
        }
    }
}

fn read(config: &Arc<AuthConfig>) -> Result<Arc<AuthObject>, AuthFileError> {
    if let Some(object) = AuthObject::without_file(config) {
        return Ok(Arc::new(object));
    }
    let path = || config.file.clone();
    let content = regular_file::read(&config.file, MAX_AUTH_FILE_BYTES)
        .map_err(|source| AuthFileError::Read { path: path(), source })?;
    let object = AuthObject::new(Arc::clone(config), &content)
        .map_err(|source| AuthFileError::Content { path: path(), source })?;
    Ok(Arc::new(object))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::config::load;

    use super::*;
    use crate::util::scratch_dir::Scratch;

    const LINE: &str = "ann:$apr1$x$16j9.5e7KiXmuYFAYpPJM/\n";

    /// Without anything to fetch.
    fn setup() -> KeySetSetup {
        KeySetSetup { state_dir: None, fetch: |_| Box::pin(std::future::pending()) }
    }

    fn config(file: &Path, realm: &str) -> Config {
        let text = format!(
            "[service.shop]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"web\"\nauth = \"staff\"\n\
             [pool.web]\nservers = [\"127.0.0.1:3\"]\n\
             [auth.staff]\nkind = \"basic\"\nfile = {file:?}\nrealm = \"{realm}\"\n"
        );
        load(&text, "steelyard.toml").unwrap_or_else(|error| panic!("{error}")).config
    }

    fn object(store: &AuthStore) -> Arc<AuthObject> {
        let material = store.material().unwrap();
        material.downcast::<AuthObjects>().unwrap().objects["staff"].clone()
    }

    #[test]
    fn a_file_is_followed_while_it_is_good() {
        let room = Scratch::new("auth").unwrap();
        let file = room.path().join("staff");
        std::fs::write(&file, LINE).unwrap();
        let mut store = AuthStore::default().prepare(&config(&file, "a"), &setup()).store;
        let first = object(&store);
        let again = store.prepare(&config(&file, "a"), &setup());
        assert!(again.reloaded.is_empty() && Arc::ptr_eq(&object(&again.store), &first));
        assert!(again.store.material().unwrap().is_same(&store.material().unwrap()));
        assert!(!Arc::ptr_eq(&object(&store.prepare(&config(&file, "b"), &setup()).store), &first));

        std::fs::write(&file, format!("{LINE}bob{}", &LINE[3..])).unwrap();
        assert!(store.reload().renewed.is_empty(), "it may be half of it");
        assert_eq!(store.reload().renewed, ["auth.staff: its changed file is active"]);
        let second = object(&store);
        assert!(!Arc::ptr_eq(&second, &first), "what was proven before counts no longer");

        std::fs::write(&file, "ann:secret").unwrap();
        assert!(store.reload().refused.is_empty());
        let refused = store.reload().refused;
        assert_eq!(refused[0].key, "auth.staff.file");
        assert!(!refused[0].error.to_string().contains("secret"), "{}", refused[0].error);
        assert!(store.reload().refused.is_empty(), "reported once");
        assert!(Arc::ptr_eq(&object(&store), &second));
    }

    #[test]
    fn a_file_that_is_no_good_is_an_error_of_the_configuration() {
        let room = Scratch::new("auth").unwrap();
        let file = room.path().join("staff");
        let errors = || -> Vec<String> {
            let errors = AuthStore::default().prepare(&config(&file, "a"), &setup()).errors;
            errors.iter().map(|fault| format!("{}: {}", fault.key, fault.error)).collect()
        };
        assert!(errors()[0].contains("No such file"), "{:?}", errors());
        std::fs::write(&file, "ann").unwrap();
        assert!(errors()[0].ends_with("line 1 has no `:`; expected `name:hash`"), "{:?}", errors());
    }
}
