//! Scenarios of new clients at a limit, while many others wait for admission.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use model::id::ServiceId;

use super::client::{ClientNotes, ClientOutcome, PlannedRequest, SimClient};
use super::harness::{WorkerHarness, addresses, setting};
use super::server::{ServerLedger, SimServer};
use crate::downstream::accept::MAX_PENDING;

#[test]
fn a_newcomer_stays_in_the_kernels_queue_while_many_wait_and_is_served_after() {
    let servers = addresses(1);
    let stage = WorkerHarness::new(1, 20_000, setting(&servers, |_| (), |_| (), |_| ()));
    let ledger = Rc::new(RefCell::new(ServerLedger::default()));
    stage.serve(servers[0], move || SimServer::new(ledger.clone(), None));
    let door = stage.open(ServiceId(0));
    let notes = ClientNotes::default();
    stage.worker.pending_clients.set(MAX_PENDING);
    let plan = vec![PlannedRequest::get(0, "closing")];
    stage.client(&door, 0, Duration::ZERO, SimClient::new(notes.clone(), plan, false));
    stage.pass(Duration::from_secs(1), |stage| assert_eq!(stage.connections(), 0));
    assert!(notes.borrow().is_empty(), "it is neither let in nor refused");
    stage.worker.pending_clients.set(MAX_PENDING - 1);
    stage.until(|| notes.borrow().len() == 1);
    assert_eq!(notes.borrow()[0].saw, ClientOutcome::Answer(200, None));
    stage.finish();
}
