//! Whether a request over TCP may come from where it says it comes from: its Host and its Origin.
//!
//! Names in Host are compared with a list because a name that others own can be pointed at this machine (DNS
//! rebinding); an address cannot. It reads no headers itself and knows no tokens.

use std::net::{IpAddr, Ipv6Addr};

/// Values of Sec-Fetch-Site that do not come from another site's page.
const SITES: [&str; 2] = ["same-origin", "none"];

/// Whether the Host field (RFC 9110 §7.2) names this listener: an address, `localhost`, or one of `names`.
pub fn is_own_host(host: &str, names: &[String]) -> bool {
    let Some(name) = without_port(host) else { return false };
    let address = match name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
        None => name.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv4()),
    };
    address
        || name.eq_ignore_ascii_case("localhost")
        || names.iter().any(|ours| ours.eq_ignore_ascii_case(name))
}

/// Whether a request with this Origin (RFC 6454 §7) and this Sec-Fetch-Site comes from the page of this listener, or
/// from no page.
pub fn is_same_origin(origin: Option<&str>, site: Option<&str>, host: &str, secure: bool) -> bool {
    let scheme = if secure { "https://" } else { "http://" };
    let same = |origin: &str| {
        origin.strip_prefix(scheme).is_some_and(|from| from.eq_ignore_ascii_case(host))
    };
    origin.is_none_or(same) && site.is_none_or(|site| SITES.contains(&site))
}

/// The host without its port; `None`: the port is no number.
fn without_port(host: &str) -> Option<&str> {
    let (name, port) = match host.rfind(':') {
        Some(at) if !host.ends_with(']') => (&host[..at], &host[at + 1..]),
        _ => (host, ""),
    };
    let number = port.is_empty() || port.parse::<u16>().is_ok();
    (number && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        let names = ["lb.example".to_owned()];
        for ours in [
            "127.0.0.1",
            "127.0.0.1:9180",
            "192.0.2.5:9443",
            "[::1]:9180",
            "[::1]",
            "localhost",
            "LocalHost:9180",
            "lb.example",
            "LB.example:9443",
        ] {
            assert!(is_own_host(ours, &names), "{ours}");
        }
        for foreign in [
            "",
            ":9180",
            "evil.example",
            "lb.example.evil.example",
            "evil.example:9180",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "127.0.0.1:x",
            "127.0.0.1:99999",
            "::1",
            "[::1",
            "[lb.example]",
            "user@127.0.0.1",
        ] {
            assert!(!is_own_host(foreign, &names), "{foreign}");
        }
    }

    #[test]
    fn pages() {
        let host = "127.0.0.1:9180";
        let rows = [
            (None, None, true),
            (Some("http://127.0.0.1:9180"), Some("same-origin"), true),
            (None, Some("none"), true),
            (Some("https://127.0.0.1:9180"), None, false),
            (Some("http://127.0.0.1:8080"), Some("same-site"), false),
            (Some("http://localhost:9180"), None, false),
            (Some("null"), None, false),
            (Some(""), None, false),
            (None, Some("cross-site"), false),
            (None, Some("same-site"), false),
        ];
        for (origin, site, own) in rows {
            assert_eq!(is_same_origin(origin, site, host, false), own, "{origin:?} {site:?}");
        }
        assert!(is_same_origin(Some("https://lb.example"), None, "lb.example", true));
        assert!(!is_same_origin(Some("http://lb.example"), None, "lb.example", true));
    }
}
