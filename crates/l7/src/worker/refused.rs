//! Requests that were refused, on their way from one worker to what is kept of all: several a second, at one go.

use model::refused::is_refusal;

use super::Worker;
use crate::account::{self, Names, Record};
use crate::rt::Net;

impl<N: Net> Worker<N> {
    /// Keeps a closed exchange if it was refused for what it was.
    pub(super) fn keep_refused(&self, record: &mut Record, names: &Names) {
        let Some(cause) = record.cause.filter(|cause| is_refusal(*cause)) else { return };
        record.id(&self.ids);
        let kept = account::refused(record, cause, names, self.unix_ms());
        self.refused.borrow_mut().add(kept);
    }

    /// Brings what was kept to that of the others.
    pub(super) fn bring_refused(&self) {
        let mut mine = self.refused.borrow_mut();
        if !mine.is_empty() {
            self.all_refused.take_from(&mut mine);
        }
    }
}
