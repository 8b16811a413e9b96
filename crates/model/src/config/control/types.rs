//! The checked configuration of the API: its socket, its state directory, and the API over TCP.

use serde::Serialize;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Where the local API's socket is unless a path is written.
pub const DEFAULT_SOCKET: &str = "/run/steelyard/control.sock";

/// Where the daemon stores its state unless a path is written.
pub const DEFAULT_STATE_DIR: &str = "/var/lib/steelyard";

/// The local API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ControlConfig {
    /// Unix socket; default `/run/steelyard/control.sock`.
    pub socket: PathBuf,
    /// File mode of the socket; default 0o660.
    pub mode: u32,
    /// Where generations and states are stored; default `/var/lib/steelyard`.
    pub state: PathBuf,
    /// Where changes made while running are stored, unless they say otherwise.
    pub write_back: WriteBack,
    /// Changes over the API may set programs, files of secrets that are sent, the access log's file, and who may order.
    pub allow_programs: bool,
    /// Bytes of the record of orders.
    pub audit: u64,
    /// Generations stored for rollback; default 20.
    pub generations: u32,
    /// The API and its page over TCP; `None`: not served there.
    pub remote: Option<RemoteApiConfig>,
}

/// Where changes made while running are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteBack {
    /// Nowhere: they hold until the file is read again. Words about servers are remembered all the same.
    #[default]
    Off,
    /// In the file, with its comments.
    File,
    /// Beside the file, in the state directory: the file is somebody else's to write.
    Overlay,
}

/// The API and its page over TCP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RemoteApiConfig {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The file of tokens; `None`: nobody has one.
    pub tokens: Option<PathBuf>,
    /// The file with certificate and key; `None`: without TLS.
    pub certificate: Option<PathBuf>,
    /// The file with who may have signed clients' certificates; `None`: no client shows one.
    pub client_authorities: Option<PathBuf>,
    /// Names by which it may be asked for; addresses always may.
    pub hosts: Vec<String>,
}
