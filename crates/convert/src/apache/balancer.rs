//! Balancers and single servers: a pool for each target and its parameters.

use std::collections::HashMap;

use crate::document::{Document, TomlTable};
use crate::duration::format_duration;
use crate::empty_pool;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::statement::ConfigStatement;
use crate::value::{self, KeyValue};

use super::parameters::{MemberParameters, PoolParameters};
use super::proxy_url::ProxyPassUrl;
use super::scope::ServerScope;
use super::sticky_session::StickySession;
use super::upstream_tls;

/// The pool of a target.
#[derive(Clone, Debug, Default)]
pub struct ForwardTarget {
    /// `None`: nothing can be forwarded to.
    pub pool: Option<String>,
    /// The Host of the only server.
    pub host: Option<String>,
    /// URLs of the servers, for their Locations.
    pub servers: Vec<String>,
}

/// All pools, and the members of balancers.
pub struct BalancerPools<'t> {
    names: UniqueNames,
    members: HashMap<String, Vec<&'t ConfigStatement>>,
    settings: HashMap<String, Vec<&'t ConfigStatement>>,
    known: HashMap<String, ForwardTarget>,
    tables: Vec<TomlTable>,
    pub sessions: HashMap<String, StickySession>,
}

impl<'t> BalancerPools<'t> {
    /// Collects the members of balancers from these lists of directives.
    pub fn new(lists: &[&'t [ConfigStatement]]) -> BalancerPools<'t> {
        let mut out = BalancerPools {
            names: empty_pool::reserve_name(),
            members: HashMap::new(),
            settings: HashMap::new(),
            known: HashMap::new(),
            tables: Vec::new(),
            sessions: HashMap::new(),
        };
        for list in lists.iter().copied() {
            for one in list {
                let name = balancer_name(one.peek(0)).map(|name| balancer_key(list, &name));
                match (one.name.as_str(), name) {
                    ("proxy", Some(name)) => {
                        for inner in one.inner() {
                            out.collect(inner, name.clone());
                        }
                    }
                    ("balancermember" | "proxyset", Some(name)) => out.collect(one, name),
                    _ => {}
                }
            }
        }
        out
    }

    /// The key of a balancer: those of one name in several virtual hosts are different ones. The main server's comes first.
    fn key(&self, name: &str, scope: &ServerScope<'_>) -> String {
        let main = balancer_key(scope.main, name);
        match self.members.contains_key(&main) {
            true => main,
            false => balancer_key(scope.own, name),
        }
    }

    /// The path that the members of a balancer begin theirs with. `None`: they have different ones.
    pub fn member_path(&self, name: &str, scope: &ServerScope<'_>) -> Option<String> {
        let members = self.members.get(&self.key(name, scope));
        let mut found: Option<String> = None;
        for member in members.into_iter().flatten() {
            let skip = usize::from(balancer_name(member.peek(0)).is_some());
            let url = ProxyPassUrl::read(member.peek(skip));
            let path = url.map_or(String::new(), |url| url.path.trim_end_matches('/').to_owned());
            if found.as_ref().is_some_and(|known| *known != path) {
                return None;
            }
            found = Some(path);
        }
        Some(found.unwrap_or_default())
    }

    fn collect(&mut self, one: &'t ConfigStatement, name: String) {
        match one.name.as_str() {
            "balancermember" => self.members.entry(name).or_default().push(one),
            "proxyset" => self.settings.entry(name).or_default().push(one),
            _ => {}
        }
    }

    /// The pool of a URL, as a directive with parameters in a virtual host names it.
    pub fn target(
        &mut self,
        url: &ProxyPassUrl,
        from: &ConfigStatement,
        parameters: &[String],
        scope: &ServerScope<'_>,
        notes: &mut ConversionNotes,
    ) -> ForwardTarget {
        let own = PoolParameters::read(parameters, from, notes);
        // One server with other parameters, or from another virtual host, is a pool of its own.
        let place = scope.own.first().map_or(SourcePlace::NONE, |one| one.source);
        let key = format!("{}://{} {parameters:?} {place:?}", url.scheme, url.authority);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let made = self.make(url, own, from, scope, notes).unwrap_or_default();
        self.known.insert(key, made.clone());
        made
    }

    fn make(
        &mut self,
        url: &ProxyPassUrl,
        mut own: PoolParameters,
        from: &ConfigStatement,
        scope: &ServerScope<'_>,
        notes: &mut ConversionNotes,
    ) -> Option<ForwardTarget> {
        let name = self.names.unique_name(&url.authority);
        let mut pool = TomlTable::new(format!("pool.{name}"), from.source, &from.text());
        let is_balancer = url.scheme == "balancer";
        let mut urls: Vec<ProxyPassUrl> = Vec::new();
        if is_balancer {
            let balancer = self.key(&url.authority, scope);
            for set in self.settings.get(&balancer).cloned().unwrap_or_default() {
                let skip = usize::from(balancer_name(set.peek(0)).is_some());
                set.words_from(0);
                set.settle_converted(notes);
                own.extend(set.words_from(skip), set, notes);
            }
            for member in self.members.get(&balancer).cloned().unwrap_or_default() {
                urls.extend(write_member(&mut pool, member, &mut own, notes));
            }
        } else {
            pool.push_item("servers", value::quote(&url.address()), from.source);
            urls.push(url.clone());
        }
        let tls = urls.first().is_some_and(ProxyPassUrl::is_tls);
        if urls.is_empty() || urls.iter().any(|one| one.is_tls() != tls) {
            let reason = "no server that can be forwarded to in one way is left: 502";
            from.leave_out(reason, "`servers` of a pool", notes);
            return None;
        }
        if tls {
            let tls = upstream_tls::read(scope, url, notes)?;
            pool.set_required("tls", tls, from.source);
        } else {
            pool.set("probe", value::quote("off"), SourcePlace::NONE);
        }
        if urls.iter().any(|one| one.scheme.starts_with("h2")) {
            pool.set("http2", value::quote("only"), from.source);
        }
        self.write_settings(&mut pool, &name, &own, is_balancer, urls.len());
        write_times(&mut pool, &own, scope, notes);
        self.tables.push(pool);
        let host = match urls.as_slice() {
            [only] => Some(only.host.clone()),
            _ => None,
        };
        let servers = urls.iter().map(|one| {
            let path = if is_balancer { one.path.trim_end_matches('/') } else { "" };
            format!("{}://{}{path}", one.scheme, one.authority)
        });
        let servers = servers.collect();
        Some(ForwardTarget { pool: Some(name), host, servers })
    }

    fn write_settings(
        &mut self,
        pool: &mut TomlTable,
        name: &str,
        own: &PoolParameters,
        is_balancer: bool,
        servers: usize,
    ) {
        pool.set("eject", value::quote("off"), SourcePlace::NONE);
        if let Some(probe) = &own.probe {
            pool.set("probe", probe.value.clone(), probe.source);
        }
        if is_balancer {
            let source = own.balance.as_ref().map_or(SourcePlace::NONE, |one| one.source);
            let word = own.balance.as_ref().map_or("round-robin", |one| one.value.as_str());
            pool.set("balance", value::quote(word), source);
        }
        // A balancer asks each further server once, a single one is asked once.
        let attempts = if is_balancer { servers.saturating_sub(1).min(10) } else { 0 };
        let retries = own.attempts.unwrap_or(attempts);
        pool.set("retries", retries.to_string(), SourcePlace::NONE);
        if retries > 0 {
            // A member that has taken the request answers for it, with 502 if need be: only connections are made again.
            let mut retry = vec![KeyValue::new("unsent-only", "true")];
            // Each attempt chooses among all members that have not failed yet, and so comes to the standbys.
            retry.extend(own.has_spares.then(|| KeyValue::new("backup", "true")));
            pool.set("retry", value::table(&retry), SourcePlace::NONE);
        }
        if let Some(session) = &own.session {
            self.sessions.insert(name.to_owned(), session.clone());
        }
        if let Some(most) = &own.connections {
            pool.set("connections", most.value.clone(), most.source);
        }
    }

    /// Reports members of balancers that nothing forwards to, and writes all pools.
    pub fn write(self, document: &mut Document, notes: &mut ConversionNotes) {
        let unused = self.members.values().chain(self.settings.values()).flatten();
        let mut unused: Vec<_> = unused.filter(|one| !one.is_settled()).collect();
        unused.sort_by_key(|one| one.source);
        for one in unused {
            one.note_not_needed("nothing forwards to the balancer", notes);
        }
        self.tables.into_iter().for_each(|table| document.push(table));
    }
}

/// The name of a balancer with the place of the directives that it stands among.
fn balancer_key(list: &[ConfigStatement], name: &str) -> String {
    let place = list.first().map_or(SourcePlace::NONE, |one| one.source);
    format!("{place:?} {name}")
}

/// The name in `balancer://name`.
pub fn balancer_name(text: &str) -> Option<String> {
    let rest = text.strip_prefix("balancer://")?;
    Some(rest.split('/').next().unwrap_or(rest).to_ascii_lowercase())
}

/// Writes a member as a server.
fn write_member(
    pool: &mut TomlTable,
    member: &ConfigStatement,
    own: &mut PoolParameters,
    notes: &mut ConversionNotes,
) -> Option<ProxyPassUrl> {
    let skip = usize::from(balancer_name(member.peek(0)).is_some());
    let words = member.words_from(0).to_vec();
    member.settle_converted(notes);
    let url = ProxyPassUrl::read(words.get(skip).map_or("", String::as_str));
    let Some(url) = url.filter(|url| url.scheme != "balancer") else {
        member.leave_out("its protocol is not spoken, or it is no address", "`servers`", notes);
        return None;
    };
    let parameters = MemberParameters::read(&words[skip + 1..], member, notes);
    own.extend(&parameters.of_pool, member, notes);
    own.has_spares |= parameters.keys.iter().any(|one| matches!(one.key, "backup" | "priority"));
    let mut pairs = vec![KeyValue::new("address", value::quote(&url.address()))];
    pairs.extend(parameters.keys);
    let item = if pairs.len() == 1 { pairs[0].value.clone() } else { value::table(&pairs) };
    pool.push_item("servers", item, member.source);
    Some(url)
}

/// The server's times: those of the target, else ProxyTimeout, else `Timeout`, else a minute.
fn write_times(
    pool: &mut TomlTable,
    own: &PoolParameters,
    scope: &ServerScope<'_>,
    notes: &mut ConversionNotes,
) {
    const USUAL: u64 = 60_000;
    let common = scope.seconds("proxytimeout", notes).or_else(|| scope.seconds("timeout", notes));
    let timeout = own.timeout.or(common).unwrap_or(USUAL);
    let connect = own.connect.unwrap_or(timeout).min(600_000);
    let stream = timeout.max(3_600_000);
    let mut pairs = vec![
        KeyValue::new("connect", format_duration(connect)),
        KeyValue::new("first-byte", format_duration(timeout)),
        KeyValue::new("between-bytes", format_duration(timeout)),
        KeyValue::new("stream", format_duration(stream)),
    ];
    pairs.extend(own.idle.map(|ms| KeyValue::new("idle", format_duration(ms))));
    pool.set("timeout", value::table(&pairs), SourcePlace::NONE);
    if own.is_never_kept {
        pool.set("limit", value::table(&[KeyValue::new("idle", "0")]), SourcePlace::NONE);
    }
}
