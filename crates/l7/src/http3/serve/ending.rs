//! How a connection ends in order: when, what its client is told, and what it waits for.

use std::time::Duration;

use model::admission::Phase;
use model::moment::Moment;
use wire::http3::{code, goaway};

use super::{Leaving, Serving};

/// How long a connection that takes no more requests and has none waits for its client to have heard that.
const PARTING: Duration = Duration::from_secs(5);

/// How long the last frames of exchanges that were cut may take.
const BREATH: Duration = Duration::from_millis(200);

/// The last stream that a client could open (RFC 9114 §5.2).
const LAST: u64 = (1 << 62) - 4;

impl Serving {
    /// Draining, the service's end and the connection's age.
    pub(super) fn leave_in_time(&mut self, now: Moment) {
        let worker = self.endpoint.worker.clone();
        let service = self.endpoint.service.clone();
        let gone = worker.draining.get() || service.gone.get();
        let old = now >= self.old_at;
        if self.leaving == Leaving::No && (gone || old || self.endpoint.is_closing()) {
            if old {
                let view = service.view.borrow().clone();
                view.live.slots[worker.index].counters.http3_aged.add(1);
            }
            self.leave(now);
        }
        if gone {
            // Exchanges end at that moment by themselves; a breath for their last frames.
            self.gone_at = self.gone_at.min(service.cut_at.get() + BREATH);
        }
        match self.leaving {
            Leaving::No => worker.rt.wake_at(self.old_at),
            Leaving::Told(at) if now >= at => {
                self.tell(self.next);
                self.leaving = Leaving::Settled(self.next);
            }
            Leaving::Told(at) => worker.rt.wake_at(at),
            Leaving::Settled(_) => {}
        }
        let gone_at = self.gone_at.min(self.rest_until);
        if now >= gone_at {
            return self.close(now, code::NO_ERROR);
        }
        worker.rt.wake_at(gone_at);
    }

    /// A connection without a request, and one that waits for its answers in silence.
    pub(super) fn rest(&mut self, now: Moment) {
        let worker = self.endpoint.worker.clone();
        let view = self.endpoint.service.view.borrow().clone();
        let timeout = &view.config.timeout;
        if self.link.open.get() > 0 {
            (self.idle_since, self.rest_until) = (now, Moment::NEVER);
            // A client that waits for long must not be taken for one that is gone, by nobody on the way either.
            let ping_at = self.pinged_at + timeout.idle / 3;
            if now >= ping_at {
                self.pinged_at = now;
                self.link.with(|conn| conn.ping());
            }
            return worker.rt.wake_at(self.pinged_at + timeout.idle / 3);
        }
        if self.idle.is_none() {
            self.idle = Some(worker.census.idle());
            self.open.set(Phase::Idle, now);
        }
        let settled = matches!(self.leaving, Leaving::Settled(_));
        // Our control stream is never over.
        if settled && self.link.with(|conn| conn.streams().send_streams()) <= 1 {
            return self.close(now, code::NO_ERROR);
        }
        let until = self.idle_since + if self.fresh { timeout.header } else { timeout.idle };
        if self.leaving != Leaving::No {
            self.rest_until = self.rest_until.min(now + PARTING);
            worker.rt.wake_at(self.rest_until);
        } else if now >= until {
            view.live.slots[worker.index].counters.idle_closed.add(1);
            self.leave(now);
        } else {
            worker.rt.wake_at(until);
        }
    }

    /// Ends in order.
    fn leave(&mut self, now: Moment) {
        self.tell(LAST);
        let trip = self.link.with(|conn| conn.rtt());
        let at = now + (trip * 2).min(PARTING);
        self.leaving = Leaving::Told(at);
        self.endpoint.worker.rt.wake_at(at);
    }

    fn tell(&self, stream: u64) {
        if let Some(control) = self.control {
            self.link.write(control, &goaway(stream));
        }
    }
}
