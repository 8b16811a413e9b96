//! Decides which exchanges are measured, and when their sockets are read.
//!
//! Reading TCP_INFO is an additional system call. So a socket is read only in three cases. These are an exchange's
//! first wait in the middle of a body, the end of a slow exchange, and the exchanges chosen by sampling.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use model::monotonic_time::MonotonicTime;
use model::snapshot::ServiceView;
use model::time_attribution::WaitReason;

use crate::accounting::{ExchangeRecord, ExchangeSample, SocketSamples};
use crate::conn::stream::ProxyStream;
use crate::rt::NetDriver;

/// Selects one exchange in a configured number.
pub struct ExchangeSampler {
    /// `None`: no sampling.
    one_in: Option<u32>,
    until_next: Cell<u32>,
}

impl ExchangeSampler {
    /// `None`: no sampling.
    pub fn new(one_in: Option<u32>) -> ExchangeSampler {
        ExchangeSampler { one_in, until_next: Cell::new(0) }
    }

    pub fn is_on(&self) -> bool {
        self.one_in.is_some()
    }

    /// Whether the current exchange is selected.
    pub fn draw(&self) -> bool {
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
    if measured.sampled || sampler.draw() {
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

/// Records, when an exchange continues, whether it waited for the window of the client's stream. This is known only
/// after the connection has sent the queued data.
#[inline]
pub fn recall_client_wait<N: NetDriver>(measured: &mut ExchangeSample, client: &ProxyStream<N>) {
    if let Some(since) = client.window_closed() {
        measured.awaited.backdate(WaitReason::ClientReceive, WaitReason::StreamWindow, since);
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
    measured.sockets = Some(Box::new(SocketSamples {
        // Events on a connection before its first exchange are attributed to that exchange.
        client: client
            .counter_change(measured.client_baseline_taken || measured.connection_setup.is_some()),
        server: server.counter_change(measured.server_baseline_taken || !record.reused),
        port: server.local_port(),
        client_shared: client.is_multiplexed(),
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
        let drawn: Vec<bool> = (0..7).map(|_| sampler.draw()).collect();
        assert_eq!(drawn, [true, false, false, true, false, false, true]);
        let none = ExchangeSampler::new(None);
        assert!(!none.draw() && !none.is_on());
        let every = ExchangeSampler::new(Some(1));
        assert!((0..5).all(|_| every.draw()));
    }
}
