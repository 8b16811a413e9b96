//! Where ordered certificates and accounts are kept: below `acme/` in the state directory, for nobody but the daemon's
//! user. It knows no protocol.

use std::io;
use std::path::{Path, PathBuf};

use model::config::Acme;
use model::hash;

use crate::keep;

/// What tells one ordered certificate from another: its authority and its names.
pub fn key(acme: &Acme) -> String {
    let mut names = acme.names.clone();
    names.sort();
    let first = acme.names.first().map_or("", String::as_str);
    let part = short(&format!("{}\n{}", acme.directory, names.join("\n")));
    format!("{first}-{part}")
}

/// The file of a certificate, its chain and its key.
pub fn certificate(state: &Path, acme: &Acme) -> PathBuf {
    directory(state).join(format!("{}.pem", key(acme)))
}

/// The file of the account at an authority.
pub fn account(state: &Path, acme: &Acme) -> PathBuf {
    directory(state).join(format!("account-{}.json", short(&acme.directory)))
}

/// Writes one of them: a reader finds the old text or the new one, whole.
///
/// # Errors
/// The disk is full or read-only; the old file stands.
pub fn write(state: &Path, file: &Path, text: &str) -> io::Result<()> {
    files::make::make_dir(&directory(state), 0o700)?;
    keep::replace_secret(file, text.as_bytes())
}

fn directory(state: &Path) -> PathBuf {
    state.join("acme")
}

fn short(text: &str) -> String {
    format!("{:016x}", hash::part(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::time::Duration;

    use model::config::Challenge;

    use super::*;
    use crate::scratch::Scratch;

    fn acme(names: &[&str]) -> Acme {
        Acme {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            directory: "https://ca.example/directory".to_owned(),
            contact: Vec::new(),
            challenge: Challenge::Http,
            ca: None,
            retry: Duration::from_secs(1),
        }
    }

    #[test]
    fn names_and_authority_tell_certificates_apart() {
        let one = key(&acme(&["a.example", "b.example"]));
        assert!(one.starts_with("a.example-"), "{one}");
        assert_ne!(one, key(&acme(&["a.example"])));
        assert_ne!(
            one,
            key(&Acme { directory: "x".to_owned(), ..acme(&["a.example", "b.example"]) })
        );
        let turned = key(&acme(&["b.example", "a.example"]));
        assert_eq!(one.rsplit('-').next(), turned.rsplit('-').next());
    }

    #[test]
    fn nobody_else_may_read_what_is_kept() {
        let scratch = Scratch::new("acme").unwrap();
        let file = certificate(scratch.path(), &acme(&["a.example"]));
        write(scratch.path(), &file, "key").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    }
}
