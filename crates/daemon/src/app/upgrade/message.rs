//! The messages between the two processes: JSON behind its length, and descriptors after an offer.
//!
//! It knows the messages, not their order.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::UnixStream;

use crate::state::origin::ChangeOrigin;
use crate::state::saved_state::SavedState;
use crate::util::fd_passing;

/// The version of the protocol. Any other version is rejected.
pub const VERSION: u32 = 1;
/// Bounds a message: one holds a whole configuration and the state of all its servers.
/// Four times the largest configuration that the API takes.
const BYTES: u32 = 64 << 20;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UpgradeMessage {
    /// The new one would take over.
    Hello { version: u32, pid: u32 },
    /// The initial state of the new process; the sockets follow.
    Offer(Box<UpgradeOffer>),
    /// It may not: why.
    Refused(String),
    /// The new one is ready.
    Ready,
    /// The old one leaves.
    Leaving,
    /// It took too long: it must go away.
    TooLate,
    /// The connections that the old process still drains, sent until it ends. A new process that does not support this
    /// message has closed the connection.
    Remains {
        connections: u64,
        /// Exchanges and `tcp` connections under way.
        exchanges: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UpgradeOffer {
    /// The process id of the old process.
    pub pid: u32,
    pub generation: u64,
    pub text: String,
    /// The path of the file that the text was read from.
    pub file: String,
    pub origin: ChangeOrigin,
    /// The state of servers.
    pub memory: SavedState,
    /// Addresses that the sockets were configured with, in the order in which they follow.
    pub sockets: Vec<SocketAddr>,
}

///
/// # Errors
/// The other process has closed the connection.
pub async fn send_message(stream: &mut UnixStream, message: &UpgradeMessage) -> io::Result<()> {
    let json = serde_json::to_vec(message).map_err(io::Error::other)?;
    let length = u32::try_from(json.len()).ok().filter(|length| *length <= BYTES);
    let length = length.ok_or_else(|| io::Error::other("too much to say"))?;
    stream.write_all(&length.to_be_bytes()).await?;
    stream.write_all(&json).await
}

/// Receives a message; `None`: the other end has closed.
///
/// # Errors
/// The bytes are no message, or it is too long.
pub async fn receive_message(stream: &mut UnixStream) -> io::Result<Option<UpgradeMessage>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length).await {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = u32::from_be_bytes(length);
    if length > BYTES {
        return Err(io::Error::other(format!("a word of {length} bytes")));
    }
    let mut json = Vec::new();
    stream.take(u64::from(length)).read_to_end(&mut json).await?;
    serde_json::from_slice(&json).map(Some).map_err(io::Error::other)
}

/// Sends sockets, some with each byte.
///
/// # Errors
/// The other process has closed the connection.
pub async fn send_sockets(stream: &UnixStream, sockets: &[OwnedFd]) -> io::Result<()> {
    for some in sockets.chunks(fd_passing::PER_MESSAGE) {
        let some: Vec<_> = some.iter().map(AsFd::as_fd).collect();
        stream
            .async_io(Interest::WRITABLE, || {
                fd_passing::send_descriptors(stream.as_fd(), b"s", &some).map(drop)
            })
            .await?;
    }
    Ok(())
}

/// Receives `count` sockets.
///
/// # Errors
/// The other process has closed the connection, or sent something else.
pub async fn receive_sockets(stream: &UnixStream, count: usize) -> io::Result<Vec<OwnedFd>> {
    let mut sockets = Vec::new();
    while sockets.len() < count {
        let had = sockets.len();
        let mut byte = [0];
        let receive = || fd_passing::receive_descriptors(stream.as_fd(), &mut byte, &mut sockets);
        let got = stream.async_io(Interest::READABLE, receive).await?;
        if got == 0 || sockets.len() == had {
            return Err(io::Error::other("fewer sockets came than were offered"));
        }
    }
    Ok(sockets)
}
