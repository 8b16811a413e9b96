//! The listening sockets of this process: opened, inherited, handed on.
//!
//! Every socket is shared with the worker that accepts on it, so that it can be handed to the next process, kept by
//! systemd and set anew. Which addresses there are to be is decided elsewhere.

mod socket_ops;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use l7::socket::{self, AddressClaim, ListenError, OutgoingError};
use model::config::SocketOptions;

pub use socket_ops::{DescriptorUse, KernelSockets, SocketOps};

/// How long workers may use a closed listener, because they first accept its queue. Longer than the workers'
/// `CLOSING_GRACE`, during which they accept connections that are being established.
pub const CLOSING: Duration = Duration::from_secs(1);

/// From so many new sockets on it is worth to count first.
const MANY_SOCKETS: u64 = 256;

/// Stores listening sockets beyond the death of this process.
pub trait SocketStore: Send {
    /// Stores these under a name, which the sockets of one address share.
    fn store_sockets(&mut self, name: &str, sockets: &[BorrowedFd<'_>]);
    /// Lets go of everything under a name.
    fn remove_sockets(&mut self, name: &str);
}

#[derive(Debug)]
pub struct NoSocketStore;

impl SocketStore for NoSocketStore {
    fn store_sockets(&mut self, _name: &str, _sockets: &[BorrowedFd<'_>]) {}
    fn remove_sockets(&mut self, _name: &str) {}
}

/// The listening sockets of this process.
pub struct ListenerSet {
    sockets: Box<dyn SocketOps>,
    store: Box<dyn SocketStore>,
    open: BTreeMap<SocketAddr, Vec<Arc<OwnedFd>>>,
    inherited: BTreeMap<SocketAddr, Vec<Arc<OwnedFd>>>,
    closed_at: BTreeMap<SocketAddr, Instant>,
    workers: usize,
}

/// A listening socket with the address that it was configured with.
#[derive(Debug)]
pub struct ListeningSocket {
    pub address: SocketAddr,
    pub socket: OwnedFd,
}

impl ListenerSet {
    /// None yet; a socket for each of `workers` is opened per address.
    pub fn new(
        sockets: Box<dyn SocketOps>,
        keeper: Box<dyn SocketStore>,
        workers: usize,
    ) -> ListenerSet {
        ListenerSet {
            sockets,
            store: keeper,
            open: BTreeMap::new(),
            inherited: BTreeMap::new(),
            closed_at: BTreeMap::new(),
            workers,
        }
    }

    /// Takes sockets from systemd or from the process before, each under its address.
    pub fn inherit(&mut self, sockets: impl IntoIterator<Item = ListeningSocket>) {
        for ListeningSocket { address, socket } in sockets {
            self.inherited.entry(address).or_default().push(Arc::new(socket));
        }
    }

    /// Opens the sockets of an address: inherited ones if they fit, else new ones; with `quic` UDP sockets too.
    /// Inherited sockets are not added to: a process that fails to take over must leave the reuse-port group as it was.
    ///
    /// # Errors
    /// The address cannot be had, or a setting was refused.
    pub fn open(
        &mut self,
        address: SocketAddr,
        options: &SocketOptions,
        quic: bool,
    ) -> Result<Vec<Arc<OwnedFd>>, ListenError> {
        if let Some(sockets) = self.inherited.get(&address)
            && sockets.iter().all(|socket| socket::has_fixed_options(socket.as_fd(), options))
            && sockets.iter().any(|socket| socket::takes_packets(socket.as_fd())) == quic
        {
            for socket in sockets {
                self.sockets.set_options(socket.as_fd(), options)?;
            }
            return Ok(sockets.clone());
        }
        let ours = self.open.keys().chain(self.inherited.keys());
        let beside = ours.filter(|other| other.port() == address.port()).count() > 0;
        let claim = if beside { AddressClaim::Shared } else { AddressClaim::Alone };
        let mut sockets = self.sockets.bind(address, options, self.workers, claim)?;
        if quic {
            sockets.extend(self.sockets.bind_udp(
                address,
                options,
                self.workers,
                claim,
                &sockets,
            )?);
        }
        Ok(sockets.into_iter().map(Arc::new).collect())
    }

    /// Whether there are descriptors for new sockets of so many addresses, of which so many have UDP sockets too.
    ///
    /// # Errors
    /// There are not; nothing was opened.
    pub fn check_room(&self, addresses: usize, quic: usize) -> Result<(), ListenError> {
        let sockets = ((addresses + quic) as u64).saturating_mul(self.workers as u64);
        // A few are opened one after the other, whose refusal names the address.
        if sockets < MANY_SOCKETS {
            return Ok(());
        }
        let Some(DescriptorUse { limit, open }) = self.sockets.descriptors() else { return Ok(()) };
        let room = limit.saturating_sub(open);
        if sockets <= room {
            return Ok(());
        }
        Err(ListenError::NoDescriptors { sockets, addresses, workers: self.workers, room, limit })
    }

    /// Makes bound sockets listen. Sockets that already listen get the backlog.
    ///
    /// # Errors
    /// Another process has begun to listen meanwhile.
    pub fn listen(
        &mut self,
        address: SocketAddr,
        sockets: &[Arc<OwnedFd>],
        options: &SocketOptions,
    ) -> Result<(), ListenError> {
        sockets.iter().try_for_each(|socket| self.sockets.listen(socket.as_fd(), address, options))
    }

    /// Changes the options of an address's sockets. On an error, all sockets get the options of `before`.
    ///
    /// # Errors
    /// A setting was refused.
    pub fn set_options(
        &mut self,
        address: SocketAddr,
        options: &SocketOptions,
        before: &SocketOptions,
    ) -> Result<(), ListenError> {
        let Some(sockets) = self.open.get(&address) else { return Ok(()) };
        for socket in sockets {
            if let Err(refused) = self.sockets.set_options(socket.as_fd(), options) {
                for socket in sockets {
                    // They had these before: nothing new can be refused, and nothing else could be done.
                    let _ = self.sockets.set_options(socket.as_fd(), before);
                }
                return Err(refused);
            }
        }
        Ok(())
    }

    /// Tries a pool's settings.
    ///
    /// # Errors
    /// A setting or a source address was refused.
    pub fn try_outgoing(
        &mut self,
        source: Option<IpAddr>,
        options: &SocketOptions,
    ) -> Result<(), OutgoingError> {
        self.sockets.try_outgoing(source, options)
    }

    /// Duplicates of the held sockets, for other listeners of the same workers: a worker waits for each descriptor once.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn duplicates(&self, address: SocketAddr) -> Result<Vec<Arc<OwnedFd>>, ListenError> {
        let held = self.open.get(&address).map(Vec::as_slice).unwrap_or_default();
        held.iter().map(|socket| duplicate(address, socket).map(Arc::new)).collect()
    }

    /// Holds duplicates of the held sockets instead of those.
    pub fn replace_duplicates(&mut self, address: SocketAddr, sockets: Vec<Arc<OwnedFd>>) {
        self.open.insert(address, sockets);
    }

    /// Holds these sockets under an address and stores them; releases the previous ones.
    pub fn insert(&mut self, address: SocketAddr, sockets: Vec<Arc<OwnedFd>>) {
        let name = fd_store_name(address);
        let inherited = self.inherited.get(&address).and_then(|sockets| sockets.first());
        if !inherited.zip(sockets.first()).is_some_and(|(had, has)| is_same(had, has)) {
            // The stored set is replaced as a whole: a socket that no worker accepts on must not stay in the group.
            self.store.remove_sockets(&name);
        }
        // Sockets that are stored already are recognised as the same. Removing them first would lose them if the
        // process died now.
        let borrowed: Vec<_> = sockets.iter().map(AsFd::as_fd).collect();
        self.store.store_sockets(&name, &borrowed);
        self.open.insert(address, sockets);
        self.inherited.remove(&address);
    }

    /// Releases an address: once the workers have closed their sockets, nothing listens there.
    pub fn release(&mut self, address: SocketAddr) {
        self.store.remove_sockets(&fd_store_name(address));
        if self.open.remove(&address).is_some() {
            self.closed_at.retain(|_, at| at.elapsed() < CLOSING);
            self.closed_at.insert(address, Instant::now());
        }
    }

    /// Whether binding may have failed because workers were closing one of this process's own listeners when the
    /// attempt began. The listener may be closed by now, because the search for the port's user reads all processes
    /// first.
    pub fn may_be_own_listener(&self, refused: &ListenError, began: Instant) -> bool {
        let closing = |address: SocketAddr| {
            let mut same = self.closed_at.iter().filter(|(one, _)| one.port() == address.port());
            same.any(|(_, at)| began.saturating_duration_since(*at) < CLOSING)
        };
        refused
            .each()
            .iter()
            .any(|one| matches!(one, ListenError::Taken { address, .. } if closing(*address)))
    }

    /// Closes inherited sockets that are not needed; returns their addresses.
    pub fn close_unused(&mut self) -> Vec<SocketAddr> {
        let unwanted = std::mem::take(&mut self.inherited);
        for address in unwanted.keys() {
            self.store.remove_sockets(&fd_store_name(*address));
        }
        unwanted.into_keys().collect()
    }

    /// Whether sockets of an address were inherited.
    pub fn is_inherited(&self, address: SocketAddr) -> bool {
        self.inherited.contains_key(&address)
    }

    /// How many sockets are open at an address.
    pub fn open_at(&self, address: SocketAddr) -> usize {
        self.open.get(&address).map_or(0, Vec::len)
    }

    /// Copies of everything held, for the process that takes over.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn copies(&self) -> Result<Vec<ListeningSocket>, ListenError> {
        let mut copies = Vec::new();
        for (&address, sockets) in &self.open {
            for socket in sockets {
                copies.push(ListeningSocket { address, socket: duplicate(address, socket)? });
            }
        }
        Ok(copies)
    }

    /// Releases everything, but not the stored copies: the sockets live on in another process.
    pub fn forget_all(&mut self) {
        self.open.clear();
        self.inherited.clear();
    }
}

/// The name under which systemd stores the sockets of an address: printable, without a colon (sd_notify(3), FDNAME).
pub fn fd_store_name(address: SocketAddr) -> String {
    address.to_string().replace(':', "_")
}

/// The address of such a name.
pub fn fd_store_address(name: &str) -> Option<SocketAddr> {
    name.replace('_', ":").parse().ok()
}

/// Whether both descriptors are of one socket.
fn is_same(one: &OwnedFd, other: &OwnedFd) -> bool {
    let number = |socket| rustix::fs::fstat(socket).map(|facts| (facts.st_dev, facts.st_ino));
    matches!((number(one), number(other)), (Ok(one), Ok(other)) if one == other)
}

fn duplicate(address: SocketAddr, socket: &OwnedFd) -> Result<OwnedFd, ListenError> {
    socket.try_clone().map_err(|source: io::Error| ListenError::System {
        address,
        action: "duplicate",
        advice: "; raise the limit of descriptors (LimitNOFILE in the unit)",
        source,
    })
}
