//! An IPVS virtual server as a service and a pool.

use std::net::IpAddr;

use crate::document::{Document, SourcedValue, TomlTable};
use crate::duration;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::defaults::{GlobalDefs, LvsTimeout};
use super::health_check;
use super::tree::BlockNode;

/// The most addresses in one range: the values of the last part of an IPv4 address.
const RANGE: u32 = 256;

/// The listening addresses of a virtual server.
struct VirtualServerAddress {
    listen: Vec<SourcedValue>,
    /// The port. `None` if the server has several ports or all ports.
    port: Option<u16>,
    label: String,
}

pub fn write(
    node: &BlockNode,
    all: &[BlockNode],
    defaults: &GlobalDefs,
    document: &mut Document,
    names: &mut UniqueNames,
    notes: &mut ConversionNotes,
) {
    let Some(front) = virtual_address(node, all, notes) else { return };
    let name = names.unique_name(&front.label);
    let get = |key: &str| node.take(key).map(|one| (one.word(1).to_owned(), one.source));
    let kind = get("lb_kind").or(get("lvs_method"));
    let forward = match kind.as_ref().map(|(word, _)| word.as_str()) {
        Some("DR") => "mac",
        Some("TUN") => "tunnel",
        _ => "nat",
    };
    let mut service = TomlTable::new(format!("service.{name}"), node.source, &node.text());
    for listen in &front.listen {
        service.push_item("listen", listen.value.clone(), listen.source);
    }
    service.set(
        "forward",
        value::quote(forward),
        kind.map_or(SourcePlace::NONE, |(_, source)| source),
    );
    service.set("pool", value::quote(&name), SourcePlace::NONE);
    match get("protocol") {
        Some((word, source)) if word == "UDP" => {
            service.set_required("protocol", value::quote("udp"), source)
        }
        Some((word, source)) if word != "TCP" => {
            service.set_required("protocol", value::quote(&word.to_ascii_lowercase()), source)
        }
        Some(_) => {}
        // TCP was the default of earlier versions and is the likely intention. A note covers files that rely on UDP.
        None => notes.changed(
            node.source,
            &node.text(),
            "no protocol is named: tcp was written, where keepalived 2 takes UDP",
            "`protocol = \"udp\"`",
        ),
    }
    sticky(node, &mut service, notes);
    for LvsTimeout { key, ms } in &defaults.times {
        if *key == "udp" {
            let udp = KeyValue::new("udp", duration::format_duration(*ms));
            service.set("timeout", value::table(&[udp]), SourcePlace::NONE);
        } else {
            service.set(key, duration::format_duration((*ms).max(1_000)), SourcePlace::NONE);
        }
    }
    document.push(service);
    let mut pool = TomlTable::new(format!("pool.{name}"), node.source, &node.text());
    balance(node, &mut pool, notes);
    pool.set("all-down", value::quote("refuse"), SourcePlace::NONE);
    pool.set(
        "initial",
        value::quote(if node.take("alpha").is_some() { "down" } else { "up" }),
        SourcePlace::NONE,
    );
    if forward == "nat" {
        // IPVS leaves the client's address in the packet, and servers route back through the director.
        pool.set("source", value::quote("client"), SourcePlace::NONE);
    }
    servers(node, &front, forward, &mut pool, notes);
    document.push(pool);
    note_rest(node, notes);
}

fn virtual_address(
    node: &BlockNode,
    all: &[BlockNode],
    notes: &mut ConversionNotes,
) -> Option<VirtualServerAddress> {
    let mut out = VirtualServerAddress { listen: Vec::new(), port: None, label: String::new() };
    let marked = |source: SourcePlace, text: &str, notes: &mut ConversionNotes| {
        notes.left_out(
            source,
            text,
            "services are found by address and port, not by a firewall's mark",
            "`listen` with the addresses and ports that the mark stood for",
        );
    };
    match node.word(1) {
        "fwmark" => {
            marked(node.source, &node.text(), notes);
            return None;
        }
        "group" => {
            let name = node.word(2);
            let group =
                all.iter().find(|one| one.word(0) == "virtual_server_group" && one.word(1) == name);
            group.into_iter().for_each(|group| group.mark_converted(2));
            for line in group.map_or(&[][..], |group| &group.inner) {
                if line.word(0) == "fwmark" {
                    marked(line.source, &line.text(), notes);
                } else if out.add(line.word(0), line.word(1), line.source).is_some() {
                    line.mark_converted(2);
                } else {
                    notes.left_out(
                        line.source,
                        &line.text(),
                        "not an address and a port",
                        "`listen`",
                    );
                }
            }
            if out.listen.is_empty() {
                let reason = "its group has no address and port";
                notes.left_out(node.source, &node.text(), reason, "`listen`");
            }
            name.clone_into(&mut out.label);
        }
        address => {
            if out.add(address, node.word(2), node.source).is_none() {
                notes.left_out(node.source, &node.text(), "not an address and a port", "`listen`");
            }
            let protocol = node.take("protocol").map_or("", |one| one.word(1));
            let kind = if protocol == "UDP" { "udp" } else { "" };
            out.label = format!("{address}-{}-{kind}", node.word(2));
        }
    }
    (!out.listen.is_empty()).then_some(out)
}

