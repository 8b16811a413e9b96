//! Decides which exchanges are measured, and when their sockets are read.
//!
//! Reading TCP_INFO is an additional system call. So a socket is read only in three cases. These are an exchange's
//! first wait in the middle of a body, the end of a slow exchange, and the exchanges chosen by sampling.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use model::monotonic_time::MonotonicTime;
use model::snapshot::ServiceView;
use model::time_attribution::{RequestDrain, TcpInfoDelta, WaitReason};

use crate::accounting::{DownstreamProtocol, ExchangeRecord, ExchangeSample, SocketSamples};
use crate::conn::stream::ProxyStream;
use crate::rt::NetDriver;
use crate::rt::run_delay::HeldInterval;

/// Exchanges that a worker measures each second in any case, so that a report of little traffic rests on all of it.
/// Two readings of TCP_INFO for each cost 16 microseconds a second.
const MEASURED_PER_SECOND: u32 = 16;
/// Requests from this size on may stay in the send buffer for long: a receive window of Linux begins with 64 KiB.
const LONG_REQUEST: u64 = 64 * 1024;
/// A second of the workers' clock.
const SECOND_NS: u64 = 1_000_000_000;

/// Selects the first exchanges of each second, and one in a configured number.
pub struct ExchangeSampler {
    /// `None`: no sampling.
    one_in: Option<u32>,
    until_next: Cell<u32>,
    second: Cell<u64>,
    in_second: Cell<u32>,
}

impl ExchangeSampler {
    /// `None`: no sampling.
    pub fn new(one_in: Option<u32>) -> ExchangeSampler {
        ExchangeSampler {
            one_in,
            until_next: Cell::new(0),
            second: Cell::new(0),
            in_second: Cell::new(0),
        }
    }

    pub fn is_on(&self) -> bool {
        self.one_in.is_some()
    }

    /// Whether the current exchange is measured.
    pub fn draw(&self, now: MonotonicTime) -> bool {
        if !self.is_on() {
            return false;
        }
        if self.second.replace(now.0 / SECOND_NS) != now.0 / SECOND_NS {
            self.in_second.set(0);
        }
        let drawn = self.in_second.get();
        self.in_second.set(drawn.saturating_add(1));
        self.draw_interval() || drawn < MEASURED_PER_SECOND
    }

    /// Whether the current exchange is one in the configured number.
    pub fn draw_interval(&self) -> bool {
        let Some(one_in) = self.one_in else { return false };
        let left = self.until_next.get();
        self.until_next.set(left.checked_sub(1).unwrap_or(one_in - 1));
        left == 0
    }
}

/// Starts the measurements of an attempt that has a connection.
#[inline]
pub fn begin_attempt<N: NetDriver>(
    sampler: &ExchangeSampler,
    measured: &mut ExchangeSample,
    client: &ProxyStream<N>,
    server: &ProxyStream<N>,
    now: MonotonicTime,
) {
    measured.attempt = Some(now);
    if measured.sampled || sampler.draw(now) {
        measured.sampled = true;
        // The client's socket is read at its first wait: its send queue then shows the cause of the wait.
        mark_sockets(measured, client, server, false, true);
    }
}

/// Records the start of a wait. At the first wait for a socket in the middle of a body the socket is read, to separate
/// events during the wait from earlier ones.
#[inline]
pub fn record_wait<N: NetDriver>(
    sampler: &ExchangeSampler,
    measured: &mut ExchangeSample,
    client: &ProxyStream<N>,
    server: &ProxyStream<N>,
    reason: WaitReason,
    now: MonotonicTime,
) {
    measured.awaited.wait_for(reason, now);
    let (of_client, of_server) = match reason {
        WaitReason::ClientReceive | WaitReason::ClientSend => {
            (!measured.client_baseline_taken, false)
        }
        WaitReason::ServerReceive | WaitReason::ServerSend => {
            (false, !measured.server_baseline_taken)
        }
        _ => return,
    };
    if (of_client || of_server) && sampler.is_on() {
        mark_sockets(measured, client, server, of_client, of_server);
    }
}

/// Corrects, when an exchange continues, what it has waited for. That it was the window of a stream is known only after
/// the connection has sent the queued data; that it was the processor only when the thread runs again.
#[inline]
pub fn recall_wait<N: NetDriver>(
    measured: &mut ExchangeSample,
    client: &ProxyStream<N>,
    server: &ProxyStream<N>,
    held_since: Option<MonotonicTime>,
) {
    if let Some(since) = client.window_closed() {
        measured.awaited.backdate(WaitReason::ClientReceive, WaitReason::StreamWindow, since);
    }
    if let Some(since) = server.window_closed() {
        let window = WaitReason::ServerStreamWindow;
        measured.awaited.backdate(WaitReason::ServerReceive, window, since);
    }
    if let Some(HeldInterval { from, to }) = server.held_write() {
        measured.awaited.give_part(WaitReason::Processor, from, to);
    }
    if let Some(since) = held_since {
        measured.awaited.give_rest(WaitReason::Processor, since);
    }
}

