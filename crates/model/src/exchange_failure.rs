//! The failures of running exchanges: what failed, by whom, and what to check. A closed list.
//!
//! A failure is an error by the one definition of `exchange_error`, an operation that its client gave up, or a refused
//! handshake of TLS. Denials are none. Where captures know the same failure, it has their code.

use crate::cause::{Cause, Side};
use crate::exchange_error::ErrorOrigin;
use crate::failure_code::FailureCode;
use crate::limit::TimeOwner;

/// How an exchange failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ExchangeFailure {
    Cause(Cause),
    /// A complete response of the server with a status of 500 or above.
    ServerStatus,
}

impl ExchangeFailure {
    /// Sizes arrays by `index`.
    pub const COUNT: usize = Cause::COUNT + 1;

    /// The failure of an exchange with this end; `None`: it did not fail.
    pub fn of_end(cause: Option<Cause>, by_us: bool, status: u16) -> Option<ExchangeFailure> {
        match cause {
            Some(cause) => Self::of_cause(cause),
            None => (status >= 500 && !by_us).then_some(ExchangeFailure::ServerStatus),
        }
    }

    pub fn of_cause(cause: Cause) -> Option<ExchangeFailure> {
        let is_refused_handshake =
            matches!(cause, Cause::TlsHandshake | Cause::TlsUnknownName | Cause::ClientCertificate);
        (is_refused_handshake || ErrorOrigin::of_cause(cause).is_some())
            .then_some(ExchangeFailure::Cause(cause))
    }

    pub fn index(self) -> usize {
        match self {
            ExchangeFailure::Cause(cause) => cause as usize,
            ExchangeFailure::ServerStatus => Cause::COUNT,
        }
    }

    /// Every failure, in the order of `index`.
    pub fn all() -> impl Iterator<Item = ExchangeFailure> {
        let causes = Cause::ALL.iter().filter_map(|cause| Self::of_cause(*cause));
        causes.chain([ExchangeFailure::ServerStatus])
    }

