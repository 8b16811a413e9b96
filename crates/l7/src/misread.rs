//! What came instead of a request: answered where that is possible, counted and logged in any case.
//!
//! It reads nothing and closes no connection.

use model::cause::Cause;
use wire::http1::Defect;

use crate::account::Record;
use crate::after::After;
use crate::exchange::Parties;
use crate::refuse::{self, Answer};
use crate::rt::Net;
use crate::said::Said;

/// What came instead of a request.
pub enum Instead {
    /// Nothing: the client ended or went away between requests, or idled too long.
    Nothing,
    /// The client ended in the middle of a head.
    Cut,
    /// A head that took too long.
    TooSlow,
    /// Nothing whole until draining ended.
    Drained,
    /// A head that breaks a rule.
    Malformed(Defect),
}

/// Answers what was no request.
pub async fn refuse<N: Net>(parties: &Parties<'_, N>, instead: Instead) -> After {
    let Parties { worker, client, caller, service } = *parties;
    let view = service.view.borrow().clone();
    let slot = &view.live.slots[worker.index];
    let (cause, status) = match instead {
        Instead::Nothing => return After::Close,
        Instead::Cut => (Cause::ClientClosedRequest, 0),
        Instead::Drained => (Cause::DrainCut, 0),
        Instead::TooSlow => (Cause::ClientHeaderTimeout, Cause::ClientHeaderTimeout.status()),
        Instead::Malformed(defect) => {
            if let Some(count) = slot.defects.get(defect as usize) {
                count.add(1);
            }
            (cause_of(defect), defect.status())
        }
    };
    slot.counters.requests.add(1);
    let now = worker.rt.look();
    let mut record = Record::begin(now, now);
    record.cause = Some(cause);
    if let Instead::Malformed(defect) = instead {
        record.defect = Some(defect.name());
    }
    let mut after = After::Close;
    if status > 0 {
        let answer = Answer { status, cause, keep: false, head_only: false };
        after = refuse::answer(worker, client, &view, &answer, &mut record).await;
    }
    let said = match client.shared_protocol() {
        Some(protocol) => Said::strand(caller.peer, protocol),
        None => Said::nothing(caller.peer, view.config.forward),
    };
    worker.close(&view, None, &mut record, &said);
    if matches!(after, After::Next) { After::Linger } else { after }
}

fn cause_of(defect: Defect) -> Cause {
    match defect {
        Defect::HeadTooLarge | Defect::TooManyFields => Cause::HeadTooLarge,
        Defect::TargetTooLong => Cause::TargetTooLong,
        _ => Cause::BadRequest,
    }
}
