//! Judges the name server, zones and names: what lies outside, loops, stands twice, or could never be answered.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use super::super::address::Host;
use super::super::decode::quoted;
use super::super::finding::{Sink, Trouble};
use super::super::names::{plain, within};
use super::super::resolve::Effective;
use super::super::section::Section;
use super::super::suggest::nearest;
use super::super::tables::names::STRING;

/// The most bytes of a name as text (RFC 1035 §2.3.4).
const LONGEST: usize = 253;

/// Judge all of it. `whole`: the file was read to its end.
pub fn verify(effective: &Effective, whole: bool, sink: &mut Sink<'_, '_>) {
    server(effective, sink);
    let zones: Vec<String> = effective.zones.iter().map(|zone| plain(&zone.name)).collect();
    twice(&effective.zones, "zone", sink);
    twice(&effective.hosts, "name", sink);
    let known: HashMap<String, &Section> =
        effective.hosts.iter().map(|host| (plain(&host.name), host)).collect();
    for zone in &effective.zones {
        self::zone(zone, &zones, &known, whole, sink);
    }
    for host in &effective.hosts {
        let path = format!("name.{}", quoted(&host.name));
        if whole {
            source(host, &path, effective, sink);
        }
        place(host, &path, &zones, &known, sink);
        loops(host, &path, effective, &known, sink);
        policy(host, &path, effective, sink);
        whole_seconds(host, &path, &["ttl"], sink);
    }
}

fn server(effective: &Effective, sink: &mut Sink<'_, '_>) {
    let section = &effective.names;
    let all = section.sockets("listen").iter().find(|at| at.ip().is_unspecified());
    if let Some(at) = all {
        let trouble = Trouble::new(format!("{at} is every address of this machine")).expected(
            "each address by itself: an answer must come from the address that was asked",
        );
        sink.error(section.place_of("listen"), "names.listen", trouble);
    }
    let mut seen = HashSet::new();
    if let Some(at) = section.sockets("listen").iter().find(|at| !seen.insert(**at)) {
        let trouble = Trouble::new(format!("{at} stands here twice"));
        sink.error(section.place_of("listen"), "names.listen", trouble);
    }
    if section.sockets("listen").is_empty()
        && !section.broken("listen")
        && let Some(first) = effective.zones.first()
    {
        let trouble = Trouble::new("nobody answers for this zone").found("nothing");
        let trouble = trouble.expected("addresses to listen on: `[names]` with `listen`");
        sink.warning(first.place, &format!("zone.{}", quoted(&first.name)), trouble);
    }
}

/// Two spellings of one name.
fn twice(sections: &[Section], kind: &str, sink: &mut Sink<'_, '_>) {
    let mut seen: HashMap<String, &str> = HashMap::new();
    for section in sections {
        if let Some(other) = seen.insert(plain(&section.name), &section.name) {
            let message = format!("`{other}` is the same name already: case does not count in DNS");
            let path = format!("{kind}.{}", quoted(&section.name));
            sink.error(section.place, &path, Trouble::new(message).expected("each name once"));
        }
    }
}

fn zone(
    zone: &Section,
    zones: &[String],
    known: &HashMap<String, &Section>,
    whole: bool,
    sink: &mut Sink<'_, '_>,
) {
    let path = format!("zone.{}", quoted(&zone.name));
    let name = plain(&zone.name);
    if name.is_empty() || name.parse::<IpAddr>().is_ok() {
        let trouble = Trouble::new("not a zone that can be delegated to us");
        sink.error(zone.place, &path, trouble.expected("a name such as \"gslb.example.org\""));
    }
    whole_seconds(zone, &path, &["ttl", "negative-ttl"], sink);
    for server in zone.texts("nameservers") {
        let server = plain(server);
        let ours = zones.iter().any(|zone| within(&server, zone));
        let addressed = known.get(&server).is_some_and(|host| host.setting("cname").is_none());
        if whole && ours && !addressed {
            let message = format!("`{server}` lies in a zone of ours, and has no address there");
            let expected = format!("a table `[name.\"{server}\"]` with `addresses`");
            let trouble = Trouble::new(message).expected(expected);
            sink.error(zone.place_of("nameservers"), &format!("{path}.nameservers"), trouble);
        }
    }
    let contact = zone.text("contact").unwrap_or_default();
    let parts: Vec<&str> = contact.split(['@', '.']).collect();
    let label = |part: &&str| (1..=63).contains(&part.len()) && !part.contains([' ', '\\', '"']);
    if zone.wrote("contact") && !(parts.len() >= 2 && parts.iter().all(label)) {
        let trouble = Trouble::new("not a mail address that SOA can carry");
        let trouble =
            trouble.expected("such as \"hostmaster@example.org\", without a dot before the @");
        sink.error(zone.place_of("contact"), &format!("{path}.contact"), trouble);
    }
    if let Some(text) = zone.texts("text").iter().find(|text| text.len() > STRING) {
        let message = format!("a string of {} bytes does not fit a TXT record", text.len());
        let trouble = Trouble::new(message).expected(format!("at most {STRING}"));
        sink.error(zone.place_of("text"), &format!("{path}.text"), trouble);
    }
}

