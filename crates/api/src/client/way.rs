//! The way to the daemon: its unix socket, or TCP with TLS. It connects; what is said then is `call`'s.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::UnixStream;

use super::error::CallError;
use super::remote::Remote;
use super::tls::Stream;

/// The way.
#[derive(Clone, Debug)]
pub(super) enum Way {
    /// A daemon of this machine.
    Unix(PathBuf),
    /// Any.
    Remote(Arc<Remote>),
}

impl Way {
    /// Connects.
    pub(super) async fn connect(&self) -> Result<Box<dyn Stream>, CallError> {
        match self {
            Way::Unix(socket) => {
                let stream = UnixStream::connect(socket).await;
                Ok(Box::new(stream.map_err(|source| connect_error(socket, source))?))
            }
            Way::Remote(remote) => remote.connect().await,
        }
    }

    /// The host of a request.
    pub(super) fn host(&self) -> &str {
        match self {
            Way::Unix(_) => "steelyard",
            Way::Remote(remote) => remote.authority(),
        }
    }

    /// Who asks, where that is told by a token.
    pub(super) fn token(&self) -> Option<&str> {
        match self {
            Way::Unix(_) => None,
            Way::Remote(remote) => remote.token(),
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Unix(socket) => socket.display().fmt(to),
            Way::Remote(remote) => remote.fmt(to),
        }
    }
}

fn connect_error(socket: &Path, source: io::Error) -> CallError {
    let socket = socket.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound => CallError::Absent { socket },
        io::ErrorKind::ConnectionRefused => CallError::Gone { socket },
        io::ErrorKind::PermissionDenied => CallError::Denied { socket },
        _ => CallError::Connect { socket, source },
    }
}
