//! Verifies the name server, zones and names: names outside zones, alias loops, duplicates, and names without any
//! response.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use super::keys::STRING;
use super::types::{is_within_zone, normalize_name};
use crate::config::address::ServerHost;
use crate::config::decode::key_path::quote_key;
use crate::config::effective_settings::EffectiveSettings;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;
use crate::config::suggestion::nearest_match;

/// The longest name as text, bytes (RFC 1035 §2.3.4).
const LONGEST: usize = 253;

/// Verifies all DNS tables. `whole`: the file was parsed completely.
pub fn verify_dns(effective: &EffectiveSettings, whole: bool, sink: &mut FindingCollector<'_, '_>) {
    verify_name_server(effective, sink);
    let zones: Vec<String> =
        effective.zones.iter().map(|zone| normalize_name(&zone.name)).collect();
    verify_unique_names(&effective.zones, "zone", sink);
    verify_unique_names(&effective.dns_names, "name", sink);
    let known: HashMap<String, &ConfigSection> =
        effective.dns_names.iter().map(|host| (normalize_name(&host.name), host)).collect();
    for zone in &effective.zones {
        verify_zone(zone, &zones, &known, whole, sink);
    }
    for host in &effective.dns_names {
        let path = format!("name.{}", quote_key(&host.name));
        if whole {
            verify_source(host, &path, effective, sink);
        }
        verify_zone_membership(host, &path, &zones, &known, sink);
        verify_alias_chain(host, &path, effective, &known, sink);
        verify_policy(host, &path, effective, sink);
        verify_whole_seconds(host, &path, &["ttl"], sink);
    }
}

fn verify_name_server(effective: &EffectiveSettings, sink: &mut FindingCollector<'_, '_>) {
    let section = &effective.name_server;
    let all = section.sockets("listen").iter().find(|at| at.ip().is_unspecified());
    if let Some(at) = all {
        let trouble = FindingDetails::new(format!("{at} is every address of this machine"))
            .with_expected(
                "each address by itself: an answer must come from the address that was asked",
            );
        sink.error(section.span_of("listen"), "names.listen", trouble);
    }
    let mut seen = HashSet::new();
    if let Some(at) = section.sockets("listen").iter().find(|at| !seen.insert(**at)) {
        let trouble = FindingDetails::new(format!("{at} stands here twice"));
        sink.error(section.span_of("listen"), "names.listen", trouble);
    }
    if section.sockets("listen").is_empty()
        && !section.is_invalid("listen")
        && let Some(first) = effective.zones.first()
    {
        let trouble = FindingDetails::new("nobody answers for this zone").with_found("nothing");
        let trouble = trouble.with_expected("addresses to listen on: `[names]` with `listen`");
        sink.warning(first.span, &format!("zone.{}", quote_key(&first.name)), trouble);
    }
}

/// Reports two spellings of one name.
fn verify_unique_names(
    sections: &[ConfigSection],
    kind: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let mut seen: HashMap<String, &str> = HashMap::new();
    for section in sections {
        if let Some(other) = seen.insert(normalize_name(&section.name), &section.name) {
            let message = format!("`{other}` is the same name already: case does not count in DNS");
            let path = format!("{kind}.{}", quote_key(&section.name));
            sink.error(
                section.span,
                &path,
                FindingDetails::new(message).with_expected("each name once"),
            );
        }
    }
}

pub fn verify_zone(
    zone: &ConfigSection,
    zones: &[String],
    known: &HashMap<String, &ConfigSection>,
    whole: bool,
    sink: &mut FindingCollector<'_, '_>,
) {
    let path = format!("zone.{}", quote_key(&zone.name));
    let name = normalize_name(&zone.name);
    if name.is_empty() || name.parse::<IpAddr>().is_ok() {
        let trouble = FindingDetails::new("not a zone that can be delegated to us");
        sink.error(zone.span, &path, trouble.with_expected("a name such as \"gslb.example.org\""));
    }
    verify_whole_seconds(zone, &path, &["ttl", "negative-ttl"], sink);
    for server in zone.texts("nameservers") {
        let server = normalize_name(server);
        let ours = zones.iter().any(|zone| is_within_zone(&server, zone));
        let addressed = known.get(&server).is_some_and(|host| host.setting("cname").is_none());
        if whole && ours && !addressed {
            let message = format!("`{server}` lies in a zone of ours, and has no address there");
            let expected = format!("a table `[name.\"{server}\"]` with `addresses`");
            let trouble = FindingDetails::new(message).with_expected(expected);
            sink.error(zone.span_of("nameservers"), &format!("{path}.nameservers"), trouble);
        }
    }
    let contact = zone.text("contact").unwrap_or_default();
    let parts: Vec<&str> = contact.split(['@', '.']).collect();
    let label = |part: &&str| (1..=63).contains(&part.len()) && !part.contains([' ', '\\', '"']);
    if zone.is_written("contact") && !(parts.len() >= 2 && parts.iter().all(label)) {
        let trouble = FindingDetails::new("not a mail address that SOA can carry");
        let trouble =
            trouble.with_expected("such as \"hostmaster@example.org\", without a dot before the @");
        sink.error(zone.span_of("contact"), &format!("{path}.contact"), trouble);
    }
    if let Some(text) = zone.texts("txt").iter().find(|text| text.len() > STRING) {
        let message = format!("a string of {} bytes does not fit a TXT record", text.len());
        let trouble = FindingDetails::new(message).with_expected(format!("at most {STRING}"));
        sink.error(zone.span_of("txt"), &format!("{path}.txt"), trouble);
    }
}

