//! Daemons of other machines: how one is named on the command line, in the environment and in the client's own file.
//!
//! Which wins: the command line, then the environment, then the file. How one is called is `api::client::remote`'s.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use api::client::remote::{RemoteDaemon, RemoteOptions};
use model::config::syntax_message::locate_syntax_error;
use serde::Deserialize;

use crate::outcome::CommandError;

/// Another machine's daemon.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Another machine's daemon")]
pub struct RemoteArgs {
    /// HOST, HOST:PORT, https://HOST:PORT, or a name from the client's file; also STEELYARD_REMOTE.
    #[arg(long, value_name = "HOST", env = "STEELYARD_REMOTE", hide_env = true)]
    remote: Option<String>,
    /// PEM file with the certificate authorities for its certificate; also STEELYARD_CA.
    #[arg(long, value_name = "FILE", env = "STEELYARD_CA", hide_env = true)]
    ca: Option<PathBuf>,
    /// Its certificate's fingerprint, sha256:DIGITS, instead of an authority; also STEELYARD_PIN.
    #[arg(long, value_name = "FINGERPRINT", env = "STEELYARD_PIN", hide_env = true)]
    pin: Option<String>,
    /// File with the client's token; also STEELYARD_TOKEN_FILE, or the token itself in
    /// STEELYARD_TOKEN.
    #[arg(long, value_name = "FILE", env = "STEELYARD_TOKEN_FILE", hide_env = true)]
    token_file: Option<PathBuf>,
    /// PEM file with the client certificate, and its key unless --key names another file; also
    /// STEELYARD_CERTIFICATE.
    #[arg(long, value_name = "FILE", env = "STEELYARD_CERTIFICATE", hide_env = true)]
    certificate: Option<PathBuf>,
    /// PEM file with the certificate's key; also STEELYARD_KEY.
    #[arg(long, value_name = "FILE", env = "STEELYARD_KEY", hide_env = true)]
    key: Option<PathBuf>,
}

/// The client's file.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct KnownDaemons {
    remote: BTreeMap<String, KnownDaemon>,
}

/// A daemon in it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct KnownDaemon {
    host: String,
    ca: Option<PathBuf>,
    pin: Option<String>,
    token_file: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

impl RemoteArgs {
    /// The daemon that is meant; `None`: that of this machine.
    ///
    /// # Errors
    /// It cannot be called so, or the client's file cannot be read.
    pub fn open_remote(&self) -> Result<Option<RemoteDaemon>, CommandError> {
        let Some(name) = self.remote.as_deref().filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let known = match config_path() {
            Some(file) => read_known_daemons(&file)?,
            None => KnownDaemons::default(),
        };
        let token = std::env::var("STEELYARD_TOKEN").ok().filter(|token| !token.is_empty());
        let options = self.remote_options(name, known, token);
        RemoteDaemon::open(&options)
            .map(Some)
            .map_err(|error| CommandError::Unusable(error.to_string()))
    }

    /// The other member of a pair. The other options of the command line apply to it, unless they apply to a first
    /// daemon which is remote too.
    ///
    /// # Errors
    ///
    /// As of `remote`.
    pub fn peer_remote(&self, name: &str) -> Result<RemoteDaemon, CommandError> {
        let own = self.remote.as_deref().is_none_or(str::is_empty);
        let far = if own { self.clone() } else { RemoteArgs::default() };
        let far = RemoteArgs { remote: Some(name.to_owned()), ..far };
        far.open_remote()?
            .ok_or_else(|| CommandError::Unusable("--pair: expected a host".to_owned()))
    }

    fn remote_options(
        &self,
        name: &str,
        mut known: KnownDaemons,
        token: Option<String>,
    ) -> RemoteOptions {
        let entry = known.remote.remove(name);
        let host = entry.as_ref().map_or(name, |entry| entry.host.as_str()).to_owned();
        let RemoteArgs { remote: _, ca, pin, token_file, certificate, key } = self.clone();
        // A token that is given nearer is not replaced by one from the file.
        let own = token.is_some() || token_file.is_some();
        let of = RemoteOptions { host, ca, pin, token, token_file, certificate, key };
        let Some(entry) = entry else { return of };
        let key = if of.certificate.is_some() { of.key } else { of.key.or(entry.key) };
        let (ca, pin) = match (of.ca, of.pin) {
            (None, None) => (entry.ca, entry.pin),
            given => given,
        };
        RemoteOptions {
            ca,
            pin,
            token_file: if own { of.token_file } else { entry.token_file },
            certificate: of.certificate.or(entry.certificate),
            key,
            ..RemoteOptions { host: of.host, token: of.token, ..RemoteOptions::default() }
        }
    }
}

/// Where the client's file is; `None`: this user has no place for it.
fn config_path() -> Option<PathBuf> {
    let set =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("STEELYARD_CLIENT").or_else(|| {
        let configuration =
            set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
        Some(configuration.join("steelyard/client.toml"))
    })
}

fn read_known_daemons(file: &Path) -> Result<KnownDaemons, CommandError> {
    let wrong = |why: String| CommandError::Unusable(format!("{}: {why}", file.display()));
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(KnownDaemons::default());
        }
        Err(error) => return Err(wrong(format!("it cannot be read: {error}"))),
    };
    let mut known: KnownDaemons =
        toml::from_str(&text).map_err(|error| wrong(locate_syntax_error(&error, &text)))?;
    // Files are meant from where the client's file is.
    let from = file.parent().unwrap_or(Path::new(""));
    for entry in known.remote.values_mut() {
        let paths = [&mut entry.ca, &mut entry.token_file, &mut entry.certificate, &mut entry.key];
        for path in paths.into_iter().flatten() {
            *path = from.join(&*path);
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> KnownDaemons {
        let text = "[remote.lb1]\nhost = \"lb1.example\"\npin = \"sha256:1\"\ntoken-file = \"t\"\n\
                    certificate = \"c\"\nkey = \"k\"\n";
        toml::from_str(text).unwrap()
    }

    #[test]
    fn what_is_nearer_wins() {
        let far = RemoteArgs::default();
        let by_name = far.remote_options("lb1", file(), None);
        assert_eq!(
            (by_name.host.as_str(), by_name.pin.as_deref()),
            ("lb1.example", Some("sha256:1"))
        );
        assert_eq!(by_name.token_file, Some("t".into()));
        let other = far.remote_options("lb2", file(), None);
        assert_eq!(other, RemoteOptions { host: "lb2".into(), ..RemoteOptions::default() });
        let with = far.remote_options("lb1", file(), Some("steelyard_x".into()));
        assert_eq!((with.token.as_deref(), with.token_file), (Some("steelyard_x"), None));
        let far = RemoteArgs {
            ca: Some("ca".into()),
            certificate: Some("mine".into()),
            ..RemoteArgs::default()
        };
        let given = far.remote_options("lb1", file(), None);
        assert_eq!((given.ca, given.pin), (Some("ca".into()), None));
        assert_eq!((given.certificate, given.key), (Some("mine".into()), None));
    }

    #[test]
    fn an_unknown_key_is_reported_with_its_place() {
        let error = toml::from_str::<KnownDaemons>("[remote.a]\nhost = \"x\"\ntoken = \"y\"\n")
            .unwrap_err();
        assert!(
            error.to_string().contains("token") && error.to_string().contains("line 3"),
            "{error}"
        );
    }
}
