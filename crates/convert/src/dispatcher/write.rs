//! The picture as services and pools.

use std::net::IpAddr;

use crate::document::{Document, Table};
use crate::names::Names;
use crate::notes::Notes;
use crate::{nowhere, span, value};

use super::judged::Judged;
use super::picture::{Cluster, Keys, Object, Picture, Port, line, text};
use super::{picture, rule};

/// Keywords that something is made of; others are told.
const USED: [&str; 26] = [
    "method",
    "protocol",
    "stickytime",
    "stickymask",
    "staletimeout",
    "weightbound",
    "address",
    "weight",
    "mapport",
    "router",
    "returnaddress",
    "encapforward",
    "encaptype",
    "fixedweight",
    "advisorrequest",
    "advisorresponse",
    "proportions",
    "nfa",
    "fintimeout",
    "type",
    "beginrange",
    "endrange",
    "priority",
    "pattern",
    "tos",
    "encapcond",
];

/// Writes all of it.
pub fn write(picture: &Picture, document: &mut Document, notes: &mut Notes) {
    tell("executor set", &picture.executor, notes);
    let (mut services, mut pools) = (Names::default(), nowhere::reserved());
    for cluster in &picture.clusters {
        tell("cluster", &cluster.keys, notes);
        let address = text(&cluster.keys, "address").unwrap_or(&cluster.name);
        let Ok(ip) = address.parse::<IpAddr>() else {
            let line = cluster.ports.first().map_or(0, |port| port.line);
            notes.left(
                line,
                &cluster.name,
                "a service listens at an address, and this is a name",
                "`cluster add NAME address ADDRESS`",
            );
            continue;
        };
        for port in &cluster.ports {
            let label = format!(
                "{}-{}",
                cluster.name,
                if port.number == 0 { "any".to_owned() } else { port.number.to_string() }
            );
            let mut writer = Writer { picture, cluster, port, ip, notes, pools: &mut pools };
            writer.port(&services.give(&label), document);
        }
    }
}

fn tell(what: &str, keys: &Keys, notes: &mut Notes) {
    for (key, (value, line)) in keys {
        if !USED.contains(&key.as_str()) {
            let directive = format!("{what} … {key} {value}");
            match key.as_str() {
                "clientgateway"
                | "logsize"
                | "loglevel"
                | "maxclusters"
                | "maxports"
                | "maxservers"
                | "primaryhost"
                | "porttype"
                | "reset"
                | "halfopenaddressreport"
                | "collocated" => {
                    notes.needless(
                        *line,
                        &directive,
                        "routes are the system's, and tables grow by themselves",
                    );
                }
                _ => notes.left(*line, &directive, "there is no such setting", ""),
            }
        }
    }
}

struct Writer<'w> {
    picture: &'w Picture,
    cluster: &'w Cluster,
    port: &'w Port,
    ip: IpAddr,
    notes: &'w mut Notes,
    pools: &'w mut Names,
}

