//! One `server` block of `http`: its names and its rules.

use crate::condition::Cond;
use crate::notes::Notes;

use super::access;
use super::content::Context;
use super::listen::Listen;
use super::location;
use super::rule::Rule;
use super::scope::Scope;
use super::tree::Directive;

/// A server.
pub struct Vhost<'t> {
    /// It.
    pub directive: &'t Directive,
    /// Where it listens.
    pub listens: Vec<Listen>,
    /// Its directives in force.
    pub scope: Scope<'t>,
}

/// A name of a server, and how early nginx looks at it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named {
    /// Exact ones first, then wildcards from the longest on.
    pub rank: (u8, usize),
    /// The condition's key and text.
    pub key: &'static str,
    /// It.
    pub text: String,
}

impl<'t> Vhost<'t> {
    /// The first of its names that is one.
    pub fn first_name(&self) -> Option<&'t str> {
        let names = self
            .directive
            .inner()
            .iter()
            .filter(|one| one.name == "server_name")
            .flat_map(|one| &one.args);
        names
            .map(String::as_str)
            .find(|name| name.contains('.') && !name.starts_with(['~', '.', '*']))
    }

    /// All of its names.
    pub fn names(&self, notes: &mut Notes) -> Vec<Named> {
        let mut out = Vec::new();
        let mut add = |rank, key, text: String| out.push(Named { rank, key, text });
        for directive in self.directive.inner().iter().filter(|one| one.name == "server_name") {
            for name in &directive.args {
                let longest = usize::MAX - name.len();
                match name.as_str() {
                    "" | "_" | "localhost" | "$hostname" | "\"\"" => {
                        if name == "localhost" {
                            add((0, 0), "host", name.clone());
                        }
                    }
                    name if name.starts_with('~') => {
                        notes.left(
                            directive.line,
                            &directive.text(),
                            "hosts are compared whole or below a domain",
                            "`host = \"*.shop.example\"`",
                        );
                    }
                    name if name.starts_with("*.") => add((1, longest), "host", name.to_owned()),
                    name if name.starts_with('.') => {
                        add((0, 0), "host", name[1..].to_owned());
                        add((1, longest), "host", format!("*{name}"));
                    }
                    name if name.ends_with(".*") => {
                        add((2, longest), "header", format!("host: {name}"))
                    }
                    name => add((0, 0), "host", name.to_owned()),
                }
            }
        }
        out
    }

    /// Its rules, whatever the host.
    pub fn rules(&self, context: &mut Context<'_, '_>) -> Vec<Rule> {
        let level = self.directive.inner();
        let mut out = context.before(level);
        if out.iter().any(|rule| rule.when == Cond::Is(true)) {
            return out;
        }
        let places = location::ordered(level, context.notes);
        let whole = places.iter().any(|place| place.when == Cond::Is(true));
        let exact = places.iter().take_while(|place| place.exact).count();
        let (exact, others) = places.split_at(exact);
        for place in exact {
            out.extend(context.location(place, &self.scope));
        }
        out.extend(slashes(others));
        for place in others {
            out.extend(context.location(place, &self.scope));
        }
        if !whole {
            out.extend(access::rules(&self.scope, context.notes));
            let line = self.directive.line;
            out.push(Rule::one(
                Cond::Is(true),
                "answer",
                "404",
                (line, "server: files are not served"),
            ));
        }
        out
    }
}

/// A location that ends in a slash and is passed on sends who asks without it there, before any other location but
/// one of just that path.
fn slashes(places: &[location::Place<'_>]) -> Vec<Rule> {
    let mut known: Vec<&str> = places.iter().filter_map(|place| place.prefix).collect();
    let mut out = Vec::new();
    for place in places {
        let path = place.prefix.and_then(|path| path.strip_suffix('/'));
        if let Some(path) = path.filter(|path| !known.contains(path))
            && let Some(rule) = slash(path, place)
        {
            known.push(path);
            out.push(rule);
        }
    }
    out
}

fn slash(path: &str, place: &location::Place<'_>) -> Option<Rule> {
    if path.is_empty() || path.contains(['*', '?']) {
        return None;
    }
    let passed = |one: &&Directive| matches!(one.name.as_str(), "proxy_pass" | "grpc_pass");
    place.directive.inner().iter().find(passed)?;
    let to = crate::value::text(&format!("{path}/{{query}}"));
    let redirect = crate::value::table(&[("to", to), ("status", "301".to_owned())]);
    let when = Cond::texts("path", &[path]);
    Some(Rule::one(when, "redirect", redirect, (place.directive.line, &place.directive.text())))
}
