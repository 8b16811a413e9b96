//! The task that exports to the collector, once a second. A failed export is not retried.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use model::config::{EventLevel, TelemetryConfig};
use serde_json::Value;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::TryRecvError;

use super::{BATCH_MAX, QUEUE_CAPACITY, SpanQueue, otlp_client, otlp_json};
use crate::state::ControlHandle;
use crate::util::event::{DaemonEvent, EventLog};

/// Spans are sent in batches of this time, so that a collector gets few requests.
const STEP: Duration = Duration::from_secs(1);
/// The name of the alarm that stands while the collector takes nothing.
const ALARM: &str = "telemetry";

/// Exports until the daemon stops.
pub async fn run(control: ControlHandle, queue: Arc<SpanQueue>) {
    let events = control.events().clone();
    let mut told = events.follow();
    let mut broken = false;
    let mut snapshots = control.watch();
    loop {
        let snapshot = snapshots.borrow_and_update().clone();
        let Some(collector) = &snapshot.config.global.telemetry else {
            // The batch was meant for a collector that is no longer configured.
            drop(queue.take_batch());
            broken = false;
            events.faults().retain(ALARM, |_| false);
            if snapshots.changed().await.is_err() {
                return;
            }
            told = events.follow();
            continue;
        };
        events.faults().retain(ALARM, |of| of == subject(collector));
        tokio::time::sleep(STEP).await;
        let records = collect_batch(&mut told, &queue, collector.level);
        let mut letters = Vec::new();
        for _ in 0..QUEUE_CAPACITY / BATCH_MAX {
            let spans = queue.take_batch();
            if spans.is_empty() {
                break;
            }
            letters.push((
                otlp_client::TRACES,
                spans.len(),
                otlp_json::traces_body(collector, spans),
            ));
        }
        if collector.logs && !records.is_empty() {
            letters.push((
                otlp_client::LOGS,
                records.len(),
                otlp_json::logs_body(collector, records),
            ));
        }
        for (path, count, letter) in letters {
            let count = count as u64;
            let done = otlp_client::post_batch(collector.collector, path, &letter).await;
            let counter = if done.is_ok() { &queue.sent } else { &queue.dropped };
            counter.fetch_add(count, Ordering::Relaxed);
            report_export_state(&events, collector, &mut broken, done);
        }
    }
}

/// Its name in alarms.
fn subject(collector: &TelemetryConfig) -> String {
    format!("collector {}", collector.collector)
}

/// Logs an outage once at its start and once at its end, not at each attempt.
fn report_export_state(
    events: &EventLog,
    collector: &TelemetryConfig,
    broken: &mut bool,
    done: Result<(), otlp_client::ExportError>,
) {
    let place = collector.collector;
    match &done {
        Err(error) => events.faults().begin(ALARM, subject(collector), error.to_string()),
        Ok(()) => events.faults().end(ALARM, &subject(collector)),
    }
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

/// The events since the last export, as log records.
fn collect_batch(
    told: &mut Receiver<DaemonEvent>,
    outbox: &SpanQueue,
    level: EventLevel,
) -> Vec<Value> {
    let mut records = Vec::new();
    loop {
        match told.try_recv() {
            Ok(event) if event.level < level => {}
            Ok(event) if records.len() < BATCH_MAX => {
                records.push(otlp_json::log_record_json(&event))
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    // Rows: I43
    #[test]
    fn events_below_the_level_are_not_exported_and_not_counted_as_lost() {
        let events = EventLog::quiet();
        let mut told = events.follow();
        events.info("a", "x");
        events.warn("b", "y");
        events.error("c", "z");
        let queue = SpanQueue::default();
        assert_eq!(collect_batch(&mut told, &queue, EventLevel::Warning).len(), 2);
        assert_eq!(queue.counts().dropped, 0);
    }
}
