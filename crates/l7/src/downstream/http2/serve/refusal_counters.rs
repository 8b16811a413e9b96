//! Counters of a client's HTTP/2 connection: what the protocol's machine refused, and limits that closed the connection.

use model::cause::Cause;
use wire::http1::Defect;
use wire::http2::{AbuseKind, MachineCounters};

use super::Http2ServerSession;
use super::account::record_refused;
use crate::rt::NetDriver;

impl<N: NetDriver> Http2ServerSession<N> {
    pub(super) fn record_refused(&self, cause: Cause, detail: Option<&'static str>) {
        record_refused(
            &self.worker,
            &self.service.view.borrow(),
            self.client_peer.peer,
            cause,
            detail,
        );
    }

    pub(super) fn count_abuse(&self, abuse: AbuseKind) {
        let view = self.service.view.borrow().clone();
        let counters = &view.stats.slots[self.worker.index].counters;
        match abuse {
            AbuseKind::Reset => counters.http2_resets.add(1),
            AbuseKind::Control => counters.http2_control_frames.add(1),
            AbuseKind::Tiny => counters.http2_tiny_frames.add(1),
            AbuseKind::Malformed => counters.http2_malformed.add(1),
        }
    }

    /// Counts what the machine refused.
    pub(super) fn count_refusals(&mut self) {
        let done = self.connection.machine().take_counters();
        if done == MachineCounters::default() {
            return;
        }
        // A preface with a violation is recorded here.
        self.refused |= done.protocol > 0 && !self.greeted;
        let view = self.service.view.borrow().clone();
        let slot = &view.stats.slots[self.worker.index];
        slot.counters.http2_refused.add(done.refused);
        let defects = [
            (done.malformed, Defect::Http2Malformed, Cause::BadRequest),
            (done.protocol, Defect::Http2Protocol, Cause::BadRequest),
            (done.heads, Defect::HeadTooLarge, Cause::HeadTooLarge),
        ];
        for (times, defect, cause) in defects {
            for _ in 0..times {
                slot.defects[defect as usize].add(1);
                self.record_refused(cause, Some(defect.name()));
            }
        }
    }
}
