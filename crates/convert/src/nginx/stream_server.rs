//! Servers of `stream` that share a listener, among which the name in TLS chooses.

use std::collections::{BTreeSet, HashMap};

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;

use super::listen::{self, ListenAddress};
use super::scope::DirectiveScope;
use super::tree::Directive;

/// A `server` block and where it listens.
pub struct StreamServer<'t> {
    pub directive: &'t Directive,
    pub scope: DirectiveScope<'t>,
    pub listens: Vec<ListenAddress>,
}

impl<'t> StreamServer<'t> {
    pub fn read(
        directive: &'t Directive,
        outer: &DirectiveScope<'t>,
        notes: &mut ConversionNotes,
    ) -> StreamServer<'t> {
        let level = directive.inner();
        let all = level.iter().filter(|one| one.name == "listen");
        let listens = all.filter_map(|one| listen::read(one, false, notes)).collect();
        StreamServer { directive, scope: outer.nested(level), listens }
    }

    pub fn is_default(&self) -> bool {
        self.listens.iter().any(|one| one.default)
    }

    pub fn has_tls(&self) -> bool {
        self.listens.iter().any(|one| one.tls)
    }

    /// Whether connections for both are taken alike, until a server is chosen for them.
    pub fn is_taken_as(&self, other: &StreamServer<'_>) -> bool {
        let words = |one: &StreamServer<'_>, name: &str| -> Vec<String> {
            one.scope.get(name).map(|found| found.peek_all().to_vec()).unwrap_or_default()
        };
        let addresses = |one: &StreamServer<'_>| -> BTreeSet<String> {
            one.listens.iter().map(|listen| listen.address.clone()).collect()
        };
        self.has_tls() == other.has_tls()
            && addresses(self) == addresses(other)
            && TAKING.iter().all(|name| words(self, name) == words(other, name))
    }
}

/// What a listener does with connections before it knows their server.
const TAKING: [&str; 6] = [
    "ssl_verify_client",
    "ssl_client_certificate",
    "ssl_trusted_certificate",
    "ssl_crl",
    "ssl_protocols",
    "set_real_ip_from",
];

/// The servers in groups that share a listener, in file order.
pub fn by_listener(servers: Vec<StreamServer<'_>>) -> Vec<Vec<StreamServer<'_>>> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut out: Vec<Vec<StreamServer<'_>>> = Vec::new();
    for server in servers {
        let known = server.listens.iter().find_map(|one| places.get(&one.address).copied());
        let place = known.unwrap_or(out.len());
        for listen in &server.listens {
            places.entry(listen.address.clone()).or_insert(place);
        }
        match out.get_mut(place) {
            Some(group) => group.push(server),
            None => out.push(vec![server]),
        }
    }
    out
}

/// A condition on the host of requests as one on the name in TLS. `None`: it cannot be one.
pub fn sni_condition(host: &RuleCondition) -> Option<RuleCondition> {
    match host {
        RuleCondition::Key("host", names) => Some(RuleCondition::Key("sni", names.clone())),
        _ => None,
    }
}
