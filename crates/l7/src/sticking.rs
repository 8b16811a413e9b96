//! Keeping a client at its server: who its server is, what is done when that cannot take it, what is remembered.
//!
//! It comes after the rules, which choose the pool, and before the pool's policy. Words and tables are
//! `model::affinity`'s; this gives them a worker's view. It connects nowhere.

use std::net::SocketAddr;
use std::sync::Arc;

use model::affinity;
use model::affinity::cookie::{self, MOST, Made, Secrets, Word};
use model::config::{Affinity, Cookie, CookieMode, Gone, StickyBy};
use model::head::Head;
use model::id::ServerId;
use model::moment::Moment;
use model::snapshot::ServiceView;

use crate::changes::{Changes, Kept, Watch};
use crate::local::LocalPool;
use crate::rt::Net;
use crate::worker::Worker;

/// What is wanted of the choice of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stick {
    /// This server; `spill`: another one when it is full.
    To {
        /// The server.
        server: ServerId,
        /// Not waited for when it is full.
        spill: bool,
        /// What is done when it may take no work any more.
        gone: Gone,
    },
    /// It may take no work, and is waited for.
    Wait,
    /// It may take no work, and no other one is wanted.
    Refuse,
}

/// One client of a service that keeps clients.
pub struct Sticking {
    view: Arc<ServiceView>,
    /// In the table; `None`: a cookie of ours, or nothing that tells the client.
    key: Option<u64>,
    /// What a cookie's value would be looked up as.
    scope: u64,
    server: Option<ServerId>,
    stick: Option<Stick>,
    /// What is remembered names a server that is not here, or may take nothing.
    moved: bool,
    /// Words of our cookie as it came.
    words: Vec<Word>,
    /// The word that counts is not as new cookies have it.
    outdated: bool,
    secrets: Arc<Secrets>,
}

/// What tells a client.
pub struct Told<'a> {
    /// Its address.
    pub peer: SocketAddr,
    /// Its request, where there is one.
    pub head: Option<&'a Head<'a>>,
    /// The TLS session that it resumed or began.
    pub session: Option<u64>,
}

impl Sticking {
    /// Looks who the client's server is; `None`: the service keeps none.
    pub fn begin<N: Net>(
        worker: &Worker<N>,
        view: &Arc<ServiceView>,
        pool: &LocalPool<N>,
        told: &Told<'_>,
    ) -> Option<Sticking> {
        let config = view.config.sticky.as_ref()?;
        let (now, secrets) = (worker.rt.now(), worker.cookie_secrets.borrow().clone());
        let scope = affinity::scope(config.share.as_deref(), view.id, pool.view.borrow().id);
        let key = key(config, told).map(|key| affinity::scoped(key, scope));
        let (mut words, mut outdated) = (Vec::new(), false);
        let names = || pool.names(config.share.as_deref(), &secrets);
        let known = match (&config.by, &view.affinity, key) {
            (StickyBy::Cookie(cookie), _, _) if cookie.mode != CookieMode::Learn => {
                let values = told.head.into_iter().flat_map(|it| it.cookie(cookie.name.as_bytes()));
                words.extend(values.flat_map(cookie::words).take(2 * MOST));
                let found = names().by_words(&words);
                outdated = found.is_some_and(|(_, made)| made != Made::Now);
                if found.is_some_and(|(_, made)| made == Made::Unkeyed) {
                    view.live.slots[worker.index].counters.sticky_unkeyed.add(1);
                }
                (!words.is_empty()).then(|| found.map(|(server, _)| server))
            }
            (_, Some(table), Some(key)) => {
                let found = table.find(key, now, config.time.unwrap_or_default());
                found.map(|found| names().by_name(affinity::held(found, scope)))
            }
            _ => None,
        };
        let server = known.flatten();
        let takes = server.is_some_and(|id| pool.keeps(id, config.drain, now));
        let stick = match (server, takes, config.gone) {
            (Some(server), true, _) => {
                Some(Stick::To { server, spill: config.spill, gone: config.gone })
            }
            (Some(_), false, Gone::Wait) => Some(Stick::Wait),
            (Some(_), false, Gone::Refuse) => Some(Stick::Refuse),
            _ => None,
        };
        let moved = known.is_some() && !takes;
        let view = view.clone();
        Some(Sticking { view, key, scope, server, stick, moved, words, outdated, secrets })
    }

