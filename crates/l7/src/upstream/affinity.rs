//! Client affinity (sticky sessions): which server a client belongs to, what happens when that server is unavailable,
//! and what is stored.
//!
//! Affinity comes after the rules, which choose the pool, and before the pool's balancing policy. Cookie values and
//! tables are in `model::affinity`; this module applies them to a worker's view.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use model::affinity::cookie::{self, AffinitySecrets, CookieKeyAge, CookieToken, MAX_VALUE_LEN};
use model::affinity::{self, server_prefix};
use model::config::{
    AffinityConfig, AffinityCookie, AffinityKey, CookieMode, UnavailableServerAction,
};
use model::id::ServerId;
use model::monotonic_time::MonotonicTime;
use model::request_head::ParsedHead;
use model::snapshot::ServiceView;

use crate::rt::NetDriver;
use crate::servers::worker_state::{AffinityIndex, LocalPool};
use crate::upstream::response_changes::{CookieTableEntry, CookieWatch, ResponseChanges};
use crate::worker::Worker;

/// The constraint that affinity puts on the choice of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AffinityChoice {
    /// This server.
    To {
        server: ServerId,
        /// Another server is chosen if this one is at its cap.
        spill: bool,
        /// The action if this server no longer takes work.
        when_down: UnavailableServerAction,
    },
    /// The server takes no work; wait until it does.
    Wait,
    /// The server takes no work; reject the request.
    Refuse,
}

/// The affinity of one client.
pub struct ClientAffinity {
    view: Arc<ServiceView>,
    /// The client's key in the table; `None`: the client has an affinity cookie, or nothing identifies it.
    key: Option<u64>,
    /// The scope of table entries for cookie values.
    scope: u64,
    server: Option<ServerId>,
    choice: Option<AffinityChoice>,
    /// The stored server is not in this pool, or takes no work.
    moved: bool,
    /// The values of the received affinity cookie.
    cookie_values: Vec<CookieToken>,
    /// The cookie value was not made with the current secret.
    outdated: bool,
    secrets: Arc<AffinitySecrets>,
}

/// The parts of a request that identify a client.
pub struct AffinityInput<'a> {
    pub peer: SocketAddr,
    /// The request's head, if there is one.
    pub request_head: Option<&'a ParsedHead<'a>>,
    /// The TLS session that the connection resumed or started.
    pub session: Option<u64>,
}

impl ClientAffinity {
    /// Looks up the client's server; `None`: the service has no affinity.
    pub fn begin<N: NetDriver>(
        worker: &Worker<N>,
        view: &Arc<ServiceView>,
        pool: &LocalPool<N>,
        input: &AffinityInput<'_>,
    ) -> Option<ClientAffinity> {
        let config = view.config.sticky.as_ref()?;
        let now = worker.rt.now();
        let secrets = worker.cookie_secrets.borrow().clone();
        let scope = affinity::scope_key(config.share.as_deref(), view.id, pool.view.borrow().id);
        let key = affinity_key(config, input).map(|key| affinity::scoped_client_key(key, scope));
        let mut words = Vec::new();
        let mut outdated = false;
        let names = || pool.affinity_index(config.share.as_deref(), &secrets);
        let known = match (&config.by, &view.affinity, key) {
            (AffinityKey::Cookie(cookie), _, _) if cookie.mode.names_server() => {
                let named = NamedServers { names: &names(), pool, drain: config.drain, now };
                named.find(cookie, input.request_head)
            }
            (AffinityKey::Cookie(cookie), _, _) if cookie.mode.uses_secret() => {
                let values =
                    input.request_head.into_iter().flat_map(|it| it.cookie(cookie.name.as_bytes()));
                // A cookie of the balancer holds `MAX_VALUE_LEN` tokens. Twice as many admit a second cookie of that
                // name; the bound limits the lookups of a hostile request.
                words.extend(values.flat_map(cookie::parse_tokens).take(2 * MAX_VALUE_LEN));
                let found = names().server_by_cookies(&words);
                outdated = found.is_some_and(|found| found.key_age != CookieKeyAge::Current);
                if found.is_some_and(|found| found.key_age == CookieKeyAge::Unkeyed) {
                    view.stats.slots[worker.index].counters.sticky_unkeyed.add(1);
                }
                (!words.is_empty()).then(|| found.map(|found| found.server))
            }
            (_, Some(table), Some(key)) => {
                let found = table.find(key, now, config.time.unwrap_or_default());
                found.map(|found| names().server_by_name(affinity::scoped_server_key(found, scope)))
            }
            _ => None,
        };
        let server = known.flatten();
        let takes = server.is_some_and(|id| pool.may_keep_client(id, config.drain, now));
        let stick = match (server, takes, config.when_down) {
            (Some(server), true, _) => Some(AffinityChoice::To {
                server,
                spill: config.spill,
                when_down: config.when_down,
            }),
            (Some(_), false, UnavailableServerAction::Wait) => Some(AffinityChoice::Wait),
            (Some(_), false, UnavailableServerAction::Refuse) => Some(AffinityChoice::Refuse),
            _ => None,
        };
        let moved = known.is_some() && !takes;
        let view = view.clone();
        Some(ClientAffinity {
            view,
            key,
            scope,
            server,
            choice: stick,
            moved,
            cookie_values: words,
            outdated,
            secrets,
        })
    }

