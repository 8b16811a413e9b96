//! The task that writes to the collector, once a second. It keeps nothing and tries nothing twice.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use model::config::Telemetry;
use serde_json::Value;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::TryRecvError;

use super::{LETTER, Outbox, WAITING, otlp, send};
use crate::event::{Event, Events};
use crate::report::vitals::Vitals;

/// Between two letters.
const STEP: Duration = Duration::from_secs(1);

/// Sends until the daemon is gone.
pub async fn run(vitals: Arc<Vitals>) {
    let events = vitals.control.events().clone();
    let mut told = events.follow();
    let mut broken = false;
    loop {
        tokio::time::sleep(STEP).await;
        let picture = vitals.control.picture();
        let Some(collector) = &picture.config.global.telemetry else {
            // What was meant for one that is not there any more.
            drop(vitals.told.take());
            (told, broken) = (events.follow(), false);
            continue;
        };
        let records = gathered(&mut told, &vitals.told);
        let mut letters = Vec::new();
        for _ in 0..WAITING / LETTER {
            let spans = vitals.told.take();
            if spans.is_empty() {
                break;
            }
            letters.push((send::TRACES, spans.len(), otlp::traces(collector, spans)));
        }
        if collector.logs && !records.is_empty() {
            letters.push((send::LOGS, records.len(), otlp::logs(collector, records)));
        }
        for (path, count, letter) in letters {
            let count = count as u64;
            let done = send::post(collector.collector, path, &letter).await;
            let counter = if done.is_ok() { &vitals.told.sent } else { &vitals.told.dropped };
            counter.fetch_add(count, Ordering::Relaxed);
            tell(&events, collector, &mut broken, done);
        }
    }
}

/// Once when it breaks and once when it is whole again; not each second.
fn tell(
    events: &Events,
    collector: &Telemetry,
    broken: &mut bool,
    done: Result<(), send::SendError>,
) {
    let place = collector.collector;
    match done {
        Err(error) if !*broken => {
            events.warn("telemetry-failed", format!("the collector at {place}: {error}"));
            *broken = true;
        }
        Ok(()) if *broken => {
            events
                .info("telemetry-back", format!("the collector at {place} takes what it is sent"));
            *broken = false;
        }
        _ => {}
    }
}

/// What happened since the last letter.
fn gathered(told: &mut Receiver<Event>, outbox: &Outbox) -> Vec<Value> {
    let mut records = Vec::new();
    loop {
        match told.try_recv() {
            Ok(event) if records.len() < LETTER => records.push(otlp::record(&event)),
            Ok(_) => {
                outbox.dropped.fetch_add(1, Ordering::Relaxed);
            }
            Err(TryRecvError::Lagged(lost)) => {
                outbox.dropped.fetch_add(lost, Ordering::Relaxed);
            }
            Err(TryRecvError::Empty | TryRecvError::Closed) => return records,
        }
    }
}
