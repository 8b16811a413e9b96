//! Who a client's connection comes from, for as long as it lives.
//!
//! Every request of the connection shares one. A connection to a server that was opened in a client's name remembers it
//! weakly: so it is lent to nobody else, and is known to be of no use once the client's connection has ended.

use std::cell::{OnceCell, RefCell};
use std::net::SocketAddr;
use std::rc::{Rc, Weak};

use model::id::ServerId;

/// Both ends of a client's connection.
#[derive(Debug)]
pub struct Caller {
    /// The client, as the connection or a trusted header of the PROXY protocol tells.
    pub peer: SocketAddr,
    /// Our address that it reached.
    pub local: SocketAddr,
    /// Servers to which it has a connection of its own; few have any.
    owns: OnceCell<Box<RefCell<Vec<ServerId>>>>,
}

impl Caller {
    /// A client's connection that has come.
    pub fn new(peer: SocketAddr, local: SocketAddr) -> Caller {
        Caller { peer, local, owns: OnceCell::new() }
    }

    /// From now on it has a connection of its own to this server.
    pub fn own(&self, server: ServerId) {
        let mut owns = self.owns.get_or_init(Box::default).borrow_mut();
        if !owns.contains(&server) {
            owns.push(server);
        }
    }

    /// Whether it has one, or had.
    pub fn owns(&self, server: ServerId) -> bool {
        self.owns.get().is_some_and(|owns| owns.borrow().contains(&server))
    }

    /// Whether it has none to any server, and had none.
    pub fn owns_nothing(&self) -> bool {
        self.owns.get().is_none()
    }
}

/// Whose a connection to a server is.
#[derive(Clone, Debug, Default)]
pub enum Whose {
    /// Anybody's.
    #[default]
    Anybodys,
    /// That of one client's connection.
    Of(Weak<Caller>),
}

impl Whose {
    /// One client's.
    pub fn of(caller: &Rc<Caller>) -> Whose {
        Whose::Of(Rc::downgrade(caller))
    }

    /// Whether a connection that is `self` will do where `wanted` is needed.
    pub fn fits(&self, wanted: &Whose) -> bool {
        match (self, wanted) {
            (Whose::Anybodys, Whose::Anybodys) => true,
            (Whose::Of(a), Whose::Of(b)) => a.ptr_eq(b),
            _ => false,
        }
    }

    /// Whether its client's connection has ended.
    pub fn is_orphaned(&self) -> bool {
        matches!(self, Whose::Of(caller) if caller.strong_count() == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_fits_its_own_caller_alone() {
        let peer = SocketAddr::from(([192, 0, 2, 1], 9));
        let caller = || Rc::new(Caller::new(peer, peer));
        let (one, same_address) = (caller(), caller());
        let (ones, others) = (Whose::of(&one), Whose::of(&same_address));
        assert!(ones.fits(&Whose::of(&one)) && Whose::Anybodys.fits(&Whose::Anybodys));
        assert!(!ones.fits(&others) && !ones.fits(&Whose::Anybodys));
        assert!(!Whose::Anybodys.fits(&ones));
        drop(one);
        assert!(ones.is_orphaned() && !others.is_orphaned() && !Whose::Anybodys.is_orphaned());
    }
}
