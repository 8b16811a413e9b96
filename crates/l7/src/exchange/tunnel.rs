//! Relays bytes in both directions between a client and a server until both have ended: `tcp` services and upgraded
//! connections.
//!
//! If one side half-closes, the end is passed on and the other direction continues. The server is chosen elsewhere.

use std::task::Poll;
use std::time::Duration;

use model::cause::Cause;
use model::monotonic_time::MonotonicTime;
use model::time_attribution::WaitReason;

use crate::accounting::ExchangeSample;
use crate::accounting::meter::{Meter, TransferTotals};
use crate::conn::sampling;
use crate::conn::stream::ProxyStream;
use crate::exchange::abort_watch::AbortWatch;
use crate::exchange::flow::{BodyFraming, ByteFlow, FlowStep, TransferProgress};
use crate::rt::NetDriver;
use crate::servers::worker_state::LocalService;
use crate::worker::Worker;

/// Fewer bytes are a message of their own, such as a key that was pressed.
const MESSAGE_PART: u64 = 512;
/// After a longer pause a side begins another message.
const MESSAGE_PAUSE: Duration = Duration::from_secs(1);

/// How a tunnel ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TunnelOutcome {
    pub moved: TransferTotals,
    /// The cause, unless both sides closed in order.
    pub cause: Option<Cause>,
    /// When the first byte arrived from the server.
    pub first_byte: Option<MonotonicTime>,
}

/// The connections of a tunnel.
pub struct TunnelContext<'a, N: NetDriver> {
    pub client: &'a ProxyStream<N>,
    pub server: &'a ProxyStream<N>,
    pub service: &'a LocalService<N>,
    /// Detects an operator's order to close the server's connections.
    pub abort_watch: AbortWatch,
    /// The client's bytes that were already read; they are sent first.
    pub early_bytes: Vec<u8>,
    /// The silence of both sides that ends the tunnel.
    pub idle: Duration,
}

struct RunningTunnel<'a, N: NetDriver> {
    worker: &'a Worker<N>,
    service: &'a LocalService<N>,
    client: &'a ProxyStream<N>,
    server: &'a ProxyStream<N>,
    abort_watch: AbortWatch,
    up: ByteFlow<N>,
    down: ByteFlow<N>,
    up_ended: bool,
    down_ended: bool,
    idle: Duration,
    meter: Meter,
    progress: TransferProgress,
    first_byte: Option<MonotonicTime>,
    sample: &'a mut ExchangeSample,
    waits_for: WaitReason,
}

/// Runs a tunnel to its end.
pub async fn run<N: NetDriver>(
    worker: &Worker<N>,
    ends: TunnelContext<'_, N>,
    meter: Meter,
    measured: &mut ExchangeSample,
) -> TunnelOutcome {
    let TunnelContext { client, server, service, abort_watch, early_bytes: first, idle } = ends;
    let _open = worker.gauges.count_tunnel();
    // Either direction may stall, so each one gets half of the connection's buffer limit.
    let limit = service.view.borrow().config.limit.connection_bytes / 2;
    let mut tunnel = RunningTunnel {
        worker,
        service,
        client,
        server,
        abort_watch,
        up: ByteFlow::new(BodyFraming::UntilEnd, limit),
        down: ByteFlow::new_to_client(client, BodyFraming::UntilEnd, limit),
        up_ended: false,
        down_ended: false,
        idle,
        meter,
        progress: TransferProgress::new(worker.rt.now()),
        first_byte: None,
        sample: measured,
        waits_for: WaitReason::Either,
    };
    tunnel.sample.tunnel = true;
    tunnel.up.bytes_in = first.len() as u64;
    tunnel.up.queue_bytes(worker, &first);
    let cause = std::future::poll_fn(|_| tunnel.poll()).await;
    let ended = TunnelOutcome { moved: tunnel.meter.moved, cause, first_byte: tunnel.first_byte };
    tunnel.up.release(worker);
    tunnel.down.release(worker);
    ended
}

