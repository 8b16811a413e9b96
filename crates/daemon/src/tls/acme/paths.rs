//! Paths of ordered certificates and accounts: below `acme/` in the state directory, readable by the daemon's user
//! alone.

use std::io;
use std::path::{Path, PathBuf};

use model::config::AcmeConfig;
use model::hash;

use crate::util::atomic_file;

/// The key of an ordered certificate: its authority and its names.
pub fn key(acme: &AcmeConfig) -> String {
    let mut names = acme.names.clone();
    names.sort();
    let first = acme.names.first().map_or("", String::as_str);
    let part = short(&format!("{}\n{}", acme.directory, names.join("\n")));
    format!("{first}-{part}")
}

/// The file of a certificate, its chain and its key.
pub fn certificate_path(state: &Path, acme: &AcmeConfig) -> PathBuf {
    directory(state).join(format!("{}.pem", key(acme)))
}

/// The file of the account at an authority.
pub fn account_path(state: &Path, acme: &AcmeConfig) -> PathBuf {
    directory(state).join(format!("account-{}.json", short(&acme.directory)))
}

/// Writes one of them: a reader finds the old text or the new one, whole.
///
/// # Errors
/// The disk is full or read-only; the previous file is unchanged.
pub fn write(state: &Path, file: &Path, text: &str) -> io::Result<()> {
    files::create::make_dir(&directory(state), 0o700)?;
    atomic_file::replace_secret(file, text.as_bytes())
}

fn directory(state: &Path) -> PathBuf {
    state.join("acme")
}

fn short(text: &str) -> String {
    format!("{:016x}", hash::hash_part(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::time::Duration;

    use model::config::AcmeChallengeType;

    use super::*;
    use crate::util::scratch_dir::Scratch;

    fn acme(names: &[&str]) -> AcmeConfig {
        AcmeConfig {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            directory: "https://ca.example/directory".to_owned(),
            contact: Vec::new(),
            challenge: AcmeChallengeType::Http,
            ca: None,
            retry: Duration::from_secs(1),
        }
    }

    #[test]
    fn names_and_authority_distinguish_certificates() {
        let one = key(&acme(&["a.example", "b.example"]));
        assert!(one.starts_with("a.example-"), "{one}");
        assert_ne!(one, key(&acme(&["a.example"])));
        assert_ne!(
            one,
            key(&AcmeConfig { directory: "x".to_owned(), ..acme(&["a.example", "b.example"]) })
        );
        let turned = key(&acme(&["b.example", "a.example"]));
        assert_eq!(one.rsplit('-').next(), turned.rsplit('-').next());
    }

    #[test]
    fn nobody_else_may_read_what_is_kept() {
        let scratch = Scratch::new("acme").unwrap();
        let file = certificate_path(scratch.path(), &acme(&["a.example"]));
        write(scratch.path(), &file, "key").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    }
}
