//! A backend as a pool.

use crate::document::{Document, TomlTable};
use crate::document_size::ITEMS;
use crate::duration::{self, TimeSetting};
use crate::empty_pool;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::backend_servers::{self, BackendSurroundings};
use super::health_check::{self, CheckSettings, CheckTimes};
use super::lex::ConfigLine;
use super::passive_check;
use super::section::{HaproxySection, SectionKind};
use super::server::HaproxyServer;
use super::settings::ProxySettings;
use super::shared_settings;

const DISABLED: &str = "it is disabled: its requests are answered with 503, as in HAProxy";

/// Writes the pool.
pub fn write(
    section: &HaproxySection,
    settings: &ProxySettings,
    name: &str,
    surroundings: BackendSurroundings<'_>,
    document: &mut Document,
    notes: &mut ConversionNotes,
) {
    let is_backend = section.kind == SectionKind::Backend;
    if let Some(line) = settings.disabled.as_ref().filter(|_| is_backend) {
        notes.not_needed(line.source, &line.text(), "nothing is written of what is disabled");
        return notes.left_out(section.source.whole(), &section.text, DISABLED, "");
    }
    if is_backend {
        for line in &settings.binds {
            notes.left_out(line.source, &line.text(), "a backend listens nowhere", "a frontend");
        }
    }
    if settings.servers.is_empty() {
        // Frontends report a backend without servers. Its requests are answered with 503, as in HAProxy.
        return notes.converted(section.source);
    }
    let path = format!("pool.{name}");
    let mut pool = TomlTable::new(path.clone(), section.source, &section.text);
    if settings.servers.len() > ITEMS || document.size.is_full() {
        // Nothing is written of the file, so its servers need not be read.
        return document.refuse(format!("`{path}` would have more than {ITEMS} entries in a list"));
    }
    balance(settings, &mut pool, notes);
    let servers = backend_servers::read(settings, surroundings, &mut pool, notes);
    let check = health_check::health_check(settings, notes);
    let times = backend_servers::common_times(&servers);
    if let Some(times) = &times {
        pool.set("probe", check.to_toml(times), check.source);
        pool.add_sources("probe", &check.time_source);
        note_short_check(&check, times, notes);
    } else if servers.iter().any(|one| one.checked) {
        // Each server has the whole probe.
        check.time_source.iter().chain([&check.source]).for_each(|source| notes.converted(*source));
    }
    shared_settings::write(&servers, &mut pool, notes);
    if settings.http {
        write_ejection(&servers, &mut pool);
    }
    let retries = write_retries(settings, &mut pool, notes);
    source(settings, &mut pool, notes);
    let mut names = UniqueNames::default();
    for one in servers.iter().filter(|one| !one.is_template) {
        let value = backend_servers::server_entry(
            one,
            names.unique_name(&one.name),
            times.as_ref(),
            &check,
        );
        pool.push_item("servers", value, one.source);
    }
    if pool.has("servers") || pool.has("servers-from") {
        document.push(pool);
        timeouts(&path, settings, retries, document);
    } else {
        let reason = "none of its servers can be carried over: its requests get 503";
        notes.left_out(section.source, &section.text, reason, "");
        if !surroundings.ports.is_empty() {
            // The other backends of its services are served.
            let mut pool = TomlTable::new(path, section.source, &section.text);
            empty_pool::push_disabled_server(&mut pool);
            document.push(pool);
        }
    }
}

/// Writes which answers put servers out, by the strictest line.
fn write_ejection(servers: &[HaproxyServer], pool: &mut TomlTable) {
    let limit = |one: &HaproxyServer| one.passive.limit(one.checked.then_some(&one.times));
    let observed = servers.iter().filter(|one| limit(one).is_some());
    match observed.min_by_key(|one| limit(one)) {
        Some(one) => passive_check::write(limit(one), one.source, pool),
        None => passive_check::write(None, SourcePlace::NONE, pool),
    }
}

/// A check that may take longer than the time between two is given up before.
fn note_short_check(check: &CheckSettings, times: &CheckTimes, notes: &mut ConversionNotes) {
    let every = times.interval.unwrap_or(health_check::INTERVAL);
    let Some(ms) = check.timeout.filter(|ms| *ms > every) else { return };
    let text = format!("timeout check {ms}ms");
    let reason = "a check takes at most as long as the time between two (`inter`)";
    for source in &check.time_source {
        notes.changed(*source, &text, reason, "`interval` and `timeout` of the probe");
    }
}

/// HAProxy's own number of retries.
const RETRIES: u64 = 3;

/// The longest time for a connection, in milliseconds. HAProxy waits without an end where no time is written.
const LONGEST_CONNECT: u64 = 600_000;

/// The longest time in the queue, in milliseconds: a day.
const LONGEST_QUEUE: u64 = 86_400_000;

/// Writes which failures are retried how often. Returns the number of retries.
fn write_retries(
    settings: &ProxySettings,
    pool: &mut TomlTable,
    notes: &mut ConversionNotes,
) -> u64 {
    match settings.single.get("retries") {
        Some(line) => pool.set("retries", line.word(1), line.source),
        None => pool.set("retries", RETRIES.to_string(), SourcePlace::NONE),
    }
    match settings.single.get("retry-on") {
        Some(line) => retry_on(line, pool, notes),
        // HAProxy's own value is `conn-failure`.
        None if settings.http && pool.get("retries") != Some("0") => {
            let only = KeyValue::new("unsent-only", "true");
            pool.set("retry", value::table(&[only]), SourcePlace::NONE);
        }
        None => {}
    }
    pool.get("retries").and_then(|text| text.parse().ok()).unwrap_or(RETRIES)
}

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
    if words.iter().any(|word| *word != "conn-failure") {
        let reason = "a request that a server may have acted on is sent again only if its method allows it (RFC 9110), and not to the server that failed";
        notes.changed(line.source, &line.text(), reason, "`retry` of the pool");
    }
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

/// Words that shorten what servers are chosen by, or look for it elsewhere too.
const UNUSED_IN_HASHES: [&str; 5] = ["depth", "len", "path-only", "use_domain_only", "check_post"];

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
    let unused = line.rest(2).iter().find(|word| UNUSED_IN_HASHES.contains(&word.as_str()));
    if let Some(word) = unused {
        let reason = format!("`{word}`: servers are chosen by the whole of it");
        notes.changed(number, &line.text(), &reason, "`hash-on` of the pool");
    }
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
