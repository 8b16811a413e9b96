//! `http`: servers that share a listening address become one service.

use std::collections::BTreeMap;

use crate::condition::Cond;
use crate::document::{Document, Table};
use crate::names::Names;
use crate::notes::Notes;
use crate::{span, value};

use super::accept;
use super::compress;
use super::content::{self, Context};
use super::known;
use super::listen::{self, Listen};
use super::pools::Pools;
use super::rule::{self, Rule};
use super::scope::Scope;
use super::tls;
use super::tree::Directive;
use super::vhost::{Named, Vhost};

/// Servers on the same addresses, the default one first.
struct Shared<'l> {
    listens: Vec<&'l Listen>,
    servers: Vec<usize>,
}

/// Writes a block.
pub fn convert(
    block: &[Directive],
    document: &mut Document,
    pools: &mut Pools,
    names: &mut Names,
    notes: &mut Notes,
) {
    let outer = Scope::default().within(block);
    let of = |name: &str| block.iter().filter(|one| one.name == name).collect::<Vec<_>>();
    let (upstreams, zones) = (of("upstream"), of("limit_req_zone"));
    content::tell(block, notes);
    for map in of("map") {
        // What nearly every file has for WebSockets.
        match map.word(0) {
            "$http_upgrade" => {
                notes.needless(map.line, &map.text(), "upgrades are passed on without being told")
            }
            _ => known::tell(map, notes),
        }
    }
    let vhosts: Vec<Vhost<'_>> =
        of("server").into_iter().map(|server| vhost(server, &outer, notes)).collect();
    for shared in groups(&vhosts) {
        let mut writer =
            Writer { vhosts: &vhosts, upstreams: &upstreams, zones: &zones, pools, notes };
        writer.service(&shared, document, names);
    }
}

fn vhost<'t>(server: &'t Directive, outer: &Scope<'t>, notes: &mut Notes) -> Vhost<'t> {
    let level = server.inner();
    content::tell(level, notes);
    let ssl = level.iter().any(|one| one.name == "ssl" && one.word(0) == "on");
    let mut listens: Vec<Listen> = Vec::new();
    let mut any = false;
    for directive in level.iter().filter(|one| one.name == "listen") {
        any = true;
        listens.extend(listen::read(directive, ssl, notes));
    }
    let alone = |quic: &&Listen| {
        quic.quic && !listens.iter().any(|one| !one.quic && one.address == quic.address)
    };
    for quic in listens.iter().filter(alone) {
        let reason = "HTTP/3 is spoken where TLS over TCP is";
        notes.left(quic.line, "listen … quic", reason, "`http3 = \"on\"` in a service with `tls`");
    }
    if !any {
        listens.push(Listen {
            address: "0.0.0.0:80".to_owned(),
            port: 80,
            line: server.line,
            ..Listen::default()
        });
    }
    Vhost { directive: server, listens, scope: outer.within(level) }
}

fn groups<'l>(vhosts: &'l [Vhost<'_>]) -> Vec<Shared<'l>> {
    let mut by_address: BTreeMap<&str, Vec<(usize, &Listen)>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for (at, vhost) in vhosts.iter().enumerate() {
        for listen in vhost.listens.iter().filter(|listen| !listen.quic) {
            if !by_address.contains_key(listen.address.as_str()) {
                order.push(&listen.address);
            }
            by_address.entry(&listen.address).or_default().push((at, listen));
        }
    }
    let mut out: Vec<((bool, bool), Shared<'l>)> = Vec::new();
    for address in order {
        let Some(list) = by_address.get(address) else { continue };
        let any = |of: fn(&Listen) -> bool| list.iter().any(|(_, listen)| of(listen));
        let manner = (any(|listen| listen.tls), any(|listen| listen.header));
        let mut servers: Vec<usize> = list.iter().map(|(at, _)| *at).collect();
        let default = list.iter().position(|(_, listen)| listen.default).unwrap_or(0);
        let first = servers.remove(default);
        servers.insert(0, first);
        servers.dedup();
        let same =
            out.iter_mut().find(|(other, shared)| *other == manner && shared.servers == servers);
        match (same, list.first()) {
            (Some((_, shared)), Some((_, listen))) => shared.listens.push(listen),
            (None, Some((_, listen))) => {
                out.push((manner, Shared { listens: vec![listen], servers }));
            }
            _ => {}
        }
    }
    out.into_iter().map(|(_, shared)| shared).collect()
}

struct Writer<'w, 't> {
    vhosts: &'w [Vhost<'t>],
    upstreams: &'w [&'t Directive],
    zones: &'w [&'t Directive],
    pools: &'w mut Pools,
    notes: &'w mut Notes,
}

