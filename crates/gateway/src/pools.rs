//! The pools of the configuration: one for each port of a Service that is used, and those of branches that lead nowhere.

use std::collections::{BTreeMap, BTreeSet};

use crate::backends::{BackendProtocol, BackendServer, ResolvedBackend};
use crate::names::NameRegistry;
use crate::toml_text::{ConfigEntry, inline_table, quote};

/// The pool of services whose rules answer everything that no rule forwards.
pub const NO_POOL: &str = "nowhere";

/// A pool of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolText {
    pub comment: String,
    pub entries: Vec<ConfigEntry>,
    /// Its servers, one a line.
    pub servers: Vec<String>,
}

/// How a branch of a split refuses its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BranchRefusal {
    /// The back end is invalid or may not be used: 500.
    Invalid,
    /// No endpoint is ready, or the call of gRPC has no back end: 503.
    Unavailable,
    /// A connection is reset.
    Reset,
}

impl BranchRefusal {
    /// The name of its pool and its service.
    pub fn name(self) -> &'static str {
        match self {
            BranchRefusal::Invalid => "answer-500",
            BranchRefusal::Unavailable => "answer-503",
            BranchRefusal::Reset => "reset-connection",
        }
    }
}

/// The pools in use.
#[derive(Debug)]
pub struct PoolBook {
    names: NameRegistry,
    pub pools: BTreeMap<String, PoolText>,
    pub refusals: BTreeSet<BranchRefusal>,
}

impl PoolBook {
    pub fn new() -> PoolBook {
        let mut names = NameRegistry::default();
        for name in [NO_POOL, "answer-500", "answer-503", "reset-connection"] {
            names.name(&[name]);
        }
        PoolBook { names, pools: BTreeMap::new(), refusals: BTreeSet::new() }
    }

    /// The pool of a back end. `owner`: whose alone it is, so that its requests can be changed by themselves.
    pub fn pool_of(&mut self, backend: &ResolvedBackend, owner: &[&str]) -> String {
        let port = backend.port.to_string();
        let mut parts: Vec<&str> = owner.to_vec();
        parts.extend([backend.service.namespace.as_str(), &backend.service.name, &port]);
        match backend.protocol {
            BackendProtocol::Http1 => {}
            BackendProtocol::Http2 => parts.push("h2"),
            BackendProtocol::Stream => parts.push("tcp"),
        }
        let name = self.names.name(&parts);
        self.pools.entry(name.clone()).or_insert_with(|| backend_pool(backend));
        name
    }

    /// The pool of a branch that leads nowhere.
    pub fn refusal_pool(&mut self, refusal: BranchRefusal) -> String {
        self.refusals.insert(refusal);
        refusal.name().to_owned()
    }
}

fn backend_pool(backend: &ResolvedBackend) -> PoolText {
    let mut entries = Vec::new();
    if backend.protocol == BackendProtocol::Http2 {
        entries.push(ConfigEntry::text("http2", "only"));
    }
    let comment = format!("Service {}, port {}", backend.service, backend.port);
    let servers = backend.servers.iter().map(server_text).collect();
    PoolText { comment, entries, servers }
}

fn server_text(server: &BackendServer) -> String {
    if !server.draining {
        return quote(&server.address);
    }
    inline_table(&[
        ConfigEntry::text("address", &server.address),
        ConfigEntry::text("state", "drain"),
    ])
}

/// The pool for services that forward nothing by themselves.
pub fn empty_pool() -> PoolText {
    let server = inline_table(&[
        ConfigEntry::text("address", "127.0.0.1:9"),
        ConfigEntry::text("state", "disabled"),
    ]);
    let comment = "requests that no rule forwards".to_owned();
    PoolText { comment, entries: Vec::new(), servers: vec![server] }
}

/// The pool that leads to the service of a refusal.
pub fn refusal_pool(refusal: BranchRefusal, address: &str) -> PoolText {
    let mut entries = Vec::new();
    if refusal != BranchRefusal::Reset {
        entries.push(ConfigEntry::text("eject", "off"));
    }
    let comment = "branches of splits that lead nowhere".to_owned();
    PoolText { comment, entries, servers: vec![quote(address)] }
}
