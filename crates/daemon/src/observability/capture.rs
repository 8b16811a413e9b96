//! Packet captures by rule. A thread buffers the headers of recent packets. When a rule matches or an operator requests
//! it, the thread writes the headers of the connections concerned to disk, on both sides.
//!
//! Nothing runs and no privilege is needed while no rule is configured.

pub mod files;
mod filter;
mod frame;
mod ring;
mod thread;
pub mod triggers;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::time_attribution::ExchangeMeasurement;

use crate::state::StateSnapshot;
use crate::util::event::EventLog;
use files::CaptureListing;
use thread::{CaptureProgress, CaptureThreadCommand};
use triggers::{CaptureTriggers, WatchedTraffic};

/// Orders that may wait for the thread.
const COMMANDS: usize = 1_024;
/// Where captures are, in the state directory.
const FOLDER: &str = "captures";

/// Captures, as others see them.
#[derive(Debug)]
pub struct CaptureController {
    triggers: Mutex<CaptureTriggers>,
    thread: Mutex<Option<SyncSender<CaptureThreadCommand>>>,
    progress: Arc<CaptureProgress>,
    directory: Option<PathBuf>,
    events: EventLog,
    /// Commands that the full queue dropped.
    dropped_commands: AtomicU64,
}

/// The state of one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureRuleStatus {
    pub rule: String,
    /// A capture of it is running.
    pub capturing: bool,
    /// The remaining cool-down, nanoseconds.
    pub cooldown_ns: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureCounts {
    pub buffered: u64,
    /// Packets evicted by later ones.
    pub evicted: u64,
    /// Packets that the kernel could not hand over in time.
    pub dropped: u64,
    pub written: u64,
    /// Captures that were called for and not made.
    pub failed: u64,
}

impl CaptureController {
    /// Without a capture so far; files are stored below `state`.
    pub fn new(state: Option<PathBuf>, events: EventLog) -> CaptureController {
        CaptureController {
            triggers: Mutex::default(),
            thread: Mutex::default(),
            progress: Arc::default(),
            directory: state.map(|state| state.join(FOLDER)),
            events,
            dropped_commands: AtomicU64::new(0),
        }
    }

    /// Follows the active configuration and recent measurements; `now`: nanoseconds on the workers' clock.
    pub fn update(&self, snapshot: &Arc<StateSnapshot>, facts: &[ExchangeMeasurement], now: u64) {
        let mut desk = lock(&self.triggers);
        if let Some(watch) = desk.follow(snapshot) {
            self.watch(watch);
        }
        for take in desk.evaluate(facts, now) {
            self.send(CaptureThreadCommand::Take(take));
        }
    }

    /// Whether anything is to be looked at.
    pub fn is_needed(&self, snapshot: &StateSnapshot) -> bool {
        !snapshot.config.captures.is_empty() || lock(&self.thread).is_some()
    }

    fn watch(&self, watch: WatchedTraffic) {
        let nothing = watch.ports.is_empty();
        let mut thread = lock(&self.thread);
        if nothing {
            // When the command sender is dropped, the thread writes its packets and ends.
            *thread = None;
            return;
        }
        if thread.is_none() {
            let (orders, inbox) = sync_channel(COMMANDS);
            let place = self.directory.clone();
            let events = self.events.clone();
            let done = Arc::clone(&self.progress);
            let started = std::thread::Builder::new()
                .name("capture".to_owned())
                .spawn(move || thread::run(&inbox, place, events, done));
            match started {
                Ok(_) => *thread = Some(orders),
                Err(error) => {
                    let text = format!("packets cannot be captured: no thread: {error}");
                    self.events.error("capture-refused", text);
                }
            }
        }
        drop(thread);
        self.send(CaptureThreadCommand::Watch(watch));
    }

    fn send(&self, order: CaptureThreadCommand) -> bool {
        let thread = lock(&self.thread);
        let sent = thread.as_ref().map(|thread| thread.try_send(order));
        if matches!(sent, Some(Err(TrySendError::Full(_)))) {
            self.dropped_commands.fetch_add(1, Ordering::Relaxed);
        }
        matches!(sent, Some(Ok(())))
    }

    /// Starts a capture by a rule; `false`: there is no such rule, or captures are off.
    pub fn start(&self, rule: &str, by: &str, now: u64) -> bool {
        let take = lock(&self.triggers).trigger_manually(rule, by, now);
        take.is_some_and(|take| self.send(CaptureThreadCommand::Take(take)))
    }

    /// Ends a rule's capture and writes it; `false`: none is running.
    pub fn stop(&self, rule: &str) -> bool {
        let taking = lock(&self.progress.active_rules).iter().any(|name| name == rule);
        taking && self.send(CaptureThreadCommand::Finish(rule.to_owned()))
    }

    /// Rules as they stand.
    pub fn rule_statuses(&self, now: u64) -> Vec<CaptureRuleStatus> {
        let taking = lock(&self.progress.active_rules).clone();
        let desk = lock(&self.triggers);
        let one = |(rule, trigger): (&String, &model::capture::CaptureTrigger)| CaptureRuleStatus {
            rule: rule.clone(),
            capturing: taking.contains(rule),
            cooldown_ns: trigger.remaining_wait_ns(now),
        };
        desk.rules().iter().map(one).collect()
    }

    /// Why capturing fails; `None`: it works, or is off.
    pub fn last_error(&self) -> Option<String> {
        lock(&self.progress.last_error).clone()
    }

    pub fn counts(&self) -> CaptureCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        CaptureCounts {
            buffered: read(&self.progress.buffered),
            evicted: read(&self.progress.evicted),
            dropped: read(&self.progress.dropped),
            written: read(&self.progress.written),
            failed: read(&self.progress.failed) + read(&self.dropped_commands),
        }
    }

    /// The captures on disk, newest first. It reads the disk.
    pub fn stored(&self) -> CaptureListing {
        self.directory.as_deref().map(files::list).unwrap_or_default()
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}
