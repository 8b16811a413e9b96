//! Caddy: sites become services, handlers become rules, upstreams become pools.
//!
//! Directives are followed in the order in which Caddy runs them, and every way through a site becomes rules. Snippets
//! are put in; no file is opened.

mod address;
mod answers;
mod balance;
mod body_limit;
mod client_view;
mod cookie_affinity;
mod environment;
mod fields;
mod globals;
mod health;
mod import;
mod lex;
mod matcher;
mod order;
mod path_state;
mod placeholder;
mod pools;
mod prefix_strip;
mod proxy_target;
mod rewrites;
mod route;
mod route_state;
mod rule_closing;
mod service;
mod site;
mod stable_sort;
mod tls;
mod transport;
mod tree;
mod upstream;

use crate::document::Document;
use crate::draft_check::DraftChecker;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::statement::ConfigStatement;

use self::globals::GlobalOptions;
use self::pools::ProxyPools;
use self::service::SiteServiceWriter;
use self::site::CaddySite;

/// Converts `text` into `document`.
pub fn convert(text: &str, document: &mut Document, notes: &mut ConversionNotes) {
    let filled = environment::fill_defaults(text, notes);
    let tokens = lex::read_tokens(&filled, notes);
    let imported = import::put_in_snippets(tokens, notes);
    let used = imported.used;
    let tree = tree::parse(imported.tokens, notes);
    if notes.is_unreadable() {
        return;
    }
    let options = tree.first().filter(|one| one.name.is_empty());
    let globals = GlobalOptions::read(options, notes);
    let mut sites = Vec::new();
    for statement in tree.iter().skip(usize::from(options.is_some())) {
        let snippet = statement.name.strip_prefix('(').and_then(|name| name.strip_suffix(')'));
        match snippet {
            Some(name) if used.contains(name) => statement.settle_converted(notes),
            Some(_) => statement.note_not_needed("nothing imports it", notes),
            None if statement.name == "import" => {
                let reason = "files are not opened: sites in it are not written";
                statement.leave_out(reason, "convert the file itself", notes);
            }
            None if statement.name.starts_with("&(") => {
                statement.leave_out(
                    "routes are not invoked by name",
                    "`import` of a snippet",
                    notes,
                );
            }
            None if statement.name.is_empty() || statement.block.is_none() => {
                statement.leave_out("it is no site", "", notes);
            }
            None => sites.extend(CaddySite::read(statement, &globals, notes)),
        }
    }
    let mut logs = Vec::new();
    for site in &sites {
        logs.extend(site.statement.inner().iter().filter(|one| one.name == "log"));
    }
    globals::write_log(&logs, document, notes);
    let mut pools = ProxyPools::new();
    let groups = site::groups(&sites, globals.ports.http);
    let names = UniqueNames::default();
    let pools_of_all = &mut pools;
    let mut writer = SiteServiceWriter {
        sites: &sites,
        globals: &globals,
        pools: pools_of_all,
        checker: &mut DraftChecker::default(),
        names,
        document,
        notes,
    };
    groups.iter().for_each(|group| writer.write(group));
    pools.write(document);
    notes.settle_written(document);
    for site in &sites {
        note_unused(site.statement.inner(), notes);
    }
}

/// Reports what no part has read: errors' handlers, matchers that nothing uses, and directives behind an answer.
fn note_unused(directives: &[ConfigStatement], notes: &mut ConversionNotes) {
    for one in directives {
        match one.name.as_str() {
            "handle" | "handle_path" | "route" if one.is_settled() => {
                note_unused(one.inner(), notes);
            }
            _ if one.is_settled() => {}
            "handle_errors" => one.leave_out("errors have answers of their own", "", notes),
            name if name.starts_with('@') => {
                one.note_not_needed("no directive that is written uses it", notes);
            }
            _ => {
                let reason = "nothing reaches it: what runs before it answers every request";
                one.leave_out(reason, "", notes);
            }
        }
    }
}

/// How much a line looks like this dialect.
pub fn score_line(line: &str) -> u32 {
    let mut words = line.split_whitespace();
    let first = words.next().unwrap_or_default();
    let second = words.next().unwrap_or_default();
    if line.contains(';') && !line.contains('"')
        || second.starts_with(['=', ':']) && second.len() < 2
    {
        return 0;
    }
    match first {
        "reverse_proxy" | "php_fastcgi" | "file_server" | "handle_path" | "auto_https"
        | "basic_auth" | "basicauth" | "forward_auth" | "header_up" | "header_down"
        | "lb_policy" | "handle_errors" | "request_header" | "health_uri" => 5,
        "handle" | "respond" | "encode" | "redir" | "local_certs" | "email" | "import" => 2,
        _ if first.starts_with('@') && matches!(second, "path" | "host" | "{" | "not") => 3,
        _ => 0,
    }
}