    /// As in the log and the metrics.
    pub fn name(self) -> &'static str {
        match self {
            ExchangeFailure::Cause(cause) => cause.name(),
            ExchangeFailure::ServerStatus => ErrorOrigin::ServerStatus.name(),
        }
    }

    /// The side that made it fail.
    pub fn owner(self) -> TimeOwner {
        match self {
            ExchangeFailure::ServerStatus => TimeOwner::Server,
            ExchangeFailure::Cause(cause) => match cause.side() {
                Side::Client => TimeOwner::Client,
                Side::Balancer => TimeOwner::Balancer,
                Side::Server => TimeOwner::Server,
                Side::Network => TimeOwner::Network,
            },
        }
    }

    /// The code of the same failure in captures.
    pub fn code(self) -> Option<FailureCode> {
        let ExchangeFailure::Cause(cause) = self else { return None };
        Some(match cause {
            Cause::ServerRefused => FailureCode::ConnectRefused,
            Cause::ConnectTimeout | Cause::ServerUnreachable => FailureCode::ConnectUnanswered,
            Cause::ServerTls
            | Cause::ServerCertificate
            | Cause::TlsHandshake
            | Cause::TlsUnknownName
            | Cause::ClientCertificate => FailureCode::TlsRefused,
            Cause::FirstByteTimeout => FailureCode::RequestUnanswered,
            Cause::ServerReset => FailureCode::RequestReset,
            Cause::ServerClosed => FailureCode::RequestClosed,
            Cause::ClientClosedRequest | Cause::ClientBodyTimeout => FailureCode::RequestCut,
            Cause::ServerCut | Cause::ClientClosedResponse => FailureCode::AnswerCut,
            Cause::ServerBodyTimeout => FailureCode::AnswerStalled,
            Cause::ClientReset => FailureCode::ConnectionReset,
            Cause::ClientReadTimeout | Cause::ServerWriteTimeout => FailureCode::WindowClosed,
            _ => return None,
        })
    }

    /// A few words for people.
    pub fn title(self) -> &'static str {
        let ExchangeFailure::Cause(cause) = self else { return "error statuses of the server" };
        match cause {
            Cause::ServerUnreachable => "servers that cannot be reached",
            Cause::ServerCertificate => "certificates of servers that are not valid",
            Cause::ClientHeaderTimeout => "requests whose head did not come",
            Cause::ProxyHeaderTimeout => "connections whose PROXY protocol header did not come",
            Cause::ClientBodyTimeout => "requests whose body stopped",
            Cause::ClientReadTimeout => "clients that stopped reading",
            Cause::ServerWriteTimeout => "servers that stopped reading",
            Cause::TlsHandshakeTimeout => "handshakes of TLS that the client did not finish",
            Cause::NoServer => "requests without an available server",
            Cause::QueueTimeout | Cause::QueueFull | Cause::OverloadShed => {
                "requests that waited for a server in vain"
            }
            Cause::AuthOverloaded => "requests whose client could not be checked",
            Cause::AuthUnanswered => {
                "requests that no server of `[auth]` let in or refused, or whose keys could not be fetched"
            }
            Cause::CircuitOpen => "requests refused by a circuit breaker",
            Cause::RetryBudget => "requests without a retry left",
            Cause::ConnectionLimit | Cause::TlsHandshakeLimit => "connections beyond a limit",
            Cause::NoDescriptor => "connections without a file descriptor",
            Cause::NoSourcePort => "connections without a source port",
            Cause::BufferFull => "requests without room in the buffer memory",
            Cause::WholeTimeout => "exchanges that took longer than allowed",
            Cause::DrainCut | Cause::OrderCut | Cause::ServerMarkedDown => {
                "exchanges that the balancer ended"
            }
            Cause::ServerStatus => "responses with a status that is retried",
            Cause::BadResponse => "malformed responses",
            Cause::Internal => "errors of the balancer",
            _ => self.code().map_or(cause.name(), FailureCode::title),
        }
    }

    /// What to check, in a sentence.
    pub fn check(self) -> &'static str {
        let ExchangeFailure::Cause(cause) = self else {
            return "Check the server's own log: it answered in full, with an error.";
        };
        match (cause, cause.side()) {
            (Cause::ServerRefused, _) => {
                "Check that the server's program runs and listens on that address and port, and that no firewall rejects."
            }
            (Cause::ConnectTimeout | Cause::ServerUnreachable, _) => {
                "Check that the server is up, the route to it, firewalls that drop, and the server's accept queue."
            }
            (Cause::ServerCertificate, _) => {
                "Check the server's certificate, its name and dates, and the authorities that the pool trusts."
            }
            (Cause::ServerTls, _) => {
                "Check that the server speaks TLS on that port, which versions it allows, and whether it wants a certificate of ours."
            }
            (Cause::TlsHandshake | Cause::TlsUnknownName | Cause::ClientCertificate, _) => {
                "Check which names, versions and certificates these clients ask for: the log names each reason."
            }
            (Cause::FirstByteTimeout | Cause::ServerBodyTimeout | Cause::WholeTimeout, _) => {
                "Check what the server's program waits for: its own log, database and upstreams; and the configured timeouts."
            }
            (Cause::ServerClosed | Cause::ServerReset, _) => {
                "Check whether the server's program crashed or was restarted, and that its keep-alive time is longer than ours."
            }
            (Cause::ServerCut, _) => {
                "Check the server's log at that time: a crash, a time limit or an abort."
            }
            (Cause::ServerWriteTimeout, _) => {
                "Check why the server's program no longer reads: blocked, or stopped."
            }
            (Cause::BadResponse, _) => {
                "Check what the server sends: the log names the rule of HTTP that its response breaks."
            }
            (Cause::NoServer, _) => {
                "Check `steelyard status`: every server of the pool is down, drained or disabled."
            }
            (
                Cause::QueueTimeout
                | Cause::QueueFull
                | Cause::OverloadShed
                | Cause::CircuitOpen
                | Cause::RetryBudget,
                _,
            ) => "Check whether the servers are overloaded; then the limits of the pool.",
            (Cause::AuthOverloaded, _) => {
                "Check who sends passwords: limit these clients with a rule; then the cost of the hashes in the file."
            }
            (Cause::AuthUnanswered, _) => {
                "Check the servers of the pool that `[auth]` names, and its `timeout`: the log names what each question failed of. With `jwks-url`: the event `auth-refused`."
            }
            (Cause::ServerStatus, _) => "Check the server's own log: it answered with an error.",
            (Cause::DrainCut | Cause::OrderCut | Cause::ServerMarkedDown, _) => {
                "Check `steelyard audit` and the health of the server: a command, a drain or a failed health check ended these."
            }
            (_, Side::Client) => {
                "Check why these clients gave up: their own time limits, slow answers, or users who left."
            }
            (_, _) => "Check the log, and `steelyard capacity` for the limit that was reached.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_is_a_failure_and_no_denial_is() {
        for cause in Cause::ALL {
            let failure = ExchangeFailure::of_cause(*cause);
            let is_error = ErrorOrigin::of_cause(*cause).is_some();
            assert!(failure.is_some() || !is_error, "{}", cause.name());
            let denial = matches!(cause, Cause::RuleDenied | Cause::RateLimited | Cause::HedgeLost);
            assert!(failure.is_none() || !denial, "{}", cause.name());
        }
        let all: Vec<usize> = ExchangeFailure::all().map(ExchangeFailure::index).collect();
        assert!(all.is_sorted() && all.iter().all(|at| *at < ExchangeFailure::COUNT));
    }

    #[test]
    fn every_failure_has_words_an_owner_and_something_to_check() {
        for failure in ExchangeFailure::all() {
            assert!(failure.title().contains(' '), "{}: {}", failure.name(), failure.title());
            assert!(failure.check().starts_with("Check ") && failure.check().ends_with('.'));
        }
        let refused = ExchangeFailure::Cause(Cause::ServerRefused);
        assert_eq!(
            (refused.owner(), refused.code().map(FailureCode::name)),
            (TimeOwner::Server, Some("CONNECT_REFUSED"))
        );
    }

    #[test]
    fn a_status_is_the_servers_only_where_it_answered() {
        assert_eq!(ExchangeFailure::of_end(None, false, 500), Some(ExchangeFailure::ServerStatus));
        assert_eq!(ExchangeFailure::of_end(None, true, 503), None);
        assert_eq!(ExchangeFailure::of_end(None, false, 404), None);
    }
}