impl VirtualServerAddress {
    /// Adds an address, or a range of its last part: `192.0.2.1-5`.
    fn add(&mut self, address: &str, port: &str, source: SourcePlace) -> Option<()> {
        let number: u16 = if port.is_empty() { 0 } else { port.parse().ok()? };
        let port = if number == 0 { "*".to_owned() } else { number.to_string() };
        let (first, last) = address.split_once('-').unwrap_or((address, ""));
        let ip: IpAddr = first.parse().ok()?;
        let mut push = |ip: IpAddr| {
            let host = if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() };
            let value = value::quote(&format!("{host}:{port}"));
            self.listen.push(SourcedValue { value, source });
        };
        match (ip, last) {
            (ip, "") => push(ip),
            (IpAddr::V4(v4), last) => {
                let [a, b, c, first] = v4.octets();
                let last: u8 = last.parse().ok()?;
                (first..=last).for_each(|d| push(IpAddr::from([a, b, c, d])));
            }
            (IpAddr::V6(v6), last) => {
                let last = u128::from(u16::from_str_radix(last, 16).ok()?);
                let base = u128::from(v6);
                let first = base & 0xffff;
                let count = u32::try_from(last.checked_sub(first)?).ok()?.min(RANGE);
                (0..=u128::from(count)).for_each(|add| push(IpAddr::V6((base + add).into())));
            }
        }
        let same = self.port.is_none_or(|known| known == number);
        self.port = Some(number).filter(|number| *number > 0 && same);
        Some(())
    }
}

fn sticky(node: &BlockNode, service: &mut TomlTable, notes: &mut ConversionNotes) {
    let mask = node.take("persistence_granularity");
    let time = node.take("persistence_timeout");
    // A mask without a time has keepalived's own time, too.
    let Some(persistence) = time.or(mask) else { return };
    let written = time.map_or("", |time| time.word(1));
    let seconds = if written.is_empty() { "360" } else { written };
    let mut pairs = Vec::new();
    match duration::parse_duration(seconds, 1_000) {
        Some(ms) => pairs.push(KeyValue::new("expire", duration::format_duration(ms))),
        None => {
            let text = persistence.text();
            return notes.left_out(persistence.source, &text, "not a time", "`sticky`");
        }
    }
    if let Some(mask) = mask {
        let text = mask.word(1);
        let bits = text.parse::<std::net::Ipv4Addr>().ok().map(|mask| u32::from(mask).count_ones());
        match (bits, text.parse::<u32>().ok()) {
            (Some(bits), _) => pairs.push(KeyValue::new("mask4", bits.to_string())),
            (None, Some(bits)) => pairs.push(KeyValue::new("mask6", bits.to_string())),
            _ => notes.left_out(mask.source, &mask.text(), "not a mask", "`mask4`, `mask6`"),
        }
    }
    service.set("sticky", value::table(&pairs), persistence.source);
}

fn balance(node: &BlockNode, pool: &mut TomlTable, notes: &mut ConversionNotes) {
    let algorithm = node.take("lb_algo").or(node.take("lvs_sched"));
    let source = algorithm.map_or(SourcePlace::NONE, |one| one.source);
    let policy = match algorithm.map_or("wlc", |one| one.word(1)) {
        "rr" | "wrr" => "round-robin",
        "lc" | "wlc" | "sed" | "nq" => "least-connections",
        "sh" => "source",
        "mh" => "maglev",
        other => {
            notes.left_out(
                source,
                &format!("lb_algo {other}"),
                "servers are not chosen so, but in turn",
                "one of the policies of `balance`",
            );
            "round-robin"
        }
    };
    pool.set("balance", value::quote(policy), source);
}

