//! Captures that rules call for: a thread keeps the headers of what passes lately, and writes down those of the
//! connections concerned, on both sides, when a rule holds or somebody orders it.
//!
//! Nothing runs and no right is needed while no rule is configured. What calls for a capture is `desk`'s to say, what is
//! kept `frame`'s and `ring`'s.

pub mod desk;
pub mod files;
mod filter;
mod frame;
mod ring;
mod shell;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::attribute::Facts;

use crate::control::Picture;
use crate::event::Events;
use desk::{Desk, Watch};
use files::Listed;
use shell::{Done, Order};

/// Orders that may wait for the thread.
const ORDERS: usize = 1_024;
/// Where captures are, in the state directory.
const FOLDER: &str = "captures";

/// Captures, as others see them.
#[derive(Debug)]
pub struct Captures {
    desk: Mutex<Desk>,
    thread: Mutex<Option<SyncSender<Order>>>,
    done: Arc<Done>,
    place: Option<PathBuf>,
    events: Events,
    /// Orders that found no room.
    unheard: AtomicU64,
}

/// One rule, as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its name.
    pub rule: String,
    /// Something is taken by it now.
    pub taking: bool,
    /// It waits so long still, nanoseconds.
    pub waits: u64,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets kept in memory.
    pub kept: u64,
    /// Of those, such as went for later ones.
    pub evicted: u64,
    /// Packets that the kernel could not hand over in time.
    pub dropped: u64,
    /// Captures written down.
    pub made: u64,
    /// Captures that were called for and not made.
    pub failed: u64,
}

impl Captures {
    /// None yet; they are kept below `state`.
    pub fn new(state: Option<PathBuf>, events: Events) -> Captures {
        Captures {
            desk: Mutex::default(),
            thread: Mutex::default(),
            done: Arc::default(),
            place: state.map(|state| state.join(FOLDER)),
            events,
            unheard: AtomicU64::new(0),
        }
    }

    /// Follows what is in force, and what was measured lately; `now`: nanoseconds on the workers' clock.
    pub fn look(&self, picture: &Arc<Picture>, facts: &[Facts], now: u64) {
        let mut desk = lock(&self.desk);
        if let Some(watch) = desk.follow(picture) {
            self.watch(watch);
        }
        for take in desk.look(facts, now) {
            self.tell(Order::Take(take));
        }
    }

    /// Whether anything is to be looked at.
    pub fn wanted(&self, picture: &Picture) -> bool {
        !picture.config.captures.is_empty() || lock(&self.thread).is_some()
    }

    fn watch(&self, watch: Watch) {
        let nothing = watch.ports.is_empty();
        let mut thread = lock(&self.thread);
        if nothing {
            // Without anybody who gives orders it writes down what it has, and ends.
            *thread = None;
            return;
        }
        if thread.is_none() {
            let (orders, inbox) = sync_channel(ORDERS);
            let (place, events) = (self.place.clone(), self.events.clone());
            let done = Arc::clone(&self.done);
            let started = std::thread::Builder::new()
                .name("capture".to_owned())
                .spawn(move || shell::run(&inbox, place, events, done));
            match started {
                Ok(_) => *thread = Some(orders),
                Err(error) => {
                    let text = format!("packets cannot be captured: no thread: {error}");
                    self.events.error("capture-refused", text);
                }
            }
        }
        drop(thread);
        self.tell(Order::Watch(watch));
    }

    fn tell(&self, order: Order) -> bool {
        let thread = lock(&self.thread);
        let sent = thread.as_ref().map(|thread| thread.try_send(order));
        if matches!(sent, Some(Err(TrySendError::Full(_)))) {
            self.unheard.fetch_add(1, Ordering::Relaxed);
        }
        matches!(sent, Some(Ok(())))
    }

    /// Takes what a rule is about now; false: there is no such rule, or nothing is kept.
    pub fn start(&self, rule: &str, by: &str, now: u64) -> bool {
        let take = lock(&self.desk).order(rule, by, now);
        take.is_some_and(|take| self.tell(Order::Take(take)))
    }

    /// Writes down now what is taken by a rule; false: nothing is.
    pub fn stop(&self, rule: &str) -> bool {
        let taking = lock(&self.done.taking).iter().any(|name| name == rule);
        taking && self.tell(Order::Finish(rule.to_owned()))
    }

    /// Rules as they stand.
    pub fn standing(&self, now: u64) -> Vec<Standing> {
        let taking = lock(&self.done.taking).clone();
        let desk = lock(&self.desk);
        let one = |(rule, trigger): (&String, &model::capture::Trigger)| Standing {
            rule: rule.clone(),
            taking: taking.contains(rule),
            waits: trigger.waits(now),
        };
        desk.rules().iter().map(one).collect()
    }

    /// Why nothing is kept; `None`: it is, or nothing is to be.
    pub fn trouble(&self) -> Option<String> {
        lock(&self.done.trouble).clone()
    }

    /// What was counted.
    pub fn counts(&self) -> Counts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            kept: read(&self.done.kept),
            evicted: read(&self.done.evicted),
            dropped: read(&self.done.dropped),
            made: read(&self.done.made),
            failed: read(&self.done.failed) + read(&self.unheard),
        }
    }

    /// The captures on disk, newest first. It reads the disk.
    pub fn stored(&self) -> Listed {
        self.place.as_deref().map(files::list).unwrap_or_default()
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}
