//! Scenes of newcomers at a limit, where many wait for a place already.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use model::id::ServiceId;

use super::client::{Client, Notes, Planned, Saw};
use super::server::{Ledger, Server};
use super::stage::{Stage, addresses, setting};
use crate::accept::WAITING;

#[test]
fn a_newcomer_stays_in_the_kernels_queue_while_many_wait_and_is_served_after() {
    let servers = addresses(1);
    let stage = Stage::new(1, 20_000, setting(&servers, |_| (), |_| (), |_| ()));
    let ledger = Rc::new(RefCell::new(Ledger::default()));
    stage.serve(servers[0], move || Server::new(ledger.clone(), None));
    let (door, notes) = (stage.open(ServiceId(0)), Notes::default());
    stage.worker.waiting.set(WAITING);
    let plan = vec![Planned::get(0, "closing")];
    stage.client(&door, 0, Duration::ZERO, Client::new(notes.clone(), plan, false));
    stage.pass(Duration::from_secs(1), |stage| assert_eq!(stage.connections(), 0));
    assert!(notes.borrow().is_empty(), "it is neither let in nor refused");
    stage.worker.waiting.set(WAITING - 1);
    stage.until(|| notes.borrow().len() == 1);
    assert_eq!(notes.borrow()[0].1, Saw::Answer(200, None));
    stage.leave();
}
