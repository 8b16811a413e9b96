//! Whether a failed attempt may be retried, and on which server: one decision over facts.
//!
//! The rule: idempotent requests whose response had not begun may be repeated; others only if the server provably
//! received nothing (RFC 9110 §9.2.2). Nothing is repeated whose response the client has partly seen, or whose request
//! bytes are no longer all buffered. A request that the server received and did not answer in time, or answered
//! malformed, is repeated only if configured: a second time seldom helps. Further failures after a byte was sent may
//! be excluded. The server is chosen by `load_balancing`; nothing is performed here.

pub mod backoff;
pub mod budget;

use crate::cause::{Cause, Side};
pub use crate::config::RetryConditions;

/// The facts of a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    pub idempotent: bool,
    /// Bytes of a response, including an informational one, were sent to the client.
    pub response_started: bool,
    /// Every byte of the request that was read from the client is still buffered. True for any attempt that sent
    /// nothing.
    pub body_replayable: bool,
    /// The attempt used a reused connection on which no byte of a response arrived.
    pub stale_connection: bool,
    /// The server provably received no byte of the request: no connection was established, its FIN had arrived before
    /// the request was written, or it acknowledged no byte.
    pub provably_unreceived: bool,
    /// Attempts made, this one included; replays (`RetryDecision::ReplaySameServer`) are not counted.
    pub attempts: u32,
    /// Retries that the pool or the rule allows.
    pub limit: u8,
    /// The retry conditions of the pool or the rule.
    pub conditions: RetryConditions,
    pub cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryDecision {
    /// Send the request again to the same server on a fresh connection, because the idle one was stale, which does not
    /// indicate a failure of the server. Not counted as an attempt. A fresh connection cannot be stale, so this cannot
    /// happen twice in a row.
    ReplaySameServer,
    /// Try another server: counts as an attempt.
    OtherServer,
    GiveUp(Cause),
}

pub fn decide_retry(facts: &FailedAttempt) -> RetryDecision {
    let safe = facts.idempotent || facts.provably_unreceived || is_never_sent(facts.cause);
    let possible = !facts.response_started && facts.body_replayable;
    if !(safe && possible && is_repeatable(facts.cause) && is_retry_allowed(facts)) {
        return RetryDecision::GiveUp(facts.cause);
    }
    if facts.stale_connection && is_stale_close(facts.cause) {
        return RetryDecision::ReplaySameServer;
    }
    if facts.attempts <= u32::from(facts.limit) {
        return RetryDecision::OtherServer;
    }
    RetryDecision::GiveUp(facts.cause)
}

/// Failures that a retry can fix: those of a server or of the path to it. A failure caused by the client, a limit or a
/// server command is final, except for a lack of source ports, which concerns one server only.
fn is_repeatable(cause: Cause) -> bool {
    match cause.side() {
        Side::Server | Side::Network => true,
        Side::Balancer => cause == Cause::NoSourcePort,
        Side::Client => false,
    }
}

/// Whether a retry after this failure is always allowed, or configured.
fn is_retry_allowed(facts: &FailedAttempt) -> bool {
    match facts.cause {
        Cause::FirstByteTimeout | Cause::ServerWriteTimeout => facts.conditions.on_timeout,
        Cause::BadResponse => facts.conditions.on_malformed,
        // The status was chosen before the attempt was abandoned.
        Cause::ServerStatus => true,
        cause => !facts.conditions.unsent_only || facts.provably_unreceived || is_never_sent(cause),
    }
}

/// Causes that only occur before there is a connection, so that nothing was sent.
fn is_never_sent(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::ServerRefused
            | Cause::ServerCertificate
            | Cause::ConnectTimeout
            | Cause::NoSourcePort
    )
}

/// The causes with which an idle connection ends that the server has closed.
fn is_stale_close(cause: Cause) -> bool {
    matches!(cause, Cause::ServerClosed | Cause::ServerReset)
}

#[cfg(test)]
mod tests;
