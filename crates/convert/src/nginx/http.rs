//! `http`: servers that share a listening address become one service.

use std::collections::BTreeMap;

use crate::condition::RuleCondition;
use crate::document::{Document, TomlTable};
use crate::empty_pool;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::accept_proxy::{self, ProxyPlane};
use super::access::ClientSight;
use super::body_limit;
use super::compression;
use super::content::{self, ContentWriter};
use super::defined::DefinedVariables;
use super::error_pages;
use super::forwarding::{self, ClientTerms};
use super::handshake_refusal;
use super::hidden_fields;
use super::http_service;
use super::listen::{self, ListenAddress};
use super::location;
use super::path_refusal;
use super::pools::UpstreamPools;
use super::rate_limit;
use super::rule::{self, NginxRule};
use super::scope::DirectiveScope;
use super::server_name::{self, ServerNameGroup};
use super::tls::{self, RefusalEnding};
use super::tree::Directive;
use super::upstream_directory::UpstreamDirectory;
use super::variable_notes;
use super::vhost::ServerBlock;

/// Servers on the same addresses, the default server first.
struct ListenGroup<'l> {
    listens: Vec<&'l ListenAddress>,
    servers: Vec<usize>,
}

pub fn convert(
    block: &[Directive],
    document: &mut Document,
    pools: &mut UpstreamPools,
    names: &mut UniqueNames,
    notes: &mut ConversionNotes,
) {
    let outer = DirectiveScope::default().nested(block);
    let of = |name: &str| block.iter().filter(|one| one.name == name).collect::<Vec<_>>();
    let upstreams = of("upstream");
    let directory = UpstreamDirectory::new(&upstreams);
    let zones = of("limit_req_zone");
    content::note_unsupported(block, notes);
    let defined = DefinedVariables::new(block);
    let mut vhosts: Vec<ServerBlock<'_>> = of("server")
        .into_iter()
        .enumerate()
        .map(|(place, server)| vhost(server, place, &outer, notes))
        .collect();
    join_families(&mut vhosts);
    for shared in groups(&vhosts) {
        let mut writer = HttpWriter {
            vhosts: &vhosts,
            upstreams: &directory,
            zones: &zones,
            defined: &defined,
            pools,
            notes,
        };
        writer.service(&shared, document, names);
    }
    rate_limit::share_zones(document, notes);
    for unused in upstreams.iter().filter(|one| !pools.has_used(one.word(0))) {
        notes.not_needed(unused.source, &unused.text(), "nothing refers to it");
    }
    notes.settle_written(document);
    variable_notes::note_blocks(block, &defined, notes);
    content::note_unused(block, notes);
    for unused in zones.iter().filter(|one| !one.is_settled()) {
        notes.not_needed(unused.source, &unused.text(), "nothing refers to it");
    }
}

fn vhost<'t>(
    server: &'t Directive,
    place: usize,
    outer: &DirectiveScope<'t>,
    notes: &mut ConversionNotes,
) -> ServerBlock<'t> {
    let level = server.inner();
    content::note_unsupported(level, notes);
    let scope = outer.nested(level);
    // The old word for all listeners of a server, which may stand around it.
    let switch = scope.get("ssl").inspect(|one| one.mark_converted());
    let ssl = switch.is_some_and(|one| one.word(0) == "on");
    level.iter().filter(|one| one.name == "http2").for_each(Directive::mark_converted);
    let mut listens: Vec<ListenAddress> = Vec::new();
    let mut any = false;
    for directive in level.iter().filter(|one| one.name == "listen") {
        any = true;
        listens.extend(listen::read(directive, ssl, notes));
    }
    let alone = |quic: &&ListenAddress| {
        quic.quic && !listens.iter().any(|one| !one.quic && one.address == quic.address)
    };
    for quic in listens.iter().filter(alone) {
        let reason = "HTTP/3 is spoken where TLS over TCP is";
        notes.left_out(
            quic.source,
            "listen … quic",
            reason,
            "`http3 = \"on\"` in a service with `tls`",
        );
    }
    if !any {
        listens.push(ListenAddress {
            address: "0.0.0.0:80".to_owned(),
            port: 80,
            tls: ssl,
            source: server.source,
            ..ListenAddress::default()
        });
    }
    ServerBlock { directive: server, listens, scope, place }
}

