//! Exchanges without a server, connecting or in the queue, when something else ends: the service, or their client.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::cause::Cause;
use model::config::{ForwardingMode, ServerConfig as Configured};
use model::id::ServiceId;
use model::snapshot::WorkerSnapshot;

use super::harness::{SimListener, WorkerHarness, addresses, setting};
use super::server::{ServerLedger, SimServer};
use super::world::{ConnectReaction, PeerEvent, PeerIo, ScriptedPeer};

/// Time until the tested event.
const THEN: Duration = Duration::from_secs(2);
/// Simulated time between two actions of clients.
const MOMENT: Duration = Duration::from_millis(20);

/// What a client does after its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterRequest {
    Stay,
    End,
    Reset,
}

/// Sends a request, and acts `THEN` later.
struct ImpatientClient {
    request: Vec<u8>,
    then: AfterRequest,
    got: Rc<RefCell<Vec<u8>>>,
    closed: bool,
}

impl ScriptedPeer for ImpatientClient {
    fn on_event(&mut self, what: PeerEvent, io: &mut PeerIo) {
        if self.closed {
            return;
        }
        self.got.borrow_mut().extend(io.take());
        match what {
            PeerEvent::Open => io.set_timer(THEN),
            PeerEvent::Timer if self.then == AfterRequest::End => io.end(),
            PeerEvent::Timer if self.then == AfterRequest::Reset => {
                self.closed = true;
                io.close(true);
            }
            PeerEvent::End | PeerEvent::Broken => {
                self.closed = true;
                io.close(false);
            }
            _ => {}
        }
        io.write(&mut self.request);
    }
}

/// A service with longer timeouts than these cases, with one server that takes one connection at a time.
fn patient(forward: ForwardingMode) -> WorkerSnapshot {
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

fn stage(forward: ForwardingMode, answered: bool) -> (WorkerHarness, SimListener) {
    let stage = WorkerHarness::new(1, 4096, patient(forward));
    let ledger = Rc::new(RefCell::new(ServerLedger::default()));
    match answered {
        true => stage.serve(addresses(1)[0], move || SimServer::new(ledger.clone(), None)),
        false => stage.sim.reach(addresses(1)[0], ConnectReaction::Silent),
    }
    let door = stage.open(ServiceId(0));
    (stage, door)
}

fn come(
    stage: &WorkerHarness,
    door: &SimListener,
    n: u64,
    mode: &str,
    then: AfterRequest,
) -> Rc<RefCell<Vec<u8>>> {
    let got = Rc::new(RefCell::default());
    let ask = format!("GET /{mode}/10/{n} HTTP/1.1\r\nHost: shop\r\n\r\n").into_bytes();
    let asker = ImpatientClient { request: ask, then, got: got.clone(), closed: false };
    stage.client(door, n, Duration::from_millis(n), asker);
    got
}

#[test]
fn the_end_of_draining_cuts_what_is_connecting_or_waits() {
    for forward in [ForwardingMode::Http, ForwardingMode::Tcp] {
        // One exchange connects and holds the only slot; the other waits for it.
        let (stage, door) = stage(forward, false);
        come(&stage, &door, 1, "plain", AfterRequest::Stay);
        come(&stage, &door, 2, "plain", AfterRequest::Stay);
        stage.pass(Duration::from_secs(1), |_| ());
        assert_eq!((stage.waiting(), stage.free_slots()), (1, 0), "{forward:?}");
        stage.worker.drain(THEN);
        stage.pass(THEN - MOMENT, |_| ());
        assert_eq!(stage.causes(), [], "{forward:?}: too early");
        stage.pass(2 * MOMENT, |_| ());
        assert_eq!(stage.causes(), [Cause::DrainCut; 2], "{forward:?}");
        stage.pass(THEN, |_| ());
        assert_eq!(stage.connections(), 0, "{forward:?}");
        stage.finish();
    }
}

#[test]
fn a_second_order_to_leave_cuts_them_at_once() {
    let (stage, door) = stage(ForwardingMode::Http, false);
    come(&stage, &door, 1, "plain", AfterRequest::Stay);
    come(&stage, &door, 2, "plain", AfterRequest::Stay);
    stage.pass(Duration::from_secs(1), |_| ());
    stage.worker.drain(60 * THEN);
    stage.pass(MOMENT, |_| ());
    assert_eq!(stage.causes(), []);
    stage.worker.drain(Duration::ZERO);
    stage.pass(MOMENT, |_| ());
    assert_eq!(stage.causes(), [Cause::DrainCut; 2]);
    stage.finish();
}

#[test]
fn a_service_that_is_removed_cuts_them_at_its_limit() {
    let (stage, door) = stage(ForwardingMode::Http, false);
    come(&stage, &door, 1, "plain", AfterRequest::Stay);
    come(&stage, &door, 2, "plain", AfterRequest::Stay);
    stage.pass(Duration::from_secs(1), |_| ());
    let service = stage.worker.local.borrow().services[&ServiceId(0)].clone();
    let before = stage.snapshot.borrow().clone();
    let services = Default::default();
    stage.install(WorkerSnapshot { version: 2, services, ..WorkerSnapshot::clone(&before) });
    stage.pass(Duration::from_secs(29), |_| ());
    assert_eq!(stage.connections(), 2);
    stage.pass(Duration::from_secs(1) + MOMENT, |_| ());
    let causes = &service.view.borrow().stats.slots[0].causes;
    assert_eq!(causes[Cause::DrainCut as usize].get(), 2);
    assert_eq!(stage.connections(), 0);
    *stage.snapshot.borrow_mut() = before;
    stage.finish();
}

#[test]
fn a_client_that_resets_gives_up_its_place_and_its_connection() {
    for forward in [ForwardingMode::Http, ForwardingMode::Tcp] {
        let (stage, door) = stage(forward, false);
        come(&stage, &door, 1, "plain", AfterRequest::Reset);
        come(&stage, &door, 2, "plain", AfterRequest::Reset);
        stage.pass(THEN - MOMENT, |_| ());
        assert_eq!((stage.waiting(), stage.free_slots()), (1, 0), "{forward:?}");
        stage.pass(2 * MOMENT, |_| ());
        assert_eq!(stage.causes(), [Cause::ClientReset; 2], "{forward:?}");
        assert_eq!((stage.waiting(), stage.free_slots()), (0, 1), "{forward:?}");
        stage.finish();
    }
}

#[test]
fn a_client_that_has_sent_its_end_keeps_its_place_and_is_answered() {
    let (stage, door) = stage(ForwardingMode::Http, true);
    // Holds the slot until its first-byte timeout.
    come(&stage, &door, 1, "silent", AfterRequest::Stay);
    let got = come(&stage, &door, 2, "plain", AfterRequest::End);
    stage.pass(THEN + MOMENT, |_| ());
    assert_eq!((stage.waiting(), stage.causes()), (1, vec![]));
    stage.until(|| !got.borrow().is_empty());
    assert!(got.borrow().starts_with(b"HTTP/1.1 200 "), "{}", got.borrow().escape_ascii());
    stage.until(|| stage.connections() == 0);
    stage.finish();
}
