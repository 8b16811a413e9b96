//! `error_page` of servers as error pages of their service. Files are named and not opened.

use std::collections::BTreeMap;

use crate::document::TomlTable;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::error_target::{self, PageTarget};
use super::tree::Directive;
use super::vhost::ServerBlock;

/// Switches for the answers of servers.
const SWITCHES: [&str; 2] = ["proxy_intercept_errors", "grpc_intercept_errors"];

/// The pages of a service.
#[derive(Debug, Default)]
pub struct ServiceErrorPages {
    pages: Vec<StatusesPage>,
    /// Locations whose file is a page. Clients that ask for them get 404.
    pub locations: Vec<SourcePlace>,
}

/// The page of a line, and the statuses that it has here.
#[derive(Debug)]
struct StatusesPage {
    statuses: Vec<u16>,
    keys: Vec<KeyValue>,
    intercept: bool,
    source: SourcePlace,
    text: String,
}

/// Reads the pages of the servers of one service, the default server first.
pub fn read(servers: &[&ServerBlock<'_>], notes: &mut ConversionNotes) -> ServiceErrorPages {
    let mut out = ServiceErrorPages::default();
    let lines: Vec<Vec<&Directive>> = servers.iter().map(|one| page_lines(one, notes)).collect();
    let has_page = lines.iter().any(|lines| !lines.is_empty());
    let intercept = settle_switches(servers, has_page, notes);
    let mut chosen: BTreeMap<u16, Vec<KeyValue>> = BTreeMap::new();
    for (server, own) in servers.iter().zip(&lines) {
        for line in own {
            let target = match error_target::read(line, server) {
                Ok(target) => target,
                Err(why) => {
                    notes.left_out_because(line.source.whole(), &line.text(), &why);
                    continue;
                }
            };
            let PageTarget { mut statuses, keys, location, unknown } = target;
            for word in unknown {
                let reason = format!("no answer here has the status {word}");
                notes.left_out(line.source.whole(), &line.text(), &reason, "400 to 599");
            }
            out.locations.extend(location);
            if statuses.iter().any(|one| chosen.get(one).is_some_and(|known| *known != keys)) {
                let reason = "a service has one page for each status, and this status has another";
                notes.left_out(line.source, &line.text(), reason, "a service of its own");
            }
            line.mark_converted();
            statuses.retain(|status| !chosen.contains_key(status));
            chosen.extend(statuses.iter().map(|status| (*status, keys.clone())));
            let has_others = statuses.iter().any(|status| {
                let text = status.to_string();
                let covers =
                    |other: &Vec<&Directive>| other.iter().any(|it| it.args().contains(&text));
                !lines.iter().all(covers)
            });
            if has_others && !statuses.is_empty() {
                let reason = "it answers for every name of this address";
                notes.changed(line.source, &line.text(), reason, "a service of its own");
            }
            let text = line.text();
            out.pages.push(StatusesPage { statuses, keys, intercept, source: line.source, text });
        }
    }
    out.pages.retain(|page| !page.statuses.is_empty());
    out
}

impl ServiceErrorPages {
    /// Writes the pages into their service.
    pub fn write(mut self, service: &mut TomlTable, notes: &mut ConversionNotes) {
        let has_503 = self.pages.iter().any(|page| page.statuses.contains(&503));
        for page in &mut self.pages {
            let mut also = None;
            if page.statuses.contains(&502) && !has_503 {
                let reason =
                    "a pool without a usable server is 503 here, so the page is also for 503";
                notes.changed(page.source, &page.text, reason, "");
                // Answers of servers with 503 stay, as in nginx.
                match page.intercept {
                    true => also = Some(item(&[503], &page.keys, false)),
                    false => page.statuses.push(503),
                }
            }
            let own = item(&page.statuses, &page.keys, page.intercept);
            for text in std::iter::once(own).chain(also) {
                service.push_item("error-page", text, page.source);
            }
        }
    }
}

fn item(statuses: &[u16], keys: &[KeyValue], intercept: bool) -> String {
    let numbers: Vec<String> = statuses.iter().map(u16::to_string).collect();
    let status = match &numbers[..] {
        [one] => one.clone(),
        _ => value::list(numbers),
    };
    let mut pairs = vec![KeyValue::new("status", status)];
    pairs.extend_from_slice(keys);
    if intercept {
        pairs.push(KeyValue::new("intercept", "true"));
    }
    value::table(&pairs)
}

/// The lines in effect at a server: its own or inherited ones, or those of its location `/`.
fn page_lines<'t>(server: &ServerBlock<'t>, notes: &mut ConversionNotes) -> Vec<&'t Directive> {
    let is_whole = |one: &&Directive| one.name == "location" && one.peek(0) == "/";
    let whole = server.directive.inner().iter().find(is_whole);
    let named = |one: &&Directive| one.name == "error_page";
    let inner: Vec<&Directive> =
        whole.map(|one| one.inner().iter().filter(named).collect()).unwrap_or_default();
    if inner.is_empty() {
        return server.scope.all("error_page");
    }
    for line in &inner {
        let reason = "a page is for a whole service, not for a location alone";
        notes.changed(line.source, &line.text(), reason, "a service of its own");
    }
    inner
}

/// Whether pages replace answers of servers: only if all locations of all servers want it.
fn settle_switches(
    servers: &[&ServerBlock<'_>],
    has_page: bool,
    notes: &mut ConversionNotes,
) -> bool {
    let mut passes = Vec::new();
    let mut switches: Vec<&Directive> = Vec::new();
    for server in servers {
        let outer = SWITCHES.iter().flat_map(|name| server.scope.all(name));
        switches.extend(outer);
        let is_on = SWITCHES
            .iter()
            .any(|name| server.scope.get(name).is_some_and(|switch| switch.peek(0) == "on"));
        visit_passes(server.directive.inner(), is_on, &mut passes, &mut switches);
    }
    let is_always = !passes.is_empty() && passes.iter().all(|is_on| *is_on);
    for switch in switches {
        if switch.word(0) == "on" && !has_page {
            let reason = "no page is written that could take the place of an answer";
            notes.not_needed(switch.source, &switch.text(), reason);
        } else if switch.word(0) == "on" && !is_always {
            let reason = "pages replace answers of servers for a whole service, and other locations pass them on";
            notes.left_out(switch.source, &switch.text(), reason, "a service of its own");
        } else {
            switch.mark_converted();
        }
    }
    is_always && has_page
}

/// Collects for each `proxy_pass` whether answers are intercepted there, and the switches within.
fn visit_passes<'t>(
    level: &'t [Directive],
    inherited: bool,
    passes: &mut Vec<bool>,
    switches: &mut Vec<&'t Directive>,
) {
    let own: Vec<&Directive> =
        level.iter().filter(|one| SWITCHES.contains(&one.name.as_str())).collect();
    let is_on = own.last().map_or(inherited, |switch| switch.peek(0) == "on");
    for one in level {
        match one.name.as_str() {
            "proxy_pass" | "grpc_pass" => passes.push(is_on),
            "location" | "if" => visit_passes(one.inner(), is_on, passes, switches),
            _ => {}
        }
    }
    switches.extend(own);
}
