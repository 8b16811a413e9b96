//! The checked configuration of the heartbeat with another member.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

/// The heartbeat with one other member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Heartbeat {
    /// The other member's name.
    pub peer: String,
    /// Ours.
    pub name: String,
    /// The file of keys.
    pub secret: PathBuf,
    /// One at least.
    pub paths: Vec<BeatPath>,
    /// Of UDP, on both members.
    pub port: u16,
    /// Between two rounds of beats.
    pub every: Duration,
    /// A path by which nothing comes for so long is down.
    pub timeout: Duration,
    /// What should be reached; `None`: nothing is compared.
    pub reach: Option<Reach>,
}

/// A way between both members.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct BeatPath {
    /// Our address.
    pub local: IpAddr,
    /// The other one's.
    pub peer: IpAddr,
    /// The interface that it is bound to; `None`: as the kernel routes.
    pub interface: Option<String>,
}

/// Targets by which two members are compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Reach {
    /// Asked by ICMP echo.
    pub echo: Vec<IpAddr>,
    /// Asked by a TCP connection.
    pub connect: Vec<SocketAddr>,
    /// Between two questions.
    pub every: Duration,
    /// An answer that takes longer is none.
    pub timeout: Duration,
    /// Answers in a row after which a target is reached again.
    pub rise: u8,
    /// Questions in a row without an answer after which it is not.
    pub fall: u8,
    /// One member must have reached more for so long before an address moves.
    pub settle: Duration,
}
