//! `upstream` blocks as pools.

use crate::document::Table;
use crate::names::Names;
use crate::notes::Notes;
use crate::{span, value};

use super::known;
use super::tree::Directive;

/// Fills a pool. `port`: where servers are that name none.
pub fn fill(pool: &mut Table, upstream: &Directive, http: bool, port: u16, notes: &mut Notes) {
    let mut names = Names::default();
    pool.set("balance", value::text("round-robin"), 0);
    for directive in upstream.inner() {
        let line = directive.line;
        match directive.name.as_str() {
            "server" => {
                if let Some(server) = server(directive, port, &mut names, pool, notes) {
                    pool.item("servers", server, line);
                }
            }
            "least_conn" if http => pool.set("balance", value::text("least-request"), line),
            "least_conn" => pool.set("balance", value::text("least-connections"), line),
            "random" => pool.set("balance", value::text("random"), line),
            "least_time" => pool.set("balance", value::text("peak-ewma"), line),
            "ip_hash" => {
                let by = [("by", value::text("source")), ("mask4", "24".to_owned())];
                pool.set("balance", value::table(&by), line);
            }
            "hash" => hash(directive, http, pool, notes),
            "keepalive" if http => {
                pool.set("limit", value::table(&[("idle", directive.word(0).to_owned())]), line)
            }
            "keepalive_timeout" if http => {
                let time = span::read(directive.word(0), 1_000).map(span::written);
                if let Some(time) = time {
                    pool.set("timeout", value::table(&[("idle", time)]), line);
                }
            }
            "zone" | "keepalive_requests" | "keepalive_time" | "keepalive"
            | "keepalive_timeout" => {
                notes.needless(line, &directive.text(), "workers share what they know anyway");
            }
            "sticky" => {
                let instead = "`sticky = { by = \"cookie\", name = … }` in the service";
                notes.left(line, &directive.text(), "a service keeps clients, not a pool", instead);
            }
            _ => known::tell(directive, notes),
        }
    }
}

fn server(
    directive: &Directive,
    port: u16,
    names: &mut Names,
    pool: &mut Table,
    notes: &mut Notes,
) -> Option<String> {
    let (line, text) = (directive.line, directive.text());
    let address = directive.word(0);
    if address.starts_with("unix:") {
        notes.left(
            line,
            &text,
            "only TCP servers are spoken to",
            "an address or a name, and a port",
        );
        return None;
    }
    let address = with_port(address, port);
    let mut pairs =
        vec![("name", value::text(&names.give(&address))), ("address", value::text(&address))];
    for word in directive.args.iter().skip(1) {
        let (name, given) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "weight" => pairs.push(("weight", given.to_owned())),
            "max_conns" if given != "0" => pairs.push(("connections", given.to_owned())),
            "backup" => pairs.push(("backup", "true".to_owned())),
            "down" => pairs.push(("state", value::text("disabled"))),
            "drain" => pairs.push(("state", value::text("drain"))),
            "slow_start" => {
                if let Some(ms) = span::read(given, 1_000) {
                    pool.set("slow-start", span::written(ms), line);
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
                notes.needless(line, &text, "names are resolved again when their time ends")
            }
            "service" | "route" => notes.left(
                line,
                &text,
                &format!("a server has no `{name}`"),
                "`servers-from = { dns = …, type = \"srv\" }`",
            ),
            _ => notes.left(line, &text, &format!("`{name}` of a server is not known"), ""),
        }
    }
    Some(value::table(&pairs))
}

/// An address with its port.
pub fn with_port(text: &str, port: u16) -> String {
    let bare = text.ends_with(']') || !text.contains(':');
    if bare { format!("{text}:{port}") } else { text.to_owned() }
}

fn hash(directive: &Directive, http: bool, pool: &mut Table, notes: &mut Notes) {
    let named = |key: &str, name: &str| Some(value::table(&[(key, value::text(name))]));
    let key =
        directive.word(0).trim_start_matches('$').trim_start_matches('{').trim_end_matches('}');
    let hashed = match key {
        "remote_addr" | "binary_remote_addr" => Some(value::text("address")),
        "request_uri" => Some(value::text("uri")).filter(|_| http),
        "uri" => Some(value::text("path")).filter(|_| http),
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
            pool.set("balance", value::text("maglev"), directive.line);
            pool.set("hash-on", hashed, directive.line);
        }
        None => {
            let instead = "`hash-on` with an address, the path, a header, a cookie or a parameter";
            notes.left(directive.line, &directive.text(), "this is not hashed", instead);
        }
    }
}
