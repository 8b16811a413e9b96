//! The effective settings of one exchange: those of the rule that took it, else those of its pool and service.

use std::sync::Arc;
use std::time::Duration;

use crate::config::{
    BufferConfig, PoolConfig, RetryConditions, RuleConfig, RuleOverrides, RuleTimeouts,
    ServiceConfig, StatusRanges,
};

/// Answers which value counts. Empty, and so without cost, for most exchanges.
#[derive(Clone, Debug, Default)]
pub struct ExchangeSettings(Option<Arc<RuleOverrides>>);

impl ExchangeSettings {
    /// Of an exchange that this rule has taken.
    pub fn from_rule(rule: &RuleConfig) -> ExchangeSettings {
        ExchangeSettings(rule.overrides.clone())
    }

    fn time(&self, of: fn(&RuleTimeouts) -> Option<Duration>) -> Option<Duration> {
        self.0.as_deref().and_then(|own| of(&own.timeout))
    }

    pub fn connect(&self, pool: &PoolConfig) -> Duration {
        self.time(|own| own.connect).unwrap_or(pool.timeout.connect)
    }

    pub fn first_byte(&self, pool: &PoolConfig) -> Duration {
        self.time(|own| own.first_byte).unwrap_or(pool.timeout.first_byte)
    }

    /// Between two bytes of the server within a message.
    pub fn between_bytes(&self, pool: &PoolConfig) -> Duration {
        self.time(|own| own.between_bytes).unwrap_or(pool.timeout.between_bytes)
    }

    pub fn stream(&self, pool: &PoolConfig) -> Duration {
        self.time(|own| own.stream).unwrap_or(pool.timeout.stream)
    }

    pub fn queue(&self, pool: &PoolConfig) -> Duration {
        self.time(|own| own.queue).unwrap_or(pool.timeout.queue)
    }

    /// All attempts together: as the rule says, else the pool's time. It grows to what the rule's own times need, if they
    /// need more than those of the pool.
    pub fn attempts(&self, pool: &PoolConfig) -> Duration {
        let Some(own) = &self.0 else { return pool.timeout.attempts };
        if let Some(all) = own.timeout.attempts {
            return all;
        }
        let needed = self.two_attempts(pool);
        match needed > ExchangeSettings::default().two_attempts(pool) {
            true => pool.timeout.attempts.max(needed),
            false => pool.timeout.attempts,
        }
    }

    /// How long an attempt and what follows it may take until a server answers.
    fn two_attempts(&self, pool: &PoolConfig) -> Duration {
        let first_byte = self.first_byte(pool);
        first_byte
            + match self.retry_conditions(pool).on_timeout {
                true => first_byte,
                false => self.connect(pool),
            }
    }

    /// Between two bytes of the client within a message.
    pub fn client_between_bytes(&self, service: &ServiceConfig) -> Duration {
        self.time(|own| own.client_between_bytes).unwrap_or(service.timeout.between_bytes)
    }

    pub fn tunnel(&self, service: &ServiceConfig) -> Duration {
        self.time(|own| own.tunnel).unwrap_or(service.timeout.tunnel)
    }

    /// Limit for retries.
    pub fn retries(&self, pool: &PoolConfig) -> u8 {
        self.0.as_ref().and_then(|own| own.retries).unwrap_or(pool.retries)
    }

    /// Statuses of responses that are discarded while a retry is allowed.
    pub fn retried_statuses<'s>(&'s self, pool: &'s PoolConfig) -> &'s StatusRanges {
        self.0.as_ref().and_then(|own| own.retry.on.as_ref()).unwrap_or(&pool.retry.on)
    }

    pub fn retry_conditions(&self, pool: &PoolConfig) -> RetryConditions {
        let pool = pool.retry.wishes;
        let Some(own) = self.0.as_ref().map(|own| &own.retry) else { return pool };
        RetryConditions {
            on_timeout: own.on_timeout.unwrap_or(pool.on_timeout),
            on_malformed: own.on_malformed.unwrap_or(pool.on_malformed),
            unsent_only: own.unsent_only.unwrap_or(pool.unsent_only),
        }
    }

    /// Most bytes of the request's body where a server gets it; `None`: no limit.
    pub fn body_bytes(&self, service: &ServiceConfig) -> Option<u64> {
        self.0.as_ref().and_then(|own| own.body_bytes).unwrap_or(service.limit.body_bytes).0
    }

    /// Most bytes of the request's body where no server gets it: only a limit of the rule counts.
    pub fn own_body_bytes(&self) -> Option<u64> {
        self.0.as_ref().and_then(|own| own.body_bytes).and_then(|own| own.0)
    }

