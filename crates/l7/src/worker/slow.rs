//! What was measured of a closed exchange, handed to control work.
//!
//! The ring takes it or counts that it was full; nobody waits. Control work says what is slow.

use std::net::SocketAddr;

use model::attribute::{Bar, judge};
use model::snapshot::ServiceView;

use super::Worker;
use crate::account::{self, Record};
use crate::measured;
use crate::rt::Net;

impl<N: Net> Worker<N> {
    /// Hands over a closed exchange that was slow or drawn; whose time most of it was, if it was slow and is logged.
    pub(super) fn hand_over(
        &self,
        view: &ServiceView,
        record: &mut Record,
        client: SocketAddr,
    ) -> Option<Bar> {
        if !self.lot.is_on() {
            return None;
        }
        let slow = measured::is_slow(view, record, record.done.unwrap_or(self.rt.now()));
        if !slow && !record.measured.drawn {
            return None;
        }
        let facts = account::facts(record, view.id, client, slow, &self.ids);
        self.measured.push(&facts.to_words());
        let access = &self.options.access;
        let logged = access.enabled && (access.all || record.cause.is_some());
        (slow && logged).then(|| judge(&facts).first()).flatten()
    }
}
