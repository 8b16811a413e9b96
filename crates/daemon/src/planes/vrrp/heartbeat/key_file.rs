//! The key file of a heartbeat: read when it changes, and trusted only if no other user could read it.
//!
//! A file that breaks later leaves the keys that were read before active: a slip while keys are exchanged does not part
//! two members. Its content is parsed by `ha::keys`.

use std::path::Path;

use files::secret::{SecretProtection, read_text};
use ha::keys::ClusterKeys;

use crate::util::file_stamps::{FileStamps, file_stamps};

/// Bytes of the file.
const BYTES: u64 = 16 * 1024;

/// Keys as they were at the last look.
#[derive(Debug, Default)]
pub struct HeartbeatKeyFile {
    stamps: FileStamps,
    was_read: bool,
    keys: Option<ClusterKeys>,
    /// Why the file cannot be used as it is.
    pub last_error: Option<String>,
}

impl HeartbeatKeyFile {
    /// Looks whether the file changed.
    pub fn refresh(&mut self, file: &Path) {
        let now = file_stamps(&[file.to_owned()]);
        if self.was_read && now == self.stamps {
            return;
        }
        self.stamps = now;
        self.was_read = true;
        match read_keys(file) {
            Ok(keys) => (self.keys, self.last_error) = (Some(keys), None),
            Err(why) => {
                let then = match self.keys {
                    Some(_) => "the keys from before stay active",
                    None => "nothing is said and nothing believed",
                };
                self.last_error = Some(format!("{why}; {then}"));
            }
        }
    }

    pub fn keys(&self) -> Option<&ClusterKeys> {
        self.keys.as_ref()
    }
}

fn read_keys(file: &Path) -> Result<ClusterKeys, String> {
    let text =
        read_text(file, BYTES, SecretProtection::NotReadable).map_err(|error| error.to_string())?;
    ClusterKeys::parse(&text).map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::util::scratch_dir::Scratch;

    #[test]
    fn a_file_that_others_can_read_is_refused_and_a_broken_one_leaves_what_was() {
        let room = Scratch::new("secret").unwrap();
        let file = room.path().join("keys");
        let write = |text: &str, mode| {
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let key = "a".repeat(40);
        let mut secret = HeartbeatKeyFile::default();
        secret.refresh(&file);
        assert!(secret.keys().is_none() && secret.last_error.is_some(), "it is not there");
        write(&format!("1 {key}"), 0o644);
        secret.refresh(&file);
        let why = secret.last_error.clone().unwrap();
        assert!(why.contains("0644") && why.contains("chmod") && !why.contains(&key), "{why}");
        write(&format!("1 {key}\n"), 0o600);
        secret.refresh(&file);
        assert_eq!((secret.keys().map(ClusterKeys::signer), &secret.last_error), (Some(1), &None));
        write("1 short\n", 0o600);
        secret.refresh(&file);
        let why = secret.last_error.clone().unwrap();
        assert!(secret.keys().is_some() && why.contains("stay active"), "{why}");
        write(&format!("2 {key}{key}\n1 {key}\n"), 0o600);
        secret.refresh(&file);
        assert_eq!((secret.keys().map(ClusterKeys::signer), &secret.last_error), (Some(2), &None));
    }
}
