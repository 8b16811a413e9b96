//! Targets of the access log as the configuration names them. Whether they are there shows when they are written to.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Serialize, Serializer};

use crate::config::section::ConfigSection;

/// Whether a text is a target.
pub fn is_log_target(text: &str) -> bool {
    if SyslogServer::is_meant(text) {
        return SyslogServer::parse(text).is_some();
    }
    matches!(text, "off" | "stderr" | "stdout")
        || (text.contains('/') && text.len() <= 4_096 && !text.contains('\0'))
}

/// How messages reach a syslog server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyslogTransport {
    /// One datagram a message (RFC 5426).
    Udp,
    /// Messages with their lengths before them (RFC 6587 §3.4.1).
    Tcp,
    /// The same over TLS (RFC 5425 §4).
    Tls,
}

impl SyslogTransport {
    const fn scheme(self) -> &'static str {
        match self {
            SyslogTransport::Udp => "syslog://",
            SyslogTransport::Tcp => "syslog+tcp://",
            SyslogTransport::Tls => "syslog+tls://",
        }
    }
}

/// A syslog server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyslogServer {
    pub transport: SyslogTransport,
    pub address: SocketAddr,
    /// Only for `SyslogTransport::Tls`.
    pub tls: SyslogTls,
}

/// How the certificate of a syslog server is verified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyslogTls {
    /// The name in its certificate; `None`: its address.
    pub name: Option<String>,
    /// PEM file of the authorities; `None`: those of this machine.
    pub ca: Option<PathBuf>,
}

impl SyslogServer {
    /// Whether a target is meant to be one: it is no path of a file.
    fn is_meant(target: &str) -> bool {
        target.starts_with("syslog") && target.contains("://")
    }

    /// Reads `syslog://ADDRESS:PORT`, and the same with `syslog+tcp` and `syslog+tls`. A name is none: resolving it would
    /// hold the log up.
    pub fn parse(target: &str) -> Option<SyslogServer> {
        let all = [SyslogTransport::Udp, SyslogTransport::Tcp, SyslogTransport::Tls];
        all.into_iter().find_map(|transport| {
            let address: SocketAddr = target.strip_prefix(transport.scheme())?.parse().ok()?;
            let is_one = address.port() > 0 && !address.ip().is_unspecified();
            is_one.then(|| SyslogServer { transport, address, tls: SyslogTls::default() })
        })
    }
}

pub fn build_syslog_tls(section: &ConfigSection) -> SyslogTls {
    SyslogTls {
        name: section.text("name").map(str::to_owned),
        ca: section.text("ca").map(PathBuf::from),
    }
}

impl fmt::Display for SyslogServer {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}{}", self.transport.scheme(), self.address)
    }
}

impl Serialize for SyslogServer {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_an_address_with_a_port_and_reads_back() {
        for text in [
            "syslog://192.0.2.9:514",
            "syslog+tcp://192.0.2.9:601",
            "syslog://[2001:db8::9]:514",
            "syslog+tcp://[::1]:1",
            "syslog+tls://192.0.2.9:6514",
        ] {
            let server = SyslogServer::parse(text).unwrap();
            assert_eq!(server.to_string(), text);
            assert_eq!(server.transport == SyslogTransport::Tcp, text.contains("+tcp"));
        }
        for text in [
            "syslog://192.0.2.9",
            "syslog://192.0.2.9:0",
            "syslog://0.0.0.0:514",
            "syslog://[::]:514",
            "syslog://logs.example:514",
            "syslog+udp://192.0.2.9:514",
            "syslog+tls://logs.example:6514",
            "syslog://",
            "syslog://192.0.2.9:514/a",
        ] {
            assert_eq!(SyslogServer::parse(text), None, "{text}");
            assert!(SyslogServer::is_meant(text), "{text}");
        }
        for file in ["/var/log/syslog", "syslog/a", "./syslog://a"] {
            assert!(!SyslogServer::is_meant(file), "{file}");
        }
    }
}
