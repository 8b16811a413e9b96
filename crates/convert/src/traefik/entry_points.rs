//! Entry points: addresses, and what holds for every router that is attached to them.

use crate::document::TomlTable;
use crate::duration::format_duration;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::option_tree::OptionNode;
use super::redirects::SchemeRedirect;
use super::transports::ENDLESS;

/// Traefik's time for a whole request, in milliseconds.
const READ_MS: u64 = 60_000;
/// Traefik's time for an idle connection, in milliseconds.
const IDLE_MS: u64 = 180_000;
/// Traefik's time for requests under way when it stops, in milliseconds.
const GRACE_MS: u64 = 10_000;
/// Traefik's number of requests at a time on a connection of HTTP/2.
const STREAMS: i64 = 250;
/// The most bytes of a head here.
const HEAD_BYTES: i64 = 60 * 1_024;

/// An address where connections arrive.
#[derive(Clone, Debug)]
pub struct EntryPoint<'t> {
    pub name: String,
    pub node: Option<&'t OptionNode>,
    /// In the form of `listen`.
    pub address: String,
    pub port: u16,
    pub is_udp: bool,
    /// Routers that name no entry point are attached to it.
    pub is_default: bool,
    /// `http.tls`.
    pub tls: Option<&'t OptionNode>,
    /// Routers judge clients by the addresses of their connections, which `trust` would replace.
    pub judges_clients: bool,
}

impl<'t> EntryPoint<'t> {
    fn get(&self, path: &[&str]) -> Option<&'t OptionNode> {
        self.node.and_then(|node| node.find(path))
    }

    pub fn place(&self) -> SourcePlace {
        self.node.map_or(SourcePlace::NONE, OptionNode::place)
    }

    /// `http.middlewares`.
    pub fn middlewares(&self) -> Option<&'t OptionNode> {
        self.get(&["http", "middlewares"])
    }

    /// Networks whose X-Forwarded fields are believed.
    pub fn trusted(&self) -> Vec<String> {
        match self.judges_clients {
            true => Vec::new(),
            false => networks(self.get(&["forwardedHeaders"])),
        }
    }

    /// Networks whose PROXY headers are believed.
    pub fn proxies(&self) -> Vec<String> {
        networks(self.get(&["proxyProtocol"]))
    }
}

/// The networks of `trustedIPs`, or all with `insecure`.
fn networks(node: Option<&OptionNode>) -> Vec<String> {
    let Some(node) = node else { return Vec::new() };
    if node.is_on("insecure") {
        return vec!["0.0.0.0/0".to_owned(), "::/0".to_owned()];
    }
    node.texts_of("trustedIPs").into_iter().map(|network| network.text).collect()
}

/// The entry points of a file. Without any, the usual ones are assumed.
pub fn read_entry_points<'t>(
    root: &'t OptionNode,
    notes: &mut ConversionNotes,
) -> Vec<EntryPoint<'t>> {
    let Some(table) = root.get("entryPoints") else {
        let reason = "the file has no entry points: `web` and `http` are taken for port 80, `websecure` and `https` for 443";
        notes.changed(SourcePlace::NONE, "entryPoints", reason, "`listen` of the services");
        let usual = ["web:80", "websecure:443", "http:80", "https:443"];
        return usual.iter().filter_map(|text| assumed(text)).collect();
    };
    let mut out: Vec<EntryPoint<'t>> =
        table.entries().iter().filter_map(|node| read_entry_point(node, notes)).collect();
    let judges_clients = judges_clients(root);
    out.iter_mut().for_each(|point| point.judges_clients = judges_clients);
    let chosen = |point: &EntryPoint<'_>| point.node.is_some_and(|node| node.is_on("asDefault"));
    if out.iter().any(chosen) {
        out.iter_mut().for_each(|point| point.is_default = chosen(point));
    }
    out
}

/// Whether a router or a middleware asks for the client's address.
fn judges_clients(node: &OptionNode) -> bool {
    let names = ["ipallowlist", "ipwhitelist"];
    let rule = node.text_of("rule").map(str::to_ascii_lowercase);
    names.iter().any(|name| node.key.eq_ignore_ascii_case(name))
        || rule.is_some_and(|rule| rule.contains("clientip"))
        || node.children().iter().any(judges_clients)
}

fn assumed<'t>(text: &str) -> Option<EntryPoint<'t>> {
    let (name, port) = text.split_once(':')?;
    Some(EntryPoint {
        name: name.to_owned(),
        node: None,
        address: format!(":{port}"),
        port: port.parse().ok()?,
        is_udp: false,
        is_default: name.starts_with("web"),
        tls: None,
        judges_clients: false,
    })
}

