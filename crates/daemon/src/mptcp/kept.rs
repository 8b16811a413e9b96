//! What was set of Multipath TCP, kept in the state directory: the kernel does not say whose an endpoint is, and numbers
//! that it gives to others follow ours. It sets nothing.

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::event::Events;
use crate::keep;

/// Bytes of the file.
const BYTES: u64 = 64 << 10;
/// Of what is read; another one is as good as none.
const VERSION: u32 = 1;

/// What a process of ours set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Kept {
    version: u32,
    /// The limits that were found before ours.
    pub limits: Option<(u32, u32)>,
    /// Endpoints: number and address.
    pub spots: Vec<(u8, IpAddr)>,
}

impl Kept {
    /// What is kept below `state`; nothing where that cannot be read, which is told.
    pub fn read(state: &Path, events: &Events) -> Kept {
        let path = place(state);
        let text = keep::read_own(&path, BYTES).unwrap_or_else(|error| {
            keep::set_aside(&path, &error, events);
            None
        });
        let kept = text.and_then(|text| serde_json::from_str::<Kept>(&text).ok());
        kept.filter(|kept| kept.version == VERSION).unwrap_or_default()
    }

    /// Keeps it; nothing to keep leaves no file.
    ///
    /// # Errors
    /// The disk does not take it; what was kept before stands.
    pub fn write(&self, state: &Path) -> io::Result<()> {
        if self.is_empty() {
            return match std::fs::remove_file(place(state)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let json = serde_json::to_vec(&Kept { version: VERSION, ..self.clone() });
        files::make::make_dir(state, 0o750)?;
        keep::replace(&place(state), &json.map_err(io::Error::other)?)
    }

    /// Nothing was set.
    pub fn is_empty(&self) -> bool {
        self.limits.is_none() && self.spots.is_empty()
    }
}

fn place(state: &Path) -> PathBuf {
    state.join("mptcp.json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn what_is_kept_is_read_and_nothing_leaves_no_file() {
        let scratch = Scratch::new("mptcp").unwrap();
        let state = scratch.path().join("state");
        assert!(Kept::read(&state, &Events::quiet()).is_empty());
        let spots = vec![(232, "10.0.0.1".parse().unwrap()), (233, "fd00::1".parse().unwrap())];
        let kept = Kept { version: VERSION, limits: Some((0, 2)), spots };
        kept.write(&state).unwrap();
        assert_eq!(Kept::read(&state, &Events::quiet()), kept);
        std::fs::write(place(&state), "{\"version\":9,\"spots\":[]}").unwrap();
        assert!(Kept::read(&state, &Events::quiet()).is_empty(), "of another version");
        std::fs::write(place(&state), "nonsense").unwrap();
        assert!(Kept::read(&state, &Events::quiet()).is_empty());
        Kept::default().write(&state).unwrap();
        assert!(!place(&state).exists());
        Kept::default().write(&state).unwrap();
    }
}
