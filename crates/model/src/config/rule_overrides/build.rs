//! Builds the settings that a rule replaces, from settings that were verified before.

use std::sync::Arc;

use super::types::{RuleOverrides, RuleRetry, RuleTimeouts};
use crate::config::body_limit::build_rule_body_limit;
use crate::config::buffer::{BufferConfig, build_beyond, build_buffer};
use crate::config::section::ConfigSection;
use crate::config::status_ranges::build_statuses;

/// What the rule replaces; `None`: nothing. `service`: the service around it.
pub fn build_rule_overrides(
    rule: &ConfigSection,
    service: &ConfigSection,
) -> Option<Arc<RuleOverrides>> {
    let overrides = RuleOverrides {
        timeout: rule.table("timeout").map(build_timeouts).unwrap_or_default(),
        retries: rule.count("retries"),
        retry: rule.table("retry").map(build_retry).unwrap_or_default(),
        buffer: rule.table("buffer").map(|own| complete_buffer(own, service)),
        body_bytes: build_rule_body_limit(rule),
    };
    (overrides != RuleOverrides::default()).then(|| Arc::new(overrides))
}

fn build_timeouts(timeout: &ConfigSection) -> RuleTimeouts {
    RuleTimeouts {
        connect: timeout.time("connect"),
        first_byte: timeout.time("first-byte"),
        attempts: timeout.time("attempts"),
        between_bytes: timeout.time("between-bytes"),
        stream: timeout.time("stream"),
        queue: timeout.time("queue"),
        client_between_bytes: timeout.time("client-between-bytes"),
        tunnel: timeout.time("tunnel"),
    }
}

fn build_retry(retry: &ConfigSection) -> RuleRetry {
    let flag = |key: &str| retry.setting(key).map(|_| retry.flag(key));
    RuleRetry {
        on: retry.setting("on").map(|_| build_statuses(retry, "on")),
        on_timeout: flag("on-timeout"),
        on_malformed: flag("on-malformed"),
        unsent_only: flag("unsent-only"),
    }
}

/// The rule's `buffer`; what it does not write is the service's.
fn complete_buffer(own: &ConfigSection, service: &ConfigSection) -> BufferConfig {
    let mut buffer = service.table("buffer").map(build_buffer).unwrap_or_default();
    if own.setting("request").is_some() {
        buffer.request = own.count("request");
    }
    if own.setting("when-larger").is_some() {
        buffer.beyond = build_beyond(own);
    }
    if own.setting("response").is_some() {
        buffer.response = own.count("response");
    }
    buffer
}
