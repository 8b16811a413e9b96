//! One `server` block of `http`: its names and its rules.

use std::collections::HashSet;

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;
use crate::value::KeyValue;

use super::access;
use super::content::{self, ContentWriter};
use super::listen::ListenAddress;
use super::location;
use super::location_order;
use super::rewrite_kind::RewritePhase;
use super::rule::NginxRule;
use super::scope::DirectiveScope;
use super::server_name::{self, RankedName};
use super::tree::Directive;

pub struct ServerBlock<'t> {
    pub directive: &'t Directive,
    pub listens: Vec<ListenAddress>,
    /// The directives that apply to the server, inherited ones included.
    pub scope: DirectiveScope<'t>,
    /// Its place among the servers of the file.
    pub place: usize,
}

impl<'t> ServerBlock<'t> {
    /// The first name that is a whole host name, without wildcard or expression.
    pub fn first_name(&self) -> Option<&'t str> {
        let names = self
            .directive
            .inner()
            .iter()
            .filter(|one| one.name == "server_name")
            .flat_map(|one| one.args());
        names
            .map(String::as_str)
            .find(|name| name.contains('.') && !name.starts_with(['~', '.', '*']))
    }

    /// All names of the server.
    pub fn names(&self, notes: &mut ConversionNotes) -> Vec<RankedName> {
        let mut out = Vec::new();
        for directive in self.directive.inner().iter().filter(|one| one.name == "server_name") {
            directive.mark_converted();
            for name in directive.args() {
                let read = server_name::read(name, self.place);
                if read.iter().any(|name| name.text.is_none()) {
                    let reason = "the expression is one that only PCRE reads, or too long; so that no other server answers for its names, all that come behind it are refused";
                    let instead = "`host-regex` in a rule";
                    notes.left_out(directive.source, &directive.text(), reason, instead);
                }
                out.extend(read);
            }
        }
        out
    }

    /// The server's rules, without a condition on the host.
    pub fn rules(&self, context: &mut ContentWriter<'_, 't>) -> Vec<NginxRule> {
        let level = self.directive.inner();
        if let Some(missing) = content::find_include(level) {
            for location in level.iter().filter(|one| one.name == "location") {
                let reason = "its server is closed for a file that is missing";
                context.notes.left_out(location.source, &location.text(), reason, "");
            }
            return vec![content::refuse_all(missing)];
        }
        let own = context.phase_rules(level, RewritePhase::Server);
        let mut out = context.with_added_fields(own, &self.scope);
        if out.iter().any(|rule| rule.when == RuleCondition::Is(true)) {
            for location in level.iter().filter(|one| one.name == "location") {
                let reason = "the server answers before it looks at locations";
                context.notes.not_needed(location.source, &location.text(), reason);
            }
            return out;
        }
        let places = location_order::ordered_locations(level, context.notes);
        let whole = places.iter().any(|place| place.when == RuleCondition::Is(true));
        let exact = places.iter().take_while(|place| place.exact().is_some()).count();
        let (exact, others) = places.split_at(exact);
        for place in exact {
            out.extend(context.location(place));
        }
        out.extend(slash_redirects(others, context));
        for place in others {
            out.extend(context.location(place));
        }
        if !whole {
            out.extend(access::rules(&self.scope, context.sight, context.notes));
            let source = self.directive.source;
            out.push(NginxRule::single_key(
                RuleCondition::Is(true),
                "answer",
                "404",
                source,
                "server: files are not served",
            ));
        }
        out
    }
}

/// nginx redirects a request for `/a` to `/a/` if a location `/a/` forwards it. Only a location of exactly `/a` has
/// priority.
fn slash_redirects<'t>(
    places: &[location::LocationBlock<'t>],
    context: &mut ContentWriter<'_, 't>,
) -> Vec<NginxRule> {
    let mut known: HashSet<&str> =
        places.iter().filter_map(location::LocationBlock::prefix).collect();
    let mut out = Vec::new();
    for place in places {
        let path = place.prefix().and_then(|path| path.strip_suffix('/'));
        if let Some(path) = path.filter(|path| !known.contains(path))
            && let Some(mut rule) = slash_redirect(path, place)
        {
            known.insert(path);
            let scope = context.location_scope(place);
            if scope.get("internal").is_some() {
                rule.keys = vec![KeyValue::new("answer", "404")];
            }
            out.extend(context.with_added_fields(vec![rule], &scope));
        }
    }
    out
}

fn slash_redirect(path: &str, place: &location::LocationBlock<'_>) -> Option<NginxRule> {
    if path.is_empty() || path.contains(['*', '?']) {
        return None;
    }
    let passed = |one: &&Directive| matches!(one.name.as_str(), "proxy_pass" | "grpc_pass");
    place.directive.inner().iter().find(passed)?;
    let mut levels = place.outer.iter().chain([&place.directive]);
    if levels.any(|level| level.inner().iter().any(|one| one.name == "internal")) {
        let text = place.directive.text();
        let when = RuleCondition::texts("path", &[path]);
        return Some(NginxRule::single_key(when, "answer", "404", place.directive.source, &text));
    }
    let to = crate::value::quote(&format!("{path}/{{query}}"));
    let redirect = crate::value::table(&[KeyValue::new("to", to), KeyValue::new("status", "301")]);
    let when = RuleCondition::texts("path", &[path]);
    Some(NginxRule::single_key(
        when,
        "redirect",
        redirect,
        place.directive.source,
        &place.directive.text(),
    ))
}
