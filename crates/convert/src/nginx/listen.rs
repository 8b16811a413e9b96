//! `listen`: an address and its parameters for TLS, HTTP/2 and the default server.

use crate::notes::ConversionNotes;
use crate::source::SourcePlace;

use super::tree::{Directive, DirectiveOption};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListenAddress {
    /// The address, in the form of the `listen` key.
    pub address: String,
    pub port: u16,
    pub tls: bool,
    pub http2: bool,
    /// Connections begin with a PROXY protocol header.
    pub header: bool,
    pub quic: bool,
    /// The default server of the address, for unknown names.
    pub default: bool,
    pub source: SourcePlace,
}

/// Parses a `listen` directive. `None` if the listener cannot be converted.
pub fn read(
    directive: &Directive,
    tls: bool,
    notes: &mut ConversionNotes,
) -> Option<ListenAddress> {
    let source = directive.source;
    let text = directive.text();
    let mut out = ListenAddress { tls, source, ..ListenAddress::default() };
    let Some(ListenHost { host, port }) = address(directive.word(0)) else {
        notes.left_out(
            source,
            &text,
            "only addresses and ports of TCP are listened on: clients of anything else are not served",
            "an address and a port",
        );
        return None;
    };
    out.address = format!("{host}:{port}");
    out.port = port;
    notes.converted(source);
    for option in directive.options(1) {
        let DirectiveOption { text: word, source } = option;
        let name = word.split('=').next().unwrap_or_default();
        if out.read_option(word, &host) {
            notes.converted(source);
            continue;
        }
        match name {
            "reuseport" | "deferred" | "bind" | "backlog" | "rcvbuf" | "sndbuf"
            | "so_keepalive" | "fastopen" | "setfib" | "accept_filter" => {
                let reason =
                    "each worker has a listener of its own, with the kernel's own settings";
                notes.changed(source, &text, reason, "`socket` of the service");
            }
            "udp" => {
                let instead = "`forward = \"nat\"` or \"mac\" with `protocol = \"udp\"`";
                notes.left_out(
                    directive.source.whole(),
                    &text,
                    "datagrams are forwarded as packets, not proxied",
                    instead,
                );
                return None;
            }
            "proxy_protocol" => {
                out.header = true;
                let reason = "the client that the header names is the client for rules and fields";
                notes.changed(
                    source,
                    &text,
                    reason,
                    "`accept-proxy = { from = … }`: the proxies alone",
                );
            }
            _ => notes.left_out(source, &text, &format!("`{name}` of a listener is not known"), ""),
        }
    }
    Some(out)
}

impl ListenAddress {
    /// Reads a parameter. Returns false if the parameter is not carried over as it is.
    fn read_option(&mut self, word: &str, host: &str) -> bool {
        match word.split('=').next().unwrap_or_default() {
            "ssl" => self.tls = true,
            "http2" => self.http2 = true,
            "default_server" | "default" => self.default = true,
            "ipv6only" if word.ends_with("=off") && host == "[::]" => {
                self.address = format!(":{}", self.port);
            }
            "ipv6only" => {}
            "quic" => {
                self.tls = true;
                self.quic = true;
            }
            _ => return false,
        }
        true
    }
}

/// The host and the port of a `listen` directive.
struct ListenHost {
    /// An address or a name, IPv6 addresses in brackets.
    host: String,
    port: u16,
}

/// Parses host and port; nginx's default port is 80.
fn address(text: &str) -> Option<ListenHost> {
    if let Ok(port) = text.parse::<u16>() {
        return (port > 0).then(|| ListenHost { host: "0.0.0.0".to_owned(), port });
    }
    if text.starts_with("unix:") {
        return None;
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        let port = port.strip_prefix(':').map_or(Some(80), |port| port.parse().ok())?;
        return Some(ListenHost { host: format!("[{host}]"), port });
    }
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (text, 80),
    };
    let host = if host == "*" { "0.0.0.0" } else { host };
    Some(ListenHost { host: host.to_owned(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_ports() {
        for (text, expected) in [
            ("80", Some("0.0.0.0:80")),
            ("*:81", Some("0.0.0.0:81")),
            ("[::]:80", Some("[::]:80")),
            ("[::1]", Some("[::1]:80")),
            ("10.0.0.1", Some("10.0.0.1:80")),
            ("unix:/x", None),
            ("10.0.0.1:x", None),
        ] {
            let found = address(text).map(|found| format!("{}:{}", found.host, found.port));
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
