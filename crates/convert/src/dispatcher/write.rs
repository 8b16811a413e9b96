//! Writes the model as services and pools.

use std::net::IpAddr;

use crate::document::{Document, TomlTable};
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};
use crate::{duration, empty_pool};

use super::config::{
    Cluster, ClusterPort, DispatcherConfig, KeywordSetting, KeywordSettings, PortObject,
    keyword_line, keyword_value,
};
use super::port_checks::PortChecks;
use super::{config, rule};

/// Keywords that are converted. Other keywords are reported.
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

/// Writes the whole configuration.
pub fn write_config(
    picture: &DispatcherConfig,
    document: &mut Document,
    notes: &mut ConversionNotes,
) {
    note_unsupported("executor set", &picture.executor, notes);
    let mut services = UniqueNames::default();
    let mut pools = empty_pool::reserve_name();
    for cluster in picture.clusters.iter() {
        note_unsupported("cluster", &cluster.keys, notes);
        let address = keyword_value(&cluster.keys, "address").unwrap_or(&cluster.name);
        let Ok(ip) = address.parse::<IpAddr>() else {
            let source = cluster.ports.iter().next().map_or(SourcePlace::NONE, |port| port.source);
            notes.left_out(
                source,
                &cluster.name,
                "a service listens at an address, and this is a name",
                "`cluster add NAME address ADDRESS`",
            );
            continue;
        };
        for port in cluster.ports.iter() {
            let label = format!(
                "{}-{}",
                cluster.name,
                if port.number == 0 { "any".to_owned() } else { port.number.to_string() }
            );
            let mut writer =
                PortWriter { config: picture, cluster, port, ip, notes, pools: &mut pools };
            writer.port(&services.unique_name(&label), document);
        }
    }
}

fn note_unsupported(what: &str, keys: &KeywordSettings, notes: &mut ConversionNotes) {
    for (key, KeywordSetting { value, source }) in keys {
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
                    notes.not_needed(
                        *source,
                        &directive,
                        "routes are the system's, and tables grow by themselves",
                    );
                }
                _ => notes.left_out(*source, &directive, "there is no such setting", ""),
            }
        }
    }
}

struct PortWriter<'w> {
    config: &'w DispatcherConfig,
    cluster: &'w Cluster,
    port: &'w ClusterPort,
    ip: IpAddr,
    notes: &'w mut ConversionNotes,
    pools: &'w mut UniqueNames,
}

