//! The configuration of a packet-forwarding daemon: for each IP version one service with one pool.
//!
//! This module writes text; `packet_balancer` runs the daemon.

use std::fmt::Write;
use std::path::Path;

use lab::net::TestSite;

use super::packet_balancer::{BOTH, IpVersion, PORT};

#[derive(Clone, Debug)]
pub struct PacketConfig {
    pub forward: &'static str,
    /// Numbers of the servers in the pools.
    pub servers: Vec<usize>,
    /// The number of return addresses of each IP version.
    pub returns: usize,
    /// Interfaces that receive the packets. Empty: the balancer's interfaces.
    pub links: Vec<&'static str>,
    /// Whether to configure a return address that no host has: 10.10.0.77.
    pub foreign_return: bool,
    /// Further lines of `[packets]`.
    pub packets: String,
    /// Lines of the services.
    pub service: String,
    /// Lines of the pools.
    pub pool: String,
    /// Whole tables, appended after the generated ones.
    pub extra_tables: String,
}

impl PacketConfig {
    /// Forwards by this method to these servers.
    pub fn new(forward: &'static str, servers: &[usize]) -> PacketConfig {
        PacketConfig {
            forward,
            servers: servers.to_vec(),
            returns: 1,
            links: Vec::new(),
            foreign_return: false,
            packets: String::new(),
            service: String::new(),
            pool: "probe = { tcp = true, interval = \"300ms\", timeout = \"250ms\" }\n".to_owned(),
            extra_tables: String::new(),
        }
    }

    /// Receives packets on these interfaces.
    pub fn links(mut self, links: &[&'static str]) -> PacketConfig {
        self.links = links.to_vec();
        self
    }

    /// Adds these lines to the services.
    pub fn service(mut self, lines: &str) -> PacketConfig {
        lines.clone_into(&mut self.service);
        self
    }

    /// Sets these lines in the pools in place of the health check.
    pub fn pool(mut self, lines: &str) -> PacketConfig {
        lines.clone_into(&mut self.pool);
        self
    }

    /// Adds these lines to `[packets]`.
    pub fn packets(mut self, lines: &str) -> PacketConfig {
        lines.clone_into(&mut self.packets);
        self
    }

    /// Appends these tables.
    pub fn with_tables(mut self, tables: &str) -> PacketConfig {
        tables.clone_into(&mut self.extra_tables);
        self
    }

    /// Whether packets are forwarded, not proxied.
    pub fn is_packets(&self) -> bool {
        matches!(self.forward, "mac" | "nat" | "tunnel")
    }

    pub fn text(&self, site: &TestSite, dir: &Path, pins: &Path) -> String {
        let PacketConfig { forward, packets, service, pool, extra_tables: more, .. } = self;
        let dir = dir.display();
        let pins = pins.display();
        let returns = site.return_addresses();
        let returns = returns.iter().take(self.returns);
        let returns: Vec<String> = returns
            .flat_map(|host| [format!("\"{}\"", host.v4), format!("\"{}\"", host.v6)])
            .collect();
        let returns = if self.foreign_return { vec!["\"10.10.0.77\"".to_owned()] } else { returns };
        let own = site.balancer_links();
        let links = if self.links.is_empty() { own } else { self.links.as_slice() };
        let links: Vec<String> = links.iter().map(|link| format!("\"{link}\"")).collect();
        let mut text = format!(
            "[global]\naccess-log = \"off\"\n\
             control = {{ socket = \"{dir}/sock\", state = \"{dir}/state\" }}\n\
             [packets]\ninterfaces = [{}]\npin-path = \"{pins}/plane\"\nnat-source = [{}]\n{packets}\n",
            links.join(", "),
            returns.join(", ")
        );
        let protocol = if self.is_packets() { "protocol = [\"tcp\", \"udp\"]\n" } else { "" };
        for (version, name) in BOTH.into_iter().zip(["4", "6"]) {
            let listen = version.service();
            let servers = self.servers.iter().map(|number| server(site, version, *number));
            let servers: Vec<String> = servers.collect();
            let _ = write!(
                text,
                "[service.shop{name}]\nlisten = \"{listen}\"\nforward = \"{forward}\"\npool = \"web{name}\"\n\
                 {protocol}{service}\n[pool.web{name}]\nservers = [{}]\n{pool}\n",
                servers.join(", ")
            );
        }
        text + more
    }
}

/// A pool's entry for a server. A number beyond the site's servers means the balancer itself.
fn server(site: &TestSite, version: IpVersion, number: usize) -> String {
    let (name, node) = match site.servers.get(number) {
        Some(node) => (format!("server{number}"), node),
        None => ("here".to_owned(), &site.balancer),
    };
    let address = std::net::SocketAddr::new(version.host_address(node), PORT);
    format!("{{ name = \"{name}\", address = \"{address}\" }}")
}