    /// The constraint on the choice, after the servers in `tried` have failed.
    pub fn choose_server<N: NetDriver>(
        &self,
        pool: &LocalPool<N>,
        tried: &[ServerId],
        now: MonotonicTime,
    ) -> Option<AffinityChoice> {
        match (self.choice, self.server) {
            (_, Some(server)) if tried.contains(&server) => None,
            // The server may be available again.
            (Some(AffinityChoice::Wait), Some(server)) if self.is_back(pool, server, now) => {
                Some(AffinityChoice::To {
                    server,
                    spill: false,
                    when_down: UnavailableServerAction::Wait,
                })
            }
            (stick, _) => stick,
        }
    }

    fn is_back<N: NetDriver>(
        &self,
        pool: &LocalPool<N>,
        server: ServerId,
        now: MonotonicTime,
    ) -> bool {
        let drain = self.view.config.sticky.as_ref().map(|config| config.drain);
        pool.may_keep_client(server, drain.unwrap_or_default(), now)
    }

    /// Stores the chosen server in the table, or sets the cookie of the response.
    pub fn record_chosen_server<N: NetDriver>(
        &self,
        pool: &LocalPool<N>,
        server: ServerId,
        tried: &[ServerId],
        now: MonotonicTime,
        changes: &mut ResponseChanges,
    ) {
        let Some(config) = &self.view.config.sticky else { return };
        changes.cookie = Vec::new();
        changes.watch = None;
        changes.lines_of_changed_cookie = b"";
        let same = self.server == Some(server);
        // A spill-over applies to this request only: the client's own server is available and was not tried.
        let lease = self.server.is_some_and(|own| !same && !self.moved && !tried.contains(&own));
        let Some(name) = pool.server_name(server) else { return };
        if let (Some(table), Some(key), false) = (&self.view.affinity, self.key, same || lease) {
            let time = config.time.unwrap_or_default();
            table.assign(
                key,
                affinity::scoped_server_key(affinity::server_key(&name), self.scope),
                now,
                time,
            );
        }
        let AffinityKey::Cookie(cookie) = &config.by else { return };
        if cookie.hide {
            changes.watch = Some(CookieWatch::without(&cookie.name));
        }
        if lease && cookie.mode.uses_secret() {
            return;
        }
        let uncached: &'static [u8] =
            if cookie.no_cache { b"Cache-Control: private\r\n" } else { b"" };
        // Other pools of the service have their own values in the same cookie.
        let value = || {
            let names = pool.affinity_index(config.share.as_deref(), &self.secrets);
            let others = self.cookie_values.iter().copied().filter(|word| !names.owns_cookie(word));
            cookie::cookie_value(others, names.cookie_value(&name))
        };
        match cookie.mode {
            CookieMode::Insert if same && !self.outdated && config.time.is_none() => {}
            CookieMode::Insert => {
                changes.cookie = set_cookie_line(cookie, config, &value());
                changes.cookie.extend_from_slice(uncached);
            }
            CookieMode::Rewrite => {
                changes.watch = Some(CookieWatch::with_value(&cookie.name, value()));
                changes.lines_of_changed_cookie = uncached;
            }
            CookieMode::Prefix => {
                let named = pool.server_cookie_value(server).unwrap_or(name);
                changes.watch = Some(CookieWatch::with_prefix(&cookie.name, &named));
                changes.lines_of_changed_cookie = uncached;
            }
            CookieMode::Passive => {}
            CookieMode::Learn => {
                let entry = self.view.affinity.as_ref().map(|table| CookieTableEntry {
                    table: Arc::clone(table),
                    scope: self.scope,
                    server: affinity::scoped_server_key(affinity::server_key(&name), self.scope),
                    lifetime: config.time.unwrap_or_default(),
                });
                changes.watch = Some(CookieWatch::with_learning(&cookie.name, entry));
            }
        }
    }
}

