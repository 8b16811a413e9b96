//! `allow` and `deny`, authentication, `limit_except` and `internal`, as rules that deny.

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;
use crate::value::KeyValue;

use super::rule::NginxRule;
use super::scope::DirectiveScope;
use super::tree::Directive;

/// Rules that deny the clients that nginx would deny. As in nginx, the first matching line applies.
pub fn rules(scope: &DirectiveScope<'_>, notes: &mut ConversionNotes) -> Vec<NginxRule> {
    let mut out: Vec<NginxRule> = clients_of_proxies(scope, notes).into_iter().collect();
    let mut allowed: Vec<RuleCondition> = Vec::new();
    for directive in lists(scope) {
        let source = directive.source;
        let text = directive.text();
        let who = match directive.word(0) {
            "all" => RuleCondition::Is(true),
            word if word.starts_with("unix") => {
                notes.not_needed(source, &text, "clients do not come over sockets of files");
                continue;
            }
            word => RuleCondition::texts("client", &[word]),
        };
        if directive.name == "allow" {
            directive.mark_converted();
            allowed.push(who);
            continue;
        }
        let mut all = vec![who];
        all.extend(allowed.iter().cloned().map(RuleCondition::negate));
        out.push(NginxRule::single_key(RuleCondition::All(all), "deny", "true", source, &text));
    }
    let known = ["auth_basic", "auth_request", "auth_jwt", "secure_link"];
    let mut others: Vec<&str> =
        scope.names().filter(|name| authenticates(name) && !known.contains(name)).collect();
    others.sort_unstable();
    others.dedup();
    for name in known.into_iter().chain(others) {
        let Some(auth) = scope.get(name) else { continue };
        if auth.word(0) == "off" {
            auth.mark_converted();
        } else {
            if let Some(file) = scope.get("auth_basic_user_file").filter(|_| name == "auth_basic") {
                notes.left_out(file.source, &file.text(), "requests are not authenticated", "");
            }
            let reason = "requests are not authenticated; so that nothing is open that was closed, a rule refuses what this protected";
            let instead = "authenticate at the servers or with `tls.client`, then take the rule with `deny` out";
            notes.left_out(auth.source, &auth.text(), reason, instead);
            out.push(unauthenticated(auth));
        }
    }
    out
}

/// Refuses clients behind the proxies of `set_real_ip_from` where clients are allowed or denied by address: their
/// addresses stand in a field, which rules do not look at.
fn clients_of_proxies(
    scope: &DirectiveScope<'_>,
    notes: &mut ConversionNotes,
) -> Option<NginxRule> {
    let first = lists(scope).into_iter().find(|one| one.peek(0) != "all")?;
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

/// Whether a directive belongs to a module or script that authenticates clients.
fn authenticates(name: &str) -> bool {
    let settings = ["_user_file", "_delay", "_set", "_key", "_claim", "_realm", "_type", "_leeway"];
    let own = name.starts_with("auth_") && !settings.iter().any(|word| name.contains(word));
    own && name != "auth_http" || name.starts_with("access_by_lua") || name == "js_access"
}

/// The rules of `limit_except METHODS { … }` for other methods. GET includes HEAD.
pub fn other_methods(
    level: &[Directive],
    scope: &DirectiveScope<'_>,
    notes: &mut ConversionNotes,
) -> Vec<NginxRule> {
    let mut out = Vec::new();
    for except in level.iter().filter(|one| one.name == "limit_except") {
        let mut methods: Vec<&str> = except.args().iter().map(String::as_str).collect();
        if methods.contains(&"GET") && !methods.contains(&"HEAD") {
            methods.push("HEAD");
        }
        let others = RuleCondition::texts("method", &methods).negate();
        let inner = rules(&scope.nested(except.inner()), notes);
        if inner.is_empty() {
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

/// `internal`: clients get 404, as from nginx.
pub fn internal(level: &[Directive], notes: &mut ConversionNotes) -> Option<NginxRule> {
    let directive = level.iter().find(|one| one.name == "internal")?;
    let source = directive.source;
    let text = directive.text();
    let reason = "there are no internal redirects; clients get 404 there, as from nginx";
    notes.changed(source, &text, reason, "");
    Some(NginxRule::single_key(RuleCondition::Is(true), "answer", "404", source, &text))
}

/// Whether the first `allow` or `deny` line denies all clients.
pub fn denies_everybody(scope: &DirectiveScope<'_>) -> bool {
    lists(scope).first().is_some_and(|one| one.name == "deny" && one.word(0) == "all")
}

/// Nobody is authenticated, so that everybody gets nginx's answer to who is not.
fn unauthenticated(directive: &Directive) -> NginxRule {
    let source = directive.source;
    let mut rule =
        NginxRule::single_key(RuleCondition::Is(true), "answer", "401", source, &directive.text());
    let name = format!("deny-{}-line-{}", directive.name.replace('_', "-"), source.line());
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
