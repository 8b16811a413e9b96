//! nginx: upstreams become pools. Servers that share a listening address become one service, with rules by host and
//! path in nginx's order of evaluation.
//!
//! Includes are only resolved within the output of `nginx -T`. No file is opened.

mod accept_proxy;
mod access;
mod body_limit;
mod branching;
mod characters;
mod compared_value;
mod comparison;
mod compression;
mod conditional_content;
mod constant;
mod content;
mod defined;
mod directives;
mod environment;
mod error_pages;
mod error_target;
mod expires;
mod expressions;
mod field_place;
mod fields;
mod foreign_guards;
mod forwarding;
mod geo;
mod handshake_refusal;
mod head_limits;
mod hidden_fields;
mod http;
mod http_service;
mod if_block;
mod include;
mod known_words;
mod listen;
mod location;
mod location_content;
mod location_order;
mod map;
mod match_condition;
mod mirror;
mod more_headers;
mod new_path;
mod page_directives;
mod passive_check;
mod path_refusal;
pub mod path_text;
mod pools;
mod proxying;
mod rate_limit;
mod redirects;
mod referers;
mod relocation;
mod request_uri;
mod rewrite_kind;
mod rewrite_phase;
mod rule;
mod scope;
mod server_name;
mod share;
mod split;
mod stream;
mod stream_server;
mod tls;
mod tree;
mod upstream;
mod upstream_directory;
mod value_branch;
mod value_rules;
mod variable_notes;
mod variables;
mod vhost;

use crate::document::{Document, TomlTable};
use crate::empty_pool;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use self::pools::UpstreamPools;
use self::tree::Directive;

/// Converts `text` into `document`.
pub fn convert(text: &str, document: &mut Document, notes: &mut ConversionNotes) {
    if let Some(found) = environment::find_variable(text) {
        let reason = "the variable is one of the environment: a tool has still to fill it in";
        let place = SourcePlace::at_line(found.line);
        notes.unreadable(place, &found.text, reason, "convert what the tool makes of it");
        return;
    }
    let directives = include::read(text, notes);
    let mut globals = TomlTable::new("global", SourcePlace::NONE, "");
    let (mut http, mut stream): (Vec<&Directive>, Vec<&Directive>) = (Vec::new(), Vec::new());
    let mut loose = Vec::new();
    let is_part = directives.iter().any(|one| one.name == "server")
        && !directives.iter().any(|one| matches!(one.name.as_str(), "http" | "stream" | "events"));
    for directive in &directives {
        match directive.name.as_str() {
            "http" | "stream" => {
                directive.mark_converted();
                let blocks = if directive.name == "http" { &mut http } else { &mut stream };
                blocks.push(directive);
            }
            "server" | "upstream" | "map" => loose.push(directive.clone()),
            // A file of `conf.d` stands within `http`.
            name if is_part && !is_of_process(name) => loose.push(directive.clone()),
            "worker_processes" if directive.word(0) != "auto" => {
                globals.set("workers", directive.word(0), directive.source);
            }
            _ => directives::note_directive(directive, notes),
        }
    }
    let logged = http.iter().flat_map(|http| http.inner()).find(|one| one.name == "access_log");
    if let Some(log) = logged.filter(|log| log.word(0) != "off") {
        let target = if log.word(0).starts_with('/') { log.word(0) } else { "stderr" };
        let log = [KeyValue::new("all", "true"), KeyValue::new("target", value::quote(target))];
        globals.set("access-log", value::table(&log), SourcePlace::NONE);
    }
    if !globals.entries.is_empty() {
        document.push(globals);
    }
    let mut pools = UpstreamPools::new(empty_pool::reserve_name());
    let mut names = UniqueNames::default();
    for block in http {
        http::convert(block.inner(), document, &mut pools, &mut names, notes);
    }
    if !loose.is_empty() {
        // A file of `sites-enabled` has `server` blocks without an `http` block.
        http::convert(&loose, document, &mut pools, &mut names, notes);
    }
    for block in stream {
        stream::convert(block.inner(), document, &mut pools, &mut names, notes);
    }
    pools.write(document);
}

/// Whether a directive stands outside of `http` and `stream` only.
fn is_of_process(name: &str) -> bool {
    let others = [
        "user",
        "pid",
        "load_module",
        "daemon",
        "master_process",
        "env",
        "lock_file",
        "pcre_jit",
        "thread_pool",
        "timer_resolution",
        "working_directory",
    ];
    others.contains(&name) || name.starts_with("worker_")
}
