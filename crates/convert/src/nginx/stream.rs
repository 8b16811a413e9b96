//! `stream`: TCP forwarding, by name or client where variables select the upstream.

use std::collections::BTreeMap;

use crate::condition::RuleCondition;
use crate::document::{Document, TomlTable};
use crate::duration::{self, TimeSetting};
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::accept_proxy::{self, ProxyPlane};
use super::access::{self, ClientSight};
use super::content;
use super::defined::{DefinedVariables, VariablePlace};
use super::pools::{PoolUse, UpstreamPools};
use super::rule::{self, NginxRule};
use super::scope::DirectiveScope;
use super::server_name;
use super::stream_server::{StreamServer, by_listener, sni_condition};
use super::tls::{self, RefusalEnding};
use super::tree::Directive;
use super::upstream_directory::UpstreamDirectory;
use super::value_branch::ValueBranch;
use super::variable_notes;
use super::variables::{only_variable, variable_names};

pub fn convert(
    block: &[Directive],
    document: &mut Document,
    pools: &mut UpstreamPools,
    names: &mut UniqueNames,
    notes: &mut ConversionNotes,
) {
    let outer = DirectiveScope::default().nested(block);
    content::note_unsupported(block, notes);
    let of = |name: &str| block.iter().filter(|one| one.name == name).collect::<Vec<_>>();
    let upstreams = of("upstream");
    let directory = UpstreamDirectory::new(&upstreams);
    let defined = DefinedVariables::new(block);
    let servers = of("server").into_iter().map(|server| {
        content::note_unsupported(server.inner(), notes);
        StreamServer::read(server, &outer, notes)
    });
    let groups = by_listener(servers.collect());
    for group in groups {
        let scope = outer.clone();
        let mut stream =
            StreamWriter { upstreams: &directory, defined: &defined, scope, pools, notes };
        stream.service(&group, document, names);
    }
    notes.settle_written(document);
    variable_notes::note_blocks(block, &defined, notes);
    content::note_unused(block, notes);
    for unused in upstreams.iter().filter(|one| !pools.has_used(one.word(0))) {
        notes.not_needed(unused.source, &unused.text(), "nothing refers to it");
    }
}

/// What becomes of the connections of one server: rules, of which the last one takes all.
struct ServerRules {
    rules: Vec<NginxRule>,
    /// A pool of them. `None`: all are refused.
    pool: Option<String>,
}

struct StreamWriter<'s, 't> {
    upstreams: &'s UpstreamDirectory<'t>,
    defined: &'s DefinedVariables<'t>,
    scope: DirectiveScope<'t>,
    pools: &'s mut UpstreamPools,
    notes: &'s mut ConversionNotes,
}