impl PortWriter<'_> {
    fn key(&self, key: &str) -> Option<&KeywordSetting> {
        config::inherited_keyword(self.config, self.cluster, self.port, key)
    }

    fn forward(&self) -> &'static str {
        let encapsulated = self.port.servers.iter().any(|server| {
            matches!(keyword_value(&server.keys, "encapforward"), Some("yes" | "conditional" | "y"))
        });
        let tls = keyword_value(&self.port.keys, "protocol")
            .is_some_and(|one| one.eq_ignore_ascii_case("ssl"));
        match self.key("method").map(|method| method.value.as_str()) {
            Some("nat") => "nat",
            Some("cbr" | "content") if tls => "tcp",
            Some("cbr" | "content") => "http",
            _ if encapsulated => "tunnel",
            _ => "mac",
        }
    }

    fn port(&mut self, name: &str, document: &mut Document) {
        let port = self.port;
        note_unsupported("port", &port.keys, self.notes);
        let forward = self.forward();
        let path = format!("service.{name}");
        let mut service = TomlTable::new(path.clone(), port.source, &port.text);
        let host = if self.ip.is_ipv6() { format!("[{}]", self.ip) } else { self.ip.to_string() };
        let number = if port.number == 0 { "*".to_owned() } else { port.number.to_string() };
        service.set("listen", value::quote(&format!("{host}:{number}")), port.source);
        service.set("forward", value::quote(forward), keyword_line(&port.keys, "method"));
        let pool = self.pools.unique_name(name);
        service.set("pool", value::quote(&pool), SourcePlace::NONE);
        self.service_keys(&mut service, forward);
        document.push(service);
        let own: Vec<&PortObject> = port.servers.iter().collect();
        let mut rest: Vec<TomlTable> = vec![self.pool(&pool, &own, forward)];
        let mut rules: Vec<&PortObject> = port.rules.iter().collect();
        let priority = |rule: &&PortObject| {
            keyword_value(&rule.keys, "priority")
                .and_then(|text| text.parse::<u32>().ok())
                .unwrap_or(u32::MAX)
        };
        rules.sort_by_key(priority);
        for one in rules {
            note_unsupported("rule", &one.keys, self.notes);
            rest.extend(self.rule(one, name, &path, forward, document));
        }
        rest.into_iter().for_each(|table| document.push(table));
    }

    fn service_keys(&mut self, service: &mut TomlTable, forward: &str) {
        let packets = matches!(forward, "mac" | "nat" | "tunnel");
        if let Some(protocol) = self.key("protocol").filter(|_| packets) {
            let words: &[&str] = match protocol.value.to_ascii_lowercase().as_str() {
                "udp" => &["udp"],
                "tcp/udp" | "both" => &["tcp", "udp"],
                _ => &[],
            };
            if !words.is_empty() {
                service.set_required("protocol", value::quote_all(words), protocol.source);
            }
        }
        if let Some(time) = self.key("stickytime").filter(|time| time.value != "0") {
            let written = duration::parse_duration(&time.value, 1_000)
                .map_or_else(|| value::quote(&time.value), duration::format_duration);
            let mut pairs = vec![KeyValue::new("expire", written)];
            if let Some(mask) = self.key("stickymask").filter(|mask| mask.value != "32") {
                let key = if self.ip.is_ipv4() { "mask4" } else { "mask6" };
                pairs.push(KeyValue::new(key, &mask.value));
            }
            service.set("sticky", value::table(&pairs), time.source);
        }
        for (theirs, ours) in [("staletimeout", "idle-timeout"), ("fintimeout", "fin-timeout")] {
            if let Some(time) = self.key(theirs).filter(|_| packets)
                && let Some(ms) = duration::parse_duration(&time.value, 1_000)
            {
                service.set(ours, duration::format_duration(ms), time.source);
            }
        }
        let kind =
            self.port.servers.iter().find_map(|server| keyword_value(&server.keys, "encaptype"));
        if forward == "tunnel" && kind.is_some_and(|kind| kind.eq_ignore_ascii_case("gre")) {
            service.set("tunnel", value::quote("gre"), SourcePlace::NONE);
        }
    }

    fn pool(&mut self, name: &str, servers: &[&PortObject], forward: &str) -> TomlTable {
        let port = self.port;
        let mut pool = TomlTable::new(format!("pool.{name}"), port.source, &port.text);
        pool.set("balance", value::quote("round-robin"), SourcePlace::NONE);
        let judged = PortChecks { config: self.config, cluster: self.cluster, port };
        if let Some(judge) = judged.dynamic_weights(servers, self.notes) {
            pool.set("dynamic-weights", judge.value, judge.source);
        }
        if let Some(probe) = judged.health_check(self.notes) {
            pool.set("probe", probe.value, probe.source);
        }
        let mut sources: Vec<&str> = Vec::new();
        let mut names = UniqueNames::default();
        for server in servers {
            note_unsupported("server", &server.keys, self.notes);
            if let Some(source) = keyword_value(&server.keys, "returnaddress")
                .filter(|source| !sources.contains(source))
            {
                sources.push(source);
            }
            if let Some(value) = self.server(server, forward, &mut names) {
                pool.push_item("servers", value, server.source);
            }
        }
        if !sources.is_empty() && forward != "mac" && forward != "tunnel" {
            pool.set(
                "source",
                value::list(sources.iter().map(|one| value::quote(one))),
                SourcePlace::NONE,
            );
        }
        pool
    }

    fn server(
        &mut self,
        server: &PortObject,
        forward: &str,
        names: &mut UniqueNames,
    ) -> Option<String> {
        let keys = &server.keys;
        let host = keyword_value(keys, "address").unwrap_or(&server.name);
        let Ok(ip) = host.parse::<IpAddr>() else {
            self.notes.left_out(
                server.source,
                &server.text,
                "a server of packets has an address, and this is a name",
                "`server add … address ADDRESS`",
            );
            return None;
        };
        let own = self.port.number;
        let mapped = keyword_value(keys, "mapport")
            .and_then(|text| text.parse::<u16>().ok())
            .filter(|port| *port > 0);
        let port = match mapped {
            Some(mapped) if !matches!(forward, "mac" | "tunnel") => mapped,
            _ if own > 0 => own,
            _ => {
                self.notes.changed(
                    server.source,
                    &server.text,
                    "a server's address has a port: 80 was written, which only its probe uses",
                    "`probe.port`",
                );
                80
            }
        };
        let address = std::net::SocketAddr::new(ip, port).to_string();
        let mut pairs = vec![
            KeyValue::new("name", value::quote(&names.unique_name(&server.name))),
            KeyValue::new("address", value::quote(&address)),
        ];
        pairs.extend(
            keyword_value(keys, "weight").map(|weight| KeyValue::new("weight", weight.to_owned())),
        );
        if server.down {
            pairs.push(KeyValue::new("state", value::quote("disabled")));
        }
        if keyword_value(keys, "router").is_some_and(|router| !router.is_empty() && router != "0")
            && forward == "mac"
        {
            self.notes.left_out(
                server.source,
                &server.text,
                "next hops are the system's routes",
                "a route to the server; `forward = \"tunnel\"` across routers",
            );
        }
        Some(value::table(&pairs))
    }

    fn rule(
        &mut self,
        one: &PortObject,
        name: &str,
        path: &str,
        forward: &str,
        document: &mut Document,
    ) -> Option<TomlTable> {
        let http = forward == "http";
        let when = match rule::condition(one, http) {
            Ok(when) => when,
            Err(why) => {
                self.notes.left_out_because(one.source, &one.text, &why);
                return None;
            }
        };
        let port = self.port;
        let servers = port.servers.among(&one.servers);
        if servers.is_empty() {
            self.notes.left_out(
                one.source,
                &one.text,
                "the rule has no servers",
                "`pool` in a rule",
            );
            return None;
        }
        let pool = self.pools.unique_name(&format!("{name}-{}", one.name));
        let mut table = TomlTable::one_of(format!("{path}.rule"), one.source, &one.text);
        let when = when.simplify(false);
        if let Some(when) = when.to_when() {
            table.set("when", when, SourcePlace::NONE);
        }
        table.set("pool", value::quote(&pool), SourcePlace::NONE);
        document.push(table);
        Some(self.pool(&pool, &servers, forward))
    }
}