fn read_entry_point<'t>(
    node: &'t OptionNode,
    notes: &mut ConversionNotes,
) -> Option<EntryPoint<'t>> {
    let text = node.text_of("address").unwrap_or_default().trim();
    let (address, protocol) = text.split_once('/').unwrap_or((text, "tcp"));
    let port = address.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    let Some(port) = port else {
        node.left_out(notes, "it has no address with a port", "`listen` of a service");
        return None;
    };
    Some(EntryPoint {
        name: node.key.clone(),
        node: Some(node),
        address: address.to_owned(),
        port,
        is_udp: protocol.eq_ignore_ascii_case("udp"),
        is_default: node.key != "traefik",
        tls: node.find(&["http", "tls"]),
        judges_clients: false,
    })
}

/// `http.redirections.entryPoint`: where requests of the entry point are redirected to.
pub fn redirection(
    point: &EntryPoint<'_>,
    all: &[EntryPoint<'_>],
    notes: &mut ConversionNotes,
) -> Option<SchemeRedirect> {
    let node = point.get(&["http", "redirections", "entryPoint"])?;
    let to = node.text_of("to").unwrap_or_default();
    let port = match to.strip_prefix(':') {
        Some(port) => port.to_owned(),
        None => match all.iter().find(|one| one.name == to) {
            Some(target) => target.port.to_string(),
            None => {
                node.left_out(notes, "there is no such entry point here", "`redirect` in a rule");
                return Some(SchemeRedirect {
                    scheme: "https".to_owned(),
                    port: String::new(),
                    permanent: false,
                });
            }
        },
    };
    node.converted(notes);
    let permanent =
        node.text_of("permanent").is_none_or(|text| !text.eq_ignore_ascii_case("false"));
    let scheme = node.text_of("scheme").unwrap_or("https").to_ascii_lowercase();
    let scheme = if scheme == "http" { scheme } else { "https".to_owned() };
    Some(SchemeRedirect { scheme, port, permanent })
}

/// The priority of the redirect. Without one it comes before all routers.
pub fn redirection_priority(point: &EntryPoint<'_>) -> i64 {
    let node = point.get(&["http", "redirections", "entryPoint"]);
    node.and_then(|node| node.number_of("priority")).filter(|one| *one > 0).unwrap_or(i64::MAX)
}

/// Writes the keys of the service that the entry point becomes.
pub fn write_service(
    point: &EntryPoint<'_>,
    tls: bool,
    is_http: bool,
    service: &mut TomlTable,
    notes: &mut ConversionNotes,
) {
    let address = point.get(&["address"]).map_or(SourcePlace::NONE, OptionNode::place);
    service.push_item("listen", value::quote(&point.address), address);
    service.set("forward", value::quote(if is_http { "http" } else { "tcp" }), SourcePlace::NONE);
    let proxies = point.proxies();
    if !proxies.is_empty() {
        let from = KeyValue::new("from", value::quote_all(&proxies));
        let others = KeyValue::new("others", value::quote("plain"));
        service.set_required("accept-proxy", value::table(&[from, others]), SourcePlace::NONE);
    }
    let trusted = point.trusted();
    let forwarded = point.get(&["forwardedHeaders"]);
    if let Some(node) =
        forwarded.filter(|node| trusted.is_empty() && !networks(Some(node)).is_empty())
    {
        let reason = "access is judged by the address of the connection: no address is taken from X-Forwarded-For";
        node.left_out(
            notes,
            reason,
            "`trust` of the service, if `client` in its rules may follow it",
        );
    }
    if is_http {
        if !trusted.is_empty() {
            service.set("trust", value::quote_all(&trusted), SourcePlace::NONE);
        }
        let fields = "{ x-forwarded = \"append\", via = false }";
        service.set("forwarded", fields, SourcePlace::NONE);
        write_http(point, tls, service, notes);
    }
    write_times(point, is_http, service);
    settle(point, notes);
}

fn write_http(
    point: &EntryPoint<'_>,
    tls: bool,
    service: &mut TomlTable,
    notes: &mut ConversionNotes,
) {
    let streams = point.get(&["http2"]).and_then(|node| node.number_of("maxConcurrentStreams"));
    let streams = streams.filter(|streams| *streams > 0).unwrap_or(STREAMS).min(10_000);
    let offer = if tls { "tls" } else { "always" };
    let http2 = format!("{{ offer = \"{offer}\", streams = {streams} }}");
    service.set("http2", http2, SourcePlace::NONE);
    if let Some(http3) = point.get(&["http3"]) {
        match tls {
            true => {
                service.set("http3", value::quote("on"), http3.place());
                http3.converted(notes);
            }
            false => http3.left_out(
                notes,
                "HTTP/3 is spoken where TLS is",
                "`http3` of a service with `tls`",
            ),
        }
    }
    let cleans = point.get(&["http", "sanitizePath"]).and_then(OptionNode::as_text);
    if cleans.is_none_or(|text| !text.eq_ignore_ascii_case("false")) {
        service.set("path-normalization", value::quote("normal-form"), SourcePlace::NONE);
    }
    let names = point.get(&["http", "underscoreHeadersStrategy"]).and_then(OptionNode::as_text);
    if let Some(names) = names.filter(|names| *names != "keep") {
        let names = if names == "reject" { "refuse" } else { "drop" };
        service.set("field-names", value::quote(names), SourcePlace::NONE);
    }
    if let Some(bytes) = point.get(&["http", "maxHeaderBytes"]) {
        let most = bytes.as_text().and_then(|text| text.parse::<i64>().ok()).unwrap_or(0);
        let most = most.clamp(1_024, HEAD_BYTES);
        service.set("limit", format!("{{ header-bytes = \"{most}B\" }}"), bytes.place());
        bytes.changed(notes, "a head has at most 60 KiB", "");
    }
}

fn write_times(point: &EntryPoint<'_>, is_http: bool, service: &mut TomlTable) {
    let transport = |group: &str, key: &str| {
        let node = point.get(&["transport", group]);
        node.filter(|node| node.get(key).is_some()).and_then(|node| node.duration_of(key))
    };
    // Zero means no end.
    let time = |ms: u64| if ms == 0 { ENDLESS.to_owned() } else { format_duration(ms) };
    let drain = format_duration(transport("lifeCycle", "graceTimeOut").unwrap_or(GRACE_MS));
    let value = if is_http {
        let read = time(transport("respondingTimeouts", "readTimeout").unwrap_or(READ_MS));
        let idle = time(transport("respondingTimeouts", "idleTimeout").unwrap_or(IDLE_MS));
        let write = transport("respondingTimeouts", "writeTimeout").filter(|ms| *ms > 0);
        let whole = write.map_or(String::new(), |ms| format!("total = {}, ", format_duration(ms)));
        format!(
            "{{ header = {read}, idle = {idle}, between-bytes = {read}, {whole}tunnel = {ENDLESS}, drain = {drain} }}"
        )
    } else {
        format!("{{ tunnel = {ENDLESS}, drain = {drain} }}")
    };
    service.set("timeout", value, SourcePlace::NONE);
}

/// Settles the options of an entry point that became a service.
fn settle(point: &EntryPoint<'_>, notes: &mut ConversionNotes) {
    for path in [
        &["address"][..],
        &["asDefault"],
        &["transport", "lifeCycle", "graceTimeOut"],
        &["transport", "respondingTimeouts"],
        &["proxyProtocol", "trustedIPs"],
        &["http2", "maxConcurrentStreams"],
        &["http", "sanitizePath"],
        &["http", "underscoreHeadersStrategy"],
        &["http", "middlewares"],
    ] {
        point.get(path).into_iter().for_each(|node| node.converted(notes));
    }
    let changed: [(&[&str], &str); 11] = [
        (
            &["forwardedHeaders", "trustedIPs"],
            "X-Forwarded-Host and X-Forwarded-Port are passed on from these networks, X-Real-Ip too, which is never added",
        ),
        (
            &["forwardedHeaders", "insecure"],
            "every client is believed what it says of others, and X-Real-Ip is not added: name the proxies in front",
        ),
        (
            &["proxyProtocol", "insecure"],
            "every client is believed what it says of others: name the proxies in front",
        ),
        (&["forwardedHeaders", "connection"], "fields of a connection are never passed on"),
        (
            &["forwardedHeaders", "addXForwardedSchemeHeaders"],
            "the scheme is told in X-Forwarded-Proto alone",
        ),
        (
            &["forwardedHeaders", "notAppendXForwardedFor"],
            "the client's address is always appended to X-Forwarded-For",
        ),
        (&["reusePort"], "each worker has a listener of its own"),
        (&["allowACMEByPass"], "challenges of ACME are answered before rules"),
        (&["observability"], "logs and metrics are those of the whole process"),
        (&["http", "encodeQuerySemicolons"], "a query goes on as the client wrote it"),
        (
            &["http", "encodedCharacters"],
            "a path that servers may read in several ways is judged in each of them",
        ),
    ];
    for (path, reason) in changed {
        if let Some(node) = point.get(path) {
            match point.judges_clients && path.starts_with(&["forwardedHeaders"]) {
                true => node.left_out(notes, "no network is believed here", "`trust`"),
                false => node.changed(notes, reason, ""),
            }
        }
    }
    for key in ["keepAliveMaxTime", "keepAliveMaxRequests"] {
        if let Some(node) = point.get(&["transport", key]) {
            node.changed(
                notes,
                "connections of HTTP/2 and HTTP/3 have an age, others none",
                "`http2.max-age`",
            );
        }
    }
    if let Some(node) = point.get(&["transport", "lifeCycle", "requestAcceptGraceTimeout"]) {
        node.changed(notes, "a stop ends listening at once", "`steelyard drain` before it");
    }
}