/// Requires exactly one source of addresses, which must exist.
fn verify_source(
    host: &ConfigSection,
    path: &str,
    effective: &EffectiveSettings,
    sink: &mut FindingCollector<'_, '_>,
) {
    let kinds = ["pool", "services", "addresses", "cname"];
    if !kinds.iter().any(|kind| host.setting(kind).is_some()) {
        let trouble =
            FindingDetails::new("a name needs something to stand for").with_found("nothing");
        let trouble = trouble.with_expected("`pool`, `services`, `addresses` or `cname`");
        return sink.error(host.span, path, trouble);
    }
    let mut absent = |key: &str, kind: &str, wanted: &str, there: &[ConfigSection]| {
        if there.iter().any(|one| one.name == wanted) {
            return;
        }
        let near = nearest_match(wanted, there.iter().map(|one| one.name.as_str()));
        let trouble = FindingDetails::new(format!("there is no {kind} `{wanted}`"))
            .with_expected(format!("the name of a table `[{kind}.NAME]`"))
            .with_suggestion(near.map(|name| format!("\"{name}\"")));
        sink.error(host.span_of(key), &format!("{path}.{key}"), trouble);
    };
    if let Some(pool) = host.text("pool") {
        absent("pool", "pool", pool, &effective.pools);
    }
    for service in host.texts("services") {
        absent("services", "service", service, &effective.services);
    }
    for service in effective.services.iter().filter(|it| host.texts("services").contains(&it.name))
    {
        if service.listen_ranges("listen").iter().all(|span| span.address.is_unspecified()) {
            let message =
                format!("service `{}` listens on every address of this machine", service.name);
            let trouble = FindingDetails::new(message);
            let trouble =
                trouble.with_expected("a service with an address of its own, or `addresses`");
            sink.error(host.span_of("services"), &format!("{path}.services"), trouble);
        }
    }
    if host.setting("addresses").is_some()
        && !host.is_invalid("addresses")
        && host.list("addresses").is_empty()
    {
        let trouble = FindingDetails::new("a name needs an address").with_found("an empty list");
        sink.error(host.span_of("addresses"), &format!("{path}.addresses"), trouble);
    }
}

fn verify_zone_membership(
    host: &ConfigSection,
    path: &str,
    zones: &[String],
    known: &HashMap<String, &ConfigSection>,
    sink: &mut FindingCollector<'_, '_>,
) {
    let name = normalize_name(&host.name);
    if !zones.iter().any(|zone| is_within_zone(&name, zone)) {
        let trouble = FindingDetails::new(format!("`{name}` lies in no zone of ours"))
            .with_found(host.name.clone())
            .with_expected("a name within a table `[zone.NAME]`")
            .with_suggestion(zones.first().map(|zone| {
                let first = name.split('.').next().unwrap_or_default();
                format!("\"{first}.{zone}\"")
            }));
        sink.error(host.span, path, trouble);
    }
    let is_zone = zones.contains(&name);
    if is_zone && host.setting("cname").is_some() {
        let message =
            "a zone's own name has SOA and NS, and so cannot be an alias (RFC 1034 §3.6.2)";
        sink.error(host.span_of("cname"), &format!("{path}.cname"), FindingDetails::new(message));
    }
    for labels in host.texts("srv") {
        let whole = format!("{}.{name}", normalize_name(labels));
        let odd = normalize_name(labels).split('.').any(|label| !label.starts_with('_'));
        if odd || whole.len() > LONGEST {
            let trouble =
                FindingDetails::new(format!("`{labels}` does not name a service and a protocol"));
            let trouble = trouble.with_expected("labels such as \"_http._tcp\" (RFC 2782)");
            sink.error(host.span_of("srv"), &format!("{path}.srv"), trouble);
        }
        if known.contains_key(&whole) {
            let message = format!("`{whole}` is a table of its own already");
            sink.error(host.span_of("srv"), &format!("{path}.srv"), FindingDetails::new(message));
        }
    }
}

