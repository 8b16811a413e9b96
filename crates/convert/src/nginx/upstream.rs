//! `upstream` blocks as pools.

use crate::document::TomlTable;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::{duration, value};

use super::directives;
use super::tree::Directive;

/// Fills a pool. `port`: the port of servers that name none.
pub fn fill(
    pool: &mut TomlTable,
    upstream: &Directive,
    http: bool,
    port: u16,
    notes: &mut ConversionNotes,
) {
    let mut names = UniqueNames::default();
    pool.set("balance", value::quote("round-robin"), 0);
    for directive in upstream.inner() {
        let line = directive.line;
        match directive.name.as_str() {
            "server" => {
                if let Some(server) = server(directive, port, &mut names, pool, notes) {
                    pool.push_item("servers", server, line);
                }
            }
            "least_conn" if http => pool.set("balance", value::quote("least-request"), line),
            "least_conn" => pool.set("balance", value::quote("least-connections"), line),
            "random" => pool.set("balance", value::quote("random"), line),
            "least_time" => pool.set("balance", value::quote("peak-ewma"), line),
            "ip_hash" => {
                let by = [("by", value::quote("source")), ("mask4", "24".to_owned())];
                pool.set("balance", value::table(&by), line);
            }
            "hash" => hash(directive, http, pool, notes),
            "keepalive" if http => {
                pool.set("limit", value::table(&[("idle", directive.word(0).to_owned())]), line)
            }
            "keepalive_timeout" if http => {
                let time = duration::parse_duration(directive.word(0), 1_000)
                    .map(duration::format_duration);
                if let Some(time) = time {
                    pool.set("timeout", value::table(&[("idle", time)]), line);
                }
            }
            "zone" | "keepalive_requests" | "keepalive_time" | "keepalive"
            | "keepalive_timeout" => {
                notes.not_needed(line, &directive.text(), "workers share what they know anyway");
            }
            "sticky" => {
                let instead = "`sticky = { by = \"cookie\", name = … }` in the service";
                notes.left_out(
                    line,
                    &directive.text(),
                    "a service keeps clients, not a pool",
                    instead,
                );
            }
            _ => directives::note_directive(directive, notes),
        }
    }
}

fn server(
    directive: &Directive,
    port: u16,
    names: &mut UniqueNames,
    pool: &mut TomlTable,
    notes: &mut ConversionNotes,
) -> Option<String> {
    let line = directive.line;
    let text = directive.text();
    let address = directive.word(0);
    if address.starts_with("unix:") {
        notes.left_out(
            line,
            &text,
            "only TCP servers are spoken to",
            "an address or a name, and a port",
        );
        return None;
    }
    let address = with_port(address, port);
    let mut pairs = vec![
        ("name", value::quote(&names.unique_name(&address))),
        ("address", value::quote(&address)),
    ];
    for word in directive.args.iter().skip(1) {
        let (name, given) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "weight" => pairs.push(("weight", given.to_owned())),
            "max_conns" if given != "0" => pairs.push(("connections", given.to_owned())),
            "backup" => pairs.push(("backup", "true".to_owned())),
            "down" => pairs.push(("state", value::quote("disabled"))),
            "drain" => pairs.push(("state", value::quote("drain"))),
            "slow_start" => {
                if let Some(ms) = duration::parse_duration(given, 1_000) {
                    pool.set("slow-start", duration::format_duration(ms), line);
                }
            }
            "max_fails" | "fail_timeout" => {
                notes.changed(
                    line,
                    &text,
                    "servers are put out by what they answer and when they cannot be reached",
                    "`eject`, and a `probe`",
                );
            }
            "resolve" | "max_conns" => {
                notes.not_needed(line, &text, "names are resolved again when their time ends")
            }
            "service" | "route" => notes.left_out(
                line,
                &text,
                &format!("a server has no `{name}`"),
                "`servers-from = { dns = …, type = \"srv\" }`",
            ),
            _ => notes.left_out(line, &text, &format!("`{name}` of a server is not known"), ""),
        }
    }
    Some(value::table(&pairs))
}

/// An address with its port.
pub fn with_port(text: &str, port: u16) -> String {
    let bare = text.ends_with(']') || !text.contains(':');
    if bare { format!("{text}:{port}") } else { text.to_owned() }
}

fn hash(directive: &Directive, http: bool, pool: &mut TomlTable, notes: &mut ConversionNotes) {
    let named = |key: &str, name: &str| Some(value::table(&[(key, value::quote(name))]));
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
            pool.set("balance", value::quote("maglev"), directive.line);
            pool.set("hash-on", hashed, directive.line);
        }
        None => {
            let instead = "`hash-on` with an address, the path, a header, a cookie or a parameter";
            notes.left_out(directive.line, &directive.text(), "this is not hashed", instead);
        }
    }
}