/// A listener of both IP families covers listeners of one family on its port.
fn join_families(vhosts: &mut [ServerBlock<'_>]) {
    let listens = vhosts.iter().flat_map(|vhost| &vhost.listens);
    let both: Vec<String> =
        listens.map(|one| one.address.clone()).filter(|one| one.starts_with(':')).collect();
    for listen in vhosts.iter_mut().flat_map(|vhost| &mut vhost.listens) {
        let all = listen.address.strip_prefix("0.0.0.0").or(listen.address.strip_prefix("[::]"));
        if let Some(port) = all.filter(|port| both.iter().any(|one| one == port)) {
            listen.address = port.to_owned();
        }
    }
}

fn groups<'l>(vhosts: &'l [ServerBlock<'_>]) -> Vec<ListenGroup<'l>> {
    let mut by_address: BTreeMap<&str, Vec<(usize, &ListenAddress)>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for (at, vhost) in vhosts.iter().enumerate() {
        for listen in vhost.listens.iter().filter(|listen| !listen.quic) {
            if !by_address.contains_key(listen.address.as_str()) {
                order.push(&listen.address);
            }
            by_address.entry(&listen.address).or_default().push((at, listen));
        }
    }
    let mut out: Vec<((bool, bool), ListenGroup<'l>)> = Vec::new();
    for address in order {
        let Some(list) = by_address.get(address) else { continue };
        let any = |of: fn(&ListenAddress) -> bool| list.iter().any(|(_, listen)| of(listen));
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
                out.push((manner, ListenGroup { listens: vec![listen], servers }));
            }
            _ => {}
        }
    }
    out.into_iter().map(|(_, shared)| shared).collect()
}

/// What the rules of a service have in common.
#[derive(Clone, Copy)]
struct ServiceFacts<'f> {
    tls: bool,
    /// Connections begin with a PROXY protocol header.
    has_header: bool,
    client_terms: &'f ClientTerms,
    /// Fields of answers that nginx hides, and some location of the service passes.
    passed_fields: &'f [&'static str],
    /// Locations whose file is an error page.
    pages: &'f [SourcePlace],
    /// The servers of the service, the default one first.
    scopes: &'f [&'f DirectiveScope<'f>],
}

struct HttpWriter<'w, 't> {
    vhosts: &'w [ServerBlock<'t>],
    upstreams: &'w UpstreamDirectory<'t>,
    zones: &'w [&'t Directive],
    defined: &'w DefinedVariables<'t>,
    pools: &'w mut UpstreamPools,
    notes: &'w mut ConversionNotes,
}

impl HttpWriter<'_, '_> {
    fn service(
        &mut self,
        shared: &ListenGroup<'_>,
        document: &mut Document,
        names: &mut UniqueNames,
    ) {
        let vhosts = self.vhosts;
        let servers: Vec<&ServerBlock<'_>> =
            shared.servers.iter().filter_map(|at| vhosts.get(*at)).collect();
        let Some(default) = servers.first().copied() else { return };
        servers.iter().for_each(|server| server.directive.mark_converted());
        // A parameter that one server sets on an address applies to all servers on that address.
        let has_listen = |of: fn(&ListenAddress) -> bool| {
            let mut all = servers.iter().flat_map(|one| &one.listens);
            all.any(|one| of(one) && shared.listens.iter().any(|own| own.address == one.address))
        };
        let tls = has_listen(|listen| listen.tls && !listen.quic);
        let label = servers.iter().find_map(|one| one.first_name()).unwrap_or("web");
        let name = names.unique_name(&if tls { format!("{label}-tls") } else { label.to_owned() });
        let pages = error_pages::read(&servers, self.notes);
        let client_terms = ClientTerms::read("http", &default.scope);
        let scopes: Vec<&DirectiveScope<'_>> = servers.iter().map(|one| &one.scope).collect();
        let passed_fields = hidden_fields::passed_somewhere(&servers);
        let facts = ServiceFacts {
            tls,
            passed_fields: &passed_fields,
            has_header: has_listen(|listen| listen.header),
            client_terms: &client_terms,
            pages: &pages.locations,
            scopes: &scopes,
        };
        let mut rules = self.rules(&servers, facts);
        let body_limit = body_limit::service_limit(&rules, client_terms.body_bytes);
        let pool = self.default_pool(&mut rules);
        let path = format!("service.{name}");
        let mut service = service_head(&path, shared, default, &pool);
        if let Some(names) = http_service::field_names(&servers, self.notes) {
            service.set("field-names", value::quote(names), SourcePlace::NONE);
        }
        let quic = tls && has_listen(|listen| listen.quic);
        http_service::write_protocols(&mut service, &servers, tls, quic);
        if tls {
            http_service::note_http2(&servers, self.notes);
        }
        if has_listen(|listen| listen.header) {
            let header = accept_proxy::accept_proxy(&default.scope, ProxyPlane::Http);
            service.set_required("accept-proxy", header, SourcePlace::NONE);
        }
        compression::write(&mut service, &scopes, self.notes);
        let proxied = pool != empty_pool::NAME;
        if let Some(buffer) = client_terms.service_buffer().filter(|_| proxied) {
            service.set("buffer", buffer, SourcePlace::NONE);
        }
        pages.write(&mut service, self.notes);
        http_service::write_limits(&mut service, body_limit, &default.scope);
        document.push(service);
        let tunnel = client_terms.tunnel_timeout().filter(|_| proxied);
        forwarding::note_silence(&default.scope, self.notes);
        http_service::write_timeouts(&path, &default.scope, &client_terms, tunnel, document);
        if tls {
            let source = shared.listens.first().map_or(SourcePlace::NONE, |listen| listen.source);
            let ending = RefusalEnding::Answer;
            tls::write(&path, source, &scopes, ending, document, self.notes);
        }
        if proxied {
            hidden_fields::write(&name, &passed_fields, document);
        }
        rule::write(&name, rules, tls, document, self.notes);
    }

