//! Requests that were refused, on their way from one worker to what is kept of all: several a second, at one go.

use model::refused_requests::is_refusal;

use super::Worker;
use crate::accounting::{self, ExchangeRecord, LogFields};
use crate::rt::NetDriver;

impl<N: NetDriver> Worker<N> {
    /// Keeps a closed exchange if it was refused for what it was.
    pub(super) fn record_refused(&self, record: &mut ExchangeRecord, names: &LogFields) {
        let Some(cause) = record.cause.filter(|cause| is_refusal(*cause)) else { return };
        record.id(&self.ids);
        let kept = accounting::refused_request(record, cause, names, self.unix_ms());
        self.refused.borrow_mut().add(kept);
    }

    /// Brings what was kept to that of the others.
    pub(super) fn publish_refused(&self) {
        let mut mine = self.refused.borrow_mut();
        if !mine.is_empty() {
            self.all_refused.merge_from(&mut mine);
        }
    }
}
