//! The new process's side: asks for everything, and says when it is ready.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::UnixStream;

use super::frame::{self, Offer, VERSION, Word};

/// For the old process to answer.
const PROMPT: Duration = Duration::from_secs(15);

/// Everything of the old process, and the line to it.
#[derive(Debug)]
pub struct Taken {
    /// What it offered.
    pub offer: Offer,
    /// Its listening sockets, with the addresses that they were configured with.
    pub sockets: Vec<(SocketAddr, OwnedFd)>,
    stream: UnixStream,
}

/// Why nothing could be taken over. The old process goes on.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// Nobody is there to take over from.
    #[error(
        "there is no daemon to take over from at {}: {source}; start without --takeover, \
         or name the configuration that it runs with",
        path.display()
    )]
    Nobody {
        /// Where it was looked for.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The old process does not hand over.
    #[error("the running daemon does not hand over: {0}")]
    Refused(String),
    /// The line broke.
    #[error("the running daemon did not hand over: {0}")]
    Broken(#[source] io::Error),
    /// The old process did not wait for us.
    #[error("we were not ready in time; the running daemon goes on")]
    TooLate,
}

/// Asks the daemon behind the socket at `path` for everything.
///
/// # Errors
/// Nobody is there, or it refuses.
pub async fn take(path: &Path) -> Result<Taken, TakeError> {
    let mut stream = UnixStream::connect(path)
        .await
        .map_err(|source| TakeError::Nobody { path: path.to_owned(), source })?;
    let slow = |_| TakeError::Broken(io::ErrorKind::TimedOut.into());
    tokio::time::timeout(PROMPT, ask(&mut stream)).await.map_err(slow)?.map(|(offer, sockets)| {
        Taken { sockets: offer.sockets.iter().copied().zip(sockets).collect(), offer, stream }
    })
}

impl Taken {
    /// Says that we are ready; returns when the old process leaves, or is gone. The line by which it tells what it has.
    ///
    /// # Errors
    /// It did not wait for us: it goes on, and we must not.
    pub async fn ready(mut self) -> Result<UnixStream, TakeError> {
        // That it is gone is told by the answer.
        let _ = frame::say(&mut self.stream, &Word::Ready).await;
        match tokio::time::timeout(PROMPT, frame::hear(&mut self.stream)).await {
            Ok(Ok(Some(Word::TooLate))) => Err(TakeError::TooLate),
            // Leaving, or dead, or stuck: the sockets are ours.
            Ok(_) | Err(_) => Ok(self.stream),
        }
    }
}

async fn ask(stream: &mut UnixStream) -> Result<(Offer, Vec<OwnedFd>), TakeError> {
    let hello = Word::Hello { version: VERSION, pid: std::process::id() };
    frame::say(stream, &hello).await.map_err(TakeError::Broken)?;
    match frame::hear(stream).await.map_err(TakeError::Broken)? {
        Some(Word::Offer(offer)) => {
            let count = offer.sockets.len();
            let sockets = frame::receive_sockets(stream, count).await.map_err(TakeError::Broken)?;
            Ok((*offer, sockets))
        }
        Some(Word::Refused(why)) => Err(TakeError::Refused(why)),
        _ => Err(TakeError::Broken(io::ErrorKind::UnexpectedEof.into())),
    }
}
