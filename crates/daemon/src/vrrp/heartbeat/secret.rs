//! The file of a heartbeat's keys: read when it changes, and believed only when nobody else could have read it.
//!
//! A file that is broken later leaves the keys that were read before in force: a slip while keys are exchanged does not
//! part two members. What is in it is read by `ha::keys`.

use std::path::Path;

use files::secret::{Kept, read_text};
use ha::keys::Keys;

use crate::tls::files::{Marks, marks};

/// Bytes of the file.
const BYTES: u64 = 16 * 1024;

/// Keys as they were at the last look.
#[derive(Debug, Default)]
pub struct Secret {
    marks: Marks,
    looked: bool,
    keys: Option<Keys>,
    /// Why the file cannot be used as it is.
    pub broken: Option<String>,
}

impl Secret {
    /// Looks whether the file changed.
    pub fn look(&mut self, file: &Path) {
        let now = marks(&[file.to_owned()]);
        if self.looked && now == self.marks {
            return;
        }
        (self.marks, self.looked) = (now, true);
        match read(file) {
            Ok(keys) => (self.keys, self.broken) = (Some(keys), None),
            Err(why) => {
                let then = match self.keys {
                    Some(_) => "the keys from before stay in force",
                    None => "nothing is said and nothing believed",
                };
                self.broken = Some(format!("{why}; {then}"));
            }
        }
    }

    /// The keys in force.
    pub fn keys(&self) -> Option<&Keys> {
        self.keys.as_ref()
    }
}

fn read(file: &Path) -> Result<Keys, String> {
    let text = read_text(file, BYTES, Kept::Unread).map_err(|error| error.to_string())?;
    Keys::parse(&text).map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_file_that_others_can_read_is_refused_and_a_broken_one_leaves_what_was() {
        let room = Scratch::new("secret").unwrap();
        let file = room.path().join("keys");
        let write = |text: &str, mode| {
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let key = "a".repeat(40);
        let mut secret = Secret::default();
        secret.look(&file);
        assert!(secret.keys().is_none() && secret.broken.is_some(), "it is not there");
        write(&format!("1 {key}"), 0o644);
        secret.look(&file);
        let why = secret.broken.clone().unwrap();
        assert!(why.contains("0644") && why.contains("chmod") && !why.contains(&key), "{why}");
        write(&format!("1 {key}\n"), 0o600);
        secret.look(&file);
        assert_eq!((secret.keys().map(Keys::signer), &secret.broken), (Some(1), &None));
        write("1 short\n", 0o600);
        secret.look(&file);
        let why = secret.broken.clone().unwrap();
        assert!(secret.keys().is_some() && why.contains("stay in force"), "{why}");
        write(&format!("2 {key}{key}\n1 {key}\n"), 0o600);
        secret.look(&file);
        assert_eq!((secret.keys().map(Keys::signer), &secret.broken), (Some(2), &None));
    }
}
