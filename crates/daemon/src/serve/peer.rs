//! Who is at the other end: of the control socket by what the kernel noted (SO_PEERCRED, unix(7)), over TCP by the
//! token or the certificate that was shown.
//!
//! It says what they may do; whether that is enough for a route is asked elsewhere.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;

use api::types::Role;
use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, Request};
use axum::middleware::Next;
use axum::response::Response;
use axum::serve::IncomingStream;
use tokio::net::UnixListener;

use super::door::{Door, Papers};
use super::guard::Guarded;
use super::places::{Pass, carry_out};
use crate::control::{Origin, Way};
use crate::keep;

/// Bytes of the system's list of users.
const PASSWD_BYTES: u64 = 1 << 20;

/// The other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    /// A program of this machine: user and process.
    Local(Option<(u32, Option<i32>)>),
    /// Somebody over TCP.
    Remote {
        /// From where.
        address: IpAddr,
        /// The names in the certificate that was shown, if one was.
        papers: Papers,
        /// Who it is, if that is known.
        known: Option<Known>,
    },
}

/// Somebody who is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// The name.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// By what they are known.
    pub by: By,
}

/// By what somebody is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// A token.
    Token,
    /// A certificate.
    Certificate,
}

impl By {
    /// As written.
    pub(super) const fn name(self) -> &'static str {
        match self {
            By::Token => "token",
            By::Certificate => "certificate",
        }
    }
}

impl Peer {
    /// As the origin of a change.
    pub(super) fn origin(&self, way: Way) -> Origin {
        Origin::new(self.to_string(), way)
    }

    /// What they may do. Who opened the unix socket was let in by its mode; who has no token, to look.
    pub(super) fn role(&self) -> Role {
        match self {
            Peer::Local(_) => Role::Configure,
            Peer::Remote { known, .. } => known.as_ref().map_or(Role::View, |known| known.role),
        }
    }

    /// Who they are, whatever process or address they use.
    pub(super) fn identity(&self) -> String {
        match self {
            Peer::Local(Some((uid, _))) => format!("uid {uid}"),
            Peer::Local(None) => "unknown".to_owned(),
            Peer::Remote { known: Some(known), .. } => {
                format!("{} {}", known.by.name(), known.name)
            }
            Peer::Remote { address, .. } => address.to_string(),
        }
    }

    /// By what they are known.
    pub(super) fn by(&self) -> Option<By> {
        match self {
            Peer::Remote { known, .. } => known.as_ref().map(|known| known.by),
            Peer::Local(_) => None,
        }
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

/// A connection as its requests know it: who is at the other end, and its place.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    peer: Peer,
    pass: Pass,
}

impl Entry {
    /// Its place.
    pub(super) fn pass(&self) -> &Pass {
        &self.pass
    }
}

/// A request comes in: its routes know the peer, and its connection keeps its place until the answer begins.
pub(super) async fn enter(
    ConnectInfo(entry): ConnectInfo<Entry>,
    mut request: Request,
    next: Next,
) -> Response {
    request.extensions_mut().insert(ConnectInfo(entry.peer));
    carry_out(ConnectInfo(entry.pass), request, next).await
}

impl Connected<IncomingStream<'_, Guarded<UnixListener>>> for Entry {
    fn connect_info(stream: IncomingStream<'_, Guarded<UnixListener>>) -> Entry {
        let guard = stream.io();
        let peer = guard.inner().peer_cred().ok().map(|peer| (peer.uid(), peer.pid()));
        Entry { peer: Peer::Local(peer), pass: guard.pass().clone() }
    }
}

impl Connected<IncomingStream<'_, Guarded<Door>>> for Entry {
    fn connect_info(stream: IncomingStream<'_, Guarded<Door>>) -> Entry {
        let address = stream.remote_addr().ip().to_canonical();
        // The handshake comes with the first request: then they are read.
        let papers = stream.io().inner().papers();
        let peer = Peer::Remote { address, papers, known: None };
        Entry { peer, pass: stream.io().pass().clone() }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Local(Some((uid, pid))) => {
                write!(to, "uid {uid}")?;
                in_brackets(to, Peer::user(*uid))?;
                if let Some(pid) = pid {
                    write!(to, ", process {pid}")?;
                    in_brackets(to, Peer::program(*pid))?;
                }
                Ok(())
            }
            Peer::Local(None) => to.write_str("unknown"),
            Peer::Remote { address, known: Some(known), .. } => {
                write!(to, "{} {} from {address}", known.by.name(), known.name)
            }
            Peer::Remote { address, .. } => write!(to, "{address}, without a token"),
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
