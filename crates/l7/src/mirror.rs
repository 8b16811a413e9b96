//! Copies of requests for a pool whose answers nobody reads.
//!
//! A copy is sent by a task of its own, on a connection of its own, so that the client's answer never waits for it. So many
//! may be under way per worker; what is more is dropped, and so are requests whose body did not come with their head.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::moment::Moment;
use model::rules::RuleLive;

use crate::account::Record;
use crate::caller::Caller;
use crate::local::LocalPool;
use crate::patience::Patience;
use crate::rt::Net;
use crate::stream::{Read, Stream};
use crate::upstream::{self, Want};
use crate::worker::Worker;

/// How long a copy may take in all.
const WHOLE: Duration = Duration::from_secs(30);

/// Bytes of an answer that are read; then the connection is closed.
const ANSWER: usize = 1024 * 1024;

/// A copy.
pub struct Copied {
    /// The message for the server.
    pub message: Vec<u8>,
    /// The client.
    pub caller: Rc<Caller>,
    /// The rule that wants it.
    pub live: Arc<RuleLive>,
    /// Copies under way per worker.
    pub at_once: u32,
}

/// Sends a copy, or drops it.
pub fn send<N: Net>(worker: &Rc<Worker<N>>, pool: Rc<LocalPool<N>>, copied: Copied) {
    if worker.mirroring.get() >= copied.at_once || worker.draining.get() {
        return dropped(worker, &copied.live);
    }
    worker.mirroring.set(worker.mirroring.get() + 1);
    let worker_ = worker.clone();
    worker.rt.spawn(async move {
        let under_way = UnderWay(worker_.clone());
        run(&worker_, &pool, copied).await;
        drop(under_way);
    });
}

/// Counts a copy that is not sent.
pub fn dropped<N: Net>(worker: &Worker<N>, live: &RuleLive) {
    if let Some(slot) = live.slots.get(worker.index) {
        slot.counters.mirror_dropped.add(1);
    }
}

async fn run<N: Net>(worker: &Rc<Worker<N>>, pool: &Rc<LocalPool<N>>, copied: Copied) {
    let until = worker.rt.now() + WHOLE;
    let never = Cell::new(Moment::NEVER);
    let want = Want {
        caller: &copied.caller,
        key: None,
        tried: &[],
        again: None,
        careful: false,
        fresh: true,
        stick: None,
        upgrade: false,
        authenticates: false,
        // No client waits for it.
        class: 0,
        written: &[],
        until,
        patience: Patience { client: None, whole: until, cut_at: &never },
    };
    let now = worker.rt.now();
    let mut record = Record::begin(now, now);
    let begun = upstream::now(worker, pool, &want);
    let Ok(lent) = upstream::lend(worker, pool, want, begun, &mut record).await else {
        return dropped(worker, &copied.live);
    };
    let stream = &lent.connection.stream;
    if stream.write_all(&closing(&copied.message), until).await.is_err() {
        return dropped(worker, &copied.live);
    }
    if let Some(slot) = copied.live.slots.get(worker.index) {
        slot.counters.mirrored.add(1);
    }
    read_away(worker, stream, until).await;
}

/// The message with the wish that the server ends after its answer: nobody looks where that ends.
fn closing(message: &[u8]) -> Vec<u8> {
    let line = message.iter().position(|b| *b == b'\n').map_or(0, |at| at + 1);
    let (first, rest) = message.split_at(line);
    [first, b"Connection: close\r\n", rest].concat()
}

async fn read_away<N: Net>(worker: &Worker<N>, stream: &Stream<N>, until: Moment) {
    let mut left = ANSWER;
    while left > 0 {
        let got = stream.try_read(&mut worker.scratch.borrow_mut().input);
        match got {
            Read::Data(n) => left = left.saturating_sub(n),
            Read::Later => {
                if stream.readable(until).await.is_err() {
                    return;
                }
            }
            Read::End | Read::Failed(_) => return,
        }
    }
}

struct UnderWay<N: Net>(Rc<Worker<N>>);

impl<N: Net> Drop for UnderWay<N> {
    fn drop(&mut self) {
        self.0.mirroring.set(self.0.mirroring.get() - 1);
    }
}
