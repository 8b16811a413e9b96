//! `Listen` and the addresses of virtual hosts: which virtual hosts share a listener.

use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::statement::ConfigStatement;

use super::scope::ServerScope;

/// An address and a port. `None` stands for every address, or for every port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenPoint {
    pub address: Option<String>,
    pub port: Option<u16>,
}

/// A virtual host, or the main server.
pub struct VirtualHost<'t> {
    pub scope: ServerScope<'t>,
    pub statement: &'t ConfigStatement,
    pub source: SourcePlace,
    pub points: Vec<ListenPoint>,
    /// `ServerName` and ServerAlias, in small letters and without a port.
    pub names: Vec<String>,
    pub is_main: bool,
}

/// A listener and the virtual hosts behind it, the default one first.
pub struct HttpdListener {
    pub address: Option<String>,
    pub port: u16,
    /// HTTPS is its protocol, as it is of port 443 where nothing else is written.
    pub is_https: bool,
    pub hosts: Vec<usize>,
    pub source: SourcePlace,
}

impl ListenPoint {
    /// Reads `*:80`, `[::1]:80`, `80` or an address.
    pub fn read(text: &str) -> Option<ListenPoint> {
        if let Ok(port) = text.parse::<u16>() {
            return Some(ListenPoint { address: None, port: Some(port) });
        }
        let end = if text.ends_with(']') { None } else { text.rfind(':') };
        let end = end.filter(|at| !text[..*at].contains(':') || text[..*at].ends_with(']'));
        let host = end.map_or(text, |at| &text[..at]).trim_matches(['[', ']']);
        let port = match end.map(|at| &text[at + 1..]) {
            None | Some("*") => None,
            Some(port) => Some(port.parse::<u16>().ok().filter(|port| *port > 0)?),
        };
        let address = match host {
            "*" | "_default_" | "" => None,
            host => Some(host.parse::<std::net::IpAddr>().ok()?.to_string()),
        };
        // `0.0.0.0` and `::` are addresses of every interface.
        let address = address.filter(|one| one != "0.0.0.0" && one != "::");
        Some(ListenPoint { address, port })
    }
}

/// An address to listen on, and where it is written.
struct SourcedPoint {
    point: ListenPoint,
    is_https: bool,
    source: SourcePlace,
}

/// Reads `Listen` directives.
fn points(main: &[ConfigStatement], notes: &mut ConversionNotes) -> Vec<SourcedPoint> {
    let mut out = Vec::new();
    for one in main.iter().filter(|one| one.name == "listen") {
        let protocol = one.word(1);
        if !matches!(protocol.to_ascii_lowercase().as_str(), "" | "http" | "https") {
            one.leave_out("the protocol is not spoken", "", notes);
            continue;
        }
        match ListenPoint::read(one.word(0)).filter(|point| point.port.is_some()) {
            Some(point) => {
                one.settle_converted(notes);
                let is_https = match protocol {
                    "" => point.port == Some(443),
                    named => named.eq_ignore_ascii_case("https"),
                };
                out.push(SourcedPoint { point, is_https, source: one.source });
            }
            None => one.leave_out("it is no address with a port", "`listen`", notes),
        }
    }
    out
}

/// The listeners of a file. Without `Listen` they are those of the virtual hosts.
pub fn listeners(
    main: &[ConfigStatement],
    hosts: &[VirtualHost<'_>],
    notes: &mut ConversionNotes,
) -> Vec<HttpdListener> {
    let mut points = points(main, notes);
    if points.is_empty() {
        for host in hosts {
            let named = host.points.iter().filter(|point| point.port.is_some()).cloned();
            points.extend(named.map(|point| {
                let is_https = point.port == Some(443);
                SourcedPoint { point, is_https, source: host.source }
            }));
        }
    }
    let mut all: Vec<HttpdListener> = Vec::new();
    let mut add = |address: Option<String>, port: u16, is_https: bool, source: SourcePlace| {
        if !all.iter().any(|one| one.address == address && one.port == port) {
            all.push(HttpdListener { address, port, is_https, hosts: Vec::new(), source });
        }
    };
    for SourcedPoint { point, is_https, source } in points {
        let Some(port) = point.port else { continue };
        // Virtual hosts of one address are looked up before those of all.
        if point.address.is_none() {
            for own in hosts.iter().flat_map(|host| &host.points) {
                let same = own.port.is_none_or(|one| one == port);
                if let Some(address) = own.address.clone().filter(|_| same) {
                    add(Some(address), port, is_https, source);
                }
            }
        }
        add(point.address, port, is_https, source);
    }
    for listener in &mut all {
        let fits = |host: &VirtualHost<'_>, exact: bool| {
            host.points.iter().any(|one| {
                let address = if exact { listener.address.clone() } else { None };
                one.address == address && one.port.is_none_or(|port| port == listener.port)
            })
        };
        let chosen = |exact: bool| -> Vec<usize> {
            let all =
                hosts.iter().enumerate().filter(|pair| !pair.1.is_main && fits(pair.1, exact));
            all.map(|pair| pair.0).collect()
        };
        let exact = chosen(true);
        listener.hosts = if exact.is_empty() { chosen(false) } else { exact };
        if listener.hosts.is_empty() {
            listener.hosts = hosts.iter().position(|host| host.is_main).into_iter().collect();
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_ports_are_read() {
        for (text, address, port) in [
            ("80", None, Some(80)),
            ("*:443", None, Some(443)),
            ("_default_:443", None, Some(443)),
            ("192.0.2.1:80", Some("192.0.2.1"), Some(80)),
            ("[2001:db8::1]:80", Some("2001:db8::1"), Some(80)),
            ("0.0.0.0:80", None, Some(80)),
            ("*", None, None),
        ] {
            let address = address.map(str::to_owned);
            assert_eq!(ListenPoint::read(text), Some(ListenPoint { address, port }), "{text}");
        }
        assert_eq!(ListenPoint::read("shop.example:80"), None);
    }
}
