//! Data that workers and the access log's thread share: orders, counters, the queue's messages.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

use model::config::AccessLogTarget;

use super::recent_lines::RecentLines;

/// Called with a sentence for the operator; at most once a minute for each cause.
pub type NoticeCallback = Box<dyn Fn(String) + Send>;

/// Orders, counters, and how much is queued.
#[derive(Debug)]
pub(super) struct SharedAccessLog {
    pub(super) target: Mutex<AccessLogTarget>,
    pub(super) reopen: AtomicBool,
    pub(super) stop: AtomicBool,
    pub(super) give_up: AtomicBool,
    pub(super) queued: AtomicUsize,
    pub(super) written: AtomicU64,
    pub(super) dropped_queue: AtomicU64,
    pub(super) dropped_target: AtomicU64,
    pub(super) errors: AtomicU64,
    pub(super) failing: AtomicBool,
    pub(super) recent: Mutex<RecentLines>,
}

impl Default for SharedAccessLog {
    fn default() -> Self {
        SharedAccessLog {
            target: Mutex::new(AccessLogTarget::Off),
            reopen: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            give_up: AtomicBool::new(false),
            queued: AtomicUsize::new(0),
            written: AtomicU64::new(0),
            dropped_queue: AtomicU64::new(0),
            dropped_target: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            failing: AtomicBool::new(false),
            recent: Mutex::default(),
        }
    }
}

/// Messages in the queue.
pub(super) enum AccessLogMessage {
    Lines(Vec<u8>),
    Wake,
}

/// Lines in a batch.
pub(super) fn count_lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}
