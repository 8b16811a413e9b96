//! The address of a server: an IP address or a name, and a port; or a Unix socket. It resolves no name.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerAddress {
    pub host: ServerHost,
    /// The port; 0 for a Unix socket, which has none.
    pub port: u16,
}

/// An IP address, a DNS name that the control thread resolves, or a Unix socket of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerHost {
    Ip(IpAddr),
    Name(String),
    Unix(UnixSocketPath),
}

/// Where a connection to a server goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ServerEndpoint {
    Socket(SocketAddr),
    Unix(UnixSocketPath),
}

/// Where a Unix socket is: an absolute path, or `@` and a name of the abstract namespace (unix(7)).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct UnixSocketPath(Arc<str>);

/// Most bytes of a path: a socket address has room for 108, and the last one is NUL (unix(7)).
const MAX_PATH_BYTES: usize = 107;

impl UnixSocketPath {
    /// Parses a path without the prefix `unix:`.
    ///
    /// # Errors
    /// A sentence about the mistake.
    pub fn parse(text: &str) -> Result<UnixSocketPath, &'static str> {
        if text.len() > MAX_PATH_BYTES {
            return Err("the path of a Unix socket has at most 107 bytes");
        }
        if text.chars().any(char::is_control) {
            return Err("the path of a Unix socket has no control characters");
        }
        match text.strip_prefix('@') {
            Some("") => Err("the name of the abstract Unix socket is missing after `@`"),
            Some(_) => Ok(UnixSocketPath(text.into())),
            None if !text.starts_with('/') => {
                Err("the path of a Unix socket is absolute: it begins with `/`")
            }
            // Each socket has one spelling, so that two addresses never mean the same one unnoticed.
            None if text.split('/').skip(1).any(|part| matches!(part, "" | "." | "..")) => {
                Err("the path of a Unix socket has no empty, `.` or `..` part")
            }
            None => Ok(UnixSocketPath(text.into())),
        }
    }

    /// The file; `None`: an abstract socket has none.
    pub fn file(&self) -> Option<&Path> {
        self.abstract_name().is_none().then(|| Path::new(&*self.0))
    }

    /// The name in the abstract namespace; `None`: the socket is a file.
    pub fn abstract_name(&self) -> Option<&str> {
        self.0.strip_prefix('@')
    }
}

impl ServerHost {
    /// As a URL names it, without a port. A Unix socket is `localhost`, as nginx names it.
    pub fn authority_host(&self) -> String {
        match self {
            ServerHost::Ip(IpAddr::V6(ip)) => format!("[{ip}]"),
            ServerHost::Ip(ip) => ip.to_string(),
            ServerHost::Name(name) => name.clone(),
            ServerHost::Unix(_) => "localhost".to_owned(),
        }
    }

    /// Whether it is a Unix socket.
    pub fn is_unix(&self) -> bool {
        matches!(self, ServerHost::Unix(_))
    }
}

impl ServerAddress {
    /// Where its connections go; `None`: its name must be resolved first.
    pub fn endpoint(&self) -> Option<ServerEndpoint> {
        match &self.host {
            ServerHost::Ip(ip) => Some(ServerEndpoint::Socket(SocketAddr::new(*ip, self.port))),
            ServerHost::Unix(path) => Some(ServerEndpoint::Unix(path.clone())),
            ServerHost::Name(_) => None,
        }
    }
}

impl ServerEndpoint {
    /// The IP address and port; `None`: a Unix socket.
    pub fn socket_address(&self) -> Option<SocketAddr> {
        match self {
            ServerEndpoint::Socket(address) => Some(*address),
            ServerEndpoint::Unix(_) => None,
        }
    }
}

impl From<SocketAddr> for ServerEndpoint {
    fn from(address: SocketAddr) -> ServerEndpoint {
        ServerEndpoint::Socket(address)
    }
}

impl fmt::Display for ServerAddress {
    /// As written in the file: `10.0.0.11:8080`, `[2001:db8::11]:8080`, `name.example:8080`, `unix:/run/app.sock`.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            ServerHost::Ip(ip) => write!(to, "{}", SocketAddr::new(*ip, self.port)),
            ServerHost::Name(name) => write!(to, "{name}:{}", self.port),
            ServerHost::Unix(path) => write!(to, "{path}"),
        }
    }
}

impl fmt::Display for ServerEndpoint {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerEndpoint::Socket(address) => write!(to, "{address}"),
            ServerEndpoint::Unix(path) => write!(to, "{path}"),
        }
    }
}

impl fmt::Display for UnixSocketPath {
    /// As written in the file: `unix:/run/app.sock`, `unix:@app`.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "unix:{}", self.0)
    }
}