/// An alias must end at an address, and a name must not depend on its own resolution.
fn verify_alias_chain(
    host: &ConfigSection,
    path: &str,
    effective: &EffectiveSettings,
    known: &HashMap<String, &ConfigSection>,
    sink: &mut FindingCollector<'_, '_>,
) {
    let name = normalize_name(&host.name);
    let mut walk = vec![name.clone()];
    let mut at = host;
    while let Some(target) = at.text("cname").map(normalize_name) {
        let again = walk.contains(&target);
        walk.push(target.clone());
        if again {
            let trouble = FindingDetails::new(format!("the name loops: {}", walk.join(" → ")));
            let trouble = trouble.with_expected("an alias of a name that has addresses");
            return sink.error(host.span_of("cname"), &format!("{path}.cname"), trouble);
        }
        let Some(next) = known.get(&target) else { return };
        at = next;
    }
    let pool = at.text("pool").and_then(|pool| effective.pools.iter().find(|it| it.name == pool));
    for server in pool.into_iter().flat_map(|pool| pool.list("servers")) {
        let Some(ServerHost::Name(asked)) = server.server_address("address").map(|at| &at.host)
        else {
            continue;
        };
        if walk.contains(&normalize_name(asked)) {
            let server = server.text("name").unwrap_or_default();
            let message = format!(
                "the name loops: {} → server `{server}` → {asked}, which only this answer resolves",
                walk.join(" → ")
            );
            let trouble = FindingDetails::new(message)
                .with_expected("servers with addresses, or other names");
            let key = if host.text("pool").is_some() { "pool" } else { "cname" };
            sink.error(host.span_of(key), &format!("{path}.{key}"), trouble);
        }
    }
}

fn verify_policy(
    host: &ConfigSection,
    path: &str,
    effective: &EffectiveSettings,
    sink: &mut FindingCollector<'_, '_>,
) {
    let mut wrong = |key: &str, trouble: FindingDetails| {
        sink.error(host.span_of(key), &format!("{path}.{key}"), trouble);
    };
    let by = host.text("policy").unwrap_or_default();
    if host.text("cname").is_some() {
        let keys = ["policy", "near", "answers", "fallback", "last-resort", "srv", "https"];
        for key in keys.into_iter().filter(|key| host.is_written(key)) {
            wrong(
                key,
                FindingDetails::new(format!(
                    "`{key}` belongs to the name that this is an alias of"
                )),
            );
        }
        return;
    }
    if by == "nearest" && host.list("near").is_empty() && !host.is_invalid("near") {
        let trouble = FindingDetails::new("`nearest` needs regions").with_found("none");
        wrong("policy", trouble.with_expected("`near` with networks of clients"));
    }
    if by != "nearest" && host.is_written("near") {
        wrong("near", FindingDetails::new("`near` belongs to `policy = \"nearest\"`"));
    }
    for key in ["mask4", "mask6"].into_iter().filter(|key| by != "sticky" && host.is_written(key)) {
        wrong(key, FindingDetails::new(format!("`{key}` belongs to `policy = \"sticky\"`")));
    }
    if host.is_written("srv") && host.setting("addresses").is_some() {
        let trouble = FindingDetails::new("addresses of a name have no port, and SRV needs one");
        wrong("srv", trouble.with_expected("`pool` or `services`"));
    }
    if host.is_written("fallback") && host.is_written("last-resort") {
        let message = "`fallback` and `last-resort` exclude each other: write one of them";
        wrong("fallback", FindingDetails::new(message));
    }
    let known = candidate_names(host, effective);
    let mut networks: HashSet<crate::config::ip_prefix::IpPrefix> = HashSet::new();
    for (at, region) in host.list("near").iter().enumerate() {
        let below = format!("{path}.near[{at}]");
        for name in region.texts("prefer").iter().filter(|_| known.is_some()) {
            let known = known.as_deref().unwrap_or_default();
            if !known.contains(name) {
                let near = nearest_match(name, known.iter().map(String::as_str));
                let trouble =
                    FindingDetails::new(format!("`{name}` is not among what the name stands for"))
                        .with_expected(format!("one of {}", known.join(", ")))
                        .with_suggestion(near.map(|name| format!("\"{name}\"")));
                sink.error(region.span_of("prefer"), &format!("{below}.prefer"), trouble);
            }
        }
        for network in region.prefixes("client") {
            if !networks.insert(*network) {
                let trouble = FindingDetails::new(format!("{network} stands in two regions"));
                sink.error(region.span_of("client"), &format!("{below}.client"), trouble);
            }
        }
    }
}

/// Names of a name's servers; `None`: discovered at run time.
fn candidate_names(host: &ConfigSection, effective: &EffectiveSettings) -> Option<Vec<String>> {
    let text = |one: &ConfigSection| one.text("name").unwrap_or_default().to_owned();
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

fn verify_whole_seconds(
    section: &ConfigSection,
    path: &str,
    keys: &[&str],
    sink: &mut FindingCollector<'_, '_>,
) {
    for key in keys {
        if section.time_or_zero(key).subsec_nanos() != 0 && section.is_written(key) {
            let trouble =
                FindingDetails::new("DNS counts whole seconds").with_expected("such as \"5s\"");
            sink.error(section.span_of(key), &format!("{path}.{key}"), trouble);
        }
    }
}
