//! System calls on sockets, and the seam at which tests replace them.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{BorrowedFd, OwnedFd};

use l7::socket::{self, AddressClaim, ListenError, OutgoingError};
use model::config::SocketOptions;

/// System calls on sockets: a seam, so that refusals can be tested.
pub trait SocketOps: Send {
    /// Bound sockets of one group, which do not listen yet.
    ///
    /// # Errors
    /// The address cannot be had, or a setting was refused.
    fn bind(
        &mut self,
        address: SocketAddr,
        options: &SocketOptions,
        count: usize,
        claim: AddressClaim,
    ) -> Result<Vec<OwnedFd>, ListenError>;

    /// Sockets for packets of QUIC beside the bound ones of an address.
    ///
    /// # Errors
    /// The address cannot be had, or a setting was refused.
    fn bind_udp(
        &mut self,
        address: SocketAddr,
        options: &SocketOptions,
        count: usize,
        claim: AddressClaim,
        beside: &[OwnedFd],
    ) -> Result<Vec<OwnedFd>, ListenError>;

    /// Makes a bound socket listen.
    ///
    /// # Errors
    /// Another process has begun to listen meanwhile.
    fn listen(
        &mut self,
        socket: BorrowedFd<'_>,
        address: SocketAddr,
        options: &SocketOptions,
    ) -> Result<(), ListenError>;

    /// Gives a listening socket other settings.
    ///
    /// # Errors
    /// A setting was refused.
    fn set_options(
        &mut self,
        socket: BorrowedFd<'_>,
        options: &SocketOptions,
    ) -> Result<(), ListenError>;

    /// Tries a pool's settings.
    ///
    /// # Errors
    /// A setting or a source address was refused.
    fn try_outgoing(
        &mut self,
        source: Option<IpAddr>,
        options: &SocketOptions,
    ) -> Result<(), OutgoingError>;

    /// How many descriptors this process may have, and has. `None`: the kernel does not say.
    fn descriptors(&self) -> Option<DescriptorUse>;
}

/// The descriptors of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptorUse {
    pub limit: u64,
    pub open: u64,
}

#[derive(Debug)]
pub struct KernelSockets;

impl SocketOps for KernelSockets {
    fn bind(
        &mut self,
        address: SocketAddr,
        options: &SocketOptions,
        count: usize,
        claim: AddressClaim,
    ) -> Result<Vec<OwnedFd>, ListenError> {
        socket::bind(address, options, count, claim)
    }

    fn bind_udp(
        &mut self,
        address: SocketAddr,
        options: &SocketOptions,
        count: usize,
        claim: AddressClaim,
        beside: &[OwnedFd],
    ) -> Result<Vec<OwnedFd>, ListenError> {
        socket::packets(address, options, count, claim, beside)
    }

    fn listen(
        &mut self,
        socket: BorrowedFd<'_>,
        address: SocketAddr,
        options: &SocketOptions,
    ) -> Result<(), ListenError> {
        socket::listen(socket, address, options)
    }

    fn set_options(
        &mut self,
        socket: BorrowedFd<'_>,
        options: &SocketOptions,
    ) -> Result<(), ListenError> {
        socket::change_options(socket, options)
    }

    fn try_outgoing(
        &mut self,
        source: Option<IpAddr>,
        options: &SocketOptions,
    ) -> Result<(), OutgoingError> {
        socket::check_outgoing(source, options)
    }

    fn descriptors(&self) -> Option<DescriptorUse> {
        let open = std::fs::read_dir("/proc/self/fd").ok()?.count() as u64;
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        Some(DescriptorUse { limit: limit.unwrap_or(u64::MAX), open })
    }
}
