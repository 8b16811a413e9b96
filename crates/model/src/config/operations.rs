//! The checked configuration of operating: control, hooks, history, schedules, and where servers are found.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::packets::DailyWindow;

/// Where the local API's socket is unless a path is written.
pub const DEFAULT_SOCKET: &str = "/run/steelyard/control.sock";
/// Where the daemon keeps its state unless a path is written.
pub const DEFAULT_STATE_DIR: &str = "/var/lib/steelyard";

/// The local API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ControlConfig {
    /// Unix socket; default `/run/steelyard/control.sock`.
    pub socket: PathBuf,
    /// File mode of the socket; default 0o660.
    pub mode: u32,
    /// Where generations and states are kept; default `/var/lib/steelyard`.
    pub state: PathBuf,
    /// Where changes made while running are kept, unless they say otherwise.
    pub write_back: WriteBack,
    /// Changes over the API may set programs, files of secrets that are sent, the access log's file, and who may order.
    pub allow_programs: bool,
    /// Bytes of the record of orders.
    pub audit: u64,
    /// Generations kept for rollback; default 20.
    pub generations: u32,
    /// The API and its page over TCP; `None`: not served there.
    pub remote: Option<RemoteApiConfig>,
}

/// Where changes made while running are kept.
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

/// A program that is told of events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct EventHook {
    /// Its name.
    pub name: String,
    /// The program; run as it is, never by a shell.
    pub run: PathBuf,
    /// Kinds of events; `all` among them: every kind.
    pub on: Vec<&'static str>,
    /// It is killed after so long.
    pub timeout: Duration,
    /// So many may run at a time.
    pub at_once: usize,
    /// So many events may wait.
    pub queue: usize,
}

/// How much history is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HistoryRetention {
    /// Bytes on disk.
    pub size: u64,
    /// How long.
    pub keep: Duration,
    /// Between two records.
    pub step: Duration,
}

/// Something that the clock wants of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ScheduleRule {
    /// What: `Drain` or `Disabled`.
    pub what: AdminState,
    /// At which part of the day, local time.
    pub hours: DailyWindow,
    /// On which days it begins: bit 0 is Monday.
    pub days: u8,
    /// `Drain`: how long clients that are kept at it still come; `None`: as their service's `sticky.drain` says.
    pub sticky: Option<Duration>,
}

/// Where servers of a pool are found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct DiscoveryConfig {
    /// Where.
    pub place: DiscoverySource,
    /// An answer with fewer servers is not believed.
    pub min: usize,
    /// Servers taken from one answer.
    pub max: usize,
}

/// A place where servers are found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiscoverySource {
    /// A name.
    Dns {
        /// The name.
        name: String,
        /// Which records.
        records: DnsRecordType,
        /// The servers' port; SRV records bring their own.
        port: u16,
        /// Whom to ask; `None`: as the system does.
        resolver: Option<SocketAddr>,
    },
    /// A file that is watched.
    File(PathBuf),
}

/// Which records of a name are servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DnsRecordType {
    /// IPv4 addresses.
    A,
    /// IPv6 addresses.
    Aaaa,
    /// Names with ports, weights and priorities (RFC 2782).
    Srv,
}

/// What an operator wants of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[serde(rename = "Admin")]
pub enum AdminState {
    /// Judged by its health alone.
    #[default]
    Enabled,
    /// Finishes what it has.
    Drain,
    /// Takes nothing.
    Disabled,
}
