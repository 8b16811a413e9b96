//! Which exchanges are measured, and when their sockets are read.
//!
//! A reading costs half a microsecond, as much as a twentieth of a small exchange. So a socket is read when an exchange
//! first waits in the middle of a body, when it ends after it was slow, and on one exchange in so many. It judges nothing.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use model::attribute::For;
use model::moment::Moment;
use model::snapshot::ServiceView;

use crate::account::{Measured, Record, Sockets};
use crate::rt::Net;
use crate::stream::Stream;

/// Draws one exchange in so many.
pub struct Lot {
    /// `None`: nothing is measured.
    one_in: Option<u32>,
    left: Cell<u32>,
}

impl Lot {
    /// One in `one_in`; `None`: none, and nothing is measured at all.
    pub fn new(one_in: Option<u32>) -> Lot {
        Lot { one_in, left: Cell::new(0) }
    }

    /// Whether anything is measured.
    pub fn is_on(&self) -> bool {
        self.one_in.is_some()
    }

    /// Whether this one is it.
    pub fn draw(&self) -> bool {
        let Some(one_in) = self.one_in else { return false };
        let left = self.left.get();
        self.left.set(left.checked_sub(1).unwrap_or(one_in - 1));
        left == 0
    }
}

/// An attempt has its connections.
#[inline]
pub fn begin<N: Net>(
    lot: &Lot,
    measured: &mut Measured,
    (client, server): (&Stream<N>, &Stream<N>),
    now: Moment,
) {
    measured.attempt = Some(now);
    if measured.drawn || lot.draw() {
        measured.drawn = true;
        // The client's is read when it is first waited for: what is in its buffer then tells what it waits for.
        mark(measured, client, server, false, true);
    }
}

/// Whom it waits for from now on. The first wait for a socket in the middle of a body has that socket read, so that what
/// happens while it is waited for can be told from what was before.
#[inline]
pub fn wait<N: Net>(
    lot: &Lot,
    measured: &mut Measured,
    (client, server): (&Stream<N>, &Stream<N>),
    whom: For,
    now: Moment,
) {
    measured.waits.on(whom, now);
    let (of_client, of_server) = match whom {
        For::ClientTakes | For::ClientSends => (!measured.client_marked, false),
        For::ServerTakes | For::ServerSends => (false, !measured.server_marked),
        _ => return,
    };
    if (of_client || of_server) && lot.is_on() {
        mark(measured, client, server, of_client, of_server);
    }
}

/// An exchange goes on: says whether it waited for the window of its client's stream, which shows only once the
/// connection has taken what was given to it.
#[inline]
pub fn recall<N: Net>(measured: &mut Measured, client: &Stream<N>) {
    if let Some(since) = client.window_closed() {
        measured.waits.was_since(For::ClientTakes, For::StreamTakes, since);
    }
}

fn mark<N: Net>(
    measured: &mut Measured,
    client: &Stream<N>,
    server: &Stream<N>,
    of_client: bool,
    of_server: bool,
) {
    if of_client {
        client.mark();
        measured.client_marked = true;
    }
    if of_server {
        server.mark();
        measured.server_marked = true;
    }
}

/// An attempt is over: reads its sockets if it was slow or drawn.
pub fn end<N: Net>(
    lot: &Lot,
    view: &ServiceView,
    record: &mut Record,
    (client, server): (&Stream<N>, &Stream<N>),
    now: Moment,
) {
    record.measured.waits.stop(now);
    if !lot.is_on() || !(record.measured.drawn || is_slow(view, record, now)) {
        return;
    }
    let measured = &mut record.measured;
    measured.sockets = Some(Box::new(Sockets {
        // What happened on a connection before its first exchange is that exchange's too.
        client: client.change(measured.client_marked || measured.opening.is_some()),
        server: server.change(measured.server_marked || !record.reused),
        port: server.port(),
        client_shared: client.is_strand(),
        server_shared: server.is_strand(),
        server_tls: server.is_sealed(),
    }));
}

/// Whether an exchange that ends now is slow, as its service goes.
pub fn is_slow(view: &ServiceView, record: &Record, now: Moment) -> bool {
    let idle = &record.measured.waits;
    let idle = idle.of(For::ClientThinks) + idle.of(For::Either);
    let took = now.since(record.begun).as_nanos() as u64;
    let opening = record.measured.opening.unwrap_or_default();
    let opening = (opening.accept + opening.tls.unwrap_or_default()).as_nanos() as u64;
    (took + opening).saturating_sub(idle) >= view.live.slow_from.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_so_many_is_drawn() {
        let lot = Lot::new(Some(3));
        let drawn: Vec<bool> = (0..7).map(|_| lot.draw()).collect();
        assert_eq!(drawn, [true, false, false, true, false, false, true]);
        let none = Lot::new(None);
        assert!(!none.draw() && !none.is_on());
        let every = Lot::new(Some(1));
        assert!((0..5).all(|_| every.draw()));
    }
}
