//! The token file: read when it changes, and trusted only if no other user can write it.
//!
//! `tokens` parses the content. If the file cannot be read there are no tokens: a broken file admits no client.

use std::path::Path;

use files::secret::{SecretProtection, read_text};

use super::tokens::{self, ApiToken};
use crate::util::event::EventLog;
use crate::util::file_stamps::{FileStamps, file_stamps};

/// Bytes of the file.
const BYTES: u64 = 256 * 1024;

/// Tokens as they were at the last look.
#[derive(Debug, Default)]
pub struct TokenFile {
    stamps: FileStamps,
    tokens: Vec<ApiToken>,
}

impl TokenFile {
    /// The tokens of the file, which is read only if it has changed.
    pub fn refresh(&mut self, file: Option<&Path>, events: &EventLog) -> &[ApiToken] {
        let Some(file) = file else {
            *self = TokenFile::default();
            return &[];
        };
        let now = file_stamps(&[file.to_owned()]);
        if now != self.stamps {
            self.stamps = now;
            self.tokens = read_tokens(file).unwrap_or_else(|why| {
                let text = format!("global.control.tokens: {why}; nobody has a token");
                events.error("tokens-refused", text);
                Vec::new()
            });
        }
        &self.tokens
    }
}

/// Why no token of this file admits anybody; `None`: they do.
pub fn token_file_error(file: &Path) -> Option<String> {
    read_tokens(file).err().map(|why| format!("{why}; until then nobody has a token"))
}

fn read_tokens(file: &Path) -> Result<Vec<ApiToken>, String> {
    let text =
        read_text(file, BYTES, SecretProtection::NotWritable).map_err(|error| error.to_string())?;
    tokens::parse_tokens(&text).map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::util::scratch_dir::Scratch;
    use api::types::Role;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_that_others_can_write_opens_nothing_and_a_mended_one_does() {
        let room = Scratch::new("keyring").unwrap();
        let file = room.path().join("tokens");
        let issued = tokens::issue_token(Role::View, "a").unwrap();
        std::fs::write(&file, &issued.line).unwrap();
        let chmod = |mode| {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        chmod(0o620);
        let events = EventLog::quiet();
        let mut ring = TokenFile::default();
        assert!(ring.refresh(Some(&file), &events).is_empty());
        assert!(ring.refresh(Some(&file), &events).is_empty());
        let logged = events.recent();
        assert_eq!(logged.len(), 1, "told once: {logged:?}");
        assert!(logged[0].text.contains("0620") && logged[0].text.contains("chmod"), "{logged:?}");
        chmod(0o600);
        std::fs::write(&file, format!("{}\n", issued.line)).unwrap();
        assert_eq!(ring.refresh(Some(&file), &events).len(), 1);
        std::fs::remove_file(&file).unwrap();
        assert!(ring.refresh(Some(&file), &events).is_empty());
        assert!(ring.refresh(None, &events).is_empty());
    }
}
