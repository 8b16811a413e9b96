//! The transport to the daemon: its unix socket, or TCP with TLS. It only connects; `call.rs` sends requests.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::UnixStream;

use super::error::ApiError;
use super::remote::RemoteDaemon;
use super::tls::ApiStream;

#[derive(Clone, Debug)]
pub(super) enum DaemonTransport {
    /// A daemon of this machine.
    Unix(PathBuf),
    Remote(Arc<RemoteDaemon>),
}

impl DaemonTransport {
    pub(super) async fn connect(&self) -> Result<Box<dyn ApiStream>, ApiError> {
        match self {
            DaemonTransport::Unix(socket) => {
                let stream = UnixStream::connect(socket).await;
                Ok(Box::new(stream.map_err(|source| connect_error(socket, source))?))
            }
            DaemonTransport::Remote(remote) => remote.connect().await,
        }
    }

    /// The host of a request.
    pub(super) fn host(&self) -> &str {
        match self {
            DaemonTransport::Unix(_) => "steelyard",
            DaemonTransport::Remote(remote) => remote.authority(),
        }
    }

    /// The token that identifies the caller, if there is one.
    pub(super) fn token(&self) -> Option<&str> {
        match self {
            DaemonTransport::Unix(_) => None,
            DaemonTransport::Remote(remote) => remote.token(),
        }
    }
}

impl fmt::Display for DaemonTransport {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DaemonTransport::Unix(socket) => socket.display().fmt(to),
            DaemonTransport::Remote(remote) => remote.fmt(to),
        }
    }
}

fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

fn connect_error(socket: &Path, source: io::Error) -> ApiError {
    let socket = socket.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound => ApiError::Absent { socket },
        io::ErrorKind::ConnectionRefused if !is_socket(&socket) => ApiError::NotSocket { socket },
        io::ErrorKind::ConnectionRefused => ApiError::NotListening { socket },
        io::ErrorKind::PermissionDenied => ApiError::Denied { socket },
        _ => ApiError::Connect { socket, source },
    }
}
