//! Who is at the other end of a connection to the control socket (SO_PEERCRED, unix(7)).
//!
//! The kernel noted it when they connected; it grants nothing.

use std::fmt;
use std::path::Path;

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use tokio::net::UnixListener;

use super::guard::Guarded;
use crate::control::{Origin, Way};
use crate::keep;

/// Bytes of the system's list of users.
const PASSWD_BYTES: u64 = 1 << 20;

/// The other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Peer(Option<(u32, Option<i32>)>);

impl Peer {
    /// As the origin of a change.
    pub(super) fn origin(self, way: Way) -> Origin {
        Origin::new(self.to_string(), way)
    }

    /// The name of the user in the system's list; `None`: it has none there.
    fn user(uid: u32) -> Option<String> {
        let list = keep::read(Path::new("/etc/passwd"), PASSWD_BYTES).ok()??;
        let entry = |line: &str| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            (fields.nth(1)?.parse() == Ok(uid)).then(|| plain(name))
        };
        list.lines().find_map(entry)
    }

    /// What the process calls itself; `None`: it is gone.
    fn program(pid: i32) -> Option<String> {
        let name = keep::read(Path::new(&format!("/proc/{pid}/comm")), 64).ok()??;
        Some(plain(name.trim_end()))
    }
}

impl Connected<IncomingStream<'_, Guarded<UnixListener>>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Guarded<UnixListener>>) -> Peer {
        Peer(stream.io().inner().peer_cred().ok().map(|peer| (peer.uid(), peer.pid())))
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some((uid, pid)) => {
                write!(to, "uid {uid}")?;
                in_brackets(to, Peer::user(uid))?;
                if let Some(pid) = pid {
                    write!(to, ", process {pid}")?;
                    in_brackets(to, Peer::program(pid))?;
                }
                Ok(())
            }
            None => to.write_str("unknown"),
        }
    }
}

fn in_brackets(to: &mut fmt::Formatter<'_>, name: Option<String>) -> fmt::Result {
    name.map_or(Ok(()), |name| write!(to, " ({name})"))
}

/// A name that others chose, harmless in a line.
fn plain(name: &str) -> String {
    name.chars().take(32).map(|c| if c.is_ascii_graphic() { c } else { '?' }).collect()
}