fn servers(
    node: &BlockNode,
    front: &VirtualServerAddress,
    forward: &str,
    pool: &mut TomlTable,
    notes: &mut ConversionNotes,
) {
    let host = node.take("virtualhost").map(|one| one.word(1));
    let most = node
        .inner
        .iter()
        .filter_map(|real| real.take("weight")?.word(1).parse::<u32>().ok())
        .max()
        .unwrap_or(1);
    let scale = most.div_ceil(256).max(1);
    if scale > 1 {
        notes.changed(
            node.source,
            "weight",
            &format!("weights above 256: all were divided by {scale}"),
            "",
        );
    }
    let mut names = UniqueNames::default();
    for real in
        node.inner.iter().filter(|one| matches!(one.word(0), "real_server" | "sorry_server"))
    {
        let Some(address) = address(real, front, forward, notes) else { continue };
        let mut pairs = vec![
            KeyValue::new("name", value::quote(&names.unique_name(&address))),
            KeyValue::new("address", value::quote(&address)),
        ];
        if real.word(0) == "sorry_server" {
            pairs.push(KeyValue::new("last-resort", "true"));
            pool.push_item("servers", value::table(&pairs), real.source);
            continue;
        }
        if let Some(weight) = real.take("weight").and_then(|one| one.word(1).parse::<u32>().ok()) {
            let scaled = if weight == 0 { 0 } else { (weight / scale).max(1) };
            pairs.push(KeyValue::new("weight", scaled.to_string()));
        }
        if let Some(most) = real.take("uthreshold").filter(|one| one.word(1) != "0") {
            pairs.push(KeyValue::new("connections", most.word(1).to_owned()));
        }
        let own = real.take("virtualhost").map(|one| one.word(1)).or(host);
        pairs.extend(
            health_check::health_check(real, node, own, notes)
                .map(|probe| KeyValue::new("probe", probe)),
        );
        note_server_words(real, notes);
        pool.push_item("servers", value::table(&pairs), real.source);
    }
}

/// Reports the other keywords of a real server.
fn note_server_words(real: &BlockNode, notes: &mut ConversionNotes) {
    for inner in &real.inner {
        let word = inner.word(0);
        if matches!(word, "weight" | "uthreshold" | "virtualhost") || health_check::is_checker(word)
        {
            continue;
        }
        if health_check::INHERITED.contains(&word) {
            // The server's checker has read it, if there is one.
            if !notes.ledger.is_settled(inner.source) {
                notes.not_needed(inner.source, &inner.text(), "no checker of the server uses it");
            }
            continue;
        }
        let reason = match word {
            "warmup" | "alpha" => "probes of a pool begin alike, for all of its servers",
            _ => "a server has no such setting",
        };
        let instead = "`[[global.hook]]` with `on = [\"server-up\", \"server-down\"]`";
        notes.left_out(inner.source, &inner.text(), reason, instead);
    }
}

fn address(
    real: &BlockNode,
    front: &VirtualServerAddress,
    forward: &str,
    notes: &mut ConversionNotes,
) -> Option<String> {
    let Ok(ip) = real.word(1).parse::<IpAddr>() else {
        notes.left_out(real.source, &real.text(), "not an address", "`servers`");
        return None;
    };
    let own: Option<u16> = real.word(2).parse().ok().filter(|port| *port > 0);
    let port = match (front.port, own) {
        (Some(front), Some(own)) if forward != "nat" && front != own => {
            notes.changed(
                real.source,
                &real.text(),
                "direct return cannot change the port, here as in IPVS: the service's was written",
                "",
            );
            front
        }
        (_, Some(own)) => own,
        (Some(front), None) => front,
        (None, None) => {
            notes.changed(
                real.source,
                &real.text(),
                "a server's address has a port: 80 was written, which only its probe uses",
                "`probe.port`",
            );
            80
        }
    };
    Some(std::net::SocketAddr::new(ip, port).to_string())
}

/// Reports the other keywords of a virtual server.
fn note_rest(node: &BlockNode, notes: &mut ConversionNotes) {
    for one in &node.inner {
        match one.word(0) {
            inherited if health_check::INHERITED.contains(&inherited) => {
                if !notes.ledger.is_settled(one.source) {
                    notes.not_needed(one.source, &one.text(), "no checker of a server uses it");
                }
            }
            "lb_kind"
            | "lvs_method"
            | "lb_algo"
            | "lvs_sched"
            | "protocol"
            | "persistence_timeout"
            | "persistence_granularity"
            | "virtualhost"
            | "real_server"
            | "sorry_server"
            | "alpha" => {}
            "ip_family" => {
                notes.not_needed(one.source, &one.text(), "its address says which family it is of");
            }
            "quorum"
            | "quorum_up"
            | "quorum_down"
            | "hysteresis"
            | "omega"
            | "sorry_server_inhibit" => {
                let instead = "`[[global.hook]]` with `on = [\"pool-empty\", \"pool-back\"]`; `last-resort` servers";
                notes.left_out(
                    one.source,
                    &one.text(),
                    "a pool is empty when its last server is down, not before",
                    instead,
                );
            }
            "ops" | "hashed" | "flag-1" | "flag-2" | "flag-3" | "sh-port" | "sh-fallback"
            | "mh-port" | "mh-fallback" | "persistence_engine" => {
                notes.left_out(one.source, &one.text(), "there is no such switch", "");
            }
            "weight" | "ha_suspend" | "inhibit_on_failure" | "warmup" | "log_all_failures" => {
                notes.not_needed(
                    one.source,
                    &one.text(),
                    "servers are judged one by one, on every member",
                );
            }
            _ => notes.left_out(one.source, &one.text(), "the converter does not know it", ""),
        }
    }
}
