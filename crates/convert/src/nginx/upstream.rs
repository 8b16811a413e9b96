//! `upstream` blocks as pools.

use crate::document::TomlTable;
use crate::duration;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::directives;
use super::tree::{Directive, DirectiveOption};

/// nginx's own port of servers without one, also where TLS is spoken to them.
const PORT: u16 = 80;

/// Fills a pool with the servers of an upstream block.
pub fn fill(pool: &mut TomlTable, upstream: &Directive, http: bool, notes: &mut ConversionNotes) {
    let mut names = UniqueNames::default();
    pool.set("balance", value::quote("round-robin"), SourcePlace::NONE);
    for directive in upstream.inner() {
        let source = directive.source;
        match directive.name.as_str() {
            "random" if !directive.word(0).is_empty() => {
                pool.set("balance", value::quote("random"), source);
                let reason = "of two servers drawn by chance the one with less to do is taken";
                notes.changed(source, &directive.text(), reason, "`balance`");
            }
            "server" => {
                let server = server(directive, &mut names, pool, notes);
                pool.push_item("servers", server, source);
            }
            "least_conn" if http => pool.set("balance", value::quote("least-request"), source),
            "least_conn" => pool.set("balance", value::quote("least-connections"), source),
            "random" => pool.set("balance", value::quote("random"), source),
            "least_time" => {
                pool.set("balance", value::quote("peak-ewma"), source);
                let reason =
                    "the average time of answers is weighed with the requests that are open";
                notes.changed(source, &directive.text(), reason, "`balance`");
            }
            "ip_hash" => {
                let by =
                    [KeyValue::new("by", value::quote("source")), KeyValue::new("mask4", "24")];
                pool.set("balance", value::table(&by), source);
            }
            "hash" => hash(directive, http, pool, notes),
            "keepalive" if http => pool.set(
                "limit",
                value::table(&[KeyValue::new("idle", directive.word(0).to_owned())]),
                source,
            ),
            "keepalive_timeout" if http => {
                let time = duration::parse_duration(directive.word(0), 1_000)
                    .map(duration::format_duration);
                match time {
                    Some(time) => {
                        pool.set("timeout", value::table(&[KeyValue::new("idle", time)]), source)
                    }
                    None => notes.left_out(source, &directive.text(), "not a time", "`timeout`"),
                }
            }
            "zone" | "keepalive_requests" | "keepalive_time" | "keepalive"
            | "keepalive_timeout" => {
                notes.not_needed(source, &directive.text(), "workers share what they know anyway");
            }
            "sticky" => {
                let instead = "`sticky = { by = \"cookie\", name = … }` in the service";
                notes.left_out(
                    source,
                    &directive.text(),
                    "a service keeps clients, not a pool",
                    instead,
                );
            }
            _ => directives::note_directive(directive, notes),
        }
    }
}

/// The servers that may be asked one after the other.
pub fn count_servers(upstream: &Directive) -> usize {
    let servers = upstream.inner().iter().filter(|one| one.name == "server");
    servers.filter(|one| !one.peek_all().iter().any(|word| word == "down")).count()
}

/// Whether nginx asks some servers only after all others have failed.
pub fn has_backup(upstream: &Directive) -> bool {
    let mut servers = upstream.inner().iter().filter(|one| one.name == "server");
    servers.any(|one| one.peek_all().iter().any(|word| word == "backup"))
}

fn server(
    directive: &Directive,
    names: &mut UniqueNames,
    pool: &mut TomlTable,
    notes: &mut ConversionNotes,
) -> String {
    let text = directive.text();
    let address = directive.word(0);
    let address = with_port(address, PORT);
    let mut pairs = vec![
        KeyValue::new("name", value::quote(&names.unique_name(&address))),
        KeyValue::new("address", value::quote(&address)),
    ];
    for option in directive.options(1) {
        let DirectiveOption { text: word, source } = option;
        let (name, given) = word.split_once('=').unwrap_or((word, ""));
        if let Some(pair) = server_key(name, given) {
            pairs.push(pair);
            notes.converted(source);
            continue;
        }
        match name {
            "slow_start" => {
                if let Some(ms) = duration::parse_duration(given, 1_000) {
                    pool.set("slow-start", duration::format_duration(ms), source);
                    notes.converted(source);
                }
            }
            "max_fails" | "fail_timeout" => {
                notes.changed(
                    source,
                    &text,
                    "failures count in a row, and for all servers of an upstream alike",
                    "`eject`, and a `probe`",
                );
            }
            "resolve" | "max_conns" => {
                notes.not_needed(source, &text, "names are resolved again when their time ends")
            }
            "service" | "route" => notes.left_out(
                source,
                &text,
                &format!("a server has no `{name}`"),
                "`servers-from = { dns = …, type = \"srv\" }`",
            ),
            _ => notes.left_out(source, &text, &format!("`{name}` of a server is not known"), ""),
        }
    }
    value::table(&pairs)
}

/// A server parameter with an equivalent key of a Steelyard server.
fn server_key(name: &str, given: &str) -> Option<KeyValue> {
    Some(match name {
        "weight" => KeyValue::new("weight", given.to_owned()),
        "max_conns" if given != "0" => KeyValue::new("connections", given.to_owned()),
        "backup" => KeyValue::new("backup", "true"),
        "down" => KeyValue::new("state", value::quote("disabled")),
        "drain" => KeyValue::new("state", value::quote("drain")),
        _ => return None,
    })
}

/// An address with its port. `port` applies if the address has none. A Unix socket, `unix:/PATH`, has none either.
pub fn with_port(text: &str, port: u16) -> String {
    let bare = text.ends_with(']') || !text.contains(':');
    if bare { format!("{text}:{port}") } else { text.to_owned() }
}

fn hash(directive: &Directive, http: bool, pool: &mut TomlTable, notes: &mut ConversionNotes) {
    let named = |key: &'static str, name: &str| {
        Some(value::table(&[KeyValue::new(key, value::quote(name))]))
    };
    let key =
        directive.word(0).trim_start_matches('$').trim_start_matches('{').trim_end_matches('}');
    let hashed = match key {
        "remote_addr" | "binary_remote_addr" => Some(value::quote("address")),
        "request_uri" => Some(value::quote("uri")).filter(|_| http),
        "uri" => Some(value::quote("path")).filter(|_| http),
        _ if !http => None,
        key => match key.split_once('_') {
            Some(("arg", name)) => named("query", name),
            Some(("cookie", name)) => named("cookie", name),
            Some(("http", name)) => named("header", &name.replace('_', "-")),
            _ => None,
        },
    };
    match hashed {
        Some(hashed) => {
            match directive.word(1) {
                "consistent" | "" => {}
                _ => notes.left_out(directive.source, &directive.text(), "this is not hashed", ""),
            }
            if directive.word(1).is_empty() {
                let reason = "hashing is consistent (Maglev): clients go to other servers once";
                notes.changed(directive.source, &directive.text(), reason, "");
            }
            pool.set("balance", value::quote("maglev"), directive.source);
            pool.set("hash-on", hashed, directive.source);
        }
        None => {
            let instead = "`hash-on` with an address, the path, a header, a cookie or a parameter";
            notes.left_out(directive.source, &directive.text(), "this is not hashed", instead);
        }
    }
}
