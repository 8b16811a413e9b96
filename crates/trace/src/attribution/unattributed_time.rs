//! Time that a capture cannot attribute: of connections with one direction in it, and of senders whose distance it does not
//! show.

use model::limit::Limit;

use super::path::PathTiming;
use super::transaction::{PhaseCause, TracedTransaction, TransferPhase};
use crate::conversation::Conversation;
use crate::event::ConnectionSide;
use crate::failure;
use crate::payload::PayloadProtocol;

/// A receiver that is nearer than this to the capture acknowledges before its sender can know; nanoseconds.
const BESIDE_NS: i64 = 1_000_000;

/// Gives time to nobody where what would show its owner is not in the capture.
pub fn hide_unseen(
    transactions: &mut [TracedTransaction],
    conversation: &Conversation,
    path: &PathTiming,
) {
    if failure::is_one_way(conversation) {
        for transaction in transactions {
            transaction.unknown_ns += std::mem::take(&mut transaction.server_ns);
            for phase in transaction.phases_mut() {
                // What is sent again may be probes of a window that cannot be seen.
                hide_causes(phase, |_| false);
            }
        }
        return;
    }
    for side in [ConnectionSide::Client, ConnectionSide::Server] {
        let peer = side.peer();
        let is_beside = path.is_known(peer) && path.near_ns(peer) < BESIDE_NS;
        if path.is_known(side) || !is_beside {
            continue;
        }
        for transaction in transactions.iter_mut() {
            let phase = match side {
                ConnectionSide::Client => Some(&mut transaction.request),
                ConnectionSide::Server => transaction.response.as_mut(),
            };
            if let Some(phase) = phase {
                hide_causes(phase, is_shown_by_receiver);
            }
        }
    }
}

/// Where a server never says a word nobody waits for an answer: a client that has nothing to send pauses.
pub fn release_pauses(transactions: &mut [TracedTransaction], conversation: &Conversation) {
    let is_opaque = conversation.talk.protocol == PayloadProtocol::Opaque;
    if conversation.directions[1].counts.data_packets > 0 || !is_opaque {
        return;
    }
    for transaction in transactions {
        let request = &mut transaction.request;
        let is_pause = |cause: &&PhaseCause| cause.limit == Limit::AppSender;
        let idle_ns: i64 = request.causes.iter().filter(is_pause).map(|cause| cause.ns).sum();
        request.causes.retain(|cause| cause.limit != Limit::AppSender);
        request.ns -= idle_ns;
        transaction.pause_ns += idle_ns;
    }
}

/// Limits that the receiver's packets show by themselves.
fn is_shown_by_receiver(limit: Limit) -> bool {
    matches!(
        limit,
        Limit::ZeroWindow
            | Limit::SillyWindow
            | Limit::Rwnd
            | Limit::Loss
            | Limit::LossSuspected
            | Limit::LinkRate
    )
}

fn hide_causes(phase: &mut TransferPhase, is_shown: impl Fn(Limit) -> bool) {
    let mut hidden: Option<PhaseCause> = None;
    phase.causes.retain(|cause| {
        if is_shown(cause.limit) {
            return true;
        }
        match &mut hidden {
            Some(known) => {
                known.ns += cause.ns;
                known.evidence.merge(&cause.evidence);
            }
            None => hidden = Some(PhaseCause { limit: Limit::Unknown, ..*cause }),
        }
        false
    });
    phase.causes.extend(hidden);
    phase.causes.sort_by_key(|cause| std::cmp::Reverse(cause.ns));
}
