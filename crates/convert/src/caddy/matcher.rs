//! Request matchers: named ones, and a path or `*` as a directive's first word.

use std::collections::HashMap;
use std::rc::Rc;

use model::config::IpPrefix;

use crate::condition::{RuleCondition, whole_path};
use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::statement::ConfigStatement;

use super::client_view::ClientAddressView;
use super::path_state::{PathState, path_condition, regex_condition};

/// `private_ranges`: the networks that Caddy means.
pub const PRIVATE: [&str; 6] =
    ["192.168.0.0/16", "172.16.0.0/12", "10.0.0.0/8", "127.0.0.0/8", "fd00::/8", "::1"];

/// The named matchers of a site.
#[derive(Clone, Debug, Default)]
pub struct NamedMatchers<'t> {
    /// By name, with the `@` in front.
    defined: Rc<HashMap<&'t str, &'t ConfigStatement>>,
    clients: ClientAddressView,
}

impl<'t> NamedMatchers<'t> {
    /// No matchers: every request fits.
    pub fn none(clients: ClientAddressView) -> NamedMatchers<'t> {
        NamedMatchers { defined: Rc::default(), clients }
    }

    /// The matchers that are defined among these directives, besides those of an outer block.
    pub fn within(&self, directives: &'t [ConfigStatement]) -> NamedMatchers<'t> {
        let own: Vec<&ConfigStatement> =
            directives.iter().filter(|one| one.name.starts_with('@')).collect();
        let mut defined = Rc::clone(&self.defined);
        if !own.is_empty() {
            let all = Rc::make_mut(&mut defined);
            // The first of several of one name counts.
            all.extend(own.into_iter().rev().map(|one| (one.name.as_str(), one)));
        }
        NamedMatchers { defined, clients: self.clients }
    }

    fn find(&self, name: &str) -> Option<&'t ConfigStatement> {
        self.defined.get(name).copied()
    }

    /// The condition of a directive whose first word may be a matcher.
    pub fn condition(
        &self,
        token: &str,
        path: &PathState,
        notes: &mut ConversionNotes,
    ) -> RuleCondition {
        if token.starts_with('@') {
            return match self.find(token) {
                Some(named) => self.named(named, path, notes),
                None => unknown(format!("no matcher is called `{token}`")),
            };
        }
        match token {
            "" | "*" => RuleCondition::Is(true),
            pattern => path_condition(&[pattern.to_owned()], path),
        }
    }

    /// The only path pattern of a matcher, whatever else it asks for. `None` if it has several, or none.
    pub fn only_path(&self, token: &str) -> Option<String> {
        if token.starts_with('/') {
            return Some(token.to_owned());
        }
        let named = self.find(token)?;
        if named.peek(0) == "path" {
            return (named.count() == 2).then(|| named.peek(1).to_owned());
        }
        let mut paths = named.inner().iter().filter(|one| one.name == "path");
        let only = paths.next().filter(|only| only.count() == 1)?;
        paths.next().is_none().then(|| only.peek(0).to_owned())
    }

    fn named(
        &self,
        named: &ConfigStatement,
        path: &PathState,
        notes: &mut ConversionNotes,
    ) -> RuleCondition {
        if named.count() > 0 {
            let words = named.words_from(0).to_vec();
            named.settle_converted(notes);
            return match (words[0].as_str(), &named.block) {
                ("not", Some(_)) if words.len() == 1 => {
                    self.set(named.inner(), path, notes).negate()
                }
                (_, Some(_)) => unknown("a matcher stands on a line or in a block".to_owned()),
                ("not", None) => {
                    self.one(words.get(1).map_or("", String::as_str), &words[1..], path).negate()
                }
                (kind, None) => self.one(kind, &words, path),
            };
        }
        named.settle_converted(notes);
        self.set(named.inner(), path, notes)
    }

    /// All matchers of a set. Several of one kind join their values.
    fn set(
        &self,
        inner: &[ConfigStatement],
        path: &PathState,
        notes: &mut ConversionNotes,
    ) -> RuleCondition {
        let mut kinds: Vec<String> = Vec::new();
        let mut all: Vec<RuleCondition> = Vec::new();
        let mut parameters = vec!["query".to_owned()];
        for one in inner {
            let words = one.words_from(0).to_vec();
            if one.name == "query" {
                one.settle_converted(notes);
                parameters.extend(words);
                continue;
            }
            let own = [std::slice::from_ref(&one.name), words.as_slice()].concat();
            one.settle_converted(notes);
            if one.name == "not" {
                let inner = match words.first() {
                    Some(kind) => self.one(kind, &words, path),
                    None => self.set(one.inner(), path, notes),
                };
                all.push(inner.negate());
                continue;
            }
            // Fields and parameters of different names must all fit; of one name, any.
            let name = match (one.name.as_str(), words.as_slice()) {
                ("header", [field, ..]) | ("header_regexp", [field, _] | [_, field, _]) => {
                    field.to_ascii_lowercase()
                }
                _ => String::new(),
            };
            let kind = match one.name.as_str() {
                "vars" | "expression" => String::new(),
                "header" | "header_regexp" if name.is_empty() => String::new(),
                kind => format!("{kind} {name}"),
            };
            let this = self.one(&one.name, &own, path);
            match kinds.iter().position(|known| !kind.is_empty() && *known == kind) {
                Some(at) => {
                    let known = std::mem::replace(&mut all[at], RuleCondition::Is(false));
                    all[at] = known.or(this);
                }
                None => {
                    kinds.resize(all.len(), String::new());
                    kinds.push(kind);
                    all.push(this);
                }
            }
        }
        if parameters.len() > 1 {
            all.push(self.one("query", &parameters, path));
        }
        RuleCondition::All(all)
    }

    /// One matcher. `words`: its kind and its values.
    fn one(&self, kind: &str, words: &[String], path: &PathState) -> RuleCondition {
        let values = words.get(1..).unwrap_or(&[]);
        let value = |at: usize| values.get(at).map_or("", String::as_str);
        if values.iter().any(|one| one.contains('{')) && kind != "expression" && kind != "path" {
            return unknown(format!("`{kind}` has a placeholder"));
        }
        match kind {
            "path" => path_condition(values, path),
            "path_regexp" => regex_condition(value(values.len().saturating_sub(1)), path),
            "method" => RuleCondition::texts(
                "method",
                &values.iter().map(|one| one.to_ascii_uppercase()).collect::<Vec<_>>(),
            ),
            "host" => host_condition(values),
            "protocol" => match value(0) {
                "https" => RuleCondition::Tls,
                "http" => RuleCondition::Tls.negate(),
                "grpc" => RuleCondition::texts("header", &["content-type: application/grpc*"]),
                other => unknown(format!("rules do not look at the version `{other}`")),
            },
            "header" => header_condition(value(0), value(1), values.len()),
            "header_regexp" if values.len() >= 2 => {
                let field = value(values.len() - 2);
                let whole = whole_path(value(values.len() - 1), false);
                RuleCondition::texts("header-regex", &[format!("{field}: {whole}")])
            }
            "query" => query_condition(values),
            "remote_ip" if self.clients == ClientAddressView::Named => {
                unknown("rules see the client that trusted proxies name".to_owned())
            }
            "client_ip" if self.clients == ClientAddressView::Unknown => {
                unknown("rules do not see the client that proxies name this way".to_owned())
            }
            "remote_ip" | "client_ip" => client_condition(values),
            other => unknown(format!("there is no condition like `{other}`")),
        }
    }
}

