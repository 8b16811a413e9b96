//! Detection of a configuration's dialect by its content.

use serde::Serialize;

use crate::template::without_byte_order_mark;
use crate::{apache, caddy, envoy, traefik};

/// A balancer whose configurations can be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    Haproxy,
    /// nginx: `nginx.conf`, a file that it includes, or the output of `nginx -T`.
    Nginx,
    /// keepalived: VRRP and IPVS.
    Keepalived,
    /// Command files of `dscontrol`, of the Load Balancer with an executor, a manager and advisors.
    Dispatcher,
    /// Envoy: a static bootstrap, as YAML or JSON.
    Envoy,
    /// Traefik: dynamic configuration as YAML or TOML, or the labels of a Compose file.
    Traefik,
    /// Caddy: a Caddyfile.
    Caddy,
    /// Apache httpd: virtual hosts with mod_proxy.
    Apache,
}

impl Dialect {
    pub const ALL: [Dialect; 8] = [
        Dialect::Haproxy,
        Dialect::Nginx,
        Dialect::Keepalived,
        Dialect::Dispatcher,
        Dialect::Envoy,
        Dialect::Traefik,
        Dialect::Caddy,
        Dialect::Apache,
    ];

    /// The dialect's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Haproxy => "haproxy",
            Dialect::Nginx => "nginx",
            Dialect::Keepalived => "keepalived",
            Dialect::Dispatcher => "dispatcher",
            Dialect::Envoy => "envoy",
            Dialect::Traefik => "traefik",
            Dialect::Caddy => "caddy",
            Dialect::Apache => "apache",
        }
    }

    pub fn from_name(name: &str) -> Option<Dialect> {
        Dialect::ALL.into_iter().find(|one| one.name() == name)
    }

    /// The dialect whose keywords score highest. `None` if no keyword is known, or if two dialects have the same score.
    pub fn recognise(text: &str) -> Option<Dialect> {
        let text = without_byte_order_mark(text);
        let mut counts = [0u32; Dialect::ALL.len()];
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let Some(first) = words.next() else { continue };
            let second = words.next();
            for (count, dialect) in counts.iter_mut().zip(Dialect::ALL) {
                *count += weight(dialect, first, second, line);
            }
        }
        let most = counts.iter().max().copied().filter(|most| *most > 0)?;
        let mut best = Dialect::ALL.into_iter().zip(counts).filter(|(_, count)| *count == most);
        match (best.next(), best.next()) {
            (Some((dialect, _)), None) => Some(dialect),
            _ => None,
        }
    }
}

/// The score of a line for a dialect.
fn weight(dialect: Dialect, first: &str, second: Option<&str>, line: &str) -> u32 {
    let second = second.unwrap_or("");
    if second.starts_with('=') {
        return 0;
    }
    let block = line.trim_end().ends_with('{');
    match dialect {
        Dialect::Haproxy => match first {
            "frontend" | "backend" | "listen" | "defaults" | "use_backend" | "default_backend"
                if !block =>
            {
                u32::from(!line.contains(';')) * 5
            }
            "bind" | "balance" | "acl" | "option" | "timeout" | "http-request"
                if !line.contains(';') =>
            {
                2
            }
            _ => 0,
        },
        Dialect::Nginx => match first {
            "http" | "stream" | "location" | "upstream" | "server" | "events"
                if line.contains('{') =>
            {
                5
            }
            "proxy_pass" | "listen" | "server_name" | "ssl_certificate" if line.contains(';') => 3,
            _ => 0,
        },
        Dialect::Keepalived => match first {
            "vrrp_instance"
            | "virtual_server"
            | "virtual_server_group"
            | "real_server"
            | "global_defs"
            | "vrrp_script" => 5,
            "lb_kind" | "lb_algo" | "virtual_router_id" | "delay_loop" => 3,
            _ => 0,
        },
        Dialect::Dispatcher => match first.rsplit('/').next() {
            Some("dscontrol" | "cbrcontrol") => 5,
            _ if matches!(first, "executor" | "cluster" | "port" | "manager" | "advisor")
                && matches!(second, "start" | "set" | "add" | "configure") =>
            {
                3
            }
            _ => 0,
        },
        Dialect::Envoy => envoy::score_line(line),
        Dialect::Traefik => traefik::score_line(line),
        Dialect::Caddy => caddy::score_line(line),
        Dialect::Apache => apache::score_line(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialect_is_known_by_its_words() {
        for (text, dialect) in [
            ("defaults\n mode http\nfrontend a\n bind :80\n", Some(Dialect::Haproxy)),
            ("listen a\n bind :80\n server b 10.0.0.1:80\n", Some(Dialect::Haproxy)),
            (
                "upstream a {\n server 10.0.0.1;\n}\nserver {\n listen 80;\n}\n",
                Some(Dialect::Nginx),
            ),
            ("http { server { listen 80; } }\n", Some(Dialect::Nginx)),
            ("vrrp_instance A {\n state MASTER\n}\n", Some(Dialect::Keepalived)),
            ("virtual_server 10.0.0.1 80 {\n lb_kind DR\n}\n", Some(Dialect::Keepalived)),
            ("dscontrol executor start\n", Some(Dialect::Dispatcher)),
            ("/usr/bin/dscontrol cluster add 10.0.0.1\n", Some(Dialect::Dispatcher)),
            ("", None),
            ("[service.a]\nlisten = \":80\"\n", None),
        ] {
            assert_eq!(Dialect::recognise(text), dialect, "{text}");
        }
    }
}
