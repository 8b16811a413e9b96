//! A backend as a pool.

use crate::document::{Document, TomlTable};
use crate::duration::{self, TimeSetting};
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::bind::FileBases;
use super::cookie;
use super::health_check::{self, CheckSettings, CheckTimes};
use super::lex::ConfigLine;
use super::section::{HaproxySection, SectionKind};
use super::server::{self, AgentCheckSettings, HaproxyServer};
use super::settings::{ProxySettings, ServerLine};

/// Writes the pool. `ports`: the ports on which its clients connect, for servers without a port.
pub fn write(
    section: &HaproxySection,
    settings: &ProxySettings,
    name: &str,
    ports: &[u16],
    bases: &FileBases,
    document: &mut Document,
    notes: &mut ConversionNotes,
) {
    if let Some(line) = settings.disabled.as_ref().filter(|_| section.kind == SectionKind::Backend)
    {
        let reason = "a pool is not disabled: what goes there is served";
        notes.left_out(line.source, &line.text(), reason, "`state = \"disabled\"` of its servers");
    }
    if section.kind == SectionKind::Backend {
        for line in &settings.binds {
            notes.left_out(line.source, &line.text(), "a backend listens nowhere", "a frontend");
        }
    }
    if settings.servers.is_empty() {
        // Frontends report a backend without servers. Its requests are answered with 503, as in HAProxy.
        return notes.converted(section.source);
    }
    let path = format!("pool.{name}");
    let mut pool = TomlTable::new(path.clone(), section.source, &section.keyword);
    balance(settings, &mut pool, notes);
    let servers = servers(settings, ports, bases, &mut pool, notes);
    let check = health_check::health_check(settings, notes);
    let times = servers.iter().find(|one| one.checked).map(|one| one.times.clone());
    if let Some(times) = &times {
        pool.set("probe", check.to_toml(times), check.source);
        pool.add_sources("probe", &check.time_source);
    }
    write_common_settings(&servers, &mut pool, notes);
    match settings.single.get("retries") {
        Some(line) => pool.set("retries", line.word(1), line.source),
        None => pool.set("retries", RETRIES.to_string(), SourcePlace::NONE),
    }
    match settings.single.get("retry-on") {
        Some(line) => retry_on(line, &mut pool, notes),
        // HAProxy's own value is `conn-failure`.
        None if settings.http && pool.get("retries") != Some("0") => {
            let only = KeyValue::new("unsent-only", "true");
            pool.set("retry", value::table(&[only]), SourcePlace::NONE);
        }
        None => {}
    }
    let retries = pool.get("retries").and_then(|text| text.parse().ok()).unwrap_or(RETRIES);
    source(settings, &mut pool, notes);
    let mut names = UniqueNames::default();
    for one in servers.iter().filter(|one| !one.is_template) {
        let value = server_entry(one, names.unique_name(&one.name), times.as_ref(), &check);
        pool.push_item("servers", value, one.source);
    }
    if pool.has("servers") || pool.has("servers-from") {
        document.push(pool);
        timeouts(&path, settings, retries, document);
    } else {
        notes.left_out(
            section.source,
            &section.keyword,
            "none of its servers can be carried over",
            "",
        );
    }
}

/// HAProxy's own number of retries.
const RETRIES: u64 = 3;

/// The longest time for a connection, in milliseconds. HAProxy waits without an end where no time is written.
const LONGEST_CONNECT: u64 = 600_000;

/// The longest time in the queue, in milliseconds: a day.
const LONGEST_QUEUE: u64 = 86_400_000;

/// Failures that trigger a retry. Failed connections are always retried, so they need no setting.
fn retry_on(line: &ConfigLine, pool: &mut TomlTable, notes: &mut ConversionNotes) {
    let words: Vec<&str> =
        (1..).map(|at| line.word(at)).take_while(|word| !word.is_empty()).collect();
    if words == ["none"] {
        return pool.set("retries", "0", line.source);
    }
    let known = [
        "all-retryable-errors",
        "conn-failure",
        "empty-response",
        "junk-response",
        "response-timeout",
    ];
    if words.is_empty() {
        notes.left_out(line.source, &line.text(), "no failure is named", "`retry` of the pool");
    }
    if words.contains(&"conn-failure") || words.contains(&"empty-response") {
        notes.converted(line.source);
    }
    for word in words.iter().filter(|word| !known.contains(word) && word.parse::<u16>().is_err()) {
        let reason = format!("`{word}` is no failure after which a request is sent again");
        notes.left_out(line.source, &line.text(), &reason, "`retry` of the pool");
    }
    let all = words.contains(&"all-retryable-errors");
    let mut statuses: Vec<String> = words
        .iter()
        .filter(|word| word.parse::<u16>().is_ok())
        .map(|word| (*word).to_owned())
        .collect();
    if all {
        statuses = ["500", "502", "503", "504"].map(str::to_owned).to_vec();
    }
    let mut pairs = Vec::new();
    if !statuses.is_empty() {
        pairs.push(KeyValue::new("on", value::list(statuses)));
    }
    for (word, key) in [("response-timeout", "on-timeout"), ("junk-response", "on-malformed")] {
        if all || words.contains(&word) {
            pairs.push(KeyValue::new(key, "true"));
        }
    }
    if !all && !words.contains(&"empty-response") {
        pairs.push(KeyValue::new("unsent-only", "true"));
    }
    if !pairs.is_empty() && pool.get("retries") != Some("0") {
        pool.set("retry", value::table(&pairs), line.source);
    }
}

