//! Classifies the end of an operation for the SLO: a closed list, decided by the cause. It counts nothing.

use std::time::Duration;

use crate::cause::Cause;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SloOutcome {
    /// The user got the response of a server or a rule.
    Good,
    /// The user did not get a response, because of the balancer, a server or the network between them. Counts against
    /// the SLO.
    Failed,
    /// The client aborted the exchange or sent an invalid request. Not counted in the SLO.
    ClientAborted,
    /// Denied as configured: by a rule, or by a limit on a single request. Not counted in the SLO.
    Declined,
}

/// A failure of a connection: what network analysers call a TCP error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TcpError {
    /// A server refused the connection.
    RefusedByServer,
    /// The balancer refused the client's connection, because of a limit.
    RefusedByBalancer,
    /// No connection to a server was established: it timed out, or the network cannot reach the server.
    TimedOut,
    /// The client closed or reset before its response was complete.
    AbortedByClient,
    /// The server closed or reset before its response was complete.
    AbortedByServer,
    /// The balancer ended it: a server command, a drain, a timeout, a server that was marked down.
    AbortedByBalancer,
    /// The client was silent while it should send or read.
    SilentClient,
    /// The server was silent while it should respond or read.
    SilentServer,
}

impl TcpError {
    /// Sizes the counters of an outcome table; it follows `ALL`.
    pub const COUNT: usize = Self::ALL.len();
    /// Every kind, in the order of its discriminant.
    pub const ALL: [TcpError; 8] = [
        TcpError::RefusedByServer,
        TcpError::RefusedByBalancer,
        TcpError::TimedOut,
        TcpError::AbortedByClient,
        TcpError::AbortedByServer,
        TcpError::AbortedByBalancer,
        TcpError::SilentClient,
        TcpError::SilentServer,
    ];

    /// As in metrics and the API.
    pub const fn name(self) -> &'static str {
        match self {
            TcpError::RefusedByServer => "refused-by-server",
            TcpError::RefusedByBalancer => "refused-by-balancer",
            TcpError::TimedOut => "timed-out",
            TcpError::AbortedByClient => "aborted-by-client",
            TcpError::AbortedByServer => "aborted-by-server",
            TcpError::AbortedByBalancer => "aborted-by-balancer",
            TcpError::SilentClient => "silent-client",
            TcpError::SilentServer => "silent-server",
        }
    }
}

/// The outcome of an operation for the user, and its TCP error, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassifiedOutcome {
    pub outcome: SloOutcome,
    pub error: Option<TcpError>,
}