    /// What is wanted of the choice, after these have failed.
    pub fn wanted<N: Net>(
        &self,
        pool: &LocalPool<N>,
        tried: &[ServerId],
        now: Moment,
    ) -> Option<Stick> {
        match (self.stick, self.server) {
            (_, Some(server)) if tried.contains(&server) => None,
            // It may be back by now.
            (Some(Stick::Wait), Some(server)) if self.back(pool, server, now) => {
                Some(Stick::To { server, spill: false, gone: Gone::Wait })
            }
            (stick, _) => stick,
        }
    }

    fn back<N: Net>(&self, pool: &LocalPool<N>, server: ServerId, now: Moment) -> bool {
        let drain = self.view.config.sticky.as_ref().map(|config| config.drain);
        pool.keeps(server, drain.unwrap_or_default(), now)
    }

    /// A server was taken: remembers it, or says what the answer's head must say.
    pub fn took<N: Net>(
        &self,
        pool: &LocalPool<N>,
        server: ServerId,
        tried: &[ServerId],
        now: Moment,
        changes: &mut Changes,
    ) {
        let Some(config) = &self.view.config.sticky else { return };
        (changes.cookie, changes.watch) = (Vec::new(), None);
        let same = self.server == Some(server);
        // Spilled over for this time only: its own server is there, and was not tried.
        let lent = self.server.is_some_and(|own| !same && !self.moved && !tried.contains(&own));
        let Some(name) = pool.name_of(server) else { return };
        if let (Some(table), Some(key), false) = (&self.view.affinity, self.key, same || lent) {
            let time = config.time.unwrap_or_default();
            table.put(key, affinity::held(affinity::server(&name), self.scope), now, time);
        }
        let StickyBy::Cookie(cookie) = &config.by else { return };
        if lent && cookie.mode != CookieMode::Learn {
            return;
        }
        // Other pools of the service have words of their own in the same cookie.
        let value = || {
            let names = pool.names(config.share.as_deref(), &self.secrets);
            let others = self.words.iter().copied().filter(|word| !names.own(word));
            cookie::value(others, names.word(&name))
        };
        match cookie.mode {
            CookieMode::Insert if same && !self.outdated && config.time.is_none() => {}
            CookieMode::Insert => changes.cookie = set(cookie, config, &value()),
            CookieMode::Rewrite => changes.watch = Some(Watch::rewriting(&cookie.name, value())),
            CookieMode::Learn => {
                let kept = self.view.affinity.as_ref().map(|table| Kept {
                    table: Arc::clone(table),
                    scope: self.scope,
                    server: affinity::held(affinity::server(&name), self.scope),
                    time: config.time.unwrap_or_default(),
                });
                changes.watch = Some(Watch::learning(&cookie.name, kept));
            }
        }
    }
}

fn key(config: &Affinity, told: &Told<'_>) -> Option<u64> {
    let head = told.head;
    let value = match &config.by {
        StickyBy::Address(mask4, mask6) => {
            return Some(affinity::address(told.peer.ip(), *mask4, *mask6));
        }
        StickyBy::TlsSession => return told.session,
        StickyBy::Header(name) => head?.field(name.as_bytes()).next(),
        StickyBy::Query(name) => head?.parameter(name.as_bytes()).next(),
        StickyBy::Path => return Some(affinity::part(head?.path())),
        StickyBy::Cookie(cookie) => head?.cookie(cookie.name.as_bytes()).next(),
    };
    value.filter(|value| !value.is_empty()).map(affinity::part)
}

/// The line that sets our cookie (RFC 6265 §4.1).
fn set(cookie: &Cookie, config: &Affinity, value: &[u8]) -> Vec<u8> {
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
    line.extend_from_slice(b"; SameSite=");
    line.extend_from_slice(cookie.same_site.as_bytes());
    line.extend_from_slice(b"\r\n");
    line
}
