//! `listen`: an address, and whether TLS, HTTP/2 and the default are there.

use crate::notes::ConversionNotes;

use super::tree::Directive;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListenAddress {
    /// As `listen` writes it.
    pub address: String,
    pub port: u16,
    pub tls: bool,
    pub http2: bool,
    /// Connections begin with a header of the PROXY protocol.
    pub header: bool,
    pub quic: bool,
    /// The default server of the address, for unknown names.
    pub default: bool,
    pub line: u32,
}

/// Parses a `listen` directive. `None` if there is no such listener.
pub fn read(
    directive: &Directive,
    tls: bool,
    notes: &mut ConversionNotes,
) -> Option<ListenAddress> {
    let line = directive.line;
    let text = directive.text();
    let mut out = ListenAddress { tls, line, ..ListenAddress::default() };
    let Some((host, port)) = address(directive.word(0)) else {
        notes.left_out(
            line,
            &text,
            "only addresses and ports of TCP are listened on",
            "an address and a port",
        );
        return None;
    };
    out.address = format!("{host}:{port}");
    out.port = port;
    for word in directive.args.iter().skip(1) {
        let name = word.split('=').next().unwrap_or_default();
        match name {
            "ssl" => out.tls = true,
            "http2" => out.http2 = true,
            "default_server" | "default" => out.default = true,
            "reuseport" | "deferred" | "bind" | "backlog" | "rcvbuf" | "sndbuf"
            | "so_keepalive" | "fastopen" | "setfib" | "accept_filter" => {}
            "ipv6only" if word.ends_with("=off") && host == "[::]" => {
                out.address = format!(":{port}");
            }
            "ipv6only" => {}
            "quic" => {
                out.tls = true;
                out.quic = true;
            }
            "udp" => {
                let instead = "`forward = \"nat\"` or \"mac\" with `protocol = \"udp\"`";
                notes.left_out(
                    line,
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
                    line,
                    &text,
                    reason,
                    "`accept-proxy = { from = … }`: the proxies alone",
                );
            }
            _ => notes.left_out(line, &text, &format!("`{name}` of a listener is not known"), ""),
        }
    }
    Some(out)
}

/// Host and port; nginx's default port is 80.
fn address(text: &str) -> Option<(String, u16)> {
    if let Ok(port) = text.parse::<u16>() {
        return (port > 0).then(|| ("0.0.0.0".to_owned(), port));
    }
    if text.starts_with("unix:") {
        return None;
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        let port = port.strip_prefix(':').map_or(Some(80), |port| port.parse().ok())?;
        return Some((format!("[{host}]"), port));
    }
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (text, 80),
    };
    Some((if host == "*" { "0.0.0.0".to_owned() } else { host.to_owned() }, port))
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
            let found = address(text).map(|(host, port)| format!("{host}:{port}"));
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
