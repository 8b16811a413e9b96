//! What an error is: the one definition of status, top, report, page, access log, metrics and capture triggers.
//!
//! An error is an operation that failed for its user although nobody denied it. It has one origin: who made it fail.
//! Errors count against an SLO; the tests hold both definitions together. A client that left spoiled its own operation:
//! such ends are counted beside the errors and are never part of their sum.

use crate::cause::{Cause, Side};
use crate::slo::outcome::{
    ClassifiedOutcome, EndedOperation, SloOutcome, TcpError, classify_cause,
};
use crate::stats::{Count, ServerStats, ServiceStats};

/// Who made an operation fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorOrigin {
    /// A limit or a command of the balancer, or an error of its own.
    Balancer,
    /// A server sent a complete response with a status of 500 or above.
    ServerStatus,
    /// A server refused, closed, was silent or sent an invalid response.
    Server,
    /// The path to the server, as far as the balancer can see.
    Network,
    /// The client left or fell silent. Not part of the sum.
    Client,
}

impl ErrorOrigin {
    /// Sizes the counters of an `ErrorTally`; it follows `ALL`.
    pub const COUNT: usize = Self::ALL.len();
    /// Every origin, in the order of its discriminant.
    pub const ALL: [ErrorOrigin; 5] = [
        ErrorOrigin::Balancer,
        ErrorOrigin::ServerStatus,
        ErrorOrigin::Server,
        ErrorOrigin::Network,
        ErrorOrigin::Client,
    ];

    /// As in metrics and the API.
    pub const fn name(self) -> &'static str {
        match self {
            ErrorOrigin::Balancer => "balancer",
            ErrorOrigin::ServerStatus => "server-5xx",
            ErrorOrigin::Server => "server",
            ErrorOrigin::Network => "network",
            ErrorOrigin::Client => "client",
        }
    }

    /// Whether it is part of the sum of errors.
    pub const fn is_error(self) -> bool {
        !matches!(self, ErrorOrigin::Client)
    }

    /// The origin of an end with this cause; `None`: it is no error, and no client left.
    pub const fn of_cause(cause: Cause) -> Option<ErrorOrigin> {
        // The other attempt of the hedged request was answered: nobody met an error.
        if matches!(cause, Cause::HedgeLost) {
            return None;
        }
        let ClassifiedOutcome { outcome, error } = classify_cause(cause);
        match (outcome, cause.side(), error) {
            (SloOutcome::Failed, Side::Balancer, _) => Some(ErrorOrigin::Balancer),
            (SloOutcome::Failed, Side::Server, _) => Some(ErrorOrigin::Server),
            (SloOutcome::Failed, Side::Network, _) => Some(ErrorOrigin::Network),
            (_, _, Some(TcpError::AbortedByClient | TcpError::SilentClient)) => {
                Some(ErrorOrigin::Client)
            }
            _ => None,
        }
    }
}

impl EndedOperation {
    /// Who made it fail; `None`: nobody did, or it was denied as configured.
    pub const fn error_origin(&self) -> Option<ErrorOrigin> {
        match self.cause {
            Some(cause) => ErrorOrigin::of_cause(cause),
            None if self.status >= 500 && !self.by_us => Some(ErrorOrigin::ServerStatus),
            None => None,
        }
    }
}

/// Ended operations, and the errors among them by origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorTally {
    /// All that ended, well or not.
    pub ended: u64,
    /// In the order of `ErrorOrigin::ALL`.
    origins: [u64; ErrorOrigin::COUNT],
}

impl ErrorTally {
    /// From the ends by cause in the order of `Cause::ALL`, and the complete responses with a status of 500 or above.
    pub fn from_causes(
        causes: impl IntoIterator<Item = u64>,
        complete_5xx: u64,
        ended: u64,
    ) -> ErrorTally {
        let mut tally = ErrorTally { ended, ..ErrorTally::default() };
        for (cause, count) in Cause::ALL.iter().zip(causes) {
            if let Some(origin) = ErrorOrigin::of_cause(*cause) {
                tally.origins[origin as usize] += count;
            }
        }
        tally.origins[ErrorOrigin::ServerStatus as usize] += complete_5xx;
        tally
    }

    /// A service's, over all workers.
    pub fn of_service(stats: &ServiceStats) -> ErrorTally {
        let mut sum = ErrorTally::default();
        for slot in &stats.slots {
            let counters = &slot.counters;
            let ended = [&counters.answered, &counters.answered_by_us, &counters.aborted];
            sum.add_all(&ErrorTally::from_causes(
                slot.causes.iter().map(Count::get),
                counters.complete_5xx.get(),
                ended.iter().map(|count| count.get()).sum(),
            ));
        }
        sum
    }

    /// A server's attempts, over all workers.
    pub fn of_server(stats: &ServerStats) -> ErrorTally {
        let mut sum = ErrorTally::default();
        for slot in &stats.slots {
            // The loser of a hedged request ended neither well nor badly.
            let failed = Cause::ALL.iter().filter(|cause| **cause != Cause::HedgeLost);
            let failed: u64 = failed.map(|cause| slot.causes[*cause as usize].get()).sum();
            sum.add_all(&ErrorTally::from_causes(
                slot.causes.iter().map(Count::get),
                slot.counters.complete_5xx.get(),
                slot.counters.answered.get() + failed,
            ));
        }
        sum
    }

    pub const fn count(&self, origin: ErrorOrigin) -> u64 {
        self.origins[origin as usize]
    }

    /// All errors; clients that left are not among them.
    pub fn errors(&self) -> u64 {
        ErrorOrigin::ALL.iter().filter(|it| it.is_error()).map(|it| self.count(*it)).sum()
    }

