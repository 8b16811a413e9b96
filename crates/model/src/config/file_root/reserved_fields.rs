//! Determines the header fields that clients of each service may not send.
//!
//! Several services can use one pool. A field with which one service reports client certificates to servers must not
//! come from a client of another service.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::types::Config;
use crate::config::auth::{AuthConfig, ServiceAuthPlan};
use crate::config::forwarding_mode::ForwardingMode;
use crate::config::reserved_fields::ReservedFields;
use crate::config::rules::RewriteConfig;
use crate::config::service::ServiceConfig;

/// Determines the reserved fields of every service.
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
        let mut user_fields: Vec<&AuthConfig> = Vec::new();
        for (other, _) in beside {
            let client = other.tls.as_ref().and_then(|tls| tls.client.as_ref());
            prefixes.extend(client.map(|client| client.headers.to_ascii_lowercase()));
            request
                .extend(other.forwarded.client_field.iter().map(|field| field_name(&field.name)));
            request.extend(other.request_id.iter().map(|id| id.header.to_ascii_lowercase()));
            let objects = named_objects(other, &config.auths);
            user_fields.extend(objects);
            for rewrite in rewrites(other) {
                request
                    .extend(rewrite.set.iter().chain(&rewrite.add).map(|field| field_name(field)));
                request.extend(rewrite.remove.iter().map(|name| field_name(name)));
            }
        }
        let mut answer = BTreeSet::new();
        let id = service.request_id.iter().filter(|id| id.answer);
        answer.extend(id.map(|id| id.header.to_ascii_lowercase()));
        for rewrite in rewrites(service) {
            answer.extend(rewrite.answer_set.iter().map(|field| field_name(field)));
            answer.extend(rewrite.answer_remove.iter().map(|name| field_name(name)));
            answer.extend(rewrite.response_add.iter().map(|added| field_name(&added.field)));
            if !rewrite.location.is_empty() {
                answer.extend(["location", "refresh"].map(str::to_owned));
            }
            if !rewrite.cookie_domain.is_empty() || !rewrite.cookie_path.is_empty() {
                answer.insert("set-cookie".to_owned());
            }
        }
        let own = named_objects(service, &config.auths);
        let plan = ServiceAuthPlan::new(own, user_fields.into_iter());
        request.extend(plan.user_fields.iter().cloned());
        let reserved = ReservedFields {
            prefixes: prefixes.into_iter().collect(),
            request: request.into_iter().collect(),
            answer: answer.into_iter().collect(),
        };
        if reserved != service.reserved || plan != service.auth_plan {
            let service = Arc::make_mut(service);
            service.reserved = reserved;
            service.auth_plan = plan;
        }
    }
}

/// The objects of authentication that a service and its rules name.
fn named_objects<'c>(
    service: &'c ServiceConfig,
    all: &'c BTreeMap<String, Arc<AuthConfig>>,
) -> impl Iterator<Item = &'c AuthConfig> {
    let of_rules = service.rules.iter().filter_map(|rule| rule.auth.object(None));
    let names = service.auth.as_deref().into_iter().chain(of_rules);
    names.filter_map(|name| all.get(name).map(Arc::as_ref))
}

/// What the rules and edits of a service change.
fn rewrites(service: &ServiceConfig) -> impl Iterator<Item = &RewriteConfig> {
    let ruled = service.rules.iter().filter_map(|rule| rule.rewrite.as_ref());
    ruled.chain(service.edits.iter().map(|edit| &edit.rewrite))
}

/// The targets of a service's requests: pools by name and servers by address.
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