impl<N: NetDriver> RunningTunnel<'_, N> {
    fn poll(&mut self) -> Poll<Option<Cause>> {
        let held = self.worker.rt.run_delay.held_since();
        sampling::recall_wait(self.sample, self.client, self.server, held);
        let polled = self.progress();
        self.meter.set_totals(TransferTotals {
            from_client: self.up.bytes_in,
            to_client: self.down.bytes_out,
            from_server: self.down.bytes_in,
            to_server: self.up.bytes_out,
            spliced: self.up.spliced + self.down.spliced,
        });
        if polled.is_pending() {
            let now = self.worker.rt.now();
            sampling::record_wait(
                &self.worker.sampler,
                self.sample,
                self.client,
                self.server,
                self.awaited_side(),
                now,
            );
        }
        polled
    }

    /// The side that the tunnel waits for: one that accepts no bytes, or else the side that has to respond.
    fn awaited_side(&self) -> WaitReason {
        match (self.down.has_pending(), self.up.has_pending()) {
            (true, _) if self.client.window_closed().is_some() => WaitReason::StreamWindow,
            (true, _) => WaitReason::ClientReceive,
            (false, true) if self.server.window_closed().is_some() => {
                WaitReason::ServerStreamWindow
            }
            (false, true) => WaitReason::ServerReceive,
            (false, false) => self.waits_for,
        }
    }

    fn progress(&mut self) -> Poll<Option<Cause>> {
        let mut again = false;
        let up = self.up.bytes_out;
        let down = self.down.bytes_in;
        // The server's bytes are relayed first, since that frees the server's memory.
        if !self.down_ended {
            match self.down.step(self.worker, self.server, self.client, &mut Vec::new()) {
                FlowStep::Finished => {
                    self.down_ended = true;
                    self.client.end();
                }
                FlowStep::Yield => again = true,
                FlowStep::SenderFailed => return Poll::Ready(Some(Cause::ServerReset)),
                FlowStep::ReceiverFailed => return Poll::Ready(Some(Cause::ClientReset)),
                FlowStep::Failed => return Poll::Ready(Some(Cause::Internal)),
                FlowStep::AwaitSender
                | FlowStep::AwaitReceiver
                | FlowStep::SenderTruncated
                | FlowStep::TooLong
                | FlowStep::Malformed(_) => {}
            }
            if self.first_byte.is_none() && self.down.bytes_in > 0 {
                self.first_byte = Some(self.worker.rt.now());
            }
        }
        if !self.up_ended {
            match self.up.step(self.worker, self.client, self.server, &mut Vec::new()) {
                FlowStep::Finished => {
                    self.up_ended = true;
                    self.server.end();
                }
                FlowStep::Yield => again = true,
                FlowStep::SenderFailed => return Poll::Ready(Some(Cause::ClientReset)),
                FlowStep::ReceiverFailed => return Poll::Ready(Some(Cause::ServerReset)),
                FlowStep::Failed => return Poll::Ready(Some(Cause::Internal)),
                FlowStep::AwaitSender
                | FlowStep::AwaitReceiver
                | FlowStep::SenderTruncated
                | FlowStep::TooLong
                | FlowStep::Malformed(_) => {}
            }
        }
        self.pass_turn(self.up.bytes_out - up, self.down.bytes_in - down);
        if self.up_ended && self.down_ended {
            return Poll::Ready(None);
        }
        // A connection with both directions ended looks broken too, and its last bytes can still be relayed. Any other
        // broken connection accepts no more bytes, and its last bytes must not wait for a receiver that accepts none.
        if self.client.is_broken() && (self.up_ended || (!self.down_ended && self.up.has_pending()))
        {
            return Poll::Ready(Some(Cause::ClientReset));
        }
        if self.server.is_broken()
            && (self.down_ended || (!self.up_ended && self.down.has_pending()))
        {
            return Poll::Ready(Some(Cause::ServerReset));
        }
        self.wait(again)
    }

    /// Whoever was spoken to last is to speak. A side that goes on after a short pause had not finished.
    fn pass_turn(&mut self, from_client: u64, from_server: u64) {
        let now = self.worker.rt.now();
        let waits = &mut self.sample.awaited;
        if from_server > 0 {
            if from_server >= MESSAGE_PART {
                let idle = WaitReason::ClientThink;
                waits.replace_short(idle, WaitReason::ServerSend, MESSAGE_PAUSE, now);
            }
            self.waits_for = WaitReason::ClientThink;
        } else if from_client > 0 {
            let is_part = from_client >= MESSAGE_PART;
            let answer = WaitReason::ServerResponse;
            if !(is_part && waits.replace_short(answer, WaitReason::ClientSend, MESSAGE_PAUSE, now))
            {
                // The server may have been busy, or may have had nothing to answer yet.
                waits.replace_short(answer, WaitReason::Either, Duration::MAX, now);
            }
            self.waits_for = WaitReason::ServerResponse;
        }
    }

    fn wait(&mut self, again: bool) -> Poll<Option<Cause>> {
        let rt = &self.worker.rt;
        let moved = self.up.bytes_out + self.down.bytes_out + self.up.bytes_in + self.down.bytes_in;
        self.progress.update(moved, rt.now());
        if again && let Some(me) = rt.current() {
            rt.wake(me);
        }
        let until = self.progress.moved_at + self.idle;
        if rt.now() >= until {
            return Poll::Ready(Some(Cause::TunnelIdle));
        }
        if self.abort_watch.is_due() {
            return Poll::Ready(Some(Cause::OrderCut));
        }
        let cut_at = self.service.cut_at.get();
        if rt.now() >= cut_at {
            return Poll::Ready(Some(Cause::DrainCut));
        }
        rt.wake_at(until.min(cut_at));
        Poll::Pending
    }
}