/// Reads the server's socket when the last byte of a long request was written: what is then still in the send buffer
/// leaves it while the response is awaited.
pub fn record_request_end<N: NetDriver>(
    sampler: &ExchangeSampler,
    measured: &mut ExchangeSample,
    server: &ProxyStream<N>,
    bytes: u64,
) {
    if sampler.is_on() && bytes >= LONG_REQUEST {
        measured.request_end = server.counters().map(Box::new);
    }
}

fn mark_sockets<N: NetDriver>(
    measured: &mut ExchangeSample,
    client: &ProxyStream<N>,
    server: &ProxyStream<N>,
    of_client: bool,
    of_server: bool,
) {
    if of_client {
        client.mark_counters();
        measured.client_baseline_taken = true;
    }
    if of_server {
        server.mark_counters();
        measured.server_baseline_taken = true;
    }
}

/// Ends the measurements of an attempt: reads its sockets if the exchange is slow or sampled.
pub fn end_attempt<N: NetDriver>(
    sampler: &ExchangeSampler,
    view: &ServiceView,
    record: &mut ExchangeRecord,
    client: &ProxyStream<N>,
    server: &ProxyStream<N>,
    now: MonotonicTime,
) {
    record.sample.awaited.stop(now);
    if !sampler.is_on() || !(record.sample.sampled || is_slow(view, record, now)) {
        return;
    }
    let measured = &mut record.sample;
    if let (Some(begin), Some(end)) = (&measured.request_end, server.counters()) {
        let change = end.delta_since(begin, true);
        let TcpInfoDelta { busy_us, rwnd_limited_us, .. } = change;
        measured.request_drain = RequestDrain { busy_us, rwnd_limited_us };
    }
    measured.sockets = Some(Box::new(SocketSamples {
        // Events on a connection before its first exchange are attributed to that exchange.
        client: client
            .counter_change(measured.client_baseline_taken || measured.connection_setup.is_some()),
        server: server.counter_change(measured.server_baseline_taken || !record.reused),
        port: server.local_port(),
        client_shared: client.is_multiplexed(),
        client_quic: client.shared_protocol() == Some(DownstreamProtocol::Http3),
        server_shared: server.is_multiplexed(),
        server_tls: server.is_tls(),
    }));
}

/// Whether an exchange that ends now is slow by its service's threshold.
pub fn is_slow(view: &ServiceView, record: &ExchangeRecord, now: MonotonicTime) -> bool {
    let idle = &record.sample.awaited;
    let idle = idle.total(WaitReason::ClientThink) + idle.total(WaitReason::Either);
    let took = now.since(record.begun_at).as_nanos() as u64;
    let opening = record.sample.connection_setup.unwrap_or_default();
    let opening = (opening.accept + opening.tls.unwrap_or_default()).as_nanos() as u64;
    (took + opening).saturating_sub(idle) >= view.stats.slow_threshold_ns.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_so_many_is_drawn() {
        let sampler = ExchangeSampler::new(Some(3));
        let drawn: Vec<bool> = (0..7).map(|_| sampler.draw_interval()).collect();
        assert_eq!(drawn, [true, false, false, true, false, false, true]);
    }

    #[test]
    fn the_first_of_a_second_and_one_in_so_many_are_drawn() {
        let sampler = ExchangeSampler::new(Some(3));
        let start = MonotonicTime(5 * SECOND_NS);
        let first: Vec<bool> = (0..MEASURED_PER_SECOND).map(|_| sampler.draw(start)).collect();
        assert!(first.iter().all(|drawn| *drawn));
        let drawn: Vec<bool> = (0..6).map(|_| sampler.draw(start)).collect();
        assert_eq!(drawn.iter().filter(|drawn| **drawn).count(), 2, "{drawn:?}");
        assert!(sampler.draw(MonotonicTime(6 * SECOND_NS)) && sampler.draw(start));
        let none = ExchangeSampler::new(None);
        assert!(!none.draw(start) && !none.is_on());
        let every = ExchangeSampler::new(Some(1));
        assert!((0..50).all(|_| every.draw(start)));
    }
}
