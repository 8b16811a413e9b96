//! `ssl_reject_handshake`: connections for the names of such servers, as rules on the name that the client asked for.
//!
//! Handshakes are refused by the names of certificates, which may have more names than servers have.

use crate::condition::RuleCondition;

use super::rule::NginxRule;
use super::tls;
use super::tree::Directive;
use super::vhost::ServerBlock;

/// The rule in front of a service's rules. `servers`: the default server first.
pub fn refuse_names(servers: &[&ServerBlock<'_>]) -> Option<NginxRule> {
    let reject = servers.iter().find_map(|server| rejection(server))?;
    let of = |server: &&ServerBlock<'_>| tls::readable_names(&server.scope);
    let is_rejected = |server: &&&ServerBlock<'_>| rejection(server).is_some();
    let is_open = |server: &&&ServerBlock<'_>| rejection(server).is_none();
    let rejected: Vec<String> =
        servers.iter().skip(1).filter(is_rejected).flat_map(|one| of(one).names).collect();
    let open: Vec<String> = servers.iter().filter(is_open).flat_map(|one| of(one).names).collect();
    // Where not all names that are rejected can be read, those that are not known are.
    let is_unclear = servers.iter().filter(is_rejected).any(|one| of(one).is_partial);
    let mut any = Vec::new();
    if is_unclear || servers.first().is_some_and(|first| rejection(first).is_some()) {
        any.push(has_name(&open).negate());
    }
    let begins = |name: &&String| {
        let wild = rejected.iter().filter_map(|one| one.strip_prefix('*'));
        wild.clone().any(|end| name.ends_with(end) && name.strip_prefix('*') != Some(end))
    };
    let closer: Vec<String> = open.iter().filter(begins).cloned().collect();
    any.push(has_name(&rejected).and(has_name(&closer).negate()));
    let when = RuleCondition::Any(any);
    Some(NginxRule::single_key(when, "deny", "true", reject.source, &reject.text()))
}

fn rejection<'t>(server: &ServerBlock<'t>) -> Option<&'t Directive> {
    server.scope.get("ssl_reject_handshake").filter(|one| one.peek(0) == "on")
}

/// The client asked for one of these names.
fn has_name(names: &[String]) -> RuleCondition {
    match names {
        [] => RuleCondition::Is(false),
        names => RuleCondition::texts("sni", names),
    }
}