/// What it stands for: one thing, which exists.
fn source(host: &Section, path: &str, effective: &Effective, sink: &mut Sink<'_, '_>) {
    let kinds = ["pool", "services", "addresses", "cname"];
    if !kinds.iter().any(|kind| host.setting(kind).is_some()) {
        let trouble = Trouble::new("a name needs something to stand for").found("nothing");
        let trouble = trouble.expected("`pool`, `services`, `addresses` or `cname`");
        return sink.error(host.place, path, trouble);
    }
    let mut absent = |key: &str, kind: &str, wanted: &str, there: &[Section]| {
        if there.iter().any(|one| one.name == wanted) {
            return;
        }
        let near = nearest(wanted, there.iter().map(|one| one.name.as_str()));
        let trouble = Trouble::new(format!("there is no {kind} `{wanted}`"))
            .expected(format!("the name of a table `[{kind}.NAME]`"))
            .suggest(near.map(|name| format!("\"{name}\"")));
        sink.error(host.place_of(key), &format!("{path}.{key}"), trouble);
    };
    if let Some(pool) = host.text("pool") {
        absent("pool", "pool", pool, &effective.pools);
    }
    for service in host.texts("services") {
        absent("services", "service", service, &effective.services);
    }
    for service in effective.services.iter().filter(|it| host.texts("services").contains(&it.name))
    {
        if service.spans("listen").iter().all(|span| span.address.is_unspecified()) {
            let message =
                format!("service `{}` listens on every address of this machine", service.name);
            let trouble = Trouble::new(message);
            let trouble = trouble.expected("a service with an address of its own, or `addresses`");
            sink.error(host.place_of("services"), &format!("{path}.services"), trouble);
        }
    }
    if host.setting("addresses").is_some()
        && !host.broken("addresses")
        && host.list("addresses").is_empty()
    {
        let trouble = Trouble::new("a name needs an address").found("an empty list");
        sink.error(host.place_of("addresses"), &format!("{path}.addresses"), trouble);
    }
}

/// Where it lies.
fn place(
    host: &Section,
    path: &str,
    zones: &[String],
    known: &HashMap<String, &Section>,
    sink: &mut Sink<'_, '_>,
) {
    let name = plain(&host.name);
    if !zones.iter().any(|zone| within(&name, zone)) {
        let trouble = Trouble::new(format!("`{name}` lies in no zone of ours"))
            .found(host.name.clone())
            .expected("a name within a table `[zone.NAME]`")
            .suggest(zones.first().map(|zone| {
                let first = name.split('.').next().unwrap_or_default();
                format!("\"{first}.{zone}\"")
            }));
        sink.error(host.place, path, trouble);
    }
    let is_zone = zones.contains(&name);
    if is_zone && host.setting("cname").is_some() {
        let message =
            "a zone's own name has SOA and NS, and so cannot be an alias (RFC 1034 §3.6.2)";
        sink.error(host.place_of("cname"), &format!("{path}.cname"), Trouble::new(message));
    }
    for labels in host.texts("srv") {
        let whole = format!("{}.{name}", plain(labels));
        let odd = plain(labels).split('.').any(|label| !label.starts_with('_'));
        if odd || whole.len() > LONGEST {
            let trouble =
                Trouble::new(format!("`{labels}` does not name a service and a protocol"));
            let trouble = trouble.expected("labels such as \"_http._tcp\" (RFC 2782)");
            sink.error(host.place_of("srv"), &format!("{path}.srv"), trouble);
        }
        if known.contains_key(&whole) {
            let message = format!("`{whole}` is a table of its own already");
            sink.error(host.place_of("srv"), &format!("{path}.srv"), Trouble::new(message));
        }
    }
}

