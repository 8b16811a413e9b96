//! Builds retries of the checked configuration.

use std::time::Duration;

use super::types::{RetryConditions, RetryConfig};
use crate::config::section::ConfigSection;
use crate::config::status_ranges::build_statuses;

pub fn build_retry(section: &ConfigSection) -> RetryConfig {
    RetryConfig {
        budget: section.count("budget"),
        at_least: section.count_or_zero("min-per-second"),
        window: section.time_or_zero("window"),
        back_off: section.time_or_zero("back-off"),
        back_off_most: section.time_or_zero("max-back-off"),
        on: build_statuses(section, "on"),
        backup: section.flag("backup"),
        wishes: RetryConditions {
            on_timeout: section.flag("on-timeout"),
            on_malformed: section.flag("on-malformed"),
            unsent_only: section.flag("unsent-only"),
        },
    }
}

/// Time limit for all attempts of a request together.
pub fn attempts_timeout(pool: &ConfigSection, timeout: &ConfigSection) -> Duration {
    let first_byte = timeout.time_or_zero("first-byte");
    let more = match pool.table("retry") {
        Some(retry) if retry.flag("on-timeout") => first_byte,
        _ => timeout.time_or_zero("connect"),
    };
    timeout.time("attempts").unwrap_or(first_byte + more)
}