    pub fn buffer<'s>(&'s self, service: &'s ServiceConfig) -> &'s BufferConfig {
        self.0.as_ref().and_then(|own| own.buffer.as_ref()).unwrap_or(&service.buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, load};

    const FILE: &str = "[service.shop]\nlisten = \":80\"\nforward = \"http\"\npool = \"web\"\n\
                        limit = { body-bytes = \"9B\" }\n\
                        buffer = { request = \"1MiB\", when-larger = \"refuse\", memory = \"2MiB\" }\n\
                        rule = [{ when = { path = \"/a\" }, MORE }]\n\
                        [pool.web]\nservers = [\"192.0.2.1:80\"]\nretries = 4\nretry = { on = [503], on-malformed = true }\n";

    fn config(more: &str) -> Config {
        load(&FILE.replace("MORE", more), "x").unwrap().config
    }

    #[test]
    fn only_a_rule_that_needs_more_time_than_its_pool_lengthens_all_attempts() {
        for (written, more, want) in [
            ("attempts = \"5s\"", "retries = 1", 5),
            ("attempts = \"5s\"", "timeout = { queue = \"9s\" }", 5),
            ("attempts = \"5s\"", "timeout = { first-byte = \"1s\" }", 5),
            ("attempts = \"5s\"", "timeout = { first-byte = \"60s\", connect = \"3s\" }", 5),
            ("attempts = \"5s\"", "retry = { on-malformed = true }", 5),
            ("attempts = \"5s\"", "retry = { on-timeout = true }", 120),
            ("attempts = \"5s\"", "timeout = { first-byte = \"2m\" }", 123),
            ("attempts = \"5s\"", "timeout = { connect = \"4s\" }", 64),
            ("attempts = \"5m\"", "timeout = { first-byte = \"2m\" }", 300),
            ("connect = \"1s\"", "buffer = { response = \"1MiB\" }", 61),
        ] {
            let text = FILE.replace("MORE", more) + &format!("timeout = {{ {written} }}\n");
            let config = load(&text, "x").unwrap().config;
            let service = config.services.values().next().unwrap();
            let pool = config.pools.values().next().unwrap();
            let settings = ExchangeSettings::from_rule(&service.rules[0]);
            assert_eq!(settings.attempts(pool), Duration::from_secs(want), "{written} {more}");
        }
    }

    fn show(more: &str) -> String {
        let config = config(more);
        let service = config.services.values().next().unwrap();
        let pool = config.pools.values().next().unwrap();
        let settings = ExchangeSettings::from_rule(&service.rules[0]);
        let times = [
            settings.connect(pool),
            settings.first_byte(pool),
            settings.attempts(pool),
            settings.between_bytes(pool),
            settings.stream(pool),
            settings.queue(pool),
            settings.client_between_bytes(service),
            settings.tunnel(service),
        ];
        let times: Vec<String> = times.iter().map(|time| format!("{time:?}")).collect();
        let wishes = settings.retry_conditions(pool);
        let buffer = settings.buffer(service);
        format!(
            "{} | {} {} {} {} {} | {:?} {:?} {:?} {} {:?}",
            times.join(" "),
            settings.retries(pool),
            settings.retried_statuses(pool).contains(503),
            wishes.on_timeout,
            wishes.on_malformed,
            wishes.unsent_only,
            buffer.request,
            buffer.beyond,
            buffer.response,
            buffer.memory >> 20,
            settings.body_bytes(service),
        )
    }

    #[test]
    fn what_a_rule_writes_counts_and_the_rest_is_the_pools_and_the_services() {
        let rows = [
            (
                "priority = 1",
                "3s 60s 63s 30s 3600s 1s 30s 3600s | 4 true false true false | Some(1048576) Refuse None 2 Some(9)",
            ),
            (
                "timeout = { connect = \"1s\", between-bytes = \"2s\", stream = \"3s\", queue = \"4s\", \
                 client-between-bytes = \"5s\", tunnel = \"6s\" }",
                "1s 60s 63s 2s 3s 4s 5s 6s | 4 true false true false | Some(1048576) Refuse None 2 Some(9)",
            ),
            (
                "timeout = { first-byte = \"200ms\", attempts = \"1s\" }, retries = 0",
                "3s 200ms 1s 30s 3600s 1s 30s 3600s | 0 true false true false | Some(1048576) Refuse None 2 Some(9)",
            ),
            // All attempts may take what one needs, and one more.
            (
                "timeout = { first-byte = \"5m\" }, retry = { on = [502], on-malformed = false, unsent-only = true }",
                "3s 300s 303s 30s 3600s 1s 30s 3600s | 4 false false false true | Some(1048576) Refuse None 2 Some(9)",
            ),
            (
                "timeout = { first-byte = \"5m\" }, retry = { on-timeout = true }",
                "3s 300s 600s 30s 3600s 1s 30s 3600s | 4 true true true false | Some(1048576) Refuse None 2 Some(9)",
            ),
            (
                "buffer = { request = \"off\", response = \"1MiB\" }",
                "3s 60s 63s 30s 3600s 1s 30s 3600s | 4 true false true false | None Refuse Some(1048576) 2 Some(9)",
            ),
            (
                "buffer = { when-larger = \"stream\" }",
                "3s 60s 63s 30s 3600s 1s 30s 3600s | 4 true false true false | Some(1048576) Stream None 2 Some(9)",
            ),
            (
                "body-bytes = \"1KiB\"",
                "3s 60s 63s 30s 3600s 1s 30s 3600s | 4 true false true false | Some(1048576) Refuse None 2 Some(1024)",
            ),
            (
                "body-bytes = \"off\"",
                "3s 60s 63s 30s 3600s 1s 30s 3600s | 4 true false true false | Some(1048576) Refuse None 2 None",
            ),
        ];
        for (more, want) in rows {
            assert_eq!(show(more), want, "{more}");
        }
    }
}
