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
use super::listen;
use super::pools::{PoolUse, UpstreamPools};
use super::rule::{self, NginxRule};
use super::scope::DirectiveScope;
use super::tree::Directive;
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
    let defined = DefinedVariables::new(block);
    for server in of("server") {
        let level = server.inner();
        content::note_unsupported(level, notes);
        let mut stream = StreamWriter {
            upstreams: &upstreams,
            defined: &defined,
            scope: outer.nested(level),
            pools,
            notes,
        };
        stream.service(server, document, names);
    }
    notes.settle_written(document);
    variable_notes::note_blocks(block, &defined, notes);
    content::note_unused(block, notes);
    for unused in upstreams.iter().filter(|one| !pools.has_used(one.word(0))) {
        notes.not_needed(unused.source, &unused.text(), "nothing refers to it");
    }
}

struct StreamWriter<'s, 't> {
    upstreams: &'s [&'t Directive],
    defined: &'s DefinedVariables<'t>,
    scope: DirectiveScope<'t>,
    pools: &'s mut UpstreamPools,
    notes: &'s mut ConversionNotes,
}

impl StreamWriter<'_, '_> {
    fn service(&mut self, server: &Directive, document: &mut Document, names: &mut UniqueNames) {
        let level = server.inner();
        let switches = ["ssl_preread", "proxy_ssl", "proxy_protocol"];
        let switched = switches.iter().filter_map(|name| self.scope.get(name));
        switched.for_each(Directive::mark_converted);
        let all = level.iter().filter(|one| one.name == "listen");
        let listens: Vec<listen::ListenAddress> =
            all.filter_map(|one| listen::read(one, false, self.notes)).collect();
        let Some(first) = listens.first() else {
            let reason = "it listens nowhere that is carried over";
            return self.notes.left_out(server.source, &server.text(), reason, "`listen`");
        };
        let Some(pass) = level.iter().find(|one| one.name == "proxy_pass") else {
            return self.notes.left_out(
                server.source,
                &server.text(),
                "no server is named",
                "`pool` in a service",
            );
        };
        let sight = ClientSight { ignores_header: self.ignores_header() };
        let mut rules = access::rules(&self.scope, sight, self.notes);
        let Some(pool) = self.target(pass, &mut rules) else { return };
        let name = names.unique_name(&format!("{}-{}", pool, first.port));
        let path = format!("service.{name}");
        let mut service = TomlTable::new(path.clone(), server.source, &server.text());
        for listen in &listens {
            service.push_item("listen", value::quote(&listen.address), listen.source);
        }
        service.set("forward", value::quote("tcp"), SourcePlace::NONE);
        service.set("pool", value::quote(&pool), pass.source);
        if listens.iter().any(|listen| listen.header) {
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
        let tls = listens.iter().any(|listen| listen.tls);
        if tls && !level.iter().any(|one| one.name == "ssl_certificate") {
            return self.notes.left_out(
                first.source,
                "listen … ssl",
                "TLS needs the file of a certificate",
                "`tls`",
            );
        }
        document.push(service);
        if tls {
            super::tls::write(&path, first.source, &[&self.scope], document, self.notes);
        }
        rule::write(&name, rules, tls, document);
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
