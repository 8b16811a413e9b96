//! Who is at the other end of a connection to the control socket (SO_PEERCRED, unix(7)).
//!
//! The kernel noted it when they connected; it grants nothing.

use std::fmt;

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use tokio::net::UnixListener;

use super::guard::Guarded;
use crate::control::{Origin, Way};

/// The other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Peer(Option<(u32, Option<i32>)>);

impl Peer {
    /// As the origin of a change.
    pub(super) fn origin(self, way: Way) -> Origin {
        Origin::new(self.to_string(), way)
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
            Some((uid, Some(pid))) => write!(to, "uid {uid}, process {pid}"),
            Some((uid, None)) => write!(to, "uid {uid}"),
            None => to.write_str("unknown"),
        }
    }
}
