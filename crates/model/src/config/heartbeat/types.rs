//! The checked configuration of the heartbeat with another member.

use serde::Serialize;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HeartbeatConfig {
    pub peer: String,
    /// This member's name.
    pub name: String,
    pub secret: PathBuf,
    /// At least one path.
    pub paths: Vec<HeartbeatPathConfig>,
    /// UDP port on both members.
    pub port: u16,
    /// Interval between heartbeats.
    pub every: Duration,
    /// A path without heartbeats for this time is down.
    pub timeout: Duration,
    /// Targets whose reachability the members compare; `None`: no comparison.
    pub reach: Option<ReachabilityConfig>,
    /// The witness that must agree to a takeover; `None`: no witness.
    pub witness: Option<WitnessConfig>,
}

/// A third party for quorum: a member is active only with the witness or the other member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct WitnessConfig {
    /// The protocol of the witness.
    pub by: WitnessProtocol,
    /// URLs of the witness; at least one.
    pub at: Vec<WitnessUrl>,
    /// Duration of the lease.
    pub lease: Duration,
    /// The file of the token that authenticates this member.
    pub token: Option<PathBuf>,
    /// The authorities for the witness's certificate; `None`: those of the system.
    pub ca: Option<PathBuf>,
}

/// The protocol of a witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WitnessProtocol {
    /// A lease, acquired with one PUT.
    Http,
    /// A key with an etcd lease.
    Etcd,
}

/// The URL of a witness: an HTTP server and a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WitnessUrl {
    /// Whether to use TLS.
    pub secure: bool,
    /// A name or an IP address.
    pub host: String,
    pub port: u16,
    /// The prefix of names on the server, without a trailing slash.
    pub path: String,
}

impl WitnessUrl {
    /// Parses `http://HOST:PORT/PATH` or `https://…`.
    pub fn parse(text: &str) -> Option<WitnessUrl> {
        let (scheme, rest) = text.split_once("://")?;
        let secure = match scheme {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let (host, port) = match authority.strip_prefix('[') {
            Some(inner) => {
                let (host, port) = inner.split_once(']')?;
                host.parse::<std::net::Ipv6Addr>().ok()?;
                (host, port.strip_prefix(':'))
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let port = match port {
            Some(port) => port.parse().ok().filter(|port| *port > 0)?,
            None if secure => 443,
            None => 80,
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-_:".contains(c);
        let visible = |c: char| c.is_ascii_graphic() && !"?#".contains(c);
        let fits = !host.is_empty() && host.chars().all(plain) && path.chars().all(visible);
        let path = path.trim_end_matches('/').to_owned();
        fits.then(|| WitnessUrl { secure, host: host.to_owned(), port, path })
    }

    /// Whether traffic stays on this machine.
    pub fn is_loopback(&self) -> bool {
        let ip = self.host.parse::<IpAddr>();
        self.host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    }
}

impl std::fmt::Display for WitnessUrl {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        let WitnessUrl { host, port, path, .. } = self;
        match host.contains(':') {
            true => write!(to, "{scheme}://[{host}]:{port}{path}"),
            false => write!(to, "{scheme}://{host}:{port}{path}"),
        }
    }
}

/// A network path between both members.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HeartbeatPathConfig {
    /// This member's address.
    pub local: IpAddr,
    /// The other member's address.
    pub peer: IpAddr,
    /// The interface to bind to; `None`: the kernel's routing decides.
    pub interface: Option<String>,
}

/// Targets whose reachability two members compare.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReachabilityConfig {
    /// Targets checked with ICMP echo.
    pub echo: Vec<IpAddr>,
    /// Targets checked with a TCP connection.
    pub connect: Vec<SocketAddr>,
    /// Interval between checks.
    pub every: Duration,
    /// Time limit for a response.
    pub timeout: Duration,
    /// Consecutive successes until a target counts as reachable.
    pub rise: u8,
    /// Consecutive failures until a target counts as unreachable.
    pub fall: u8,
    /// How long one member must have reached more targets before an address moves.
    pub settle: Duration,
}
