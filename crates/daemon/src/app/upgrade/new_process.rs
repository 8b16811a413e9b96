//! The new process's side: requests the state and the sockets, and reports when it is ready.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::UnixStream;

use super::message::{self, UpgradeMessage, UpgradeOffer, VERSION};
use crate::util::listeners::ListeningSocket;

/// For the old process to answer.
/// Above the old process's own limit, 10 s, whose refusal has the reason.
const PROMPT: Duration = Duration::from_secs(15);

/// Everything of the old process, and the line to it.
#[derive(Debug)]
pub struct TakenOverState {
    pub offer: UpgradeOffer,
    pub sockets: Vec<ListeningSocket>,
    stream: UnixStream,
}

/// Why the takeover failed. The old process continues.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// No process listens there.
    #[error(
        "there is no daemon to take over from at {}: {source}; start without --takeover, \
         or name the configuration that it runs with",
        path.display()
    )]
    NoDaemon {
        /// Where it was looked for.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The configuration turns the socket off.
    #[error(
        "global.control.socket is off, and a takeover goes through that socket: restart instead, or set a path and \
         restart once"
    )]
    NoSocket,
    /// The old process does not hand over.
    #[error("the running daemon does not hand over: {0}")]
    Refused(String),
    #[error("the running daemon did not hand over: {0}")]
    ConnectionLost(#[source] io::Error),
    /// The old process did not wait for us.
    #[error("we were not ready in time; the running daemon goes on")]
    TooLate,
}

/// Takes over the state and sockets of the daemon behind the socket at `path`.
///
/// # Errors
/// No daemon listens there, or it refuses.
pub async fn take_over(path: &Path) -> Result<TakenOverState, TakeError> {
    let mut stream = UnixStream::connect(path)
        .await
        .map_err(|source| TakeError::NoDaemon { path: path.to_owned(), source })?;
    let slow = |_| TakeError::ConnectionLost(io::ErrorKind::TimedOut.into());
    let (offer, received) =
        tokio::time::timeout(PROMPT, request_state(&mut stream)).await.map_err(slow)??;
    let sockets = offer.sockets.iter().zip(received);
    let sockets = sockets.map(|(&address, socket)| ListeningSocket { address, socket }).collect();
    Ok(TakenOverState { offer, sockets, stream })
}

impl TakenOverState {
    /// Reports that this process is ready. Returns when the old process drains or has ended. The returned connection
    /// carries the old process's reports about draining connections.
    ///
    /// # Errors
    /// The old process gave up waiting and continues, so this one must stop.
    pub async fn confirm_ready(mut self) -> Result<UnixStream, TakeError> {
        // A failed send is noticed by the read that follows.
        let _ = message::send_message(&mut self.stream, &UpgradeMessage::Ready).await;
        match tokio::time::timeout(PROMPT, message::receive_message(&mut self.stream)).await {
            Ok(Ok(Some(UpgradeMessage::TooLate))) => Err(TakeError::TooLate),
            // The old process drains, has died, or hangs: the sockets now belong to this process.
            Ok(_) | Err(_) => Ok(self.stream),
        }
    }
}

async fn request_state(stream: &mut UnixStream) -> Result<(UpgradeOffer, Vec<OwnedFd>), TakeError> {
    let hello = UpgradeMessage::Hello { version: VERSION, pid: std::process::id() };
    message::send_message(stream, &hello).await.map_err(TakeError::ConnectionLost)?;
    match message::receive_message(stream).await.map_err(TakeError::ConnectionLost)? {
        Some(UpgradeMessage::Offer(offer)) => {
            let count = offer.sockets.len();
            let sockets =
                message::receive_sockets(stream, count).await.map_err(TakeError::ConnectionLost)?;
            Ok((*offer, sockets))
        }
        Some(UpgradeMessage::Refused(why)) => Err(TakeError::Refused(why)),
        _ => Err(TakeError::ConnectionLost(io::ErrorKind::UnexpectedEof.into())),
    }
}
