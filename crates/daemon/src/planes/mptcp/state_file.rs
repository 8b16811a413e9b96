//! What was set of Multipath TCP, kept in the state directory: the kernel does not say whose an endpoint is, and numbers
//! that it gives to others follow ours. It sets nothing.

use std::io;
use std::path::{Path, PathBuf};

use links::mptcp::state::{MptcpLimits, OwnMptcpEndpoint};
use serde::{Deserialize, Serialize};

use crate::util::atomic_file;
use crate::util::event::EventLog;

/// Bytes of the file.
const BYTES: u64 = 64 << 10;
/// The format that this version reads; any other file is ignored.
const VERSION: u32 = 1;

/// The endpoints and settings that this daemon set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct MptcpStateFile {
    version: u32,
    /// The limits before this daemon changed them.
    pub limits: Option<MptcpLimits>,
    pub spots: Vec<OwnMptcpEndpoint>,
}

impl MptcpStateFile {
    /// Reads the file below `state`; empty if it cannot be read, which is logged.
    pub fn read(state: &Path, events: &EventLog) -> MptcpStateFile {
        let path = place(state);
        let text = atomic_file::read_own(&path, BYTES).unwrap_or_else(|error| {
            atomic_file::set_aside(&path, &error, events);
            None
        });
        let kept = text.and_then(|text| serde_json::from_str::<MptcpStateFile>(&text).ok());
        kept.filter(|kept| kept.version == VERSION).unwrap_or_default()
    }

    /// Writes the file; removes it if there is nothing to store.
    ///
    /// # Errors
    /// The write failed; the previous file is unchanged.
    pub fn write(&self, state: &Path) -> io::Result<()> {
        if self.is_empty() {
            return match std::fs::remove_file(place(state)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let json = serde_json::to_vec(&MptcpStateFile { version: VERSION, ..self.clone() });
        files::create::make_dir(state, 0o750)?;
        atomic_file::replace(&place(state), &json.map_err(io::Error::other)?)
    }

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
    use crate::util::scratch_dir::Scratch;

    #[test]
    fn what_is_kept_is_read_and_nothing_leaves_no_file() {
        let scratch = Scratch::new("mptcp").unwrap();
        let state = scratch.path().join("state");
        assert!(MptcpStateFile::read(&state, &EventLog::quiet()).is_empty());
        let spots = [(232, "10.0.0.1"), (233, "fd00::1")]
            .map(|(id, ip)| OwnMptcpEndpoint { id, ip: ip.parse().unwrap() })
            .to_vec();
        let limits = MptcpLimits { accepted_addresses: 0, subflows: 2 };
        let kept = MptcpStateFile { version: VERSION, limits: Some(limits), spots };
        kept.write(&state).unwrap();
        assert_eq!(MptcpStateFile::read(&state, &EventLog::quiet()), kept);
        std::fs::write(place(&state), "{\"version\":9,\"spots\":[]}").unwrap();
        assert!(MptcpStateFile::read(&state, &EventLog::quiet()).is_empty(), "of another version");
        std::fs::write(place(&state), "nonsense").unwrap();
        assert!(MptcpStateFile::read(&state, &EventLog::quiet()).is_empty());
        MptcpStateFile::default().write(&state).unwrap();
        assert!(!place(&state).exists());
        MptcpStateFile::default().write(&state).unwrap();
    }
}
