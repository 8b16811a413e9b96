//! Every combination of the facts against the rule in words, and rows for named cases.

use super::*;

fn facts(bits: u8, cause: Cause) -> FailedAttempt {
    FailedAttempt {
        idempotent: bits & 1 != 0,
        response_started: bits & 2 != 0,
        body_replayable: bits & 4 != 0,
        stale_connection: bits & 8 != 0,
        provably_unreceived: bits & 16 != 0,
        attempts: 1,
        limit: 2,
        conditions: ALL_WISHES,
        cause,
    }
}

const ALL_WISHES: RetryConditions =
    RetryConditions { on_timeout: true, on_malformed: true, unsent_only: false };

/// Causes of a failed attempt that a retry may fix.
const MENDABLE: [Cause; 15] = [
    Cause::NoSourcePort,
    Cause::ServerRefused,
    Cause::ServerUnreachable,
    Cause::ConnectTimeout,
    Cause::ServerTls,
    Cause::ServerCertificate,
    Cause::ServerClosed,
    Cause::ServerReset,
    Cause::FirstByteTimeout,
    Cause::ServerBodyTimeout,
    Cause::ServerCut,
    Cause::ServerWriteTimeout,
    Cause::ServerStatus,
    Cause::ServerMarkedDown,
    Cause::BadResponse,
];

/// Bits: 1 idempotent, 2 response started, 4 replayable, 8 reused, 16 unreceived; R: replay, A: another, -: give up.
/// One character for each of the 32 combinations, for a connection that closed before a response.
const CLOSED: &str = concat!(
    "----", // not buffered, fresh
    "-A--", // buffered, fresh: idempotent and not begun only
    "----", // not buffered, reused
    "-R--", // buffered, reused
    "----", // unreceived, not buffered
    "AA--", // unreceived, buffered: any method
    "----", // unreceived, not buffered, reused
    "RR--", // unreceived, buffered, reused: any method
);

#[test]
fn every_combination_for_a_closed_connection() {
    for (bits, want) in CLOSED.chars().enumerate() {
        let facts = facts(bits as u8, Cause::ServerClosed);
        let want = match want {
            'R' => RetryDecision::ReplaySameServer,
            'A' => RetryDecision::OtherServer,
            _ => RetryDecision::GiveUp(Cause::ServerClosed),
        };
        assert_eq!(decide_retry(&facts), want, "{facts:?}");
    }
}