/// The servers of a pool, as an application's cookies name them.
struct NamedServers<'a, N: NetDriver> {
    names: &'a AffinityIndex,
    pool: &'a LocalPool<N>,
    drain: Duration,
    now: MonotonicTime,
}

impl<N: NetDriver> NamedServers<'_, N> {
    /// The server that the request's cookies name, preferably one that may keep the client. `Some(None)`: they name only
    /// servers that the pool does not have; `None`: they name none.
    fn find(
        &self,
        cookie: &AffinityCookie,
        head: Option<&ParsedHead<'_>>,
    ) -> Option<Option<ServerId>> {
        let mut found = None;
        for value in head.into_iter().flat_map(|head| head.cookie(cookie.name.as_bytes())) {
            let server = match cookie.mode {
                CookieMode::Passive => server_prefix::server_candidates(value)
                    .find_map(|named| self.names.server_by_cookie_value(named)),
                _ => match server_prefix::prefix_of(value) {
                    Some(named) => {
                        found = found.or(Some(None));
                        self.names.server_by_cookie_value(named)
                    }
                    None => None,
                },
            };
            let Some(server) = server else { continue };
            if self.pool.may_keep_client(server, self.drain, self.now) {
                return Some(Some(server));
            }
            found = Some(found.flatten().or(Some(server)));
        }
        found
    }
}

fn affinity_key(config: &AffinityConfig, input: &AffinityInput<'_>) -> Option<u64> {
    let head = input.request_head;
    let value = match &config.by {
        AffinityKey::Address(mask4, mask6) => {
            return Some(affinity::client_address_key(input.peer.ip(), *mask4, *mask6));
        }
        AffinityKey::TlsSession => return input.session,
        AffinityKey::Header(name) => head?.field(name.as_bytes()).next(),
        AffinityKey::Query(name) => head?.parameter(name.as_bytes()).next(),
        AffinityKey::Path => return Some(affinity::request_part_key(head?.path())),
        AffinityKey::Cookie(cookie) => head?.cookie(cookie.name.as_bytes()).next(),
    };
    value.filter(|value| !value.is_empty()).map(affinity::request_part_key)
}

/// The field line that sets the affinity cookie (RFC 6265 §4.1).
fn set_cookie_line(cookie: &AffinityCookie, config: &AffinityConfig, value: &[u8]) -> Vec<u8> {
    // 128 bytes hold the name and all attributes of a usual line, so the line is allocated once.
    let mut line = Vec::with_capacity(128 + value.len());
    line.extend_from_slice(b"Set-Cookie: ");
    line.extend_from_slice(cookie.name.as_bytes());
    line.push(b'=');
    line.extend_from_slice(value);
    line.extend_from_slice(b"; Path=/");
    if let Some(time) = config.time {
        line.extend_from_slice(format!("; Max-Age={}", time.as_secs().max(1)).as_bytes());
    }
    if cookie.http_only {
        line.extend_from_slice(b"; HttpOnly");
    }
    if cookie.secure {
        line.extend_from_slice(b"; Secure");
    }
    for (attribute, value) in
        [("; Domain=", cookie.domain.as_deref()), ("; SameSite=", cookie.same_site)]
    {
        if let Some(value) = value {
            line.extend_from_slice(attribute.as_bytes());
            line.extend_from_slice(value.as_bytes());
        }
    }
    line.extend_from_slice(b"\r\n");
    line
}