/// What a cause means for the user.
pub const fn classify_cause(cause: Cause) -> ClassifiedOutcome {
    use SloOutcome::{ClientAborted, Declined, Failed};
    let (outcome, error) = match cause {
        Cause::BadRequest
        | Cause::AmbiguousPath
        | Cause::AmbiguousRequest
        | Cause::TlsHandshake
        | Cause::TlsUnknownName
        | Cause::ClientCertificate
        | Cause::ClientCertificateRefused
        | Cause::Http2Flood
        | Cause::Http3Flood
        | Cause::ProxyHeader
        | Cause::PlainOnTls
        | Cause::Misdirected => (ClientAborted, None),
        Cause::ClientClosedRequest | Cause::ClientClosedResponse | Cause::ClientReset => {
            (ClientAborted, Some(TcpError::AbortedByClient))
        }
        Cause::ClientHeaderTimeout
        | Cause::ClientBodyTimeout
        | Cause::ClientReadTimeout
        | Cause::TlsHandshakeTimeout
        | Cause::ProxyHeaderTimeout => (ClientAborted, Some(TcpError::SilentClient)),
        Cause::ProxyUntrusted
        | Cause::HeadTooLarge
        | Cause::TargetTooLong
        | Cause::BodyTooLarge
        | Cause::RuleDenied
        | Cause::Unauthenticated
        | Cause::RateLimited
        | Cause::ClientLimit
        | Cause::SegmentsTooSmall
        | Cause::TunnelIdle => (Declined, None),
        Cause::ConnectionLimit | Cause::TlsHandshakeLimit | Cause::NoDescriptor => {
            (Failed, Some(TcpError::RefusedByBalancer))
        }
        Cause::WholeTimeout | Cause::DrainCut | Cause::OrderCut | Cause::ServerMarkedDown => {
            (Failed, Some(TcpError::AbortedByBalancer))
        }
        Cause::BufferFull
        | Cause::NoSourcePort
        | Cause::QueueTimeout
        | Cause::QueueFull
        | Cause::OverloadShed
        | Cause::AuthOverloaded
        | Cause::AuthUnanswered
        | Cause::CircuitOpen
        | Cause::HedgeLost
        | Cause::NoServer
        | Cause::RetryBudget
        | Cause::Internal
        | Cause::ServerTls
        | Cause::ServerCertificate
        | Cause::ServerStatus
        | Cause::BadResponse => (Failed, None),
        Cause::ServerRefused => (Failed, Some(TcpError::RefusedByServer)),
        Cause::ServerUnreachable | Cause::ConnectTimeout => (Failed, Some(TcpError::TimedOut)),
        Cause::ServerClosed | Cause::ServerReset | Cause::ServerCut => {
            (Failed, Some(TcpError::AbortedByServer))
        }
        Cause::FirstByteTimeout | Cause::ServerBodyTimeout | Cause::ServerWriteTimeout => {
            (Failed, Some(TcpError::SilentServer))
        }
    };
    ClassifiedOutcome { outcome, error }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedOperation {
    /// The cause of a failure; `None`: success.
    pub cause: Option<Cause>,
    /// Whether the response was a local reply.
    pub by_us: bool,
    /// The status; 0: no response.
    pub status: u16,
    /// The time until the user had the whole response.
    pub duration: Duration,
}

impl EndedOperation {
    /// The outcome for the user, and its TCP error.
    pub const fn classify(&self) -> ClassifiedOutcome {
        let outcome = match self.cause {
            Some(cause) => return classify_cause(cause),
            // A rule with an error as fixed response does so intentionally.
            None if self.status >= 500 && self.by_us => SloOutcome::Declined,
            None if self.status >= 500 => SloOutcome::Failed,
            None => SloOutcome::Good,
        };
        ClassifiedOutcome { outcome, error: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::Side;

    // Rows: D11
    #[test]
    fn the_side_that_moved_first_decides_the_outcome() {
        for cause in Cause::ALL {
            let ClassifiedOutcome { outcome, error } = classify_cause(*cause);
            match cause.side() {
                Side::Client => assert_eq!(outcome, SloOutcome::ClientAborted, "{}", cause.name()),
                Side::Server | Side::Network => {
                    assert_eq!(outcome, SloOutcome::Failed, "{}", cause.name());
                }
                // The client can avoid rejections with a status below 500; an idle tunnel harms no user.
                Side::Balancer => {
                    let server_error = cause.status() >= 500;
                    let cut = matches!(cause, Cause::DrainCut | Cause::TlsHandshakeLimit);
                    let want =
                        if server_error || cut { SloOutcome::Failed } else { SloOutcome::Declined };
                    assert_eq!(outcome, want, "{}", cause.name());
                }
            }
            let by_client =
                matches!(error, Some(TcpError::AbortedByClient | TcpError::SilentClient));
            assert!(!by_client || cause.side() == Side::Client, "{}", cause.name());
        }
    }

    #[test]
    fn answers_count_by_who_gave_them() {
        let rows = [
            ("an answer", None, false, 200, SloOutcome::Good),
            ("not there", None, false, 404, SloOutcome::Good),
            ("a tcp connection in order", None, false, 0, SloOutcome::Good),
            ("the server's own 500", None, false, 500, SloOutcome::Failed),
            ("a rule's redirect", None, true, 301, SloOutcome::Good),
            ("a rule's 503", None, true, 503, SloOutcome::Declined),
            ("our 503", Some(Cause::NoServer), true, 503, SloOutcome::Failed),
            (
                "a client that left an error",
                Some(Cause::ClientReset),
                false,
                500,
                SloOutcome::ClientAborted,
            ),
        ];
        for (case, cause, by_us, status, want) in rows {
            let ended = EndedOperation { cause, by_us, status, duration: Duration::ZERO };
            assert_eq!(ended.classify().outcome, want, "{case}");
        }
    }

    #[test]
    fn kinds_stand_in_their_order_and_have_names_of_their_own() {
        for (at, kind) in TcpError::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, at);
        }
        let names: std::collections::BTreeSet<_> =
            TcpError::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), TcpError::COUNT);
    }
}
