//! The checked configuration of the API: its socket, its state directory, and the API over TCP.

use serde::Serialize;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The default path of the local API's socket.
pub const DEFAULT_SOCKET: &str = "/run/steelyard/control.sock";

/// The default state directory of the daemon.
pub const DEFAULT_STATE_DIR: &str = "/var/lib/steelyard";

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ControlConfig {
    /// Unix socket; default `/run/steelyard/control.sock`, or the user's. `None`: there is none.
    pub socket: Option<PathBuf>,
    /// File mode of the socket; default 0o660.
    pub mode: u32,
    /// Directory of configuration generations and saved state; default `/var/lib/steelyard`, or the user's.
    pub state: PathBuf,
    /// Where runtime changes are stored by default.
    pub write_back: WriteBack,
    /// Whether changes over the API may set programs, files of secrets that are sent, the access log's file, and access
    /// to the API.
    pub allow_programs: bool,
    /// Size limit of the audit log, bytes.
    pub audit: u64,
    /// Generations stored for rollback; default 20.
    pub generations: u32,
    /// The API and its page over TCP; `None`: not served.
    pub remote: Option<RemoteApiConfig>,
}

/// Where runtime changes are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteBack {
    /// Runtime changes are lost when the file is read again. Server commands are saved in any case.
    #[default]
    Off,
    /// In the file, whose comments are preserved.
    File,
    /// In an overlay file in the state directory, because another tool writes the file.
    Overlay,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RemoteApiConfig {
    pub listen: SocketAddr,
    /// The file of tokens; `None`: no token is valid.
    pub tokens: Option<PathBuf>,
    /// The file with certificate and key; `None`: no TLS.
    pub certificate: Option<PathBuf>,
    /// The file of authorities for client certificates; `None`: clients present none.
    pub client_authorities: Option<PathBuf>,
    /// Host names that requests may use; IP addresses are always accepted.
    pub hosts: Vec<String>,
}
