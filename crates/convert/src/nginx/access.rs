//! `allow` and `deny`, authentication, `limit_except` and `internal`, as rules that deny.

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;
use crate::value::KeyValue;

use super::foreign_guards::{authenticates, is_guard};
use super::rule::NginxRule;
use super::scope::DirectiveScope;
use super::tree::Directive;

/// How much is known of a client's address.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientSight {
    /// Connections begin with a PROXY header that nginx does not take the client's address from.
    pub ignores_header: bool,
}

/// Rules that deny the clients that nginx would deny. As in nginx, the first matching line applies.
pub fn rules(
    scope: &DirectiveScope<'_>,
    sight: ClientSight,
    notes: &mut ConversionNotes,
) -> Vec<NginxRule> {
    let mut out: Vec<NginxRule> = clients_of_proxies(scope, sight, notes).into_iter().collect();
    let lists = client_lists(scope, notes);
    let satisfy = scope.get("satisfy").inspect(|one| one.mark_converted());
    let refused = authentication(scope, notes);
    if satisfy.is_some_and(|one| one.word(0) == "any") && !refused.is_empty() && !lists.is_empty() {
        // Whom a line allows needs no password, and who is denied may have one.
        lists.iter().for_each(|one| one.first.mark_converted());
        let allowed =
            RuleCondition::Any(lists.into_iter().filter_map(|one| one.allows()).collect());
        let others = allowed.negate();
        out.extend(refused.into_iter().map(|rule| rule.with_condition(&others)));
        return out;
    }
    out.extend(lists.into_iter().filter_map(|one| one.denies()));
    out.extend(refused);
    out
}

/// Neighbouring lines of `allow` or of `deny`, and the condition under which they decide and no earlier line does.
struct ClientLines<'t> {
    first: &'t Directive,
    when: RuleCondition,
}

impl ClientLines<'_> {
    fn allows(self) -> Option<RuleCondition> {
        (self.first.name == "allow").then_some(self.when)
    }

    fn denies(self) -> Option<NginxRule> {
        (self.first.name == "deny").then(|| {
            let source = self.first.source;
            let text = self.first.text();
            NginxRule::single_key(self.when, "deny", "true", source, &text)
        })
    }
}

/// Neighbouring lines that say the same of their clients.
struct AccessGroup<'t> {
    first: &'t Directive,
    clients: Vec<&'t str>,
}

impl AccessGroup<'_> {
    fn condition(&self) -> RuleCondition {
        match self.clients.as_slice() {
            ["all"] => RuleCondition::Is(true),
            clients => RuleCondition::texts("client", clients),
        }
    }

    fn takes(&self, directive: &Directive) -> bool {
        let is_list = self.clients != ["all"] && directive.peek(0) != "all";
        is_list && self.first.name == directive.name
    }
}

fn client_groups<'t>(
    scope: &DirectiveScope<'t>,
    notes: &mut ConversionNotes,
) -> Vec<AccessGroup<'t>> {
    let mut out: Vec<AccessGroup<'t>> = Vec::new();
    for directive in lists(scope) {
        let word = directive.word(0);
        if word.starts_with("unix") {
            let reason = "clients do not come over sockets of files";
            notes.not_needed(directive.source, &directive.text(), reason);
            continue;
        }
        if out.last().is_some_and(|last| last.clients == ["all"]) {
            let reason = "an earlier line decides about every client";
            notes.changed(directive.source, &directive.text(), reason, "");
            continue;
        }
        match out.last_mut().filter(|last| last.takes(directive)) {
            Some(last) => {
                directive.mark_converted();
                last.clients.push(word);
            }
            None => out.push(AccessGroup { first: directive, clients: vec![word] }),
        }
    }
    out
}

/// The lines of `allow` and `deny` with the clients for whom they decide.
fn client_lists<'t>(
    scope: &DirectiveScope<'t>,
    notes: &mut ConversionNotes,
) -> Vec<ClientLines<'t>> {
    let mut out: Vec<ClientLines<'t>> = Vec::new();
    // A rule that denies comes after rules for the lines before it, so that it excludes those that allow.
    let mut allowed: Vec<RuleCondition> = Vec::new();
    let mut denied: Vec<RuleCondition> = Vec::new();
    for group in client_groups(scope, notes) {
        let is_allowed = group.first.name == "allow";
        let who = group.condition();
        let earlier = if is_allowed { &denied } else { &allowed };
        let mut all = vec![who.clone()];
        all.extend(earlier.iter().cloned().map(RuleCondition::negate));
        if is_allowed {
            group.first.mark_converted();
            allowed.push(who);
        } else {
            denied.push(who);
        }
        out.push(ClientLines { first: group.first, when: RuleCondition::All(all) });
    }
    out
}

const NO_LOGIN: &str = "requests are not authenticated; so that nothing is open that was closed, a rule refuses what this protected";
const LOGIN_INSTEAD: &str =
    "authenticate at the servers or with `tls.client`, then take the rule with `deny` out";
const KNOWN_INSTEAD: &str = "see what the module does, then take the rule with `deny` out";
const NOT_KNOWN: &str = "the converter does not know what it does; so that nothing is open that was closed, a rule refuses what it stands in";

