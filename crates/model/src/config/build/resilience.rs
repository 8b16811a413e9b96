//! How a pool stands by its requests when servers fail, from its settings to its checked form.

use std::time::Duration;

use super::super::resilience::{
    CircuitBreakerLimits, HedgeDelay, HedgingConfig, LoadSheddingConfig, OutlierDetectionConfig,
    RequestPriority, RetryConditions, RetryConfig, StatusRanges,
};
use super::super::section::ConfigSection;
use super::super::value::ConfigValue;

/// The terms of further attempts.
pub fn build_retry(section: &ConfigSection) -> RetryConfig {
    RetryConfig {
        budget: section.count("budget"),
        at_least: section.count_or_zero("at-least"),
        window: section.time_or_zero("window"),
        back_off: section.time_or_zero("back-off"),
        back_off_most: section.time_or_zero("back-off-most"),
        on: build_statuses(section),
        wishes: RetryConditions {
            on_timeout: section.flag("on-timeout"),
            on_malformed: section.flag("on-malformed"),
        },
    }
}

/// How long all attempts of a request may take together.
pub fn attempts_timeout(pool: &ConfigSection, timeout: &ConfigSection) -> Duration {
    let first_byte = timeout.time_or_zero("first-byte");
    let more = match pool.table("retry") {
        Some(retry) if retry.flag("on-timeout") => first_byte,
        _ => timeout.time_or_zero("connect"),
    };
    timeout.time("attempts").unwrap_or(first_byte + more)
}

/// What may be under way at a time.
pub fn build_circuit_breaker(section: &ConfigSection) -> CircuitBreakerLimits {
    CircuitBreakerLimits {
        connections: section.count("connections"),
        pending: section.count("pending"),
        requests: section.count("requests"),
        retries: section.count("retries"),
    }
}

/// When what waits is shed.
pub fn build_load_shedding(section: &ConfigSection) -> LoadSheddingConfig {
    LoadSheddingConfig {
        target: section.time_or_zero("target"),
        interval: section.time_or_zero("interval"),
    }
}

/// When a second server is asked.
pub fn build_hedging(section: &ConfigSection) -> HedgingConfig {
    let percentile = section.count("percentile").unwrap_or(95);
    let after = section.time("after").map_or(HedgeDelay::Percentile(percentile), HedgeDelay::Time);
    HedgingConfig { after, at_least: section.time_or_zero("at-least") }
}

/// The class of a service's requests.
pub fn build_request_priority(section: &ConfigSection) -> RequestPriority {
    let header = section.text("header").map(str::to_ascii_lowercase);
    RequestPriority { class: section.count_or_zero("class"), header }
}

/// When servers are put out.
pub fn build_outlier_detection(section: &ConfigSection) -> OutlierDetectionConfig {
    OutlierDetectionConfig {
        failures: section.count_or_zero("failures"),
        rate: section.count_or_zero("rate"),
        cut_rate: section.count_or_zero("cut-rate"),
        volume: section.count_or_zero("volume"),
        interval: section.time_or_zero("interval"),
        time: section.time_or_zero("time"),
        most: section.time_or_zero("most"),
        share: section.count_or_zero("share"),
        on: build_statuses(section),
    }
}

fn build_statuses(section: &ConfigSection) -> StatusRanges {
    match section.value("on") {
        Some(ConfigValue::Status(ranges)) => StatusRanges(ranges.to_vec()),
        _ => StatusRanges::default(),
    }
}
