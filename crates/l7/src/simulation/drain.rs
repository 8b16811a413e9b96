//! Scenarios of a draining worker: exchanges finish, idle connections close soon, and the remaining connections are
//! reset in time.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use model::cause::Cause;
use model::id::ServiceId;
use model::load_balancing::Rng;

use super::client::{ClientNotes, ClientOutcome, PlannedRequest, RequestNote, SimClient};
use super::harness::{WorkerHarness, addresses, seeds, setting};
use super::raw::RawPeer;
use super::server::{ServerLedger, SimServer};
use crate::downstream::accept::ListenerMode;

/// Simulated drain limit; much longer than every other time of the simulation.
const LIMIT: Duration = Duration::from_secs(4);

fn request(rng: &mut Rng, id: u64) -> PlannedRequest {
    PlannedRequest {
        method: "GET",
        mode: ["plain", "chunked", "later", "later", "silent"][rng.below(5) as usize],
        size: [0, 100, 60_000][rng.below(3) as usize],
        upload: 0,
        chunked: false,
        id,
        pause: Duration::from_millis([0, 1, 100, 400][rng.below(4) as usize]),
        leaves: None,
    }
}

#[test]
fn draining_lets_end_what_is_under_way_and_cuts_the_rest_in_time() {
    for seed in seeds(20) {
        let mut rng = Rng::new(seed);
        let servers = addresses(3);
        let snapshot = setting(&servers, |_| (), |_| (), |_| ());
        let stage = WorkerHarness::new(seed, 512 + rng.below(30_000) as usize, snapshot);
        let ledger = Rc::new(RefCell::new(ServerLedger::default()));
        for to in &servers {
            let ledger = ledger.clone();
            stage.serve(*to, move || SimServer::new(ledger.clone(), None));
        }
        let door = stage.open(ServiceId(0));
        let notes = ClientNotes::default();
        for n in 0..12 {
            let plan = (0..4).map(|at| request(&mut rng, n * 10 + at)).collect();
            let delay = Duration::from_micros(rng.below(1_500_000));
            stage.client(&door, n, delay, SimClient::new(notes.clone(), plan, false));
        }
        // A client that never completes its head, and one whose handshake ends just after the drain began.
        stage.client(&door, 50, Duration::ZERO, RawPeer::new("GET / HT", true));
        let begins = Duration::from_millis(500 + rng.below(1_000));
        let last =
            vec![PlannedRequest { mode: "plain", pause: Duration::ZERO, ..request(&mut rng, 900) }];
        let then = begins + Duration::from_millis(1);
        stage.client(&door, 51, then, SimClient::new(notes.clone(), last, false));
        stage.pass(begins, |_| ());
        stage.worker.drain(LIMIT);
        door.wanted.set(ListenerMode::Finish);
        stage.pass(LIMIT / 4 + Duration::from_millis(20), |_| ());
        assert_eq!(stage.idle(), 0, "seed {seed}: idle connections after the grace");
        stage.pass(LIMIT * 3 / 4 - Duration::from_millis(40), |_| ());
        assert_eq!(stage.cause_count(Cause::DrainCut), 0, "seed {seed}: cut early");
        stage.pass(Duration::from_millis(120), |_| ());
        assert_eq!(stage.connections(), 0, "seed {seed}: open after the limit");
        stage.pass(Duration::from_secs(1), |_| ());
        let mut silent = 0;
        let mut came = false;
        for RequestNote { planned, saw } in notes.borrow().iter() {
            let received = ledger.borrow().received.contains_key(&planned.id);
            silent += u64::from(received && planned.mode == "silent");
            came |= planned.id == 900 && *saw == ClientOutcome::Answer(200, None);
            let whole = *saw == ClientOutcome::Answer(200, None);
            let wanted = received && planned.mode != "silent";
            assert_eq!(whole, wanted, "seed {seed}: {planned:?} {saw:?}");
        }
        assert!(came, "seed {seed}: a connection that had been made was not served");
        assert_eq!(
            stage.cause_count(Cause::DrainCut),
            silent + 1,
            "seed {seed}: {:?}",
            stage.causes()
        );
        stage.finish();
    }
}