impl Writer<'_, '_> {
    fn service(&mut self, shared: &Shared<'_>, document: &mut Document, names: &mut Names) {
        let vhosts = self.vhosts;
        let servers: Vec<&Vhost<'_>> =
            shared.servers.iter().filter_map(|at| vhosts.get(*at)).collect();
        let Some(default) = servers.first().copied() else { return };
        // What one server says of an address holds for all that listen there.
        let said = |of: fn(&Listen) -> bool| {
            let mut all = servers.iter().flat_map(|one| &one.listens);
            all.any(|one| of(one) && shared.listens.iter().any(|own| own.address == one.address))
        };
        let tls = said(|listen| listen.tls && !listen.quic);
        let label = servers.iter().find_map(|one| one.first_name()).unwrap_or("web");
        let name = names.give(&if tls { format!("{label}-tls") } else { label.to_owned() });
        let mut rules = self.rules(&servers, tls);
        let pool = self.default_pool(&mut rules);
        let path = format!("service.{name}");
        let mut service =
            Table::new(path.clone(), default.directive.line, &default.directive.text());
        for listen in &shared.listens {
            service.item("listen", value::text(&listen.address), listen.line);
        }
        service.set("forward", value::text("http"), 0);
        service.set("pool", value::text(&pool), 0);
        service.set("forwarded", forwarded(&servers), 0);
        let http2 = servers.iter().any(|one| {
            one.listens.iter().any(|listen| listen.http2)
                || one.scope.get("http2").is_some_and(|on| on.word(0) == "on")
        });
        if tls && !http2 {
            service.set("http2", value::text("off"), 0);
        }
        if tls && said(|listen| listen.quic) {
            service.set("http3", value::text("on"), 0);
        }
        if said(|listen| listen.header) {
            service.must("accept-proxy", accept::from(&default.scope), 0);
        }
        let scopes: Vec<&Scope<'_>> = servers.iter().map(|one| &one.scope).collect();
        compress::write(&mut service, &scopes, self.notes);
        document.push(service);
        times(&path, &default.scope, document);
        if tls {
            let line = shared.listens.first().map_or(0, |listen| listen.line);
            tls::write(&path, line, &scopes, document, self.notes);
        }
        rule::write(&name, rules, tls, document);
    }

    /// Rules of all servers by their names, the default one's last and for every other name.
    fn rules(&mut self, servers: &[&Vhost<'_>], tls: bool) -> Vec<Rule> {
        let mut named: Vec<(Named, usize)> = Vec::new();
        for (at, server) in servers.iter().enumerate() {
            named.extend(server.names(self.notes).into_iter().map(|name| (name, at)));
        }
        // Without wildcards elsewhere the default server's own names need no rules of their own.
        let wild = named.iter().any(|(name, at)| name.rank.0 > 0 && *at > 0);
        named.retain(|(_, at)| *at > 0 || wild);
        named.sort_by_key(|(name, at)| (name.rank, *at));
        let mut out = Vec::new();
        let mut at = 0;
        while let Some((first, server)) = named.get(at) {
            // Exact names of one server stand together.
            let mut texts = vec![first.text.clone()];
            let mut next = at + 1;
            while let Some((name, _)) = named.get(next).filter(|(name, other)| {
                other == server
                    && name.key == first.key
                    && (name.rank == first.rank || name.rank.0 == first.rank.0 && first.rank.0 == 0)
            }) {
                texts.push(name.text.clone());
                next += 1;
            }
            let when = Cond::texts(first.key, &texts);
            out.extend(self.of(servers[*server], tls).into_iter().map(|rule| rule.under(&when)));
            at = next;
        }
        if let Some(default) = servers.first() {
            out.extend(self.of(default, tls));
        }
        out
    }

    fn of(&mut self, server: &Vhost<'_>, tls: bool) -> Vec<Rule> {
        let mut context = Context {
            tls,
            name: server.first_name(),
            upstreams: self.upstreams,
            zones: self.zones,
            pools: self.pools,
            notes: self.notes,
        };
        server.rules(&mut context)
    }

    /// The pool of the last rule when that only names one; it needs no rule then.
    fn default_pool(&mut self, rules: &mut Vec<Rule>) -> String {
        let plain = |rule: &Rule| {
            let [("pool", pool)] = &rule.keys[..] else { return None };
            Some(pool.trim_matches('"').to_owned())
        };
        if let Some(last) = rules.last()
            && last.when.clone().settled(true) == Cond::Is(true)
            && let Some(pool) = plain(last)
        {
            rules.pop();
            return pool;
        }
        let named = rules.iter().flat_map(|rule| &rule.keys).find(|(key, _)| *key == "pool");
        match named {
            Some((_, pool)) => pool.trim_matches('"').to_owned(),
            None => self.pools.nowhere(),
        }
    }
}

/// What the servers are told of the client.
fn forwarded(servers: &[&Vhost<'_>]) -> String {
    let mut mode = "keep";
    for server in servers {
        for one in everywhere(server.directive, "proxy_set_header")
            .into_iter()
            .chain(server.scope.all("proxy_set_header"))
        {
            match (one.word(0).to_ascii_lowercase().as_str(), one.word(1)) {
                ("x-forwarded-for", "$remote_addr" | "$proxy_protocol_addr") => mode = "replace",
                ("x-forwarded-for" | "x-forwarded-proto", _) if mode == "keep" => mode = "append",
                _ => {}
            }
        }
    }
    value::table(&[("x-forwarded", value::text(mode)), ("via", "false".to_owned())])
}

fn everywhere<'t>(directive: &'t Directive, name: &str) -> Vec<&'t Directive> {
    let inner = directive.inner().iter();
    inner.flat_map(|one| if one.name == name { vec![one] } else { everywhere(one, name) }).collect()
}

fn times(path: &str, scope: &Scope<'_>, document: &mut Document) {
    let mut times = Table::new(format!("{path}.timeout"), 0, "");
    for (key, name) in [
        ("header", "client_header_timeout"),
        ("idle", "keepalive_timeout"),
        ("between-bytes", "client_body_timeout"),
    ] {
        if let Some((ms, line)) = scope.time(name) {
            times.set(key, span::written(ms), line);
        }
    }
    if !times.entries.is_empty() {
        document.push(times);
    }
}
