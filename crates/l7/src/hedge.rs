//! A request that is sent to a second server while the first one is silent, until either begins to answer.
//!
//! The first answer wins and the other attempt is cancelled and counted. When a second server is asked is
//! `model::hedge`'s to say, which answer goes to the client `relay`'s and `exchange`'s.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use model::cause::Cause;
use model::id::ServerId;
use model::line::Class;
use model::live::ServerLive;
use model::live::pool::PoolLive;
use model::moment::Moment;

use crate::account::{self, Record};
use crate::again::{self, UnderWay};
use crate::caller::Caller;
use crate::local::LocalPool;
use crate::patience::Patience;
use crate::rt::Net;
use crate::stream::{Read, Stream};
use crate::upstream::{self, Lent, NotLent, Now, Want};
use crate::worker::Worker;

/// Bytes read at a time while an answer's head is expected.
pub const FIRST: usize = 16 * 1024;

/// What a second attempt is made with.
pub struct Terms<N: Net> {
    /// The worker.
    pub worker: Rc<Worker<N>>,
    /// The pool.
    pub pool: Rc<LocalPool<N>>,
    /// The client.
    pub caller: Rc<Caller>,
    /// What the pool's policy hashes.
    pub key: Option<u64>,
    /// The request's class.
    pub class: Class,
    /// The server that is silent.
    pub first: ServerId,
}

/// A second attempt: not begun yet, or under way.
pub enum Race<N: Net> {
    /// From then on it begins.
    Waits(Moment, Terms<N>),
    /// It is under way.
    Runs(Pin<Box<dyn Future<Output = Option<Hedged<N>>>>>),
    /// It came to nothing, or was not to be made.
    Over,
}

/// What there is of a second attempt when the first one is over.
pub enum Second<N: Net> {
    /// Nothing.
    None,
    /// Its server has answered first.
    Won(Box<Hedged<N>>),
    /// It is under way.
    Runs(Box<Race<N>>),
}

/// A second attempt whose server has begun to answer.
pub struct Hedged<N: Net> {
    /// Its connection.
    pub lent: Lent<N>,
    /// What was sent and came on it.
    pub sent: Sent,
    /// Counts it as a further attempt.
    pub under_way: UnderWay,
}

/// A request that was sent already, and the beginning of its answer.
pub struct Sent {
    /// When it was sent.
    pub at: Moment,
    /// Bytes that were sent to the connection before it.
    pub before: u64,
    /// The answer's first bytes, at most `FIRST`.
    pub first: Vec<u8>,
}

impl<N: Net> Race<N> {
    /// Goes on; `message` is the whole request. Ready once: with the second attempt whose server answers.
    pub fn poll(&mut self, message: &[u8]) -> Poll<Hedged<N>> {
        if let Race::Waits(begins, terms) = self {
            if terms.worker.rt.now() < *begins {
                terms.worker.rt.wake_at(*begins);
                return Poll::Pending;
            }
            let Race::Waits(_, terms) = std::mem::replace(self, Race::Over) else {
                return Poll::Pending;
            };
            *self = Race::Runs(Box::pin(run(terms, message.to_vec())));
        }
        let Race::Runs(story) = self else { return Poll::Pending };
        // What wakes a task of a worker wakes it by its id.
        match story.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(come) => {
                *self = Race::Over;
                come.map_or(Poll::Pending, Poll::Ready)
            }
        }
    }

    /// Whether a second server may still answer.
    pub fn is_under_way(&self) -> bool {
        matches!(self, Race::Runs(_))
    }
}