#[test]
fn every_combination_of_every_cause_keeps_the_rule() {
    for cause in Cause::ALL {
        for bits in 0..32 {
            for attempts in 1..=4 {
                let facts = FailedAttempt { attempts, ..facts(bits, *cause) };
                let unsent = matches!(
                    cause,
                    Cause::ServerRefused
                        | Cause::ServerCertificate
                        | Cause::ConnectTimeout
                        | Cause::NoSourcePort
                );
                let may = !facts.response_started
                    && facts.body_replayable
                    && (facts.idempotent || facts.provably_unreceived || unsent)
                    && MENDABLE.contains(cause);
                let stale = facts.stale_connection
                    && matches!(cause, Cause::ServerClosed | Cause::ServerReset);
                match decide_retry(&facts) {
                    RetryDecision::ReplaySameServer => assert!(may && stale, "{facts:?}"),
                    RetryDecision::OtherServer => {
                        assert!(may && !stale && attempts <= 2, "{facts:?}")
                    }
                    RetryDecision::GiveUp(why) => {
                        assert_eq!(why, *cause);
                        assert!(!may || (!stale && attempts > 2), "{facts:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn received_requests_are_retried_only_if_configured() {
    let timeouts = [Cause::FirstByteTimeout, Cause::ServerWriteTimeout];
    for cause in Cause::ALL {
        for bits in 0..32 {
            let configured = facts(bits, *cause);
            let unconfigured =
                FailedAttempt { conditions: RetryConditions::default(), ..configured };
            let needs = timeouts.contains(cause) || *cause == Cause::BadResponse;
            match needs {
                true => {
                    assert_eq!(
                        decide_retry(&unconfigured),
                        RetryDecision::GiveUp(*cause),
                        "{unconfigured:?}"
                    )
                }
                false => assert_eq!(
                    decide_retry(&unconfigured),
                    decide_retry(&configured),
                    "{unconfigured:?}"
                ),
            }
            let with = |on_timeout| FailedAttempt {
                conditions: RetryConditions {
                    on_timeout,
                    on_malformed: !on_timeout,
                    unsent_only: false,
                },
                ..configured
            };
            assert_eq!(
                decide_retry(&with(timeouts.contains(cause))),
                decide_retry(&configured),
                "{configured:?}"
            );
        }
    }
}

#[test]
fn rows() {
    let post = FailedAttempt { idempotent: false, ..facts(4, Cause::ServerReset) };
    let rows = [
        (
            "a POST is refused",
            FailedAttempt { cause: Cause::ServerRefused, ..post },
            RetryDecision::OtherServer,
        ),
        (
            "a POST is refused, no attempt left",
            FailedAttempt { cause: Cause::ServerRefused, attempts: 3, ..post },
            RetryDecision::GiveUp(Cause::ServerRefused),
        ),
        (
            "retries are off",
            FailedAttempt { cause: Cause::ServerRefused, limit: 0, ..post },
            RetryDecision::GiveUp(Cause::ServerRefused),
        ),
        ("a POST was reset after it was sent", post, RetryDecision::GiveUp(Cause::ServerReset)),
        (
            "a POST met a FIN before it was written",
            FailedAttempt { stale_connection: true, provably_unreceived: true, ..post },
            RetryDecision::ReplaySameServer,
        ),
        (
            "a replay is free",
            FailedAttempt { idempotent: true, stale_connection: true, attempts: 3, ..post },
            RetryDecision::ReplaySameServer,
        ),
        (
            "a GET waited too long",
            FailedAttempt {
                idempotent: true,
                stale_connection: true,
                cause: Cause::FirstByteTimeout,
                ..post
            },
            RetryDecision::OtherServer,
        ),
        (
            "a POST waited too long",
            FailedAttempt { cause: Cause::FirstByteTimeout, ..post },
            RetryDecision::GiveUp(Cause::FirstByteTimeout),
        ),
        (
            "the client left",
            FailedAttempt { idempotent: true, cause: Cause::ClientClosedRequest, ..post },
            RetryDecision::GiveUp(Cause::ClientClosedRequest),
        ),
        (
            "the whole time is over",
            FailedAttempt { idempotent: true, cause: Cause::WholeTimeout, ..post },
            RetryDecision::GiveUp(Cause::WholeTimeout),
        ),
        (
            "an established connection became unreachable",
            FailedAttempt { cause: Cause::ServerUnreachable, ..post },
            RetryDecision::GiveUp(Cause::ServerUnreachable),
        ),
    ];
    for (case, facts, want) in rows {
        assert_eq!(decide_retry(&facts), want, "{case}");
    }
}

#[test]
fn unsent_only_excludes_failures_after_a_sent_byte_that_are_not_configured() {
    let configured = [
        Cause::FirstByteTimeout,
        Cause::ServerWriteTimeout,
        Cause::BadResponse,
        Cause::ServerStatus,
        Cause::ServerRefused,
        Cause::ServerCertificate,
        Cause::ConnectTimeout,
        Cause::NoSourcePort,
    ];
    for cause in Cause::ALL {
        for bits in 0..32 {
            let usual = facts(bits, *cause);
            let conditions = RetryConditions { unsent_only: true, ..ALL_WISHES };
            let careful = FailedAttempt { conditions, ..usual };
            let want = match usual.provably_unreceived || configured.contains(cause) {
                true => decide_retry(&usual),
                false => RetryDecision::GiveUp(*cause),
            };
            assert_eq!(decide_retry(&careful), want, "{careful:?}");
        }
    }
}
