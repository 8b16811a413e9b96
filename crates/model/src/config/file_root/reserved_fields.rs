//! Works out which fields clients of each service may not write.
//!
//! A pool may be used by several services: what one of them tells its servers of clients' certificates must not come from a
//! client of another one.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::types::Config;
use crate::config::forwarding_mode::ForwardingMode;
use crate::config::reserved_fields::ReservedFields;
use crate::config::service::ServiceConfig;

/// Works it out for every service.
pub fn fill_reserved_fields(config: &mut Config) {
    let targets: Vec<BTreeSet<String>> =
        config.services.values().map(|service| request_targets(config, service)).collect();
    let all: Vec<Arc<ServiceConfig>> = config.services.values().cloned().collect();
    for (at, service) in config.services.values_mut().enumerate() {
        let beside = all.iter().zip(&targets).filter(|(other, theirs)| {
            other.forward == ForwardingMode::Http && !theirs.is_disjoint(&targets[at])
        });
        let mut prefixes = BTreeSet::new();
        let mut request = BTreeSet::new();
        for (other, _) in beside {
            let client = other.tls.as_ref().and_then(|tls| tls.client.as_ref());
            prefixes.extend(client.map(|client| client.headers.to_ascii_lowercase()));
            request
                .extend(other.forwarded.client_field.iter().map(|field| field_name(&field.name)));
            for rewrite in other.rules.iter().filter_map(|rule| rule.rewrite.as_ref()) {
                request
                    .extend(rewrite.set.iter().chain(&rewrite.add).map(|field| field_name(field)));
                request.extend(rewrite.remove.iter().map(|name| field_name(name)));
            }
        }
        let mut answer = BTreeSet::new();
        for rewrite in service.rules.iter().filter_map(|rule| rule.rewrite.as_ref()) {
            answer.extend(rewrite.answer_set.iter().map(|field| field_name(field)));
            answer.extend(rewrite.answer_remove.iter().map(|name| field_name(name)));
        }
        let reserved = ReservedFields {
            prefixes: prefixes.into_iter().collect(),
            request: request.into_iter().collect(),
            answer: answer.into_iter().collect(),
        };
        if reserved != service.reserved {
            Arc::make_mut(service).reserved = reserved;
        }
    }
}

/// Whom a service may send requests to: pools by name and servers by address.
fn request_targets(config: &Config, service: &ServiceConfig) -> BTreeSet<String> {
    let own = Some(service.pool.as_str());
    let ruled = service.rules.iter().flat_map(|rule| rule.pools()).flatten();
    let mut targets = BTreeSet::new();
    for name in own.into_iter().chain(ruled) {
        targets.insert(name.to_owned());
        let servers = config.pools.get(name).into_iter().flat_map(|pool| &pool.servers);
        targets.extend(servers.map(|server| server.address.to_string()));
    }
    targets
}

fn field_name(field: &str) -> String {
    field.split(':').next().unwrap_or_default().trim().to_ascii_lowercase()
}
