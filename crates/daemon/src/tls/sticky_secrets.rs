//! The secrets of cookies of `sticky`: read from a file of the operator's, or drawn once and stored in the state
//! directory.
//!
//! Without a place to store one it is good for this process alone, and that is reported.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::{digest, rand};
use files::secret::{SecretProtection, read_text};
use model::affinity::cookie::{AffinitySecret, AffinitySecrets};
use model::config::{AffinityKey, Config, CookieMode};

use crate::util::atomic_file;
use crate::util::file_stamps::{FileStamps, file_stamps};

/// The key that names the operator's file.
pub const KEY: &str = "global.sticky-secret-file";

/// In the state directory.
const FILE: &str = "cookie.secret";

/// Bytes of the file.
const BYTES: u64 = 4 * 1024;

/// Characters of a secret.
const LENGTH: std::ops::RangeInclusive<usize> = 32..=512;

/// Why the operator's file is no good.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CookieError(String);

/// The active secrets, and their source.
#[derive(Clone, Debug, Default)]
pub struct StickySecrets {
    source: SecretSource,
    secrets: Arc<AffinitySecrets>,
    /// How the operator's file was at the last look, if otherwise than when it was read.
    last_refusal: Option<FileStamps>,
    /// Warnings that have not been logged yet.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum SecretSource {
    #[default]
    None,
    Machine,
    /// The operator's file, and how it was when it was read.
    File(PathBuf, FileStamps),
}

impl StickySecrets {
    /// The secrets of a configuration; the same ones as long as its settings for them are unchanged.
    ///
    /// # Errors
    /// The operator's file cannot be used.
    pub fn for_config(
        &self,
        config: &Config,
        state: Option<&Path>,
    ) -> Result<StickySecrets, CookieError> {
        let Some(file) = &config.global.sticky_secret_file else {
            if !needed(config) || self.source == SecretSource::Machine {
                return Ok(self.clone());
            }
            let mut doubts = Vec::new();
            let secrets = Arc::new(AffinitySecrets {
                current: machine_secret(state, &mut doubts),
                previous: None,
            });
            return Ok(StickySecrets {
                source: SecretSource::Machine,
                secrets,
                last_refusal: None,
                warnings: doubts,
            });
        };
        let now = file_stamps(std::slice::from_ref(file));
        if matches!(&self.source, SecretSource::File(known, then) if known == file && *then == now)
        {
            return Ok(self.clone());
        }
        let secrets = read(file, state)?;
        let from = SecretSource::File(file.clone(), now);
        Ok(StickySecrets { source: from, secrets, ..StickySecrets::default() })
    }

    /// Checks whether the operator's file has changed, and loads it if it is valid. A file counts as changed when two
    /// checks in a row agree, so that no partial file is read.
    pub fn reload(&mut self, state: Option<&Path>) -> Option<Result<(), CookieError>> {
        let SecretSource::File(file, then) = &mut self.source else { return None };
        let now = file_stamps(std::slice::from_ref(file));
        if now == *then {
            self.last_refusal = None;
            return None;
        }
        if self.last_refusal.as_ref() != Some(&now) {
            self.last_refusal = Some(now);
            return None;
        }
        // An invalid file is logged once.
        *then = now;
        self.last_refusal = None;
        Some(read(file, state).map(|secrets| self.secrets = secrets))
    }

    pub fn secrets(&self) -> Arc<AffinitySecrets> {
        Arc::clone(&self.secrets)
    }
}

/// Whether a service makes cookies.
fn needed(config: &Config) -> bool {
    let all = config.services.values().filter_map(|service| service.sticky.as_ref());
    let mut cookies = all.filter_map(|sticky| match &sticky.by {
        AffinityKey::Cookie(cookie) => Some(cookie.mode),
        _ => None,
    });
    cookies.any(CookieMode::uses_secret)
}

/// The operator's file. Where it has one secret alone, cookies made with the machine's own are still understood.
fn read(file: &Path, state: Option<&Path>) -> Result<Arc<AffinitySecrets>, CookieError> {
    let mut secrets = read_trusted(file).map_err(CookieError)?;
    if secrets.previous.is_none() {
        secrets.previous = state.and_then(|state| read_stored(&state.join(FILE)).ok());
    }
    Ok(Arc::new(secrets))
}