fn balance(settings: &ProxySettings, pool: &mut TomlTable, notes: &mut ConversionNotes) {
    let Some(line) = settings.single.get("balance") else {
        return pool.set("balance", value::quote("round-robin"), SourcePlace::NONE);
    };
    let number = line.source;
    let (name, argument) = line.word(1).split_once('(').unwrap_or((line.word(1), ""));
    let argument = argument.trim_end_matches(')');
    let hashed = match name {
        "roundrobin" | "static-rr" => {
            return pool.set("balance", value::quote("round-robin"), number);
        }
        "leastconn" if settings.http => {
            return pool.set("balance", value::quote("least-request"), number);
        }
        "leastconn" => return pool.set("balance", value::quote("least-connections"), number),
        "random" => return pool.set("balance", value::quote("random"), number),
        "source" => return pool.set("balance", value::quote("source"), number),
        "uri" if line.has_word("whole") => Some(value::quote("uri")),
        "uri" => Some(value::quote("path")),
        "url_param" => Some(value::table(&[KeyValue::new("query", value::quote(line.word(2)))])),
        "hdr" => Some(value::table(&[KeyValue::new("header", value::quote(argument))])),
        "hash" => hash(line.word(2)),
        _ => None,
    };
    let Some(hashed) = hashed.filter(|_| settings.http || line.word(2) == "src") else {
        notes.left_out(
            number,
            &line.text(),
            "servers are not chosen so",
            "one of the policies of `balance`; `priority` of servers for `first`",
        );
        return pool.set("balance", value::quote("round-robin"), number);
    };
    match settings.single.get("hash-balance-factor").filter(|factor| factor.word(1) != "0") {
        Some(factor) => {
            let at = factor.source;
            let factor = KeyValue::new("load-factor", factor.word(1).to_owned());
            let bounded =
                value::table(&[KeyValue::new("by", value::quote("bounded-hash")), factor]);
            pool.set("balance", bounded, number);
            pool.add_sources("balance", &[at]);
        }
        None => pool.set("balance", value::quote("maglev"), number),
    }
    pool.set("hash-on", hashed, number);
}

fn hash(fetch: &str) -> Option<String> {
    let (name, argument) = fetch.split_once('(').unwrap_or((fetch, ""));
    let argument = value::quote(argument.split(')').next().unwrap_or_default());
    Some(match name {
        "src" => value::quote("address"),
        "path" => value::quote("path"),
        "pathq" | "url" => value::quote("uri"),
        "req.cook" | "cook" => value::table(&[KeyValue::new("cookie", argument)]),
        "req.hdr" | "hdr" => value::table(&[KeyValue::new("header", argument)]),
        "urlp" | "url_param" => value::table(&[KeyValue::new("query", argument)]),
        _ => return None,
    })
}

fn servers(
    settings: &ProxySettings,
    ports: &[u16],
    bases: &FileBases,
    pool: &mut TomlTable,
    notes: &mut ConversionNotes,
) -> Vec<HaproxyServer> {
    let mut out = Vec::new();
    for ServerLine { line, defaults } in &settings.servers {
        if line.word(0) == "server-template" {
            if server_template(line, pool, notes) {
                out.push(server::read_template(line, defaults, bases, notes));
            }
            continue;
        }
        let Some(mut server) = server::read(line, defaults, bases, notes) else { continue };
        let mut own: Vec<u16> = ports.to_vec();
        own.dedup();
        match (server.port, &own[..]) {
            (Some(_), _) => {}
            (None, _) if server.is_unix() => {}
            (None, [only]) => server.port = Some(*only),
            (None, _) => {
                notes.left_out(
                    line.source,
                    &line.text(),
                    "the server has no port, and its clients come to several or none",
                    "a port",
                );
                continue;
            }
        }
        out.push(server);
    }
    cookie::write_values(settings, &mut out, notes);
    let backups = out.iter().filter(|one| one.backup).count();
    if let Some(last) = out.iter().rfind(|one| one.backup)
        && backups > 1
        && settings.options.get("allbackups").inspect(|line| line.mark_converted()).is_none()
    {
        let reason = "all backups help when the others are down, not the first of them alone";
        notes.changed(last.source, "backup", reason, "`priority` for an order among them");
    }
    out
}

