//! Checks the files of secrets that a configuration names, before it is used: those that others could read or write are
//! reported, each with its key. Missing files are reported by their readers.

use std::fmt;
use std::path::{Path, PathBuf};

use files::secret::{SecretError, SecretProtection, check_access, check_mode};
use model::config::Config;
use model::config::secrets::{SecretContent, SecretFile};

use crate::tls::cert_files::{expand_paths, key_file_for};

/// A file that others could use.
#[derive(Debug)]
pub struct ExposedFile {
    /// The key that names it.
    pub key: String,
    /// Why it is no safe secret, and how to fix it.
    pub error: SecretError,
}

impl fmt::Display for ExposedFile {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}: {}", self.key, self.error)
    }
}

/// For which user files are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileReader {
    /// The user of this process, who will read them.
    ProcessUser,
    /// Any user, who checks for a daemon of another user: owners are not checked.
    Anybody,
}

/// Files of secrets that others could use.
pub fn find_exposed_files(config: &Config, by: FileReader) -> Vec<ExposedFile> {
    let mut out: Vec<ExposedFile> = Vec::new();
    for SecretFile { key, path, content: holds } in config.secret_files() {
        let (files, kept) = match holds {
            SecretContent::Certificate => (keys(&path), SecretProtection::NotReadable),
            SecretContent::Secret => (vec![path], SecretProtection::NotReadable),
            SecretContent::Tokens => (vec![path], SecretProtection::NotWritable),
        };
        let found = files.iter().filter_map(|file| check_file(file, kept, by));
        out.extend(found.map(|why| ExposedFile { key: key.clone(), error: why }));
    }
    out
}

fn keys(path: &Path) -> Vec<PathBuf> {
    let files = expand_paths(&[path.to_owned()]).unwrap_or_default();
    files.iter().filter_map(|file| key_file_for(file)).collect()
}

fn check_file(file: &Path, kept: SecretProtection, by: FileReader) -> Option<SecretError> {
    let about = std::fs::metadata(file).ok()?;
    let judged = match by {
        FileReader::ProcessUser => check_access(file, &about, kept),
        FileReader::Anybody => check_mode(file, &about, kept),
    };
    judged.err()
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::util::scratch_dir::Scratch;

    /// A configuration that names a file of each kind.
    fn config(at: &Path) -> Config {
        let at = at.display();
        let text = format!(
            "[global]\nsticky-secret-file = \"{at}/cookies\"\n[global.control]\nlisten = \"127.0.0.1:1\"\ntokens = \"{at}/tokens\"\ncertificate = \"{at}/control.pem\"\n\
             [service.s]\nlisten = \"127.0.0.1:2\"\nforward = \"http\"\npool = \"p\"\n\
             tls = {{ certificates = [\"{at}/shop.crt\"] }}\n\
             [pool.p]\ntls = {{ certificate = \"{at}/own.pem\" }}\n\
             probe = {{ ldap = true, user = \"cn=x\", secret-file = \"{at}/ldap\" }}\n\
             servers = [\"127.0.0.1:3\", {{ address = \"127.0.0.1:4\", probe = {{ radius = true, secret-file = \"{at}/radius\" }} }},\n\
             {{ address = \"127.0.0.1:5\", probe = {{ snmp = \"1.3.6.1\", secret-file = \"{at}/snmp\" }} }}]\n\
             [heartbeat.right]\nname = \"left\"\nsecret = \"{at}/keys\"\n\
             paths = [{{ local = \"192.0.2.1\", peer = \"192.0.2.2\" }}]\n\
             witness = {{ http = \"http://127.0.0.1:6/v1/leases\", lease = \"10s\", token = \"{at}/witness\" }}\n"
        );
        model::config::load(&text, "f").unwrap_or_else(|error| panic!("{error}")).config
    }

    #[test]
    fn every_kind_of_secret_is_refused_when_others_can_use_it() {
        let room = Scratch::new("exposed").unwrap();
        let config = config(room.path());
        assert!(
            find_exposed_files(&config, FileReader::ProcessUser).is_empty(),
            "nothing is there yet"
        );
        let made = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).unwrap();
        let chain = made.cert.pem();
        let key = made.signing_key.serialize_pem();
        let both = format!("{chain}{key}");
        // Each kind: its content, and whether others may read it.
        let files = [
            ("tokens", "x", true),
            ("control.pem", &both, false),
            ("shop.key", &key, false),
            ("own.pem", &both, false),
            ("ldap", "x", false),
            ("radius", "x", false),
            ("snmp", "x", false),
            ("keys", "x", false),
            ("witness", "x", false),
            ("cookies", "x", false),
        ];
        room.write("shop.crt", &chain).unwrap();
        for (name, text, _) in files {
            room.write(name, text).unwrap();
        }
        let named = config.secret_files().len();
        assert_eq!(named, files.len(), "each kind is walked");
        assert!(
            find_exposed_files(&config, FileReader::ProcessUser).is_empty(),
            "all are ours alone"
        );
        for (name, _, readable) in files {
            let file = room.path().join(name);
            for mode in [0o644, 0o666, 0o620, 0o602] {
                set_permissions(&file, Permissions::from_mode(mode)).unwrap();
                for by in [FileReader::ProcessUser, FileReader::Anybody] {
                    let found = find_exposed_files(&config, by);
                    if readable && mode == 0o644 {
                        assert!(found.is_empty(), "{name}: digests are no secret: {found:?}");
                        continue;
                    }
                    let said = found.first().map(ToString::to_string).unwrap_or_default();
                    let parts =
                        [&format!("{mode:04o}"), "expected", "chmod", file.to_str().unwrap()];
                    assert!(parts.iter().all(|part| said.contains(*part)), "{name}: {said}");
                    assert_eq!(found.len(), 1, "{name}: {found:?}");
                }
            }
            set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        }
    }
}