impl<'t> StreamWriter<'_, 't> {
    fn service(
        &mut self,
        group: &[StreamServer<'t>],
        document: &mut Document,
        names: &mut UniqueNames,
    ) {
        let at = group.iter().position(StreamServer::is_default).unwrap_or(0);
        let Some(leader) = group.get(at) else { return };
        let server = leader.directive;
        self.scope = leader.scope.clone();
        let Some(first) = leader.listens.first() else {
            let reason = "it listens nowhere that is carried over";
            return self.notes.left_out(server.source, &server.text(), reason, "`listen`");
        };
        let mut rules = self.rules_by_name(group, at);
        let mut own = self.server_rules(leader);
        // The pool of the service is that of all other names.
        own.rules.pop_if(|_| own.pool.is_some());
        let pools = own.pool.into_iter().chain(rules.pool);
        let Some(pool) = pools.into_iter().next() else { return };
        rules.rules.extend(own.rules);
        let name = names.unique_name(&format!("{}-{}", pool, first.port));
        let path = format!("service.{name}");
        let mut service = TomlTable::new(path.clone(), server.source, &server.text());
        for listen in &leader.listens {
            service.push_item("listen", value::quote(&listen.address), listen.source);
        }
        service.set("forward", value::quote("tcp"), SourcePlace::NONE);
        let pass = server.inner().iter().find(|one| one.name == "proxy_pass");
        service.set("pool", value::quote(&pool), pass.map_or(SourcePlace::NONE, |one| one.source));
        self.scope = leader.scope.clone();
        if leader.listens.iter().any(|listen| listen.header) {
            service.set_required(
                "accept-proxy",
                accept_proxy::accept_proxy(&self.scope, ProxyPlane::Stream),
                first.source,
            );
        }
        // nginx's own time is ten minutes.
        let silence = self.scope.time("proxy_timeout");
        let TimeSetting { ms, source } =
            silence.unwrap_or(TimeSetting { ms: 600_000, source: SourcePlace::NONE });
        let tunnel = KeyValue::new("tunnel", duration::format_duration(ms));
        service.set("timeout", value::table(&[tunnel]), source);
        let tls = leader.has_tls();
        if tls && !group.iter().any(|one| one.scope.get("ssl_certificate").is_some()) {
            return self.notes.left_out(
                first.source,
                "listen … ssl",
                "TLS needs the file of a certificate",
                "`tls`",
            );
        }
        document.push(service);
        if tls {
            let others = group.iter().enumerate();
            let others = others.filter(|(place, other)| *place != at && other.is_taken_as(leader));
            let others = others.map(|(_, other)| &other.scope);
            let scopes: Vec<_> = std::iter::once(&leader.scope).chain(others).collect();
            let ending = RefusalEnding::Handshake;
            tls::write(&path, first.source, &scopes, ending, document, self.notes);
        }
        rule::write(&name, rules.rules, tls, document, self.notes);
    }

    /// The rules for the names of the servers that share a listener. `default`: the one that takes all other names.
    fn rules_by_name(&mut self, group: &[StreamServer<'t>], default: usize) -> ServerRules {
        let mut out = ServerRules { rules: Vec::new(), pool: None };
        let Some(leader) = group.get(default).filter(|_| group.len() > 1) else { return out };
        let knows_names = leader.has_tls()
            || leader.scope.get("ssl_preread").is_some_and(|one| one.peek(0) == "on");
        let mut ranked = Vec::new();
        for (place, server) in group.iter().enumerate() {
            for directive in server.directive.inner().iter().filter(|one| one.name == "server_name")
            {
                directive.mark_converted();
                ranked.extend(
                    directive.args().iter().flat_map(|name| server_name::read(name, place)),
                );
            }
        }
        let mut of_server: Vec<Option<ServerRules>> = group.iter().map(|_| None).collect();
        for named in server_name::ordered_names(ranked, default) {
            let Some(server) = group.get(named.place) else { continue };
            let source = server.directive.source;
            let Some(when) = sni_condition(&named.when).filter(|_| knows_names) else {
                let reason = "which connections are for this server is not known; all that are for no server before it are refused";
                self.notes.left_out(source, &server.directive.text(), reason, "rules with `sni`");
                out.rules.push(NginxRule::single_key(
                    RuleCondition::Is(true),
                    "deny",
                    "true",
                    source,
                    "server",
                ));
                return out;
            };
            if of_server[named.place].is_none() {
                of_server[named.place] = Some(match server.is_taken_as(leader) {
                    true => self.server_rules(server),
                    false => self.refuse_server(server),
                });
            }
            let Some(rules) = &of_server[named.place] else { continue };
            out.pool = out.pool.or_else(|| rules.pool.clone());
            out.rules.extend(rules.rules.iter().cloned().map(|rule| rule.with_condition(&when)));
        }
        for (server, rules) in group.iter().zip(&of_server) {
            if rules.is_none() && !std::ptr::eq(server, leader) {
                let reason = "no connection is for it: it has no name of its own on this listener";
                self.notes.changed(server.directive.source, &server.directive.text(), reason, "");
                server.directive.inner().iter().for_each(Directive::mark_converted);
            }
        }
        out
    }

    fn refuse_server(&mut self, server: &StreamServer<'t>) -> ServerRules {
        let source = server.directive.source;
        let reason = "it shares a listener with a server that takes connections otherwise: those for its names are refused";
        self.notes.left_out(source, &server.directive.text(), reason, "a service of its own");
        let rule = NginxRule::single_key(RuleCondition::Is(true), "deny", "true", source, "server");
        ServerRules { rules: vec![rule], pool: None }
    }

    /// The rules of one server, whatever the name.
    fn server_rules(&mut self, server: &StreamServer<'t>) -> ServerRules {
        self.scope = server.scope.clone();
        let switches = ["ssl_preread", "proxy_ssl", "proxy_protocol"];
        let switched = switches.iter().filter_map(|name| self.scope.get(name));
        switched.for_each(Directive::mark_converted);
        let source = server.directive.source;
        let sight = ClientSight { ignores_header: self.ignores_header() };
        let mut rules = access::rules(&self.scope, sight, self.notes);
        let missing = content::find_include(server.directive.inner()).map(content::refuse_all);
        rules.splice(0..0, missing);
        let pass = server.directive.inner().iter().find(|one| one.name == "proxy_pass");
        if pass.is_none() {
            let reason = "no server is named";
            self.notes.left_out(source, &server.directive.text(), reason, "`pool` in a service");
        }
        let pool = pass.and_then(|pass| self.target(pass, &mut rules));
        let source = pass.map_or(source, |pass| pass.source);
        let last = match &pool {
            Some(pool) => KeyValue::new("pool", value::quote(pool)),
            None => KeyValue::new("deny", "true"),
        };
        let text = pass.map_or_else(|| server.directive.text(), Directive::text);
        rules.push(NginxRule { when: RuleCondition::Is(true), keys: vec![last], source, text });
        ServerRules { rules, pool }
    }

    /// Whether connections begin with a PROXY header from which nginx does not take the client's address.
    fn ignores_header(&self) -> bool {
        let has_header = |one: &&Directive| one.peek_all().iter().any(|it| it == "proxy_protocol");
        self.scope.all("listen").iter().any(has_header)
            && !accept_proxy::is_believed(&self.scope, ProxyPlane::Stream)
    }

    /// The pool. If variables select the pool, rules are added for each value.
    fn target(&mut self, pass: &Directive, rules: &mut Vec<NginxRule>) -> Option<String> {
        let text = pass.word(0);
        if !text.contains('$') {
            return Some(self.pool(text, pass.source));
        }
        let Some(branches) = self.branches(text) else {
            let reason = "which server is meant depends on variables";
            self.notes.left_out(pass.source, &pass.text(), reason, "rules with `sni`");
            return None;
        };
        pass.mark_converted();
        variable_names(text).into_iter().for_each(|name| self.defined.mark_used(name));
        let mut pools = Vec::new();
        for ValueBranch { when, value } in branches {
            let target = value.unwrap_or_default();
            let always = when == RuleCondition::Is(true);
            let mut rule = |key: &'static str, value: &str| {
                let text =
                    if target.is_empty() { "no value: refused".to_owned() } else { target.clone() };
                rules.push(NginxRule::single_key(when.clone(), key, value, pass.source, &text));
            };
            if let Some(parts) = self.share_parts(&target, pass.source, &mut pools) {
                let reason = "each connection is drawn anew, also one of the same client";
                self.notes.changed(pass.source, &pass.text(), reason, "`split`");
                rule("split", &parts);
            } else if target.is_empty() {
                rule("deny", "true");
            } else if target.contains('$') {
                let reason = format!(
                    "`{target}` names a server by what the client says; such connections are refused"
                );
                self.notes.left_out(pass.source, &pass.text(), &reason, "rules with `sni`");
                rule("deny", "true");
            } else {
                let pool = self.pool(&target, pass.source);
                pools.push(pool.clone());
                if always {
                    return Some(pool);
                }
                rule("pool", &value::quote(&pool));
            }
        }
        pools.into_iter().next()
    }

    /// The values of a target. Those that cannot be told apart are left out. `None`: no value is known.
    fn branches(&mut self, text: &str) -> Option<Vec<ValueBranch>> {
        let assigned = BTreeMap::new();
        let fixed = BTreeMap::new();
        let place = VariablePlace {
            tls: false,
            server_name: None,
            port: None,
            real_ip: self.ignores_header(),
            assigned: &assigned,
            fixed: &fixed,
        };
        let block = variable_names(text).into_iter().find_map(|name| self.defined.block(name))?;
        let mut out = Vec::new();
        let mut left = Vec::new();
        for branch in self.defined.expand(text, place)? {
            match (branch.when.unknown(), &branch.value) {
                (None, Some(_)) => out.push(branch),
                (why, _) => left.extend(why.cloned()),
            }
        }
        if out.len() < 2 && !left.is_empty() {
            return None;
        }
        for why in left {
            self.notes.left_out_because(block.source, &block.text(), &why);
        }
        Some(out)
    }

    /// The value of `split` for a target that is a share of clients.
    fn share_parts(
        &mut self,
        target: &str,
        source: SourcePlace,
        pools: &mut Vec<String>,
    ) -> Option<String> {
        let name = only_variable(target).filter(|name| self.defined.is_share(name))?;
        let shares = self.defined.shares(name)?;
        let named = |text: &str| !text.is_empty() && !text.contains('$');
        if !shares.iter().all(|share| named(&share.value)) {
            return None;
        }
        self.defined.mark_used(name);
        let mut parts = Vec::new();
        for share in shares {
            let pool = self.pool(&share.value, source);
            parts.push(value::table(&[
                KeyValue::new("pool", value::quote(&pool)),
                KeyValue::new("weight", share.weight.to_string()),
            ]));
            pools.push(pool);
        }
        Some(value::list(parts))
    }

    fn pool(&mut self, target: &str, source: SourcePlace) -> String {
        let used = PoolUse { scheme: "tcp", target, source };
        self.pools.reference(used, self.upstreams, &self.scope, self.notes).name
    }
}
