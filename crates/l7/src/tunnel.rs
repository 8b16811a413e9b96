//! Bytes both ways between a client and a server until both have ended: `tcp` services and upgraded connections.
//!
//! An end on one side is passed on and the other direction goes on (half-close). It chooses no server.

use std::task::Poll;
use std::time::Duration;

use model::attribute::For;
use model::cause::Cause;
use model::moment::Moment;

use crate::account::Measured;
use crate::cuts::Cuts;
use crate::flow::{Flow, Framing, Step};
use crate::local::LocalService;
use crate::measured;
use crate::meter::{Meter, Moved};
use crate::rt::Net;
use crate::stream::Stream;
use crate::worker::Worker;

/// How a tunnel ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// What it moved.
    pub moved: Moved,
    /// Why, unless both sides ended in order.
    pub cause: Option<Cause>,
    /// When the first byte came from the server.
    pub first_byte: Option<Moment>,
}

/// What a tunnel runs between.
pub struct Ends<'a, N: Net> {
    /// The client's connection.
    pub client: &'a Stream<N>,
    /// The server's connection.
    pub server: &'a Stream<N>,
    /// The service.
    pub service: &'a LocalService<N>,
    /// Whether the server's connections were ordered to be cut.
    pub cuts: Cuts,
    /// Bytes of the client that were read already: they go first.
    pub first: Vec<u8>,
}

struct Tunnel<'a, N: Net> {
    worker: &'a Worker<N>,
    service: &'a LocalService<N>,
    client: &'a Stream<N>,
    server: &'a Stream<N>,
    cuts: Cuts,
    up: Flow<N>,
    down: Flow<N>,
    up_ended: bool,
    down_ended: bool,
    idle: Duration,
    meter: Meter,
    moved: (u64, Moment),
    first_byte: Option<Moment>,
    measured: &'a mut Measured,
    owes: For,
}

/// Runs a tunnel to its end.
pub async fn run<N: Net>(
    worker: &Worker<N>,
    ends: Ends<'_, N>,
    meter: Meter,
    measured: &mut Measured,
) -> Ended {
    let Ends { client, server, service, cuts, first } = ends;
    let _open = worker.census.tunnel();
    // Either direction may stall: they share what a connection may hold.
    let limit = service.view.borrow().config.limit.connection_bytes / 2;
    let mut tunnel = Tunnel {
        worker,
        service,
        client,
        server,
        cuts,
        up: Flow::new(Framing::UntilEnd, limit),
        down: Flow::towards(client, Framing::UntilEnd, limit),
        up_ended: false,
        down_ended: false,
        idle: service.view.borrow().config.timeout.tunnel,
        meter,
        moved: (0, worker.rt.now()),
        first_byte: None,
        measured,
        owes: For::Either,
    };
    tunnel.measured.tunnel = true;
    tunnel.up.taken = first.len() as u64;
    tunnel.up.keep(worker, &first);
    let cause = std::future::poll_fn(|_| tunnel.poll()).await;
    let ended = Ended { moved: tunnel.meter.moved, cause, first_byte: tunnel.first_byte };
    tunnel.up.release(worker);
    tunnel.down.release(worker);
    ended
}

impl<N: Net> Tunnel<'_, N> {
    fn poll(&mut self) -> Poll<Option<Cause>> {
        measured::recall(self.measured, self.client);
        let polled = self.progress();
        self.meter.set(Moved {
            from_client: self.up.taken,
            to_client: self.down.given,
            from_server: self.down.taken,
            to_server: self.up.given,
            spliced: self.up.spliced + self.down.spliced,
        });
        if polled.is_pending() {
            let (ends, now) = ((self.client, self.server), self.worker.rt.now());
            measured::wait(&self.worker.lot, self.measured, ends, self.whom(), now);
        }
        polled
    }

    /// Who lets it go on: whoever takes nothing, else whoever was spoken to last.
    fn whom(&self) -> For {
        match (self.down.holds(), self.up.holds()) {
            (true, _) if self.client.window_closed().is_some() => For::StreamTakes,
            (true, _) => For::ClientTakes,
            (false, true) => For::ServerTakes,
            (false, false) => self.owes,
        }
    }

    fn progress(&mut self) -> Poll<Option<Cause>> {
        let mut again = false;
        let (up, down) = (self.up.given, self.down.taken);
        // The side that spoke is served first; on a tie the server's bytes, which free its memory.
        if !self.down_ended {
            match self.down.step(self.worker, self.server, self.client, &mut Vec::new()) {
                Step::Finished => {
                    self.down_ended = true;
                    self.client.end();
                }
                Step::Again => again = true,
                Step::SenderFailed => return Poll::Ready(Some(Cause::ServerReset)),
                Step::ReceiverFailed => return Poll::Ready(Some(Cause::ClientReset)),
                Step::Failed => return Poll::Ready(Some(Cause::Internal)),
                Step::Sender | Step::Receiver | Step::Cut | Step::Malformed(_) => {}
            }
            if self.first_byte.is_none() && self.down.taken > 0 {
                self.first_byte = Some(self.worker.rt.now());
            }
        }
        if !self.up_ended {
            match self.up.step(self.worker, self.client, self.server, &mut Vec::new()) {
                Step::Finished => {
                    self.up_ended = true;
                    self.server.end();
                }
                Step::Again => again = true,
                Step::SenderFailed => return Poll::Ready(Some(Cause::ClientReset)),
                Step::ReceiverFailed => return Poll::Ready(Some(Cause::ServerReset)),
                Step::Failed => return Poll::Ready(Some(Cause::Internal)),
                Step::Sender | Step::Receiver | Step::Cut | Step::Malformed(_) => {}
            }
        }
        if self.down.taken > down {
            self.owes = For::ClientThinks;
        } else if self.up.given > up {
            self.owes = For::Answer;
        }
        if self.up_ended && self.down_ended {
            return Poll::Ready(None);
        }
        // A connection whose both directions have ended looks broken too, and may hold bytes that still go on. Any other
        // broken one takes nothing more, and its last bytes must not wait for a receiver that takes none.
        if self.client.broken() && (self.up_ended || (!self.down_ended && self.up.holds())) {
            return Poll::Ready(Some(Cause::ClientReset));
        }
        if self.server.broken() && (self.down_ended || (!self.up_ended && self.down.holds())) {
            return Poll::Ready(Some(Cause::ServerReset));
        }
        self.wait(again)
    }

    fn wait(&mut self, again: bool) -> Poll<Option<Cause>> {
        let rt = &self.worker.rt;
        let moved = self.up.given + self.down.given + self.up.taken + self.down.taken;
        if moved != self.moved.0 {
            self.moved = (moved, rt.now());
        }
        if again && let Some(me) = rt.current() {
            rt.wake(me);
        }
        let until = self.moved.1 + self.idle;
        if rt.now() >= until {
            return Poll::Ready(Some(Cause::TunnelIdle));
        }
        if self.cuts.due() {
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
