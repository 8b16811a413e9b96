//! Telemetry: spans of exchanges and events for an OpenTelemetry collector.
//!
//! Data that a collector does not accept in time is dropped and counted; no other task waits for it.

pub mod exporter;
mod otlp_client;
mod otlp_json;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use model::time_attribution::ExchangeMeasurement;
use serde_json::Value;

use crate::state::StateSnapshot;

/// Bounds the spans and records that wait for the next export.
/// Eight exports: a collector may be away for some seconds before spans are dropped.
const QUEUE_CAPACITY: usize = 8_192;
/// The most spans and records in one export request, which bounds it to the limits of collectors.
const BATCH_MAX: usize = 1_024;

/// Queued spans and records, and their counters.
#[derive(Debug, Default)]
pub struct SpanQueue {
    spans: Mutex<VecDeque<Value>>,
    sent: AtomicU64,
    /// Dropped by a full queue, or not accepted.
    dropped: AtomicU64,
}

/// Spans and records by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportCounts {
    /// Accepted by the collector.
    pub sent: u64,
    /// Dropped by a full queue, or not accepted.
    pub dropped: u64,
}

impl SpanQueue {
    /// Queues spans of ended exchanges that are recorded; `now` is the workers' clock.
    pub fn push_spans(&self, snapshot: &StateSnapshot, fresh: &[ExchangeMeasurement], now: u64) {
        if !snapshot.config.global.telemetry.as_ref().is_some_and(|it| it.traces) {
            return;
        }
        let unix = unix_ns(SystemTime::now());
        let at = |moment: u64| unix.saturating_sub(now.saturating_sub(moment));
        let recorded =
            |facts: &&ExchangeMeasurement| facts.trace.is_some_and(|traced| traced.sampled);
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        for facts in fresh.iter().filter(recorded) {
            if spans.len() >= QUEUE_CAPACITY {
                self.dropped.fetch_add(1, Ordering::Relaxed);
            } else {
                spans.push_back(otlp_json::span_json(facts, snapshot, at(facts.ended_at)));
            }
        }
    }

    /// The counts so far.
    pub fn counts(&self) -> ExportCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        ExportCounts { sent: read(&self.sent), dropped: read(&self.dropped) }
    }

    fn take_batch(&self) -> Vec<Value> {
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        let most = spans.len().min(BATCH_MAX);
        spans.drain(..most).collect()
    }
}

fn unix_ns(at: SystemTime) -> u64 {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
