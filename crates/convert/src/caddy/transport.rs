//! `transport http`: times, TLS, protocols and connections towards servers.

use crate::certificate_file::{has_key_beside, key_path};
use crate::document::TomlTable;
use crate::duration::{format_duration, parse_duration};
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::statement::ConfigStatement;
use crate::value::{self, KeyValue};

use super::upstream::UpstreamScheme;

/// Caddy's own times, in milliseconds. Where it has no limit, a day is written.
const CONNECT: u64 = 3_000;
const UNLIMITED: u64 = 86_400_000;
const IDLE: u64 = 120_000;
/// Kept connections to one server.
const KEPT: &str = "32";

/// Writes what a proxy says of its connections. False: servers cannot be reached in this way, so that nothing may be
/// forwarded.
pub fn write(
    pool: &mut TomlTable,
    statement: &ConfigStatement,
    scheme: UpstreamScheme,
    notes: &mut ConversionNotes,
) -> bool {
    let transport = statement.find("transport");
    if let Some(other) = transport.filter(|one| one.word(0) != "http") {
        other.leave_out("servers are spoken HTTP to: 502", "", notes);
        return false;
    }
    transport.into_iter().for_each(|one| one.settle_converted(notes));
    let options = transport.map_or(&[][..], ConfigStatement::inner);
    let uses_tls = scheme == UpstreamScheme::Https
        || options.iter().any(|one| one.name == "tls" || one.name.starts_with("tls_"));
    let mut open = true;
    if uses_tls {
        match tls(options, notes) {
            Some(tls) => pool.set_required("tls", tls, statement.source),
            None => open = false,
        }
    }
    write_protocol(pool, options, scheme, uses_tls, notes);
    write_times(pool, options, notes);
    for option in options.iter().filter(|one| !one.is_settled()) {
        open &= note_option(pool, option, notes);
    }
    open
}

/// The `tls` of a pool. `None`: it cannot be written.
fn tls(options: &[ConfigStatement], notes: &mut ConversionNotes) -> Option<String> {
    let mut pairs: Vec<KeyValue> = Vec::new();
    let mut good = true;
    for option in options {
        let word = option.word(0).to_owned();
        match option.name.as_str() {
            "tls" => {}
            "tls_insecure_skip_verify" => {
                pairs.push(KeyValue::new("verify", value::quote("off")));
            }
            "tls_server_name" => {
                good &= !word.contains('{');
                pairs.push(KeyValue::new("name", value::quote(&word)));
            }
            "tls_trusted_ca_certs" if option.count() == 1 => {
                pairs.push(KeyValue::new("ca", value::quote(&word)));
            }
            "tls_trust_pool" if word == "file" && option.count() == 2 => {
                pairs.push(KeyValue::new("ca", value::quote(option.word(1))));
            }
            "tls_client_auth" if option.count() == 2 => {
                note_key(option, notes);
                pairs.push(KeyValue::new("certificate", value::quote(&word)));
            }
            "tls_client_auth" | "tls_trusted_ca_certs" | "tls_trust_pool" => {
                let reason = "TLS towards servers cannot be written so: 502";
                option.leave_out(reason, "`tls` of a pool", notes);
                good = false;
                continue;
            }
            _ => continue,
        }
        option.settle_converted(notes);
    }
    let table = match pairs.as_slice() {
        [] => value::quote("on"),
        pairs => value::table(pairs),
    };
    good.then_some(table)
}

/// Reports a key that stands elsewhere than it is looked for.
fn note_key(option: &ConfigStatement, notes: &mut ConversionNotes) {
    if !has_key_beside(option.peek(0), option.word(1)) {
        let instead = format!("cp {} {}", option.peek(1), key_path(option.peek(0)));
        let reason = "a key stands in the certificate's file or beside it";
        option.leave_out(reason, &instead, notes);
    }
}