/// Reads a file only if no other user could have read it.
fn read_trusted(file: &Path) -> Result<AffinitySecrets, String> {
    let text =
        read_text(file, BYTES, SecretProtection::NotReadable).map_err(|error| error.to_string())?;
    parse(&text).map_err(|why| format!("{}: {why}", file.display()))
}

fn parse(text: &str) -> Result<AffinitySecrets, String> {
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty());
    let mut found = Vec::new();
    for (at, line) in lines {
        let visible = line.bytes().all(|byte| byte.is_ascii_graphic());
        if !visible || !LENGTH.contains(&line.len()) {
            // Messages never contain the secret itself, only positions.
            let at = at + 1;
            let length = line.len();
            return Err(format!(
                "line {at} has {length} bytes; expected a secret of 32 to 512 visible characters, such as `openssl rand -hex 32` makes"
            ));
        }
        found.push(secret(line));
    }
    match found[..] {
        [current] => Ok(AffinitySecrets { current, previous: None }),
        [current, previous] => Ok(AffinitySecrets { current, previous: Some(previous) }),
        _ => Err(format!(
            "{} lines; expected one secret, or two: the second is the one before",
            found.len()
        )),
    }
}

fn secret(line: &str) -> AffinitySecret {
    let whole = digest::digest(&digest::SHA256, &[b"steelyard-cookie\n", line.as_bytes()].concat());
    let mut half = [0; 16];
    half.copy_from_slice(&whole.as_ref()[..16]);
    AffinitySecret::new(half)
}

/// The secret of this host; drawn if there is none, or none that can be trusted.
fn machine_secret(state: Option<&Path>, doubts: &mut Vec<String>) -> AffinitySecret {
    let mut bytes = [0; 32];
    if rand::fill(&mut bytes).is_err() {
        doubts.push("no randomness for the secret of cookies: it is guessable".to_owned());
    }
    let line: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let lost = "clients with cookies of ours lose their servers at a restart";
    let Some(file) = state.map(|state| state.join(FILE)) else {
        doubts.push(format!("there is no state directory for the secret of cookies: {lost}"));
        return secret(&line);
    };
    match read_stored(&file) {
        Ok(secret) => return secret,
        Err(None) => {}
        Err(Some(why)) => {
            let sentence =
                "another secret for cookies is drawn, so clients lose their servers once";
            doubts.push(format!("{why}; {sentence}"));
        }
    }
    let made = state.map_or(Ok(()), |state| files::create::make_dir(state, 0o750));
    if let Err(error) =
        made.and_then(|()| atomic_file::replace_secret(&file, format!("{line}\n").as_bytes()))
    {
        doubts.push(format!("cannot keep {}: {error}: {lost}", file.display()));
    }
    secret(&line)
}

