//! What is noted of a server's connection, and what becomes of it after an exchange. It is kept, or the server was told with the request that it
//! is not, and closes first: so the wait after closing (TIME_WAIT), which takes a port, is not ours.

use std::rc::Rc;
use std::time::Duration;

use super::{Exchange, Parties};
use crate::account::Protocol;
use crate::caller::Whose;
use crate::rt::Net;
use crate::upstream::{self, Lent};
use crate::worker::Worker;

/// How long a server may take to close.
const PARTING: Duration = Duration::from_secs(1);

/// Connections of a worker that wait for their servers to close; more are closed at once.
const MOST: u32 = 1024;

impl<N: Net> Exchange<'_, N> {
    /// Which server has the request, over which connection.
    pub(super) fn note(&mut self, lent: &Lent<N>) {
        (self.record.server, self.record.reused) = (Some(lent.hold.server.id), lent.reused);
        if !lent.reused {
            self.record.measured.server_group = lent.connection.stream.tls_group();
        }
    }

    /// Before the request is sent: says whether the connection ends with the answer.
    /// One that was `sent` already has said it.
    pub(super) fn say_close(&mut self, lent: &Lent<N>, sent: bool) {
        if sent {
            return;
        }
        let shared = lent.connection.stream.is_strand();
        let ends = !shared && !self.incoming.upgrade && upstream::is_last(lent);
        self.incoming.say_close(ends);
    }

    /// Keeps the connection, for this client alone where it is authenticated or may be soon.
    pub(super) fn keep(&self, mut lent: Lent<N>) {
        let Parties { worker, caller, .. } = self.parties;
        if self.incoming.authenticates {
            if matches!(self.incoming.protocol, Protocol::Http2 | Protocol::Http3) {
                // Which requests on it share an identity is not known: it serves none any more.
                return;
            }
            lent.connection.whose = Whose::of(caller);
            caller.own(lent.hold.server.id);
        }
        match self.incoming.says_close {
            // Its server was told that nothing follows.
            true => self.part(lent),
            false => upstream::shelve(worker, lent),
        }
    }

    /// After a whole answer on a connection that is not kept.
    pub(super) fn part(&self, lent: Lent<N>) {
        let Parties { worker, .. } = self.parties;
        let Lent { connection, hold, .. } = lent;
        drop(hold);
        // Its end is here, or more than an answer.
        if !connection.stream.settle() || worker.draining.get() || worker.parting.get() >= MOST {
            return;
        }
        let parting = Parting::begin(worker);
        worker.rt.spawn(async move {
            connection.stream.mine();
            let until = parting.0.rt.now() + PARTING;
            // Either way it is closed now.
            let _ = connection.stream.readable(until).await;
            drop((connection, parting));
        });
    }
}

struct Parting<N: Net>(Rc<Worker<N>>);

impl<N: Net> Parting<N> {
    fn begin(worker: &Rc<Worker<N>>) -> Parting<N> {
        worker.parting.set(worker.parting.get() + 1);
        Parting(worker.clone())
    }
}

impl<N: Net> Drop for Parting<N> {
    fn drop(&mut self) {
        self.0.parting.set(self.0.parting.get() - 1);
    }
}
