//! A worker without work takes no turns: it waits without a deadline until something happens.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use model::id::ServiceId;

use super::client::{ClientNotes, ClientOutcome, PlannedRequest, RequestNote, SimClient};
use super::harness::{WorkerHarness, addresses, setting};
use super::server::{ServerLedger, SimServer};

/// Longer than every limit of an idle connection in this configuration.
const UNTIL_QUIET: Duration = Duration::from_secs(300);
const QUIET: Duration = Duration::from_secs(3600);
/// What a turn costs on a loaded machine, where the housekeeping alone keeps a worker busy.
const TURN_COST: Duration = Duration::from_millis(10);

#[test]
fn a_worker_without_work_sleeps_and_is_back_for_the_next_client() {
    let servers = addresses(2);
    let stage = WorkerHarness::new(1, 16 * 1024, setting(&servers, |_| (), |_| (), |_| ()));
    let ledger = Rc::new(RefCell::new(ServerLedger::default()));
    for to in &servers {
        let ledger = ledger.clone();
        stage.serve(*to, move || SimServer::new(ledger.clone(), None));
    }
    let door = stage.open(ServiceId(0));
    let notes = ClientNotes::default();
    for round in 0..3 {
        let plan = PlannedRequest {
            method: "GET",
            mode: "plain",
            size: 100,
            upload: 0,
            chunked: false,
            id: round,
            pause: Duration::ZERO,
            leaves: None,
        };
        stage.client(
            &door,
            round,
            Duration::ZERO,
            SimClient::new(notes.clone(), vec![plan], false),
        );
        let mut least_busy = u8::MAX;
        stage.pass(UNTIL_QUIET, |stage| {
            stage.sim.spend(TURN_COST);
            least_busy = least_busy.min(stage.worker.busy.get());
        });
        assert_eq!(least_busy, 0, "round {round}: a long sleep is no load");
        assert!(stage.worker.busy.get() > 1, "round {round}");
        let mut turns = 0;
        stage.pass(QUIET, |_| turns += 1);
        assert_eq!(turns, 1, "round {round}");
        let answered = |note: &RequestNote| note.saw == ClientOutcome::Answer(200, None);
        let answers = notes.borrow().iter().filter(|note| answered(note)).count();
        assert_eq!(answers as u64, round + 1);
    }
}

#[test]
fn a_short_pause_of_the_housekeeping_forgets_no_load() {
    let stage = WorkerHarness::new(1, 16 * 1024, setting(&addresses(1), |_| (), |_| (), |_| ()));
    let rt = stage.worker.rt.clone();
    stage.worker.rt.spawn(async move {
        loop {
            rt.sleep_until(rt.now() + 3 * TURN_COST).await;
        }
    });
    let spend = |stage: &WorkerHarness| stage.sim.spend(TURN_COST);
    stage.pass(Duration::from_secs(1), spend);
    let mut least_busy = u8::MAX;
    stage.pass(Duration::from_secs(10), |stage| {
        spend(stage);
        least_busy = least_busy.min(stage.worker.busy.get());
    });
    assert!(least_busy > 10, "{least_busy}");
    stage.worker.leave();
}
