//! Addresses of sites: scheme, host and port, and what Caddy's automatic HTTPS makes of them.

/// An address of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteAddress {
    /// The host in small letters; empty for every host.
    pub host: String,
    /// The port on which the site listens.
    pub port: u16,
    /// TLS is spoken there.
    pub tls: bool,
    /// The port of plain HTTP redirects to it.
    pub redirects: bool,
}

/// The ports that the global options set.
#[derive(Clone, Copy, Debug)]
pub struct UsualPorts {
    pub http: u16,
    pub https: u16,
    /// False with `auto_https off`: no certificates are ordered, and nothing is redirected.
    pub automatic: bool,
}

impl SiteAddress {
    /// Reads an address such as `https://shop.example:8443`. `None` if it is not one that can be listened on. `has_tls`: the
    /// site has a `tls` directive.
    pub fn read(text: &str, usual: UsualPorts, has_tls: bool) -> Option<SiteAddress> {
        let text = text.trim_end_matches(',');
        let scheme = text.split_once("://").map_or("", |parts| parts.0);
        let rest = text.split_once("://").map_or(text, |parts| parts.1);
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.contains(['/', '{', '}']) {
            return None;
        }
        let end = if rest.ends_with(']') { None } else { rest.rfind(':') };
        let is_port = |at: &usize| !rest[..*at].contains(':') || rest[..*at].ends_with(']');
        let end = end.filter(is_port);
        let host = end.map_or(rest, |at| &rest[..at]).to_ascii_lowercase();
        let port: Option<u16> = match end {
            Some(at) => Some(rest[at + 1..].parse().ok().filter(|port| *port > 0)?),
            None => None,
        };
        if rest.is_empty() && scheme.is_empty() {
            return None;
        }
        let host = if host == "*" { String::new() } else { host };
        let tls = match scheme {
            "https" => true,
            "http" => false,
            "" => match port {
                Some(port) if port == usual.http => false,
                Some(port) if port == usual.https => true,
                // Without automatic HTTPS TLS is spoken too, with certificates of files.
                _ => has_tls || !host.is_empty(),
            },
            _ => return None,
        };
        let own = if tls { usual.https } else { usual.http };
        let redirects = tls && usual.automatic && !host.is_empty();
        Some(SiteAddress { host, port: port.unwrap_or(own), tls, redirects })
    }

    /// Whether an authority on the internet can sign a certificate for the host.
    pub fn is_public(&self) -> bool {
        let host = self.host.trim_matches(['[', ']']);
        let inner = [".localhost", ".local", ".internal", ".home.arpa", ".test"];
        !host.is_empty()
            && host != "localhost"
            && host.contains('.')
            && host.parse::<std::net::IpAddr>().is_err()
            && !inner.iter().any(|end| host.ends_with(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_and_ports_say_where_tls_is_spoken() {
        let usual = UsualPorts { http: 80, https: 443, automatic: true };
        for (text, host, port, tls, redirects) in [
            ("shop.example", "shop.example", 443, true, true),
            ("SHOP.example,", "shop.example", 443, true, true),
            ("http://shop.example", "shop.example", 80, false, false),
            ("shop.example:80", "shop.example", 80, false, false),
            ("shop.example:8443", "shop.example", 8_443, true, true),
            ("https://shop.example", "shop.example", 443, true, true),
            (":8080", "", 8_080, false, false),
            (":443", "", 443, true, false),
            ("[::1]:8080", "[::1]", 8_080, true, true),
            ("*.shop.example", "*.shop.example", 443, true, true),
        ] {
            let host = host.to_owned();
            let expected = Some(SiteAddress { host, port, tls, redirects });
            assert_eq!(SiteAddress::read(text, usual, false), expected, "{text}");
        }
        let of_site = SiteAddress::read(":8443", usual, true);
        assert!(of_site.is_some_and(|one| one.tls && !one.redirects));
        let manual = UsualPorts { automatic: false, ..usual };
        let of_host = SiteAddress::read("a.example", manual, false);
        assert!(of_host.is_some_and(|one| one.port == 443 && one.tls && !one.redirects));
        for text in ["ftp://a", "a/b", ":x", ""] {
            assert_eq!(SiteAddress::read(text, usual, false), None, "{text}");
        }
    }
}