/// Whoever follows aliases must arrive, and must not have to ask for a name in order to answer for it.
fn loops(
    host: &Section,
    path: &str,
    effective: &Effective,
    known: &HashMap<String, &Section>,
    sink: &mut Sink<'_, '_>,
) {
    let name = plain(&host.name);
    let mut walk = vec![name.clone()];
    let mut at = host;
    while let Some(target) = at.text("cname").map(plain) {
        let again = walk.contains(&target);
        walk.push(target.clone());
        if again {
            let trouble = Trouble::new(format!("the name loops: {}", walk.join(" → ")));
            let trouble = trouble.expected("an alias of a name that has addresses");
            return sink.error(host.place_of("cname"), &format!("{path}.cname"), trouble);
        }
        let Some(next) = known.get(&target) else { return };
        at = next;
    }
    let pool = at.text("pool").and_then(|pool| effective.pools.iter().find(|it| it.name == pool));
    for server in pool.into_iter().flat_map(|pool| pool.list("servers")) {
        let Some(Host::Name(asked)) = server.server("address").map(|at| &at.host) else { continue };
        if walk.contains(&plain(asked)) {
            let server = server.text("name").unwrap_or_default();
            let message = format!(
                "the name loops: {} → server `{server}` → {asked}, which only this answer resolves",
                walk.join(" → ")
            );
            let trouble = Trouble::new(message).expected("servers with addresses, or other names");
            let key = if host.text("pool").is_some() { "pool" } else { "cname" };
            sink.error(host.place_of(key), &format!("{path}.{key}"), trouble);
        }
    }
}

fn policy(host: &Section, path: &str, effective: &Effective, sink: &mut Sink<'_, '_>) {
    let mut wrong = |key: &str, trouble: Trouble| {
        sink.error(host.place_of(key), &format!("{path}.{key}"), trouble);
    };
    let by = host.text("policy").unwrap_or_default();
    if host.text("cname").is_some() {
        let keys = ["policy", "near", "answers", "fallback", "last-resort", "srv", "https"];
        for key in keys.into_iter().filter(|key| host.wrote(key)) {
            wrong(
                key,
                Trouble::new(format!("`{key}` belongs to the name that this is an alias of")),
            );
        }
        return;
    }
    if by == "nearest" && host.list("near").is_empty() && !host.broken("near") {
        let trouble = Trouble::new("`nearest` needs regions").found("none");
        wrong("policy", trouble.expected("`near` with networks of clients"));
    }
    if by != "nearest" && host.wrote("near") {
        wrong("near", Trouble::new("`near` belongs to `policy = \"nearest\"`"));
    }
    for key in ["mask4", "mask6"].into_iter().filter(|key| by != "sticky" && host.wrote(key)) {
        wrong(key, Trouble::new(format!("`{key}` belongs to `policy = \"sticky\"`")));
    }
    if host.wrote("srv") && host.setting("addresses").is_some() {
        let trouble = Trouble::new("addresses of a name have no port, and SRV needs one");
        wrong("srv", trouble.expected("`pool` or `services`"));
    }
    if host.wrote("fallback") && host.wrote("last-resort") {
        let message = "`fallback` and `last-resort` exclude each other: write one of them";
        wrong("fallback", Trouble::new(message));
    }
    let known = candidates(host, effective);
    let mut networks: HashSet<super::super::packets::Prefix> = HashSet::new();
    for (at, region) in host.list("near").iter().enumerate() {
        let below = format!("{path}.near[{at}]");
        for name in region.texts("prefer").iter().filter(|_| known.is_some()) {
            let known = known.as_deref().unwrap_or_default();
            if !known.contains(name) {
                let near = nearest(name, known.iter().map(String::as_str));
                let trouble =
                    Trouble::new(format!("`{name}` is not among what the name stands for"))
                        .expected(format!("one of {}", known.join(", ")))
                        .suggest(near.map(|name| format!("\"{name}\"")));
                sink.error(region.place_of("prefer"), &format!("{below}.prefer"), trouble);
            }
        }
        for network in region.prefixes("client") {
            if !networks.insert(*network) {
                let trouble = Trouble::new(format!("{network} stands in two regions"));
                sink.error(region.place_of("client"), &format!("{below}.client"), trouble);
            }
        }
    }
}

/// Names of what a name stands for; `None` where they are found only at run time.
fn candidates(host: &Section, effective: &Effective) -> Option<Vec<String>> {
    let text = |one: &Section| one.text("name").unwrap_or_default().to_owned();
    if let Some(pool) = host.text("pool") {
        let pool = effective.pools.iter().find(|it| it.name == pool)?;
        let found = pool.setting("servers-from").is_some();
        return (!found).then(|| pool.list("servers").iter().map(text).collect());
    }
    if !host.texts("services").is_empty() {
        return Some(host.texts("services").to_vec());
    }
    Some(host.list("addresses").iter().map(text).collect())
}

fn whole_seconds(section: &Section, path: &str, keys: &[&str], sink: &mut Sink<'_, '_>) {
    for key in keys {
        if section.span(key).subsec_nanos() != 0 && section.wrote(key) {
            let trouble = Trouble::new("DNS counts whole seconds").expected("such as \"5s\"");
            sink.error(section.place_of(key), &format!("{path}.{key}"), trouble);
        }
    }
}
