//! The checked configuration of the heartbeat with another member.

use serde::Serialize;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// The heartbeat with one other member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HeartbeatConfig {
    /// The other member's name.
    pub peer: String,
    /// Ours.
    pub name: String,
    /// The file of keys.
    pub secret: PathBuf,
    /// One at least.
    pub paths: Vec<HeartbeatPathConfig>,
    /// Of UDP, on both members.
    pub port: u16,
    /// Between two rounds of beats.
    pub every: Duration,
    /// A path by which nothing comes for so long is down.
    pub timeout: Duration,
    /// What should be reached; `None`: nothing is compared.
    pub reach: Option<ReachabilityConfig>,
    /// Who has to agree; `None`: nobody.
    pub witness: Option<WitnessConfig>,
}

/// A third machine without which, or without the other member, nobody is active.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct WitnessConfig {
    /// What is asked there.
    pub by: WitnessProtocol,
    /// Where; one at least.
    pub at: Vec<WitnessUrl>,
    /// For how long both agree at a time.
    pub lease: Duration,
    /// The file of the token that is shown.
    pub token: Option<PathBuf>,
    /// Who may have signed its certificate; `None`: whom this machine trusts.
    pub ca: Option<PathBuf>,
}

/// How a witness is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WitnessProtocol {
    /// By a lease, with one PUT.
    Http,
    /// By a key with a lease of etcd.
    Etcd,
}

/// A server of HTTP and what it has there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WitnessUrl {
    /// By TLS.
    pub secure: bool,
    /// A name or an address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// What comes before the names there, without a slash at its end.
    pub path: String,
}

impl WitnessUrl {
    /// Reads `http://HOST:PORT/PATH` or `https://…`.
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

    /// Whether what is said to it passes no network.
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

/// A way between both members.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HeartbeatPathConfig {
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
pub struct ReachabilityConfig {
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
