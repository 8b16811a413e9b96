//! Common parts of benchmarks: names become addresses, options become plans, results become exit codes.

use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use lab::load::{ClosingSide, ConnectionReuse};
use lab::result::BenchResult;

use crate::outcome::{CommandError, sentence};

/// Who ends a connection after its one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ConnectionCloser {
    /// The client; it keeps the port in TIME_WAIT for 60 s.
    Client,
    /// The server, by `Connection: close`.
    Server,
    /// The client with a reset; no port stays in TIME_WAIT.
    Reset,
}

impl ConnectionCloser {
    /// The form of plans.
    pub fn to_persist(close: Option<ConnectionCloser>) -> ConnectionReuse {
        match close {
            None => ConnectionReuse::KeepAlive,
            Some(ConnectionCloser::Client) => ConnectionReuse::ClosedBy(ClosingSide::Client),
            Some(ConnectionCloser::Server) => ConnectionReuse::ClosedBy(ClosingSide::Server),
            Some(ConnectionCloser::Reset) => ConnectionReuse::ClosedBy(ClosingSide::Reset),
        }
    }

    /// The form of settings.
    pub fn label(close: Option<ConnectionCloser>) -> String {
        let label = match close {
            None => "keep-alive",
            Some(ConnectionCloser::Client) => "client",
            Some(ConnectionCloser::Server) => "server",
            Some(ConnectionCloser::Reset) => "reset",
        };
        label.to_owned()
    }
}

/// An end that a benchmark connects to, by its name or address.
#[derive(Clone, Debug)]
pub struct BenchEndpoint {
    pub host: String,
    pub port: u16,
}

impl fmt::Display for BenchEndpoint {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}:{}", self.host, self.port)
    }
}

/// `HOST:PORT`, an address of IPv6 in brackets.
pub fn end(text: &str) -> Result<BenchEndpoint, String> {
    let wrong = || format!("`{text}` is no address; expected HOST:PORT");
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let port = port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?;
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    if host.is_empty() { Err(wrong()) } else { Ok(BenchEndpoint { host, port }) }
}

/// The first address of a name that `from` can reach.
pub fn resolve(host: &str, port: u16, from: &[IpAddr]) -> Result<SocketAddr, CommandError> {
    let found = (host, port).to_socket_addrs().map_err(|error| {
        CommandError::Unusable(format!("the name {host} cannot be resolved: {error}"))
    })?;
    let family = from.first().map(IpAddr::is_ipv4);
    let mut fitting = found.filter(|address| family.is_none_or(|v4| v4 == address.is_ipv4()));
    fitting.next().ok_or_else(|| {
        CommandError::Unusable(format!("{host} has no address of the family of --from"))
    })
}

/// The error when a later run cannot start: it lists what had been measured, which would be lost otherwise.
pub fn start_failure(error: &lab::bench::drive::DriveError, result: &BenchResult) -> CommandError {
    let measured = result.runs.len();
    let more =
        if measured > 0 { format!("; {measured} runs had been measured") } else { String::new() };
    CommandError::Unusable(format!("{}{more}", sentence(error)))
}
