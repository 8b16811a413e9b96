//! One `server` block of `http`: its names and its rules.

use std::cmp::Reverse;

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;
use crate::value::KeyValue;

use super::access;
use super::content::ContentWriter;
use super::listen::ListenAddress;
use super::location;
use super::rule::NginxRule;
use super::scope::DirectiveScope;
use super::tree::Directive;

pub struct ServerBlock<'t> {
    pub directive: &'t Directive,
    pub listens: Vec<ListenAddress>,
    /// The directives that apply to the server, inherited ones included.
    pub scope: DirectiveScope<'t>,
}

/// The kind of a server name. nginx looks for exact names first, then for wildcards from the longest to the shortest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameRank {
    Exact,
    /// `*.shop.example`, by its length.
    LeadingWildcard(Reverse<usize>),
    /// `www.shop.*`, by its length.
    TrailingWildcard(Reverse<usize>),
}

/// A server name and its position in nginx's order of evaluation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RankedName {
    pub rank: NameRank,
    /// The condition's key and text.
    pub key: &'static str,
    pub text: String,
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
        let mut add = |rank, key, text: String| out.push(RankedName { rank, key, text });
        for directive in self.directive.inner().iter().filter(|one| one.name == "server_name") {
            directive.mark_converted();
            for name in directive.args() {
                let longest = Reverse(name.len());
                match name.as_str() {
                    "" | "_" | "localhost" | "$hostname" | "\"\"" => {
                        if name == "localhost" {
                            add(NameRank::Exact, "host", name.clone());
                        }
                    }
                    name if name.starts_with('~') => {
                        notes.left_out(
                            directive.source,
                            &directive.text(),
                            "hosts are compared whole or below a domain",
                            "`host = \"*.shop.example\"`",
                        );
                    }
                    name if name.starts_with("*.") => {
                        add(NameRank::LeadingWildcard(longest), "host", name.to_owned())
                    }
                    name if name.starts_with('.') => {
                        add(NameRank::Exact, "host", name[1..].to_owned());
                        add(NameRank::LeadingWildcard(longest), "host", format!("*{name}"));
                    }
                    name if name.ends_with(".*") => {
                        add(NameRank::TrailingWildcard(longest), "header", format!("host: {name}"))
                    }
                    name => add(NameRank::Exact, "host", name.to_owned()),
                }
            }
        }
        out
    }

    /// The server's rules, without a condition on the host.
    pub fn rules(&self, context: &mut ContentWriter<'_, '_>) -> Vec<NginxRule> {
        let level = self.directive.inner();
        let own = context.server_rules(level);
        let mut out = context.with_added_fields(own, &self.scope);
        if out.iter().any(|rule| rule.when == RuleCondition::Is(true)) {
            for location in level.iter().filter(|one| one.name == "location") {
                let reason = "the server answers before it looks at locations";
                context.notes.not_needed(location.source, &location.text(), reason);
            }
            return out;
        }
        let places = location::ordered_locations(level, context.notes);
        let whole = places.iter().any(|place| place.when == RuleCondition::Is(true));
        let exact = places.iter().take_while(|place| place.exact).count();
        let (exact, others) = places.split_at(exact);
        for place in exact {
            out.extend(context.location(place, &self.scope));
        }
        out.extend(slash_redirects(others));
        for place in others {
            out.extend(context.location(place, &self.scope));
        }
        if !whole {
            out.extend(access::rules(&self.scope, context.notes));
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
fn slash_redirects(places: &[location::LocationBlock<'_>]) -> Vec<NginxRule> {
    let mut known: Vec<&str> = places.iter().filter_map(|place| place.prefix).collect();
    let mut out = Vec::new();
    for place in places {
        let path = place.prefix.and_then(|path| path.strip_suffix('/'));
        if let Some(path) = path.filter(|path| !known.contains(path))
            && let Some(rule) = slash_redirect(path, place)
        {
            known.push(path);
            out.push(rule);
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
