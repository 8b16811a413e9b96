//! Scenarios of bodies around their limit: longer ones are refused, and no server ever has one that looks complete.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use model::cause::Cause;
use model::config::{BodyLimit, RuleOverrides};
use model::id::ServiceId;

use super::client::{ClientNotes, ClientOutcome, PlannedRequest, RequestNote, SimClient};
use super::harness::{WorkerHarness, addresses, seeds, setting};
use super::rule_settings::ruled;
use super::server::{ServerLedger, SimServer};

/// Around the limits, and around what a connection may hold and what is spliced.
const LENGTHS: [u64; 9] = [1, 999, 1_000, 1_001, 40_000, 64_000, 64_001, 100_000, 300_000];

/// The limit of the service, and that of the rule for `plain`.
const SERVICE: u64 = 64_000;
const RULE: u64 = 1_000;

struct LimitedUploads {
    notes: Vec<RequestNote>,
    ledger: ServerLedger,
}

/// Uploads of every length, with their length told and in chunks; `buffered`: bodies up to that are read first.
fn run(seed: u64, buffered: Option<u64>) -> LimitedUploads {
    let overrides = RuleOverrides { body_bytes: Some(BodyLimit(Some(RULE))), ..Default::default() };
    let service = |config: &mut model::config::ServiceConfig| {
        config.limit.body_bytes = BodyLimit(Some(SERVICE));
        config.buffer.request = buffered;
    };
    let snapshot = setting(&addresses(2), service, |_| (), |_| ());
    let stage = WorkerHarness::new(seed, 30_000, ruled(snapshot, "plain", overrides));
    let ledger = Rc::new(RefCell::new(ServerLedger::default()));
    for (number, address) in addresses(2).into_iter().enumerate() {
        let ledger = ledger.clone();
        stage.serve(address, move || SimServer::new(ledger.clone(), None).number(number));
    }
    let door = stage.open(ServiceId(0));
    let notes = ClientNotes::default();
    let mut id = 0;
    for mode in ["plain", "chunked"] {
        for (upload, chunked) in
            LENGTHS.iter().flat_map(|length| [(*length, false), (*length, true)])
        {
            id += 1;
            let first =
                PlannedRequest { method: "PUT", upload, chunked, ..PlannedRequest::get(id, mode) };
            let client = SimClient::new(notes.clone(), vec![first], false);
            stage.client(&door, id, Duration::from_millis(id * 3), client);
        }
    }
    stage.until(|| notes.borrow().len() as u64 == id && stage.connections() == 0);
    stage.finish();
    LimitedUploads { notes: notes.take(), ledger: ledger.take() }
}

#[test]
fn longer_bodies_are_refused_and_never_look_complete_to_a_server() {
    for seed in seeds(8) {
        for buffered in [None, Some(20_000), Some(1 << 20)] {
            let ended = run(seed, buffered);
            for RequestNote { planned, saw } in &ended.notes {
                let most = if planned.mode == "plain" { RULE } else { SERVICE };
                let received = ended.ledger.received.get(&planned.id).copied().unwrap_or(0);
                let context = format!("seed {seed} {buffered:?}: {planned:?}");
                if planned.upload <= most {
                    assert_eq!(*saw, ClientOutcome::Answer(200, None), "{context}");
                    assert_eq!(received, 1, "{context}");
                } else {
                    let cause = Cause::BodyTooLarge.name().to_owned();
                    assert_eq!(*saw, ClientOutcome::Answer(413, Some(cause)), "{context}");
                    assert_eq!(received, 0, "{context}");
                }
            }
            assert!(
                ended.ledger.wrong.is_empty() && ended.ledger.nonsense.is_empty(),
                "seed {seed}"
            );
        }
    }
}
