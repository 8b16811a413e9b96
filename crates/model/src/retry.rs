//! Whether a failed attempt may be repeated, and where: one judgement over facts.
//!
//! The rule: idempotent requests whose answer had not begun may be repeated; any other only when provably
//! nothing of it was received (RFC 9110 §9.2.2). Nothing is repeated that the client has seen part of, or whose
//! bytes are no longer all held; nor, unless asked for, what a server has taken and not answered in time, or answered
//! against the rules: it does not become better by being done twice. It does not choose the server (`load_balancing` does) and
//! performs nothing.

pub mod backoff;
pub mod budget;

use crate::cause::{Cause, Side};
pub use crate::config::RetryConditions;

/// What is known of a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    /// The method is idempotent.
    pub idempotent: bool,
    /// Bytes of an answer were sent to the client, an informational one included.
    pub response_started: bool,
    /// Every byte of the request that was read from the client is still held. True of any attempt that sent
    /// nothing.
    pub body_replayable: bool,
    /// The attempt used a connection that had carried an exchange before, and nothing of an answer came on it.
    pub stale_connection: bool,
    /// The server provably received nothing of the request: no connection was established, its FIN was there
    /// before we wrote, or it acknowledged no byte.
    pub provably_unreceived: bool,
    /// Attempts made, this one included; replays (`RetryDecision::ReplaySameServer`) are not counted.
    pub attempts: u32,
    /// Attempts allowed after the first (`Pool::retries`).
    pub limit: u8,
    /// What is asked for (`Pool::retry`).
    pub conditions: RetryConditions,
    pub cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryDecision {
    /// Send it again to the same server on a fresh connection: the idle one was stale, which says nothing of
    /// the server. Not counted as an attempt; since the connection is fresh it cannot happen twice in a row.
    ReplaySameServer,
    /// Try another server: counts as an attempt.
    OtherServer,
    /// End with this cause.
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

/// Failures that another attempt can mend: those of a server or of the path to it. What the client did and what
/// a limit or an order of ours ended stays ended, except for want of a source port, which is one server's matter.
fn is_repeatable(cause: Cause) -> bool {
    match cause.side() {
        Side::Server | Side::Network => true,
        Side::Us => cause == Cause::NoSourcePort,
        Side::Client => false,
    }
}

/// Whether another attempt after this failure needs no asking, or was asked for.
fn is_retry_allowed(facts: &FailedAttempt) -> bool {
    match facts.cause {
        Cause::FirstByteTimeout | Cause::ServerWriteTimeout => facts.conditions.on_timeout,
        Cause::BadResponse => facts.conditions.on_malformed,
        _ => true,
    }
}

/// Causes that only come up before there is a connection, so that nothing was sent.
fn is_never_sent(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::ServerRefused
            | Cause::ServerCertificate
            | Cause::ConnectTimeout
            | Cause::NoSourcePort
    )
}

/// How a connection ends that the server gave up while it was idle.
fn is_stale_close(cause: Cause) -> bool {
    matches!(cause, Cause::ServerClosed | Cause::ServerReset)
}

#[cfg(test)]
mod tests;
