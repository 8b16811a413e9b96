//! Recent refused requests of one worker, published in batches a few times a second to the list of all workers.

use model::refused_requests::is_refusal;

use super::Worker;
use crate::accounting::{self, ExchangeRecord, LogFields};
use crate::rt::NetDriver;

impl<N: NetDriver> Worker<N> {
    /// Stores a closed exchange whose request was refused as malformed, ambiguous, too large or misdirected.
    pub(super) fn record_refused(&self, record: &mut ExchangeRecord, names: &LogFields) {
        let Some(cause) = record.cause.filter(|cause| is_refusal(*cause)) else { return };
        record.id(&self.ids);
        let kept = accounting::refused_request(record, cause, names, self.unix_ms());
        self.refused.borrow_mut().add(kept);
    }

    /// Merges this worker's requests into the list of all workers.
    pub(super) fn publish_refused(&self) {
        let mut mine = self.refused.borrow_mut();
        if !mine.is_empty() {
            self.all_refused.merge_from(&mut mine);
        }
    }
}
