//! What a client's HTTP/2 connection counts: what the library refused by itself, and limits that ended it.

use model::cause::Cause;
use wire::http1::Defect;

use super::Serving;
use super::account::refused;
use crate::http2::flood::Deed;
use crate::rt::Net;

impl<N: Net> Serving<N> {
    pub(super) fn refused(&self, cause: Cause, detail: Option<&'static str>) {
        refused(&self.worker, &self.service.view.borrow(), self.caller.peer, cause, detail);
    }

    pub(super) fn count_flood(&self, deed: Deed) {
        let view = self.service.view.borrow().clone();
        let counters = &view.live.slots[self.worker.index].counters;
        match deed {
            Deed::Reset => counters.http2_resets.add(1),
            Deed::Control => counters.http2_control_frames.add(1),
            Deed::Tiny => counters.http2_tiny_frames.add(1),
            Deed::Malformed => counters.http2_malformed.add(1),
        }
    }

    /// What the library refused by itself.
    pub(super) fn count(&mut self) {
        let done = self.link.take_by_library();
        let view = self.service.view.borrow().clone();
        let slot = &view.live.slots[self.worker.index];
        slot.counters.http2_refused.add(done.refused);
        let defects = [
            (done.malformed, Defect::Http2Malformed, Cause::BadRequest),
            (done.protocol, Defect::Http2Protocol, Cause::BadRequest),
            (done.heads, Defect::HeadTooLarge, Cause::HeadTooLarge),
        ];
        for (times, defect, cause) in defects {
            for _ in 0..times {
                slot.defects[defect as usize].add(1);
                self.refused(cause, Some(defect.name()));
            }
        }
    }
}