impl Writer<'_> {
    fn key(&self, key: &str) -> Option<(&str, u32)> {
        picture::key(self.picture, self.cluster, self.port, key)
    }

    fn forward(&self) -> &'static str {
        let encapsulated = self.port.servers.iter().any(|server| {
            matches!(text(&server.keys, "encapforward"), Some("yes" | "conditional" | "y"))
        });
        let tls =
            text(&self.port.keys, "protocol").is_some_and(|one| one.eq_ignore_ascii_case("ssl"));
        match self.key("method").map(|(method, _)| method) {
            Some("nat") => "nat",
            Some("cbr" | "content") if tls => "tcp",
            Some("cbr" | "content") => "http",
            _ if encapsulated => "tunnel",
            _ => "mac",
        }
    }

    fn port(&mut self, name: &str, document: &mut Document) {
        let port = self.port;
        tell("port", &port.keys, self.notes);
        let forward = self.forward();
        let path = format!("service.{name}");
        let mut service = Table::new(path.clone(), port.line, &port.text);
        let host = if self.ip.is_ipv6() { format!("[{}]", self.ip) } else { self.ip.to_string() };
        let number = if port.number == 0 { "*".to_owned() } else { port.number.to_string() };
        service.set("listen", value::text(&format!("{host}:{number}")), port.line);
        service.set("forward", value::text(forward), line(&port.keys, "method"));
        let pool = self.pools.give(name);
        service.set("pool", value::text(&pool), 0);
        self.service_keys(&mut service, forward);
        document.push(service);
        let own: Vec<&Object> = port.servers.iter().collect();
        let mut rest: Vec<Table> = vec![self.pool(&pool, &own, forward)];
        let mut rules: Vec<&Object> = port.rules.iter().collect();
        let priority = |rule: &&Object| {
            text(&rule.keys, "priority")
                .and_then(|text| text.parse::<u32>().ok())
                .unwrap_or(u32::MAX)
        };
        rules.sort_by_key(priority);
        for one in rules {
            tell("rule", &one.keys, self.notes);
            rest.extend(self.rule(one, (name, &path, forward), document));
        }
        rest.into_iter().for_each(|table| document.push(table));
    }

    fn service_keys(&mut self, service: &mut Table, forward: &str) {
        let packets = matches!(forward, "mac" | "nat" | "tunnel");
        let protocol = self.key("protocol").map(|(text, line)| (text.to_ascii_lowercase(), line));
        match protocol.as_ref().filter(|_| packets).map(|(text, line)| (text.as_str(), *line)) {
            Some(("udp", line)) => service.must("protocol", value::text("udp"), line),
            Some(("tcp/udp" | "both", line)) => {
                service.must("protocol", value::texts(&["tcp", "udp"]), line)
            }
            _ => {}
        }
        if let Some((seconds, line)) = self.key("stickytime").filter(|(text, _)| *text != "0") {
            let mut pairs = vec![(
                "time",
                span::read(seconds, 1_000).map_or_else(|| value::text(seconds), span::written),
            )];
            if let Some((bits, _)) = self.key("stickymask").filter(|(bits, _)| *bits != "32") {
                pairs.push((if self.ip.is_ipv4() { "mask4" } else { "mask6" }, bits.to_owned()));
            }
            service.set("sticky", value::table(&pairs), line);
        }
        for (theirs, ours) in [("staletimeout", "stale-timeout"), ("fintimeout", "fin-timeout")] {
            let time =
                self.key(theirs).and_then(|(text, line)| Some((span::read(text, 1_000)?, line)));
            if let Some((ms, line)) = time.filter(|_| packets) {
                service.set(ours, span::written(ms), line);
            }
        }
        let kind = self.port.servers.iter().find_map(|server| text(&server.keys, "encaptype"));
        if forward == "tunnel" && kind.is_some_and(|kind| kind.eq_ignore_ascii_case("gre")) {
            service.set("tunnel", value::text("gre"), 0);
        }
    }

    fn pool(&mut self, name: &str, servers: &[&Object], forward: &str) -> Table {
        let port = self.port;
        let mut pool = Table::new(format!("pool.{name}"), port.line, &port.text);
        pool.set("balance", value::text("round-robin"), 0);
        let judged = Judged { picture: self.picture, cluster: self.cluster, port };
        if let Some((judge, line)) = judged.judge(servers, self.notes) {
            pool.set("judge", judge, line);
        }
        if let Some((probe, line)) = judged.probe(self.notes) {
            pool.set("probe", probe, line);
        }
        let mut sources: Vec<&str> = Vec::new();
        let mut names = Names::default();
        for server in servers {
            tell("server", &server.keys, self.notes);
            if let Some(source) =
                text(&server.keys, "returnaddress").filter(|source| !sources.contains(source))
            {
                sources.push(source);
            }
            if let Some(value) = self.server(server, forward, &mut names) {
                pool.item("servers", value, server.line);
            }
        }
        if !sources.is_empty() && forward != "mac" && forward != "tunnel" {
            pool.set("source", value::list(sources.iter().map(|one| value::text(one))), 0);
        }
        pool
    }

    fn server(&mut self, server: &Object, forward: &str, names: &mut Names) -> Option<String> {
        let keys = &server.keys;
        let host = text(keys, "address").unwrap_or(&server.name);
        let Ok(ip) = host.parse::<IpAddr>() else {
            self.notes.left(
                server.line,
                &server.text,
                "a server of packets has an address, and this is a name",
                "`server add … address ADDRESS`",
            );
            return None;
        };
        let own = self.port.number;
        let mapped = text(keys, "mapport")
            .and_then(|text| text.parse::<u16>().ok())
            .filter(|port| *port > 0);
        let port = match mapped {
            Some(mapped) if !matches!(forward, "mac" | "tunnel") => mapped,
            _ if own > 0 => own,
            _ => {
                self.notes.changed(
                    server.line,
                    &server.text,
                    "a server's address has a port: 80 was written, which only its probe uses",
                    "`probe.port`",
                );
                80
            }
        };
        let address = std::net::SocketAddr::new(ip, port).to_string();
        let mut pairs = vec![
            ("name", value::text(&names.give(&server.name))),
            ("address", value::text(&address)),
        ];
        pairs.extend(text(keys, "weight").map(|weight| ("weight", weight.to_owned())));
        if server.down {
            pairs.push(("state", value::text("disabled")));
        }
        if text(keys, "router").is_some_and(|router| !router.is_empty() && router != "0")
            && forward == "mac"
        {
            self.notes.left(
                server.line,
                &server.text,
                "next hops are the system's routes",
                "a route to the server; `forward = \"tunnel\"` across routers",
            );
        }
        Some(value::table(&pairs))
    }

    fn rule(
        &mut self,
        one: &Object,
        (name, path, forward): (&str, &str, &str),
        document: &mut Document,
    ) -> Option<Table> {
        let http = forward == "http";
        let when = match rule::condition(one, http) {
            Ok(when) => when,
            Err(why) => {
                self.notes.why(one.line, &one.text, &why);
                return None;
            }
        };
        let port = self.port;
        let servers: Vec<&Object> =
            port.servers.iter().filter(|server| one.servers.contains(&server.name)).collect();
        if servers.is_empty() {
            self.notes.left(one.line, &one.text, "the rule has no servers", "`pool` in a rule");
            return None;
        }
        let pool = self.pools.give(&format!("{name}-{}", one.name));
        let mut table = Table::one_of(format!("{path}.rule"), one.line, &one.text);
        let when = when.settled(false);
        if let Some(when) = when.when() {
            table.set("when", when, 0);
        }
        table.set("pool", value::text(&pool), 0);
        document.push(table);
        Some(self.pool(&pool, &servers, forward))
    }
}
