//! The rest of an answer for a client that is slower than its server: the server is free, the client gets what was kept.

use std::task::Poll;

use model::attribute::For;
use model::cause::Cause;
use model::moment::Moment;

use super::{Exchange, Parties};
use crate::after::After;
use crate::felt;
use crate::flow::{Flow, Step};
use crate::rt::Net;
use crate::upstream::Lent;

impl<N: Net> Exchange<'_, N> {
    /// Lets the server go, and gives the client the rest.
    pub(super) async fn late(
        &mut self,
        lent: Lent<N>,
        (keep_client, keep_server): (bool, bool),
    ) -> After {
        let worker = self.parties.worker;
        self.counters().buffered_answers.add(1);
        let server = lent.hold.server.clone();
        {
            let (pool, view) = (self.pool.view.borrow(), server.view.borrow());
            felt::answered(&pool, &view.live, worker.index, self.record.status);
        }
        match keep_server {
            true => self.keep(lent),
            false => self.part(lent),
        }
        let Some(mut rest) = self.rest.take() else { return After::Reset };
        let before = rest.given;
        self.record.measured.waits.on(For::ClientTakes, worker.rt.now());
        let cause = self.give(&mut rest).await;
        self.record.measured.waits.stop(worker.rt.now());
        let given = rest.given - before;
        rest.release(worker);
        self.counters().client_out.add(given);
        self.record.bytes_to_client += given;
        self.record.done = Some(worker.rt.look());
        self.record.cause = cause;
        let after = match cause {
            None => self.afterwards(keep_client),
            Some(_) => After::Reset,
        };
        self.close(Some(&server));
        after
    }

    /// Gives the client what is kept; what went wrong, if something did.
    async fn give(&self, rest: &mut Flow<N>) -> Option<Cause> {
        let Parties { worker, client, service, .. } = self.parties;
        let idle = self.view.config.timeout.between_bytes;
        let mut moved = (rest.given, worker.rt.now());
        std::future::poll_fn(|_| {
            let step = rest.give_rest(worker, client);
            let now = worker.rt.now();
            if rest.given != moved.0 {
                moved = (rest.given, now);
            }
            match step {
                Step::Finished => return Poll::Ready(None),
                Step::ReceiverFailed => return Poll::Ready(Some(Cause::ClientClosedResponse)),
                _ if client.broken() => return Poll::Ready(Some(Cause::ClientClosedResponse)),
                _ => {}
            }
            let ends: [(Moment, Cause); 3] = [
                (moved.1 + idle, Cause::ClientReadTimeout),
                (self.whole, Cause::WholeTimeout),
                (service.cut_at.get(), Cause::DrainCut),
            ];
            if let Some((_, cause)) = ends.iter().find(|(at, _)| now >= *at) {
                return Poll::Ready(Some(*cause));
            }
            for (at, _) in ends {
                worker.rt.wake_at(at);
            }
            Poll::Pending
        })
        .await
    }
}