fn unknown(reason: String) -> RuleCondition {
    RuleCondition::Unknown(UnsupportedReason::new(reason, "`when` of a rule"))
}

/// A host, or names below one. Caddy's `*` stands for one label.
pub fn host_condition(hosts: &[String]) -> RuleCondition {
    let mut plain = Vec::new();
    let mut any = Vec::new();
    for host in hosts {
        if host == "*" || host.is_empty() {
            return RuleCondition::Is(true);
        }
        if host.contains('*') {
            let labels = crate::condition::escape_regex(host).replace("\\*", "[^.]+");
            any.push(RuleCondition::texts("host-regex", &[labels]));
        } else {
            plain.push(host.to_ascii_lowercase());
        }
    }
    if !plain.is_empty() {
        any.push(RuleCondition::texts("host", &plain));
    }
    RuleCondition::Any(any)
}

fn header_condition(field: &str, value: &str, count: usize) -> RuleCondition {
    let escaped = value.trim_matches('*').replace(['\\', '*', '?'], "\\?");
    let plain = !escaped.contains('\\');
    match (field.strip_prefix('!'), count) {
        (Some(field), 1) => RuleCondition::texts("header", &[field]).negate(),
        (None, 1) => RuleCondition::texts("header", &[field]),
        (None, 2) if value == "*" => RuleCondition::texts("header", &[field]),
        (None, 2) if plain => RuleCondition::texts("header", &[format!("{field}: {value}")]),
        _ => unknown("the value of the field cannot be written".to_owned()),
    }
}

fn query_condition(values: &[String]) -> RuleCondition {
    let mut names: Vec<&str> = Vec::new();
    let mut all: Vec<RuleCondition> = Vec::new();
    for value in values {
        let name = value.split_once('=').map_or(value.as_str(), |parts| parts.0);
        let wanted = value.split_once('=').map_or("", |parts| parts.1);
        if name.is_empty() || wanted.trim_matches('*').contains(['*', '?', '\\']) {
            return unknown("the parameter cannot be written".to_owned());
        }
        let this = match wanted {
            "*" => RuleCondition::texts("query", &[name]),
            _ => RuleCondition::texts("query", &[format!("{name}={wanted}")]),
        };
        match names.iter().position(|known| *known == name) {
            Some(at) => {
                let known = std::mem::replace(&mut all[at], RuleCondition::Is(false));
                all[at] = known.or(this);
            }
            None => {
                names.push(name);
                all.push(this);
            }
        }
    }
    if all.len() < 2 {
        return RuleCondition::All(all);
    }
    // Up to version 2.8 one of several names is enough, and later all are asked for.
    let some = RuleCondition::Any(all.clone());
    let later =
        unknown("versions of Caddy differ in whether all parameters are asked for".to_owned());
    RuleCondition::Any(vec![RuleCondition::All(all), some.and(later)])
}

/// Networks of clients; `private_ranges` stands for several.
pub fn networks(values: &[String]) -> Option<Vec<String>> {
    let mut out = Vec::new();
    for value in values {
        match value.as_str() {
            "private_ranges" => out.extend(PRIVATE.iter().map(|one| (*one).to_owned())),
            "forwarded" => return None,
            other => out.push(first_address(other).unwrap_or_else(|| other.to_owned())),
        }
    }
    Some(out)
}

/// A network with its first address, as rules want it. `None`: it is none.
fn first_address(network: &str) -> Option<String> {
    let parts = network.split_once('/')?;
    let address: std::net::IpAddr = parts.0.parse().ok()?;
    IpPrefix::new(address, parts.1.parse().ok()?).map(|network| network.to_string())
}

fn client_condition(values: &[String]) -> RuleCondition {
    match networks(values) {
        Some(networks) if !networks.is_empty() => RuleCondition::texts("client", &networks),
        _ => unknown("an address that the client itself names is not looked at".to_owned()),
    }
}
