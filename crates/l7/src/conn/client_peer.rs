//! The client of a connection: its addresses, and the servers that have a connection dedicated to it.
//!
//! All requests of the connection share it. A server connection that belongs to one client refers to it weakly: no
//! other client may use that connection, and it is useless after the client's connection has ended.

use std::cell::{OnceCell, RefCell};
use std::net::SocketAddr;
use std::rc::{Rc, Weak};

use model::id::ServerId;

use crate::accounting::ClientOrigin;

/// The two addresses of a client's connection.
#[derive(Debug)]
pub struct ClientPeer {
    /// The client's address, from the connection or from a trusted PROXY protocol header.
    pub peer: SocketAddr,
    /// The peer of the connection, where a header of the PROXY protocol named the client.
    pub proxy: Option<SocketAddr>,
    /// The balancer's address that the client connected to.
    pub local: SocketAddr,
    /// Servers to which this client has or had a dedicated connection; few clients have any.
    dedicated_servers: OnceCell<Box<RefCell<Vec<ServerId>>>>,
}

impl ClientPeer {
    /// A newly accepted client connection.
    pub fn new(peer: SocketAddr, local: SocketAddr) -> ClientPeer {
        ClientPeer { peer, proxy: None, local, dedicated_servers: OnceCell::new() }
    }

    /// The same, where this peer of the connection named the client in a header of the PROXY protocol.
    #[must_use]
    pub fn behind_proxy(mut self, proxy: Option<SocketAddr>) -> ClientPeer {
        self.proxy = proxy;
        self
    }

    /// How the client was found, where a header of the PROXY protocol named it.
    pub fn proxy_origin(&self) -> Option<ClientOrigin<'static>> {
        let connection = self.proxy?;
        Some(ClientOrigin { connection, source: "proxy-header", stop: None, hops: 1 })
    }

    /// Adds a server to which this client has a dedicated connection.
    pub fn add_dedicated(&self, server: ServerId) {
        let mut owns = self.dedicated_servers.get_or_init(Box::default).borrow_mut();
        if !owns.contains(&server) {
            owns.push(server);
        }
    }

    /// Whether this client has, or had, a dedicated connection to the server.
    pub fn has_dedicated(&self, server: ServerId) -> bool {
        self.dedicated_servers.get().is_some_and(|owns| owns.borrow().contains(&server))
    }

    /// Whether this client never had a dedicated connection.
    pub fn has_no_dedicated(&self) -> bool {
        self.dedicated_servers.get().is_none()
    }
}

/// Which client a server connection belongs to, if any.
#[derive(Clone, Debug, Default)]
pub enum ConnectionOwner {
    #[default]
    Shared,
    /// It belongs to one client's connection.
    Client(Weak<ClientPeer>),
}

impl ConnectionOwner {
    pub fn for_client(client_peer: &Rc<ClientPeer>) -> ConnectionOwner {
        ConnectionOwner::Client(Rc::downgrade(client_peer))
    }

    /// Whether a connection with this owner may be used where `wanted` is required.
    pub fn fits(&self, wanted: &ConnectionOwner) -> bool {
        match (self, wanted) {
            (ConnectionOwner::Shared, ConnectionOwner::Shared) => true,
            (ConnectionOwner::Client(a), ConnectionOwner::Client(b)) => a.ptr_eq(b),
            _ => false,
        }
    }

    /// Whether the connection of its client has ended.
    pub fn is_orphaned(&self) -> bool {
        matches!(self, ConnectionOwner::Client(client_peer) if client_peer.strong_count() == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_fits_its_own_caller_alone() {
        let peer = SocketAddr::from(([192, 0, 2, 1], 9));
        let client_peer = || Rc::new(ClientPeer::new(peer, peer));
        let one = client_peer();
        let same_address = client_peer();
        let ones = ConnectionOwner::for_client(&one);
        let others = ConnectionOwner::for_client(&same_address);
        assert!(
            ones.fits(&ConnectionOwner::for_client(&one))
                && ConnectionOwner::Shared.fits(&ConnectionOwner::Shared)
        );
        assert!(!ones.fits(&others) && !ones.fits(&ConnectionOwner::Shared));
        assert!(!ConnectionOwner::Shared.fits(&ones));
        drop(one);
        assert!(
            ones.is_orphaned() && !others.is_orphaned() && !ConnectionOwner::Shared.is_orphaned()
        );
    }
}