    /// The rules of all servers by name. The default server's rules come last, and apply to every other name.
    fn rules(&mut self, servers: &[&ServerBlock<'_>], facts: ServiceFacts<'_>) -> Vec<NginxRule> {
        let default = servers.first().map_or(0, |server| server.place);
        let names = servers.iter().flat_map(|server| server.names(self.notes)).collect();
        let mut out = Vec::new();
        for ServerNameGroup { place, when } in server_name::ordered_names(names, default) {
            let Some(server) = self.vhosts.get(place) else { continue };
            let own = self.server_block_rules(server, facts);
            if when.unknown().is_some() {
                let source = server.directive.source;
                let always = RuleCondition::Is(true);
                out.push(NginxRule::single_key(always, "deny", "true", source, "server_name"));
                continue;
            }
            out.extend(own.into_iter().map(|rule| rule.with_condition(&when)));
        }
        if let Some(default) = servers.first() {
            out.extend(self.server_block_rules(default, facts));
            let source = default.directive.source;
            let refusal = path_refusal::refuse_hidden_paths(&out, source, self.notes);
            out.splice(0..0, refusal);
            let names = handshake_refusal::refuse_names(servers).filter(|_| facts.tls);
            out.splice(0..0, names);
        }
        out
    }

    fn server_block_rules(
        &mut self,
        server: &ServerBlock<'_>,
        facts: ServiceFacts<'_>,
    ) -> Vec<NginxRule> {
        let ServiceFacts { tls, has_header, client_terms, passed_fields, pages, scopes } = facts;
        if tls && tls::demands_otherwise(scopes, &server.scope) {
            return vec![http_service::refuse_clients(server)];
        }
        let ignores_header =
            has_header && !accept_proxy::is_believed(&server.scope, ProxyPlane::Http);
        let mut context = ContentWriter {
            tls,
            name: server.first_name(),
            usual_port: server.listens.iter().all(|one| one.port == if tls { 443 } else { 80 }),
            upstreams: self.upstreams,
            zones: self.zones,
            media_type: server.scope.get("default_type").map(|one| one.word(0).to_owned()),
            client_terms: client_terms.clone(),
            passed_fields,
            page_locations: pages,
            named: location::named_locations(server.directive.inner()),
            server_level: server.directive.inner(),
            server_scope: server.scope.clone(),
            new_path: None,
            defined: self.defined,
            assigned: tls::client_variables(&server.scope, tls),
            fixed: BTreeMap::new(),
            real_ip: ignores_header || server.scope.has_real_ip(),
            sight: ClientSight { ignores_header },
            pools: self.pools,
            notes: self.notes,
        };
        server.rules(&mut context)
    }

    /// The service's default pool. If the last rule always matches and only selects a pool, that pool is the default
    /// and the rule is removed. Otherwise the default is the first pool of a rule, or the empty pool.
    fn default_pool(&mut self, rules: &mut Vec<NginxRule>) -> String {
        let plain = |rule: &NginxRule| {
            let [KeyValue { key: "pool", value }] = &rule.keys[..] else { return None };
            Some(value.trim_matches('"').to_owned())
        };
        if let Some(last) = rules.last()
            && last.when.clone().simplify(true) == RuleCondition::Is(true)
            && let Some(pool) = plain(last)
        {
            rules.pop();
            return pool;
        }
        let named = rules.iter().flat_map(|rule| &rule.keys).find(|one| one.key == "pool");
        match named {
            Some(pool) => pool.value.trim_matches('"').to_owned(),
            None => self.pools.empty_pool(),
        }
    }
}

/// The keys of a service with which it begins.
fn service_head(
    path: &str,
    shared: &ListenGroup<'_>,
    default: &ServerBlock<'_>,
    pool: &str,
) -> TomlTable {
    let mut service =
        TomlTable::new(path.to_owned(), default.directive.source, &default.directive.text());
    for listen in &shared.listens {
        service.push_item("listen", value::quote(&listen.address), listen.source);
    }
    service.set("forward", value::quote("http"), SourcePlace::NONE);
    service.set("pool", value::quote(pool), SourcePlace::NONE);
    // Fields of the client's address are written where locations set them; others pass, as in nginx.
    let passed =
        [KeyValue::new("x-forwarded", value::quote("pass")), KeyValue::new("via", "false")];
    service.set("forwarded", value::table(&passed), SourcePlace::NONE);
    service
}
