//! The checked settings of a rule that replace those of its service and pool.
//!
//! Plain data; `model::rules::exchange_settings` answers which value counts for an exchange.

use crate::config::body_limit::BodyLimit;
use crate::config::buffer::BufferConfig;
use crate::config::status_ranges::StatusRanges;
use serde::Serialize;
use std::time::Duration;

/// What a rule sets for its requests; `None`: as the pool or the service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RuleOverrides {
    pub timeout: RuleTimeouts,
    /// Limit for retries.
    pub retries: Option<u8>,
    pub retry: RuleRetry,
    /// Buffering of bodies, completed with the service's settings.
    pub buffer: Option<BufferConfig>,
    /// Bytes of a request body.
    pub body_bytes: Option<BodyLimit>,
}

/// Timeouts of a rule, as those of `PoolTimeouts` and `ServiceTimeouts`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RuleTimeouts {
    pub connect: Option<Duration>,
    pub first_byte: Option<Duration>,
    pub attempts: Option<Duration>,
    pub between_bytes: Option<Duration>,
    pub stream: Option<Duration>,
    pub queue: Option<Duration>,
    /// Silence of the client within a message.
    pub client_between_bytes: Option<Duration>,
    pub tunnel: Option<Duration>,
}

/// The retry conditions of a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RuleRetry {
    /// Statuses of responses that are discarded while a retry is allowed.
    pub on: Option<StatusRanges>,
    pub on_timeout: Option<bool>,
    pub on_malformed: Option<bool>,
    pub unsent_only: Option<bool>,
}
