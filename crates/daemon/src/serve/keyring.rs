//! The file of tokens: read when it changes, and believed only when nobody else could have written it.
//!
//! What is in it is read by `tokens`. When it cannot be read there is no token: nobody gets in by a broken file.

use std::path::Path;

use files::secret::{Kept, read_text};

use super::tokens::{self, Token};
use crate::event::Events;
use crate::tls::files::{Marks, marks};

/// Bytes of the file.
const BYTES: u64 = 256 * 1024;

/// Tokens as they were at the last look.
#[derive(Debug, Default)]
pub struct Keyring {
    marks: Marks,
    tokens: Vec<Token>,
}

impl Keyring {
    /// The tokens of the file, read again if it is another than before.
    pub fn look(&mut self, file: Option<&Path>, events: &Events) -> &[Token] {
        let Some(file) = file else {
            *self = Keyring::default();
            return &[];
        };
        let now = marks(&[file.to_owned()]);
        if now != self.marks {
            self.marks = now;
            self.tokens = read(file).unwrap_or_else(|why| {
                let text = format!("global.control.tokens: {why}; nobody has a token");
                events.error("tokens-refused", text);
                Vec::new()
            });
        }
        &self.tokens
    }
}

fn read(file: &Path) -> Result<Vec<Token>, String> {
    let text = read_text(file, BYTES, Kept::Unwritten).map_err(|error| error.to_string())?;
    tokens::parse(&text).map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use api::types::Role;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_that_others_can_write_opens_nothing_and_a_mended_one_does() {
        let room = Scratch::new("keyring").unwrap();
        let file = room.path().join("tokens");
        let issued = tokens::issue(Role::View, "a").unwrap();
        std::fs::write(&file, &issued.line).unwrap();
        let chmod = |mode| {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        chmod(0o620);
        let events = Events::quiet();
        let mut ring = Keyring::default();
        assert!(ring.look(Some(&file), &events).is_empty());
        assert!(ring.look(Some(&file), &events).is_empty());
        let said = events.recent();
        assert_eq!(said.len(), 1, "told once: {said:?}");
        assert!(said[0].text.contains("0620") && said[0].text.contains("chmod"), "{said:?}");
        chmod(0o600);
        std::fs::write(&file, format!("{}\n", issued.line)).unwrap();
        assert_eq!(ring.look(Some(&file), &events).len(), 1);
        std::fs::remove_file(&file).unwrap();
        assert!(ring.look(Some(&file), &events).is_empty());
        assert!(ring.look(None, &events).is_empty());
    }
}
