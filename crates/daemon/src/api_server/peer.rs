//! The peer of a connection: on the control socket by its credentials (SO_PEERCRED, unix(7)), over TCP by its token or
//! certificate.
//!
//! It gives their role; whether that is enough for a route is checked elsewhere.

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

use super::tls_listener::{ClientCertificateNames, TlsListener};
use crate::state::{ChangeOrigin, ChangeTrigger};
use crate::util::admin_listeners::connection_guard::GuardedListener;
use crate::util::admin_listeners::connection_slots::{ConnectionSlot, track_request};
use crate::util::atomic_file;

/// Bytes of the system's list of users.
/// Ten thousand local users; larger sets are in a directory service.
const PASSWD_BYTES: u64 = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ApiPeer {
    /// A program of this machine; `None`: its credentials could not be read.
    Local(Option<PeerCredentials>),
    Remote {
        address: IpAddr,
        /// The names in the certificate that was shown, if one was.
        papers: ClientCertificateNames,
        /// Who it is, if that is known.
        known: Option<ApiIdentity>,
    },
}

/// The credentials of a process at the other end of the control socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PeerCredentials {
    uid: u32,
    /// The process; `None`: the system did not report it.
    pid: Option<i32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ApiIdentity {
    pub name: String,
    pub role: Role,
    pub by: CredentialKind,
}

/// How a peer was authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CredentialKind {
    Token,
    Certificate,
}

impl CredentialKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            CredentialKind::Token => "token",
            CredentialKind::Certificate => "certificate",
        }
    }
}

impl ApiPeer {
    /// As the origin of a change.
    pub(super) fn change_origin(&self, way: ChangeTrigger) -> ChangeOrigin {
        ChangeOrigin::new(self.to_string(), way)
    }

    /// The role of a peer. The mode of the unix socket decides who may open it, so its peers have all rights; peers
    /// without a token may only read.
    pub(super) fn role(&self) -> Role {
        match self {
            ApiPeer::Local(_) => Role::Configure,
            ApiPeer::Remote { known, .. } => known.as_ref().map_or(Role::View, |known| known.role),
        }
    }

    /// The name of a peer, independent of its process or address.
    pub(super) fn identity(&self) -> String {
        match self {
            ApiPeer::Local(Some(PeerCredentials { uid, .. })) => format!("uid {uid}"),
            ApiPeer::Local(None) => "unknown".to_owned(),
            ApiPeer::Remote { known: Some(known), .. } => {
                format!("{} {}", known.by.name(), known.name)
            }
            ApiPeer::Remote { address, .. } => address.to_string(),
        }
    }

    pub(super) fn credential_kind(&self) -> Option<CredentialKind> {
        match self {
            ApiPeer::Remote { known, .. } => known.as_ref().map(|known| known.by),
            ApiPeer::Local(_) => None,
        }
    }

    /// The name of the user in the system's list; `None`: it has none there.
    fn user(uid: u32) -> Option<String> {
        let list = atomic_file::read(Path::new("/etc/passwd"), PASSWD_BYTES).ok()??;
        let entry = |line: &str| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            (fields.nth(1)?.parse() == Ok(uid)).then(|| sanitize_name(name))
        };
        list.lines().find_map(entry)
    }

    /// The name of a process; `None`: it has ended.
    fn program(pid: i32) -> Option<String> {
        let name = atomic_file::read(Path::new(&format!("/proc/{pid}/comm")), 64).ok()??;
        Some(sanitize_name(name.trim_end()))
    }
}

/// A connection as its requests see it: the peer, and a place under the connection limit.
#[derive(Clone, Debug)]
pub(super) struct RequestConnection {
    peer: ApiPeer,
    slot: ConnectionSlot,
}

impl RequestConnection {
    pub(super) fn slot(&self) -> &ConnectionSlot {
        &self.slot
    }
}

/// Attaches the peer to a request. The connection holds its place under the limit until the response begins.
pub(super) async fn attach_peer(
    ConnectInfo(entry): ConnectInfo<RequestConnection>,
    mut request: Request,
    next: Next,
) -> Response {
    request.extensions_mut().insert(ConnectInfo(entry.peer));
    track_request(ConnectInfo(entry.slot), request, next).await
}

impl Connected<IncomingStream<'_, GuardedListener<UnixListener>>> for RequestConnection {
    fn connect_info(
        stream: IncomingStream<'_, GuardedListener<UnixListener>>,
    ) -> RequestConnection {
        let guard = stream.io();
        let peer = guard.inner().peer_cred().ok();
        let peer = peer.map(|peer| PeerCredentials { uid: peer.uid(), pid: peer.pid() });
        RequestConnection { peer: ApiPeer::Local(peer), slot: guard.slot().clone() }
    }
}

impl Connected<IncomingStream<'_, GuardedListener<TlsListener>>> for RequestConnection {
    fn connect_info(stream: IncomingStream<'_, GuardedListener<TlsListener>>) -> RequestConnection {
        let address = stream.remote_addr().ip().to_canonical();
        // The first request arrives after the handshake, so the certificate's names are known here.
        let papers = stream.io().inner().certificate_names();
        let peer = ApiPeer::Remote { address, papers, known: None };
        RequestConnection { peer, slot: stream.io().slot().clone() }
    }
}

impl fmt::Display for ApiPeer {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ApiPeer::Local(Some(PeerCredentials { uid, pid })) => {
                write!(to, "uid {uid}")?;
                in_brackets(to, ApiPeer::user(*uid))?;
                if let Some(pid) = pid {
                    write!(to, ", process {pid}")?;
                    in_brackets(to, ApiPeer::program(*pid))?;
                }
                Ok(())
            }
            ApiPeer::Local(None) => to.write_str("unknown"),
            ApiPeer::Remote { address, known: Some(known), .. } => {
                write!(to, "{} {} from {address}", known.by.name(), known.name)
            }
            ApiPeer::Remote { address, .. } => write!(to, "{address}, without a token"),
        }
    }
}

fn in_brackets(to: &mut fmt::Formatter<'_>, name: Option<String>) -> fmt::Result {
    name.map_or(Ok(()), |name| write!(to, " ({name})"))
}

/// A name that others chose, harmless in a line.
fn sanitize_name(name: &str) -> String {
    // A process name of the kernel has at most 15 characters (TASK_COMM_LEN); a longer user name is cut.
    name.chars().take(32).map(|c| if c.is_ascii_graphic() { c } else { '?' }).collect()
}
