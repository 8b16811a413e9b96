//! Rows of exchanges that have no server yet, connecting or in the queue, when something else ends: the service, or
//! their client.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::cause::Cause;
use model::config::{Forward, Server as Configured};
use model::id::ServiceId;
use model::snapshot::Snapshot;

use super::server::{Ledger, Server};
use super::stage::{Door, Stage, addresses, setting};
use super::world::{Io, Peer, Reach, What};

/// When whatever is planted happens, and a bit later.
const THEN: Duration = Duration::from_secs(2);
const MOMENT: Duration = Duration::from_millis(20);

/// How a client behaves after it has asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Stay,
    End,
    Reset,
}

/// Asks, and does something else `THEN` after that.
struct Asker {
    ask: Vec<u8>,
    then: Then,
    got: Rc<RefCell<Vec<u8>>>,
    closed: bool,
}

impl Peer for Asker {
    fn on(&mut self, what: What, io: &mut Io) {
        if self.closed {
            return;
        }
        self.got.borrow_mut().extend(io.take());
        match what {
            What::Open => io.after(THEN),
            What::Timer if self.then == Then::End => io.end(),
            What::Timer if self.then == Then::Reset => {
                self.closed = true;
                io.close(true);
            }
            What::End | What::Broken => {
                self.closed = true;
                io.close(false);
            }
            _ => {}
        }
        io.write(&mut self.ask);
    }
}

/// A service with more patience than these rows, before one server that takes one at a time.
fn patient(forward: Forward) -> Snapshot {
    let long = Duration::from_secs(60);
    setting(
        &addresses(1),
        |service| service.forward = forward,
        |pool| (pool.timeout.queue, pool.timeout.connect, pool.retries) = (long, long, 2),
        |server| {
            let config = Configured::clone(&server.config);
            server.config = Arc::new(Configured { connections: Some(1), ..config });
        },
    )
}

fn stage(forward: Forward, answered: bool) -> (Stage, Door) {
    let stage = Stage::new(1, 4096, patient(forward));
    let ledger = Rc::new(RefCell::new(Ledger::default()));
    match answered {
        true => stage.serve(addresses(1)[0], move || Server::new(ledger.clone(), None)),
        false => stage.sim.reach(addresses(1)[0], Reach::Silent),
    }
    let door = stage.open(ServiceId(0));
    (stage, door)
}

fn come(stage: &Stage, door: &Door, n: u64, mode: &str, then: Then) -> Rc<RefCell<Vec<u8>>> {
    let got = Rc::new(RefCell::default());
    let ask = format!("GET /{mode}/10/{n} HTTP/1.1\r\nHost: shop\r\n\r\n").into_bytes();
    let asker = Asker { ask, then, got: got.clone(), closed: false };
    stage.client(door, n, Duration::from_millis(n), asker);
    got
}

#[test]
fn the_end_of_draining_cuts_what_is_connecting_or_waits() {
    for forward in [Forward::Http, Forward::Tcp] {
        // One connects, and holds the only slot; the other waits for that.
        let (stage, door) = stage(forward, false);
        come(&stage, &door, 1, "plain", Then::Stay);
        come(&stage, &door, 2, "plain", Then::Stay);
        stage.pass(Duration::from_secs(1), |_| ());
        assert_eq!((stage.waiting(), stage.free_slots()), (1, 0), "{forward:?}");
        stage.worker.drain(THEN);
        stage.pass(THEN - MOMENT, |_| ());
        assert_eq!(stage.causes(), [], "{forward:?}: too early");
        stage.pass(2 * MOMENT, |_| ());
        assert_eq!(stage.causes(), [Cause::DrainCut; 2], "{forward:?}");
        stage.pass(THEN, |_| ());
        assert_eq!(stage.connections(), 0, "{forward:?}");
        stage.leave();
    }
}

#[test]
fn a_second_order_to_leave_cuts_them_at_once() {
    let (stage, door) = stage(Forward::Http, false);
    come(&stage, &door, 1, "plain", Then::Stay);
    come(&stage, &door, 2, "plain", Then::Stay);
    stage.pass(Duration::from_secs(1), |_| ());
    stage.worker.drain(60 * THEN);
    stage.pass(MOMENT, |_| ());
    assert_eq!(stage.causes(), []);
    stage.worker.drain(Duration::ZERO);
    stage.pass(MOMENT, |_| ());
    assert_eq!(stage.causes(), [Cause::DrainCut; 2]);
    stage.leave();
}

#[test]
fn a_service_that_is_removed_cuts_them_at_its_limit() {
    let (stage, door) = stage(Forward::Http, false);
    come(&stage, &door, 1, "plain", Then::Stay);
    come(&stage, &door, 2, "plain", Then::Stay);
    stage.pass(Duration::from_secs(1), |_| ());
    let service = stage.worker.local.borrow().services[&ServiceId(0)].clone();
    let before = stage.snapshot.borrow().clone();
    let services = Default::default();
    stage.install(Snapshot { version: 2, services, ..Snapshot::clone(&before) });
    stage.pass(Duration::from_secs(29), |_| ());
    assert_eq!(stage.connections(), 2);
    stage.pass(Duration::from_secs(1) + MOMENT, |_| ());
    let causes = &service.view.borrow().live.slots[0].causes;
    assert_eq!(causes[Cause::DrainCut as usize].get(), 2);
    assert_eq!(stage.connections(), 0);
    *stage.snapshot.borrow_mut() = before;
    stage.leave();
}

#[test]
fn a_client_that_resets_gives_up_its_place_and_its_connection() {
    for forward in [Forward::Http, Forward::Tcp] {
        let (stage, door) = stage(forward, false);
        come(&stage, &door, 1, "plain", Then::Reset);
        come(&stage, &door, 2, "plain", Then::Reset);
        stage.pass(THEN - MOMENT, |_| ());
        assert_eq!((stage.waiting(), stage.free_slots()), (1, 0), "{forward:?}");
        stage.pass(2 * MOMENT, |_| ());
        assert_eq!(stage.causes(), [Cause::ClientReset; 2], "{forward:?}");
        assert_eq!((stage.waiting(), stage.free_slots()), (0, 1), "{forward:?}");
        stage.leave();
    }
}

#[test]
fn a_client_that_has_sent_its_end_keeps_its_place_and_is_answered() {
    let (stage, door) = stage(Forward::Http, true);
    // Holds the slot until its first byte is overdue.
    come(&stage, &door, 1, "silent", Then::Stay);
    let got = come(&stage, &door, 2, "plain", Then::End);
    stage.pass(THEN + MOMENT, |_| ());
    assert_eq!((stage.waiting(), stage.causes()), (1, vec![]));
    stage.until(|| !got.borrow().is_empty());
    assert!(got.borrow().starts_with(b"HTTP/1.1 200 "), "{}", got.borrow().escape_ascii());
    stage.until(|| stage.connections() == 0);
    stage.leave();
}
