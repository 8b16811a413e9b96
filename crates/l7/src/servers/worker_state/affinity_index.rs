//! The servers of a pool by the affinity cookies and name hashes that clients present.

use std::collections::HashMap;
use std::sync::Arc;

use model::affinity;
use model::affinity::cookie::{AffinitySecrets, CookieKeyAge, CookieToken};
use model::id::ServerId;
use model::snapshot::{PoolView, ServerView};

/// Servers by affinity cookie value and by hashed name.
pub struct AffinityIndex {
    share: Option<String>,
    scope: String,
    secrets: Arc<AffinitySecrets>,
    by_cookie: HashMap<CookieToken, CookieServer>,
    by_name: HashMap<u64, ServerId>,
    by_cookie_value: HashMap<Box<[u8]>, ServerId>,
}

/// The server that a cookie value stands for.
#[derive(Clone, Copy, Debug)]
pub struct CookieServer {
    pub server: ServerId,
    /// The age of the secret that made the value.
    pub key_age: CookieKeyAge,
}

/// The servers by what cookies name them. A server that was added later may have the name that another server's cookies
/// say: they still mean the other one.
fn servers_by_cookie_value(view: &PoolView) -> HashMap<Box<[u8]>, ServerId> {
    let written = |server: &ServerView| server.config.cookie_value.is_some();
    let named = view.servers.iter().filter(|server| !written(server));
    let servers = named.chain(view.servers.iter().filter(|server| written(server)));
    servers.map(|server| (server.config.cookie_value().as_bytes().into(), server.id)).collect()
}

impl AffinityIndex {
    /// The index of a pool. `share`: the name that services with shared affinity have in common.
    pub fn new(
        view: &PoolView,
        share: Option<&str>,
        secrets: &Arc<AffinitySecrets>,
    ) -> AffinityIndex {
        let scope = share.unwrap_or(&view.config.name).to_owned();
        let each = || view.servers.iter().map(|server| (server.config.name.as_str(), server.id));
        let words = each().flat_map(|(name, server)| {
            secrets
                .tokens(&scope, name)
                .map(move |(word, key_age)| (word, CookieServer { server, key_age }))
        });
        AffinityIndex {
            share: share.map(str::to_owned),
            by_cookie: words.collect(),
            by_name: each().map(|(name, id)| (affinity::server_key(name), id)).collect(),
            by_cookie_value: servers_by_cookie_value(view),
            secrets: secrets.clone(),
            scope,
        }
    }

    /// Whether the index was built with these parameters.
    pub fn is_built_for(&self, share: Option<&str>, secrets: &Arc<AffinitySecrets>) -> bool {
        self.share.as_deref() == share && Arc::ptr_eq(&self.secrets, secrets)
    }

    /// The server for these cookie values; the value made with the newest secret counts.
    pub fn server_by_cookies(&self, words: &[CookieToken]) -> Option<CookieServer> {
        let known = words.iter().filter_map(|word| self.by_cookie.get(word));
        known.min_by_key(|known| known.key_age).copied()
    }

    /// Whether a cookie value belongs to this pool, for any server.
    pub fn owns_cookie(&self, word: &CookieToken) -> bool {
        self.by_cookie.contains_key(word) || self.secrets.is_token_of_pool(&self.scope, word)
    }

    /// A server's value for new cookies.
    pub fn cookie_value(&self, server: &str) -> CookieToken {
        self.secrets.current.token(&self.scope, server)
    }

    /// The server that an application's cookie names.
    pub fn server_by_cookie_value(&self, value: &[u8]) -> Option<ServerId> {
        self.by_cookie_value.get(value).copied()
    }

    /// The server of a hashed name.
    pub fn server_by_name(&self, name: u64) -> Option<ServerId> {
        self.by_name.get(&name).copied()
    }
}
