//! Reads the files of authentication: with the configuration, and again when they have changed.
//!
//! All files of a configuration must be valid before it becomes active. Of a file that changes later the previous
//! content stays until the new one is valid.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use files::regular_file;
use l7::auth_object::{AuthObject, AuthObjectError, AuthObjects, MAX_AUTH_FILE_BYTES};
use model::config::{AuthConfig, AuthKind, Config};
use model::snapshot::OpaqueMaterial;

use crate::util::file_stamps::{FileStamps, file_stamps};

/// The objects of a configuration with what was read of their files.
#[derive(Clone, Debug, Default)]
pub struct AuthStore {
    entries: BTreeMap<String, AuthEntry>,
    material: Option<OpaqueMaterial>,
}

#[derive(Clone, Debug)]
struct AuthEntry {
    object: Arc<AuthObject>,
    /// How its file was when it was read.
    stamps: FileStamps,
    /// How it was at the last look, if otherwise.
    pending_stamps: Option<FileStamps>,
    /// It was no good at the last reading.
    is_refused: bool,
}

/// The objects of a configuration, and every error that was found in their files.
#[derive(Debug)]
pub struct PreparedAuth {
    pub store: AuthStore,
    pub errors: Vec<AuthFault>,
    /// Objects whose changed files were read, a sentence each.
    pub reloaded: Vec<String>,
}

/// What came of another look at the files.
#[derive(Debug, Default)]
pub struct ReloadedAuth {
    /// Objects whose changed files are in use now, a sentence each.
    pub renewed: Vec<String>,
    /// Those whose changed files are no good: the content before stays.
    pub refused: Vec<AuthFault>,
}

/// The error of one object's file.
#[derive(Debug)]
pub struct AuthFault {
    /// The key of the file in the configuration: `auth.staff.file`.
    pub key: String,
    pub error: AuthFileError,
}

/// Why a file cannot be used. What it holds is never part of it.
#[derive(Debug, thiserror::Error)]
pub enum AuthFileError {
    #[error("cannot read {}: {source}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{}: {source}", path.display())]
    Content {
        path: PathBuf,
        #[source]
        source: AuthObjectError,
    },
}

impl AuthStore {
    /// Reads the files of a configuration. Objects that are the same as before, with unchanged files, stay the same with
    /// all they have proven.
    pub fn prepare(&self, config: &Config) -> PreparedAuth {
        let mut prepared =
            PreparedAuth { store: AuthStore::default(), errors: Vec::new(), reloaded: Vec::new() };
        for (name, config) in &config.auths {
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
                    let entry =
                        AuthEntry { object, stamps, pending_stamps: None, is_refused: false };
                    prepared.store.entries.insert(name.clone(), entry);
                }
                Err(error) => {
                    prepared.errors.push(AuthFault { key: key_of(name), error });
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
        for (name, entry) in &mut self.entries {
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
                    result.renewed.push(renewal(name));
                }
                Err(error) => {
                    entry.is_refused = true;
                    result.refused.push(AuthFault { key: key_of(name), error });
                }
            }
        }
        if !result.renewed.is_empty() {
            self.material = self.build_material();
        }
        result
    }

    /// Whether the file of this key was no good at the last reading.
    pub fn is_refused(&self, key: &str) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|(name, entry)| entry.is_refused && key == key_of(name))
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
    format!("auth.{name}: its changed file is in force")
}

/// The key of a file.
fn key_of(name: &str) -> String {
    format!("auth.{name}.file")
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
        let mut store = AuthStore::default().prepare(&config(&file, "a")).store;
        let first = object(&store);
        let again = store.prepare(&config(&file, "a"));
        assert!(again.reloaded.is_empty() && Arc::ptr_eq(&object(&again.store), &first));
        assert!(again.store.material().unwrap().is_same(&store.material().unwrap()));
        assert!(!Arc::ptr_eq(&object(&store.prepare(&config(&file, "b")).store), &first));

        std::fs::write(&file, format!("{LINE}bob{}", &LINE[3..])).unwrap();
        assert!(store.reload().renewed.is_empty(), "it may be half of it");
        assert_eq!(store.reload().renewed, ["auth.staff: its changed file is in force"]);
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
            let errors = AuthStore::default().prepare(&config(&file, "a")).errors;
            errors.iter().map(|fault| format!("{}: {}", fault.key, fault.error)).collect()
        };
        assert!(errors()[0].contains("No such file"), "{:?}", errors());
        std::fs::write(&file, "ann").unwrap();
        assert!(errors()[0].ends_with("line 1 has no `:`; expected `name:hash`"), "{:?}", errors());
    }
}
