//! Scenarios of source addresses without free ports towards some servers or all.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use model::cause::Cause;
use model::id::ServiceId;
use model::load_balancing::Rng;

use super::client::{ClientNotes, ClientOutcome, PlannedRequest, RequestNote, SimClient};
use super::harness::{WorkerHarness, addresses, seeds, setting};
use super::server::{ServerLedger, SimServer};
use crate::conn::ports::PortPath;

#[test]
fn any_path_with_a_port_left_is_found_and_none_is_reported_at_once() {
    for seed in seeds(24) {
        let mut rng = Rng::new(seed);
        let servers = addresses(3);
        let sources: Vec<IpAddr> =
            (1..=seed % 4).map(|n| IpAddr::from([10, 0, 1, n as u8])).collect();
        let snapshot = setting(&servers, |_| (), |pool| pool.source = sources.clone(), |_| ());
        let stage = WorkerHarness::new(seed, 20_000, snapshot);
        let ledger = Rc::new(RefCell::new(ServerLedger::default()));
        let from: Vec<Option<IpAddr>> = match &sources[..] {
            [] => vec![None],
            some => some.iter().copied().map(Some).collect(),
        };
        let mut left = 0;
        for to in &servers {
            let ledger = ledger.clone();
            stage.serve(*to, move || SimServer::new(ledger.clone(), None));
            for from in &from {
                let exhausted = seed % 3 == 0 || rng.below(5) > 0;
                left += u32::from(!exhausted);
                if exhausted {
                    let path = PortPath { source: *from, destination: *to };
                    stage.sim.0.borrow_mut().exhausted.insert(path);
                }
            }
        }
        let door = stage.open(ServiceId(0));
        let notes = ClientNotes::default();
        for n in 0..6 {
            let planned = |at| PlannedRequest {
                method: ["GET", "POST"][at as usize % 2],
                mode: "closing",
                size: 10,
                upload: at % 2 * 100,
                chunked: false,
                id: n * 10 + at,
                pause: Duration::ZERO,
                leaves: None,
            };
            let plan = vec![planned(n)];
            stage.client(
                &door,
                n,
                Duration::from_millis(n),
                SimClient::new(notes.clone(), plan, false),
            );
        }
        // No request waits: 6 ms of arrivals, and the network latency.
        stage.pass(Duration::from_millis(40), |_| ());
        let wanted = match left {
            0 => ClientOutcome::Answer(503, Some(Cause::NoSourcePort.name().into())),
            _ => ClientOutcome::Answer(200, None),
        };
        assert_eq!(notes.borrow().len(), 6, "seed {seed}: {left} left");
        for RequestNote { planned, saw } in notes.borrow().iter() {
            assert_eq!(*saw, wanted, "seed {seed}: {left} left, {planned:?}");
        }
        stage.until(|| stage.connections() == 0);
        stage.finish();
    }
}
