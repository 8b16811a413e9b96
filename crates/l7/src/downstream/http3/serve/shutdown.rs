//! Graceful shutdown of an HTTP/3 connection: when it starts, which GOAWAY is sent, and what it waits for.

use std::time::Duration;

use model::admission::AdmissionPhase;
use model::monotonic_time::MonotonicTime;
use wire::http3::{code, goaway_frame};

use super::{Http3ServerSession, Http3Shutdown};

/// How long a connection without requests waits for its client to receive the GOAWAY.
/// As for HTTP/2.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for the last frames of exchanges that the drain timeout has reset.
/// As for HTTP/2.
const CUT_CLOSE_TIMEOUT: Duration = Duration::from_millis(200);

/// The largest id of a request stream (RFC 9114 §5.2).
const MAX_STREAM_ID: u64 = (1 << 62) - 4;

impl Http3ServerSession {
    /// Starts the shutdown when the worker drains, the service is removed, or the connection is too old.
    pub(super) fn check_shutdown(&mut self, now: MonotonicTime) {
        let worker = self.endpoint.worker.clone();
        let service = self.endpoint.service.clone();
        let gone = worker.draining.get() || service.removed.get();
        let old = now >= self.max_age_at;
        if self.shutdown == Http3Shutdown::NotStarted && (gone || old || self.endpoint.is_closing())
        {
            if old {
                let view = service.view.borrow().clone();
                view.stats.slots[worker.index].counters.http3_aged.add(1);
            }
            self.begin_shutdown(now);
        }
        if gone {
            // Exchanges end at the drain timeout by themselves. Their last frames get a little more time.
            self.dead_at = self.dead_at.min(service.cut_at.get() + CUT_CLOSE_TIMEOUT);
        }
        match self.shutdown {
            Http3Shutdown::NotStarted => worker.rt.wake_at(self.max_age_at),
            Http3Shutdown::GoawaySent(at) if now >= at => {
                self.send_goaway(self.next);
                self.shutdown = Http3Shutdown::Settled(self.next);
            }
            Http3Shutdown::GoawaySent(at) => worker.rt.wake_at(at),
            Http3Shutdown::Settled(_) => {}
        }
        let gone_at = self.dead_at.min(self.rest_until);
        if now >= gone_at {
            return self.close(now, code::NO_ERROR);
        }
        worker.rt.wake_at(gone_at);
    }

    /// Closes a connection without requests after its timeout. Sends a PING while a request waits for its response.
    pub(super) fn check_idle(&mut self, now: MonotonicTime) {
        let worker = self.endpoint.worker.clone();
        let view = self.endpoint.service.view.borrow().clone();
        let timeout = &view.config.timeout;
        if self.connection.open.get() > 0 {
            self.idle_since = now;
            self.rest_until = MonotonicTime::NEVER;
            // During a long wait, neither the client nor a NAT on the path may take the connection for dead.
            let ping_at = self.pinged_at + timeout.idle / 3;
            if now >= ping_at {
                self.pinged_at = now;
                self.connection.with_connection(|conn| conn.ping());
            }
            return worker.rt.wake_at(self.pinged_at + timeout.idle / 3);
        }
        if self.idle.is_none() {
            self.idle = Some(worker.gauges.count_idle());
            self.open.set_phase(AdmissionPhase::Idle, now);
        }
        let settled = matches!(self.shutdown, Http3Shutdown::Settled(_));
        // The only remaining stream is the control stream, which never ends.
        if settled && self.connection.with_connection(|conn| conn.streams().send_streams()) <= 1 {
            return self.close(now, code::NO_ERROR);
        }
        let until = self.idle_since + if self.fresh { timeout.header } else { timeout.idle };
        if self.shutdown != Http3Shutdown::NotStarted {
            self.rest_until = self.rest_until.min(now + CLOSE_TIMEOUT);
            worker.rt.wake_at(self.rest_until);
        } else if now >= until {
            view.stats.slots[worker.index].counters.idle_closed.add(1);
            self.begin_shutdown(now);
        } else {
            worker.rt.wake_at(until);
        }
    }

    fn begin_shutdown(&mut self, now: MonotonicTime) {
        self.send_goaway(MAX_STREAM_ID);
        let trip = self.connection.with_connection(|conn| conn.rtt());
        let at = now + (trip * 2).min(CLOSE_TIMEOUT);
        self.shutdown = Http3Shutdown::GoawaySent(at);
        self.endpoint.worker.rt.wake_at(at);
    }

    fn send_goaway(&self, stream: u64) {
        if let Some(control) = self.control {
            self.connection.write(control, &goaway_frame(stream));
        }
    }
}