/// `server-template PREFIX NUM NAME:PORT`. Returns false if the line cannot be carried over.
fn server_template(line: &ConfigLine, pool: &mut TomlTable, notes: &mut ConversionNotes) -> bool {
    let (host, port) = line.word(3).rsplit_once(':').unwrap_or((line.word(3), ""));
    let most = line.word(2).rsplit('-').next().unwrap_or_default();
    if pool.has("servers-from") || port.is_empty() || host.starts_with('_') {
        let instead = "`servers-from = { dns = …, port = … }`";
        let reason = "one name with a port for each pool";
        notes.left_out(line.source.whole(), &line.text(), reason, instead);
        return false;
    }
    // Marks the name prefix as read. It is not needed, because servers are named by their addresses.
    line.word(1);
    let pairs = [
        KeyValue::new("dns", value::quote(host)),
        KeyValue::new("port", port.to_owned()),
        KeyValue::new("max", most.to_owned()),
    ];
    pool.set("servers-from", value::table(&pairs), line.source);
    true
}

/// Writes the settings that all servers of a pool share.
fn write_common_settings(
    servers: &[HaproxyServer],
    pool: &mut TomlTable,
    notes: &mut ConversionNotes,
) {
    let Some(first) = servers.first() else { return };
    if let Some(keys) = &first.tls {
        pool.set_required("tls", value::table(keys), first.source);
    }
    if first.http2 {
        pool.set("http2", value::quote("only"), first.source);
    }
    if let Some(version) = first.header {
        pool.set_required("send-proxy", value::quote(version), first.source);
    }
    if let Some(ms) = servers.iter().find_map(|one| one.slow_start) {
        pool.set("slow-start", duration::format_duration(ms.max(1_000)), first.source);
    }
    if let Some(AgentCheckSettings { port, interval }) =
        servers.iter().find_map(|one| one.agent.clone())
    {
        let mut pairs = vec![KeyValue::new("kind", value::quote("text"))];
        if !port.is_empty() {
            pairs.push(KeyValue::new("port", port));
        }
        pairs.extend(interval.map(|ms| KeyValue::new("every", duration::format_duration(ms))));
        pool.set("agent", value::table(&pairs), first.source);
    }
    for other in servers {
        let alike = |one: &HaproxyServer| (one.tls.clone(), one.http2, one.header);
        if alike(other) != alike(first) {
            let reason = "all servers of a pool are spoken to in the same way, that of the first";
            notes.changed(
                other.source,
                &format!("server {}", other.name),
                reason,
                "pools of their own and a `split` rule",
            );
        }
    }
}

fn source(settings: &ProxySettings, pool: &mut TomlTable, notes: &mut ConversionNotes) {
    let Some(line) = settings.single.get("source") else { return };
    let address = line.word(1).split(':').next().unwrap_or_default();
    if line.len() > 2 {
        let instead = "`socket = { transparent = true }` in the pool, or `forward = \"nat\"` with `source = \"client\"`";
        notes.left_out(
            line.source,
            &line.text(),
            "clients' addresses need routes of their own",
            instead,
        );
    } else if address != "0.0.0.0" {
        pool.set("source", value::quote(address), line.source);
    }
}

/// Writes the times towards servers, the longest ones where none is written: HAProxy waits without an end then.
fn timeouts(path: &str, settings: &ProxySettings, retries: u64, document: &mut Document) {
    let mut times = TomlTable::new(format!("{path}.timeout"), SourcePlace::NONE, "");
    let mut set = |key: &'static str, time: TimeSetting| {
        times.set(key, duration::format_duration(time.ms), time.source);
    };
    let connect = settings.time_or(&["connect"], LONGEST_CONNECT);
    let server = settings.time_or(&["server"], duration::LONGEST_TIMEOUT);
    set("connect", connect);
    set("queue", settings.time_or(&["queue", "connect"], LONGEST_QUEUE));
    if settings.http {
        set("first-byte", server);
        set("between-bytes", server);
        set("stream", server);
        if retries > 0 {
            // Each attempt has its whole time.
            let all = (connect.ms + server.ms).saturating_mul(retries + 1);
            let ms = all.min(duration::LONGEST_TIMEOUT);
            set("attempts", TimeSetting { ms, source: SourcePlace::NONE });
        }
    }
    document.push(times);
}

fn server_entry(
    server: &HaproxyServer,
    name: String,
    times: Option<&CheckTimes>,
    check: &CheckSettings,
) -> String {
    let mut pairs: Vec<KeyValue> = vec![
        KeyValue::new("name", value::quote(&name)),
        KeyValue::new("address", value::quote(&server.address(80))),
    ];
    pairs.extend(server.keys.iter().cloned());
    if server.backup {
        pairs.push(KeyValue::new("backup", "true"));
    }
    match times {
        Some(_) if !server.checked => pairs.push(KeyValue::new("probe", value::quote("off"))),
        Some(common) if *common != server.times => {
            pairs.push(KeyValue::new("probe", check.to_toml(&server.times)))
        }
        _ => {}
    }
    value::table(&pairs)
}
