//! Errors by who caused them: the same counts in status, report, top, page and metrics.
//!
//! An error is an operation that failed for its user although nobody denied it. `model` defines it.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::counter::Counter;

/// Errors of a service, a pool or a server. `errors` is the sum of `balancer`, `server-5xx`, `server` and `network`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ErrorCounts {
    /// All ended exchanges; for servers, all attempts.
    pub ended: Counter,
    /// All errors.
    pub errors: Counter,
    /// Errors caused by a limit, a command or a fault of the balancer.
    pub balancer: Counter,
    /// Complete responses of servers with a status of 500 or above.
    pub server_5xx: Counter,
    /// Errors because a server refused, closed, timed out or sent an invalid response.
    pub server: Counter,
    /// Errors because a server could not be reached.
    pub network: Counter,
    /// Exchanges that clients aborted or left idle. These are not errors and not part of the sum.
    pub client: Counter,
    /// Errors per ended exchange within the interval, percent; absent: none ended.
    pub percent: Option<f64>,
}

impl ErrorCounts {
    /// With the share worked out.
    pub fn with_percent(mut self) -> ErrorCounts {
        // Connections that were refused at once are errors, but no operation began.
        let ended = self.ended.rate.max(self.errors.rate);
        self.percent = (ended > 0.0).then(|| self.errors.rate * 100.0 / ended);
        self
    }
}

impl AddAssign for ErrorCounts {
    fn add_assign(&mut self, other: ErrorCounts) {
        self.ended += other.ended;
        self.errors += other.errors;
        self.balancer += other.balancer;
        self.server_5xx += other.server_5xx;
        self.server += other.server;
        self.network += other.network;
        self.client += other.client;
        *self = self.with_percent();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_their_own_share() {
        let of = |ended: f64, errors: f64| {
            let counter = |rate: f64| Counter { total: rate as u64, rate };
            let counts = ErrorCounts {
                ended: counter(ended),
                errors: counter(errors),
                ..ErrorCounts::default()
            };
            counts.with_percent()
        };
        let mut sum = of(90.0, 0.0);
        assert_eq!(sum.percent, Some(0.0));
        sum += of(10.0, 10.0);
        assert_eq!((sum.percent, sum.errors.total), (Some(10.0), 10));
        assert_eq!(of(0.0, 0.0).percent, None);
        assert_eq!(of(0.0, 4.0).percent, Some(100.0));
    }
}