    /// What was added after `before`; a count that is smaller than before is a new object's.
    pub fn since(&self, before: &ErrorTally) -> ErrorTally {
        ErrorTally {
            ended: self.ended.saturating_sub(before.ended),
            origins: std::array::from_fn(|at| self.origins[at].saturating_sub(before.origins[at])),
        }
    }

    pub fn add_all(&mut self, other: &ErrorTally) {
        self.ended += other.ended;
        self.origins.iter_mut().zip(other.origins).for_each(|(sum, count)| *sum += count);
    }

    /// Errors among the ended operations; `None`: none ended.
    pub fn error_percent(&self) -> Option<f64> {
        // Connections that were refused at once are errors, but no operation began.
        let ended = self.ended.max(self.errors());
        (ended > 0).then(|| self.errors() as f64 * 100.0 / ended as f64)
    }
}

/// How grave a share of errors is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorLevel {
    /// Something to look at: from 1 % on.
    Amber,
    /// Users notice: from 5 % on.
    Red,
}

/// Percent of errors from which on users notice.
/// A page of twenty requests meets one error on average.
const RED_PERCENT: f64 = 5.0;
/// Percent of errors from which on somebody should look.
/// It lies above the single errors that every busy service has, and ten times above what common SLOs allow.
const AMBER_PERCENT: f64 = 1.0;

impl ErrorLevel {
    /// `None`: the share is ordinary.
    pub fn of_percent(percent: f64) -> Option<ErrorLevel> {
        match percent {
            percent if percent >= RED_PERCENT => Some(ErrorLevel::Red),
            percent if percent >= AMBER_PERCENT => Some(ErrorLevel::Amber),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn ended(cause: Option<Cause>, by_us: bool, status: u16) -> EndedOperation {
        EndedOperation { cause, by_us, status, duration: Duration::ZERO }
    }

    #[test]
    fn errors_are_what_counts_against_an_slo() {
        let causes = Cause::ALL.iter().copied().map(Some).chain([None]);
        for cause in causes.filter(|cause| *cause != Some(Cause::HedgeLost)) {
            for (by_us, status) in [(false, 200), (false, 500), (true, 503), (true, 404)] {
                let one = ended(cause, by_us, status);
                let failed = one.classify().outcome == SloOutcome::Failed;
                let error = one.error_origin().is_some_and(ErrorOrigin::is_error);
                assert_eq!(error, failed, "{one:?}");
            }
        }
    }

    #[test]
    fn each_error_has_the_origin_of_who_made_it_fail() {
        let rows = [
            ("an answer", ended(None, false, 200), None),
            ("not there", ended(None, false, 404), None),
            ("the server's own 500", ended(None, false, 500), Some(ErrorOrigin::ServerStatus)),
            ("a rule's 503", ended(None, true, 503), None),
            ("a denial", ended(Some(Cause::RuleDenied), true, 403), None),
            ("no server", ended(Some(Cause::NoServer), true, 503), Some(ErrorOrigin::Balancer)),
            ("refused", ended(Some(Cause::ServerRefused), true, 502), Some(ErrorOrigin::Server)),
            ("cut", ended(Some(Cause::ServerCut), false, 500), Some(ErrorOrigin::Server)),
            (
                "lost on the way",
                ended(Some(Cause::ConnectTimeout), true, 504),
                Some(ErrorOrigin::Network),
            ),
            ("gone", ended(Some(Cause::ClientReset), false, 0), Some(ErrorOrigin::Client)),
            ("nonsense", ended(Some(Cause::BadRequest), true, 400), None),
            ("a lost race", ended(Some(Cause::HedgeLost), false, 0), None),
        ];
        for (case, operation, want) in rows {
            assert_eq!(operation.error_origin(), want, "{case}");
        }
    }

    #[test]
    fn the_sum_has_every_error_once_and_no_client() {
        let causes = Cause::ALL.iter().map(|cause| match cause {
            Cause::NoServer => 2,
            Cause::ServerReset => 3,
            Cause::ConnectTimeout => 4,
            Cause::ClientReset => 50,
            Cause::RuleDenied | Cause::HedgeLost => 70,
            _ => 0,
        });
        let tally = ErrorTally::from_causes(causes, 1, 200);
        let counts = ErrorOrigin::ALL.map(|origin| tally.count(origin));
        assert_eq!((counts, tally.errors()), ([2, 1, 3, 4, 50], 10));
        assert_eq!(tally.error_percent(), Some(5.0));
        assert_eq!(tally.since(&tally), ErrorTally::default());
        let mut twice = tally;
        twice.add_all(&tally);
        assert_eq!(twice.since(&tally), tally);
        assert_eq!(ErrorTally::default().error_percent(), None);
        let refused = ErrorTally::from_causes([0; Cause::COUNT], 3, 0);
        assert_eq!(refused.error_percent(), Some(100.0));
    }

    #[test]
    fn levels_begin_at_their_shares() {
        let rows = [
            (0.0, None),
            (0.99, None),
            (1.0, Some(ErrorLevel::Amber)),
            (4.99, Some(ErrorLevel::Amber)),
            (5.0, Some(ErrorLevel::Red)),
            (100.0, Some(ErrorLevel::Red)),
        ];
        for (percent, want) in rows {
            assert_eq!(ErrorLevel::of_percent(percent), want, "{percent}");
        }
        for (at, origin) in ErrorOrigin::ALL.iter().enumerate() {
            assert_eq!(*origin as usize, at);
        }
    }
}