/// Refusals of what authentication protects, which nobody here does.
fn authentication(scope: &DirectiveScope<'_>, notes: &mut ConversionNotes) -> Vec<NginxRule> {
    let mut out = Vec::new();
    let known = ["auth_basic", "auth_request", "auth_jwt", "secure_link"];
    let others = scope.guards(is_guard).into_iter().filter(|name| !known.contains(name));
    for name in known.into_iter().chain(others) {
        let Some(auth) = scope.get(name) else { continue };
        if auth.word(0) == "off" {
            auth.mark_converted();
        } else {
            if let Some(file) = scope.get("auth_basic_user_file").filter(|_| name == "auth_basic") {
                notes.left_out(file.source, &file.text(), "requests are not authenticated", "");
            }
            match authenticates(name) {
                true => notes.left_out(auth.source, &auth.text(), NO_LOGIN, LOGIN_INSTEAD),
                false => notes.left_out(auth.source, &auth.text(), NOT_KNOWN, KNOWN_INSTEAD),
            }
            out.push(unauthenticated(auth));
        }
    }
    out
}

/// Refuses clients behind the proxies of `set_real_ip_from` where clients are allowed or denied by address: their
/// addresses stand in a field, which rules do not look at.
fn clients_of_proxies(
    scope: &DirectiveScope<'_>,
    sight: ClientSight,
    notes: &mut ConversionNotes,
) -> Option<NginxRule> {
    let first = lists(scope).into_iter().find(|one| one.peek(0) != "all")?;
    if sight.ignores_header {
        let reason = "who connects is compared, and behind a PROXY header rules see whom it names; so that nothing is open that was closed, all are refused";
        let instead = "`set_real_ip_from` with `real_ip_header proxy_protocol`";
        notes.left_out(first.source, &first.text(), reason, instead);
        return Some(refusal(RuleCondition::Is(true), first));
    }
    let proxies: Vec<&str> = scope
        .all("set_real_ip_from")
        .iter()
        .map(|one| one.peek(0))
        .filter(|one| !one.starts_with("unix"))
        .collect();
    if !scope.has_real_ip() || proxies.is_empty() {
        return None;
    }
    let reason = "who stands behind the proxies of `set_real_ip_from` is not known; so that nothing is open that was closed, all of them are refused";
    notes.left_out(first.source, &first.text(), reason, "`accept-proxy` with the PROXY protocol");
    Some(refusal(RuleCondition::texts("client", &proxies), first))
}

/// The refusals of an `if` block with directives that authenticate.
pub fn block_rules(block: &Directive, notes: &mut ConversionNotes) -> Vec<NginxRule> {
    authentication(&DirectiveScope::default().nested(&[]).nested(block.inner()), notes)
}

/// Words of a `limit_except` that decide who may use other methods.
const ACCESS: [&str; 5] = ["allow", "deny", "auth_basic", "auth_basic_user_file", "satisfy"];

/// The rules of a location, with those of `limit_except METHODS { … }` for other methods. GET includes HEAD.
pub fn location_rules(
    level: &[Directive],
    scope: &DirectiveScope<'_>,
    sight: ClientSight,
    notes: &mut ConversionNotes,
) -> Vec<NginxRule> {
    let mut out = rules(scope, sight, notes);
    for except in level.iter().filter(|one| one.name == "limit_except") {
        let mut methods: Vec<&str> = except.args().iter().map(String::as_str).collect();
        if methods.contains(&"GET") && !methods.contains(&"HEAD") {
            methods.push("HEAD");
        }
        let listed = RuleCondition::texts("method", &methods);
        let others = listed.clone().negate();
        out = out.into_iter().map(|rule| rule.with_condition(&listed)).collect();
        let is_known =
            |one: &Directive| ACCESS.contains(&one.name.as_str()) || authenticates(&one.name);
        let inner = rules(&scope.nested(except.inner()), sight, notes);
        if !except.inner().iter().all(is_known) {
            let reason = "what other methods may do is not known here; so that nothing is open that was closed, they are refused";
            notes.left_out(except.source, &except.text(), reason, "a rule with `method`");
            out.push(refusal(others, except));
            continue;
        }
        except.mark_converted();
        out.extend(inner.into_iter().map(|rule| rule.with_condition(&others)));
    }
    out
}

/// `internal` of a location or of one around it: clients get 404, as from nginx.
pub fn internal(scope: &DirectiveScope<'_>, notes: &mut ConversionNotes) -> Option<NginxRule> {
    let directive = scope.get("internal")?;
    let source = directive.source;
    let text = directive.text();
    let reason = "there are no internal redirects; clients get 404 there, as from nginx";
    notes.changed(source, &text, reason, "");
    Some(NginxRule::single_key(RuleCondition::Is(true), "answer", "404", source, &text))
}

/// Nobody is authenticated, so that everybody gets nginx's answer to who is not.
fn unauthenticated(directive: &Directive) -> NginxRule {
    let source = directive.source;
    let mut rule =
        NginxRule::single_key(RuleCondition::Is(true), "answer", "401", source, &directive.text());
    let name = directive.name.replace('_', "-").to_ascii_lowercase();
    let name = format!("deny-{}-line-{}", name, source.line());
    rule.keys.push(KeyValue::new("name", crate::value::quote(&name)));
    rule
}

fn refusal(when: RuleCondition, directive: &Directive) -> NginxRule {
    NginxRule::single_key(when, "deny", "true", directive.source, &directive.text())
}

/// `allow` and `deny` of the innermost level that has either, in file order.
fn lists<'t>(scope: &DirectiveScope<'t>) -> Vec<&'t Directive> {
    scope.all_of(&["allow", "deny"])
}