/// Asks a second server; `None`: there is none, it may not be asked, or it does not answer.
async fn run<N: Net>(terms: Terms<N>, message: Vec<u8>) -> Option<Hedged<N>> {
    let Terms { worker, pool, caller, key, class, first } = terms;
    let never = Cell::new(Moment::NEVER);
    let tried = [first];
    let want = Want {
        caller: &caller,
        key,
        tried: &tried,
        again: None,
        careful: true,
        fresh: false,
        stick: None,
        upgrade: false,
        authenticates: false,
        class,
        written: &tried,
        until: Moment::NEVER,
        // Whoever waits for the first server ends this with it.
        patience: Patience { client: None, whole: Moment::NEVER, cut_at: &never },
    };
    let now = upstream::now(&worker, &pool, &want);
    let second = match &now {
        Now::Lent(lent) => lent.hold.server.id,
        Now::Chosen(hold) => hold.server.id,
        Now::AllAtCap | Now::Refused(_) => return None,
    };
    let under_way = UnderWay::default();
    if second == first || again::take(&worker, &pool, &under_way).is_err() {
        return None;
    }
    let live = pool.view.borrow().live.clone();
    live.slots[worker.index].counters.hedges.add(1);
    let mut running =
        Running { live, worker: worker.index, server: None, sent: 0, ends: Ends::Lost };
    let begun = worker.rt.now();
    let mut record = Record::begin(begun, begun);
    let lent = match upstream::lend(&worker, &pool, want, now, &mut record).await {
        Ok(lent) => lent,
        Err(NotLent { cause, server }) => {
            running.server = server.map(|server| server.view.borrow().live.clone());
            running.ends = Ends::Failed(cause);
            return None;
        }
    };
    running.server = Some(lent.hold.server.view.borrow().live.clone());
    let before = lent.connection.sent_before();
    let patience = pool.view.borrow().config.timeout.clone();
    let stream = &lent.connection.stream;
    running.sent = message.len() as u64;
    if stream.write_all(&message, worker.rt.now() + patience.between_bytes).await.is_err() {
        running.ends = Ends::Failed(Cause::ServerReset);
        return None;
    }
    let at = worker.rt.look();
    match first_bytes(&worker, stream, at + patience.first_byte).await {
        Ok(first) => {
            running.ends = Ends::Won;
            Some(Hedged { lent, sent: Sent { at, before, first }, under_way })
        }
        Err(cause) => {
            running.ends = Ends::Failed(cause);
            None
        }
    }
}

/// The beginning of an answer.
async fn first_bytes<N: Net>(
    worker: &Worker<N>,
    stream: &Stream<N>,
    until: Moment,
) -> Result<Vec<u8>, Cause> {
    loop {
        let got = {
            let input = &mut worker.scratch.borrow_mut().input[..FIRST];
            match stream.try_read(input) {
                Read::Data(n) => Some(Ok(input[..n].to_vec())),
                Read::Later => None,
                Read::End => Some(Err(Cause::ServerClosed)),
                Read::Failed(_) => Some(Err(Cause::ServerReset)),
            }
        };
        if let Some(got) = got {
            return got;
        }
        stream.readable(until).await.map_err(|_| Cause::FirstByteTimeout)?;
    }
}

/// A second attempt under way, which is counted when this is dropped.
struct Running {
    live: Arc<PoolLive>,
    worker: usize,
    /// Its server, once there is a connection.
    server: Option<Arc<ServerLive>>,
    /// Bytes of the request, once they are being sent.
    sent: u64,
    ends: Ends,
}

/// How a second attempt ends.
#[derive(Clone, Copy)]
enum Ends {
    /// It is dropped: the first one answered, or nobody waits any more.
    Lost,
    /// For this cause.
    Failed(Cause),
    /// Its server answers: its account is its exchange's from here on.
    Won,
}

impl Drop for Running {
    fn drop(&mut self) {
        let counters = &self.live.slots[self.worker].counters;
        let cause = match self.ends {
            Ends::Won => return counters.hedges_won.add(1),
            Ends::Failed(cause) => cause,
            Ends::Lost => {
                counters.hedges_lost.add(1);
                Cause::HedgeLost
            }
        };
        let Some(server) = &self.server else { return };
        let slot = &server.slots[self.worker];
        slot.counters.bytes_out.add(self.sent);
        account::attempt_failed(cause, self.sent > 0, slot);
    }
}