/// The stored secret.
///
/// # Errors
/// `None`: there is none; otherwise why it is not trusted.
fn read_stored(file: &Path) -> Result<AffinitySecret, Option<String>> {
    match files::owned_file::is_present(file) {
        Ok(true) => {}
        Ok(false) => return Err(None),
        Err(error) => return Err(Some(error.to_string())),
    }
    read_trusted(file).map(|secrets| secrets.current).map_err(Some)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use model::config::load;

    use super::*;
    use crate::util::scratch_dir::Scratch;

    fn config(global: &str, sticky: &str) -> Config {
        let text = format!(
            "[global]\n{global}\n[service.shop]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"web\"\n{sticky}\n\
             [pool.web]\nservers = [\"127.0.0.1:2\"]\n"
        );
        load(&text, "steelyard.toml").unwrap().config
    }

    const COOKIE: &str = "sticky = { by = \"cookie\", name = \"SRV\" }";

    fn write(file: &Path, text: &str) {
        std::fs::write(file, text).unwrap();
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    #[test]
    fn a_machine_draws_its_secret_once_and_keeps_it_to_itself() {
        let room = Scratch::new("cookies").unwrap();
        let state = room.path().join("state");
        let under = |text: &str, state: Option<&Path>| {
            let cookies = StickySecrets::default().for_config(&config("", text), state).unwrap();
            assert!(cookies.warnings.is_empty(), "{:?}", cookies.warnings);
            (*cookies.secrets()).clone()
        };
        under("", Some(&state));
        under(
            "sticky = { by = \"cookie\", name = \"SRV\", cookie = \"learn\", expire = \"1h\" }",
            Some(&state),
        );
        assert!(!state.exists(), "nobody needs one");
        let first = under(COOKIE, Some(&state));
        assert_eq!(under(COOKIE, Some(&state)), first);
        let mode = std::fs::metadata(state.join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_secret_that_is_not_kept_or_not_believed_is_reported() {
        let room = Scratch::new("cookies").unwrap();
        let state = room.path();
        let under = |state: Option<&Path>| {
            let cookies = StickySecrets::default().for_config(&config("", COOKIE), state).unwrap();
            ((*cookies.secrets()).clone(), cookies.warnings.join(" "))
        };
        let (one, told) = under(None);
        assert!(told.contains("no state directory") && one != under(None).0, "{told}");
        // A file exists where the directory should be.
        let full = state.join("full");
        std::fs::write(&full, "").unwrap();
        let (_, told) = under(Some(&full));
        assert!(told.contains("lose their servers at a restart"), "{told}");
        for (text, mode) in [("x", 0o600), (&*"a".repeat(64), 0o644)] {
            write(&state.join(FILE), text);
            std::fs::set_permissions(state.join(FILE), std::fs::Permissions::from_mode(mode))
                .unwrap();
            let (drawn, told) = under(Some(state));
            assert!(told.contains("another secret") && !told.contains(&"a".repeat(32)), "{told}");
            assert_eq!(under(Some(state)), (drawn, String::new()));
        }
    }

    #[test]
    fn a_file_is_the_same_everywhere_and_is_followed_while_it_is_good() {
        let room = Scratch::new("cookies").unwrap();
        let file = room.path().join("secret");
        let global = format!("sticky-secret-file = {file:?}");
        let under = |before: &StickySecrets| before.for_config(&config(&global, COOKIE), None);
        assert!(under(&StickySecrets::default()).unwrap_err().to_string().contains("secret: "));
        let old = "o".repeat(32);
        let new = "n".repeat(64);
        write(&file, &format!("{old}\n"));
        let mut cookies = under(&StickySecrets::default()).unwrap();
        let first = cookies.secrets();
        assert_eq!(under(&StickySecrets::default()).unwrap().secrets(), first);
        assert!(
            Arc::ptr_eq(&under(&cookies).unwrap().secrets(), &first)
                && cookies.reload(None).is_none()
        );
        let look = |cookies: &mut StickySecrets| {
            assert!(cookies.reload(None).is_none(), "it may be half of it");
            cookies.reload(None)
        };
        write(&file, &format!("\n{new}\n{old}\n"));
        assert!(look(&mut cookies).is_some_and(|it| it.is_ok()));
        assert_eq!(cookies.secrets().previous, Some(first.current));
        let second = cookies.secrets();
        for (text, wrong) in [
            ("short", "32 to 512"),
            (&*format!("{new}\n{old}\n{new}"), "3 lines"),
            ("", "0 lines"),
            (&*format!("{old} {old}"), "line 1"),
        ] {
            write(&file, text);
            let error = look(&mut cookies).unwrap().unwrap_err().to_string();
            assert!(error.contains(wrong) && !error.contains(&old), "{error}");
            assert!(Arc::ptr_eq(&cookies.secrets(), &second) && cookies.reload(None).is_none());
            assert!(under(&StickySecrets::default()).is_err());
        }
        write(&file, &new);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(under(&StickySecrets::default()).unwrap_err().to_string().contains("0644"));
    }

    #[test]
    fn after_a_move_to_a_file_cookies_of_the_own_secret_are_still_understood() {
        let room = Scratch::new("cookies").unwrap();
        let state = room.path().join("state");
        let file = room.path().join("secret");
        let own = StickySecrets::default().for_config(&config("", COOKIE), Some(&state)).unwrap();
        write(&file, &"s".repeat(40));
        let global = format!("sticky-secret-file = {file:?}");
        let shared = own.for_config(&config(&global, COOKIE), Some(&state)).unwrap();
        assert_eq!(shared.secrets().previous, Some(own.secrets().current));
    }
}