fn write_protocol(
    pool: &mut TomlTable,
    options: &[ConfigStatement],
    scheme: UpstreamScheme,
    uses_tls: bool,
    notes: &mut ConversionNotes,
) {
    let versions = options.iter().find(|one| one.name == "versions");
    let source = versions.map_or(SourcePlace::NONE, |one| one.source);
    let words = versions.map_or(Vec::new(), |one| {
        let words = one.words_from(0).to_vec();
        one.settle_converted(notes);
        words
    });
    let has = |version: &str| words.iter().any(|one| one == version);
    if has("3") {
        let reason = "servers are not spoken HTTP/3 to";
        versions.into_iter().for_each(|one| one.note_changed(reason, "`http2`", notes));
    }
    let cleartext = scheme == UpstreamScheme::H2c || has("h2c");
    let speak = match (cleartext, uses_tls, words.is_empty()) {
        (true, _, _) => "only",
        (false, true, true) => "prefer",
        (false, true, false) if has("2") && has("1.1") => "prefer",
        (false, true, false) if has("2") => "only",
        _ => return,
    };
    pool.set("http2", value::quote(speak), source);
}

fn write_times(pool: &mut TomlTable, options: &[ConfigStatement], notes: &mut ConversionNotes) {
    let mut time = |name: &str| {
        let line = options.iter().find(|one| one.name == name)?;
        let ms = parse_duration(line.word(0), 0).filter(|ms| *ms > 0)?;
        line.settle_converted(notes);
        Some(ms)
    };
    let connect = time("dial_timeout").unwrap_or(CONNECT).min(600_000);
    let first = time("response_header_timeout").unwrap_or(UNLIMITED);
    let between = time("read_timeout").into_iter().chain(time("write_timeout")).min();
    let between = between.unwrap_or(UNLIMITED);
    let idle = time("keepalive").unwrap_or(IDLE);
    let pairs = [
        KeyValue::new("connect", format_duration(connect)),
        KeyValue::new("first-byte", format_duration(first)),
        KeyValue::new("between-bytes", format_duration(between)),
        KeyValue::new("stream", format_duration(between)),
        KeyValue::new("idle", format_duration(idle)),
    ];
    pool.set("timeout", value::table(&pairs), SourcePlace::NONE);
    let off = options.iter().find(|one| one.name == "keepalive" && one.word(0) == "off");
    let kept = options.iter().find(|one| one.name == "keepalive_idle_conns_per_host");
    let count = match (off, kept) {
        (Some(_), _) => "0".to_owned(),
        (None, Some(kept)) => kept.word(0).to_owned(),
        (None, None) => KEPT.to_owned(),
    };
    for line in off.into_iter().chain(kept) {
        line.settle_converted(notes);
    }
    let source = off.or(kept).map_or(SourcePlace::NONE, |one| one.source);
    pool.set("limit", value::table(&[KeyValue::new("idle", count)]), source);
}

/// Writes or reports a further option. False: nothing may be forwarded without it.
fn note_option(
    pool: &mut TomlTable,
    option: &ConfigStatement,
    notes: &mut ConversionNotes,
) -> bool {
    match option.name.as_str() {
        "proxy_protocol" => {
            pool.set_required("send-proxy", value::quote(option.word(0)), option.source);
            option.settle_converted(notes);
        }
        "max_conns_per_host" => {
            if option.word(0) != "0" {
                pool.set("connections", option.word(0), option.source);
            }
            option.settle_converted(notes);
        }
        "local_address" => {
            pool.set("source", value::quote(option.word(0)), option.source);
            option.settle_converted(notes);
        }
        "forward_proxy_url" | "network_proxy" => {
            option.leave_out("servers are not reached through a proxy: 502", "", notes);
            return false;
        }
        "tls_timeout" | "tls_renegotiation" | "tls_except_ports" | "tls_curves" => option
            .leave_out(
                "TLS towards servers has one form for all of a pool",
                "`tls` of the pool",
                notes,
            ),
        "import" => {
            let reason = "files are not opened: what it may hold is not known: 502";
            option.leave_out(reason, "put the file's text in its place", notes);
            return false;
        }
        "resolvers" => {
            option.leave_out("names are resolved as the system does", "`resolver`", notes)
        }
        "keepalive"
        | "keepalive_interval"
        | "keepalive_idle_conns"
        | "compression"
        | "read_buffer"
        | "write_buffer"
        | "max_response_header"
        | "dial_fallback_delay"
        | "expect_continue_timeout" => {
            option.note_changed(
                "connections have limits of their own",
                "`limit` of the pool",
                notes,
            );
        }
        _ => option.leave_out("the converter does not know this option", "", notes),
    }
    true
}
