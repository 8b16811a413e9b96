//! Counts the source ports in use towards each destination, and reports before they run out.
//!
//! The kernel assigns the ports. The ports of open connections are counted here by source address and destination (a
//! port can be used once per destination). The kernel counts ports in TIME_WAIT; the control thread reads that number
//! periodically and passes it on.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::accounting::observer::{PlaneObservation, PlaneObserver};

/// A source address and a destination, between which each source port can be used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortPath {
    pub destination: SocketAddr,
    /// The configured source address; `None`: the kernel chooses it.
    pub source: Option<IpAddr>,
}

/// Paths without a connection that a worker keeps, so that consecutive connections find their entry.
/// A path is a source and a destination; few workers have more servers.
const MAX_IDLE_PATHS: usize = 256;

/// Percentages of the range in use at which an observation is sent, by level from 1 on. The level above them: no port
/// was left.
const WARN_PERCENT: [u64; 2] = [80, 95];
/// Percentages below which the observations from each level on may be sent again.
const REARM_PERCENT: [u64; 2] = [75, 90];
/// The level for "no port was left".
const NONE: u8 = 3;

/// The port usage of one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathUsage {
    pub open: u32,
    /// Attempts that found no free port.
    pub exhausted: u64,
    /// Ports in TIME_WAIT, over all workers, at the last reading.
    pub time_wait: u32,
}

/// A path, and what one worker counts of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsedPortPath {
    pub path: PortPath,
    pub usage: PathUsage,
}

/// Ports in TIME_WAIT, which cannot be used yet, by destination and source address.
pub type TimeWaitPorts = HashMap<SocketAddr, HashMap<IpAddr, u32>>;

/// State shared by the workers: the range, the totals, and the observer.
pub struct PortTotals {
    range: u32,
    observer: Option<Arc<dyn PlaneObserver>>,
    paths: Mutex<HashMap<PortPath, Arc<PathTotals>>>,
}

/// One worker's counts; clones share them.
#[derive(Clone, Debug, Default)]
pub struct WorkerPorts {
    own_paths: Arc<Mutex<HashMap<PortPath, WorkerPathUsage>>>,
    all: Arc<PortTotals>,
}

/// A port in use until dropped.
#[derive(Debug)]
pub struct PortLease {
    ports: WorkerPorts,
    path: PortPath,
}

#[derive(Debug)]
struct WorkerPathUsage {
    used: PathUsage,
    sum: Arc<PathTotals>,
}

#[derive(Debug, Default)]
struct PathTotals {
    open: AtomicU32,
    time_wait: AtomicU32,
    /// The highest level that was reported.
    warned_level: AtomicU8,
}

impl PortTotals {
    /// `range`: number of ports per path. The observer is notified when few are left.
    pub fn new(range: u32, observer: Arc<dyn PlaneObserver>) -> PortTotals {
        PortTotals { range, observer: Some(observer), paths: Mutex::default() }
    }

    /// The number of ports per path.
    pub fn range(&self) -> u32 {
        self.range
    }

    fn sum(&self, path: PortPath) -> Arc<PathTotals> {
        Arc::clone(lock(&self.paths).entry(path).or_default())
    }

    /// Removes a path that no worker holds.
    fn forget(&self, path: PortPath) {
        let mut paths = lock(&self.paths);
        if paths.get(&path).is_some_and(|sum| Arc::strong_count(sum) == 1) {
            paths.remove(&path);
        }
    }

    /// Stores the numbers of ports in TIME_WAIT, and reports paths with few ports left.
    pub fn set_time_wait(&self, resting: &TimeWaitPorts) {
        let paths: Vec<(PortPath, Arc<PathTotals>)> =
            lock(&self.paths).iter().map(|(path, sum)| (*path, Arc::clone(sum))).collect();
        let configured: HashSet<PortPath> =
            paths.iter().filter(|(path, _)| path.source.is_some()).map(|(path, _)| *path).collect();
        for (path, sum) in paths {
            let by = resting.get(&path.destination);
            let ports = match path.source {
                Some(from) => by.and_then(|by| by.get(&from)).copied(),
                // If the kernel chooses the source address: the largest number of any address, since each address has
                // its own range.
                None => by.and_then(|by| {
                    let others = by.iter().filter(|(from, _)| {
                        !configured.contains(&PortPath { source: Some(**from), ..path })
                    });
                    others.map(|(_, ports)| *ports).max()
                }),
            };
            sum.time_wait.store(ports.unwrap_or(0), Ordering::Relaxed);
            self.check_level(path, &sum);
            self.rearm_warnings(&sum);
        }
    }

    /// Notifies once per crossing that few ports are left.
    fn check_level(&self, path: PortPath, sum: &PathTotals) {
        let used = sum.used();
        let grade =
            WARN_PERCENT.iter().filter(|due| !is_below(used, **due, self.range)).count() as u8;
        if grade > 0 && sum.warned_level.fetch_max(grade, Ordering::Relaxed) < grade {
            self.report_low(path, used, self.range.saturating_sub(used));
        }
    }

    /// Allows notifications again once enough ports are free.
    fn rearm_warnings(&self, sum: &PathTotals) {
        let used = sum.used();
        let again =
            REARM_PERCENT.iter().take_while(|again| !is_below(used, **again, self.range)).count();
        if again < REARM_PERCENT.len() {
            sum.warned_level.fetch_min(again as u8, Ordering::Relaxed);
        }
    }

    fn report_low(&self, path: PortPath, in_use: u32, left: u32) {
        let PortPath { source, destination } = path;
        if let Some(observer) = &self.observer {
            observer.observe(PlaneObservation::SourcePortsLow {
                source,
                destination,
                in_use,
                left,
            });
        }
    }
}

impl PathTotals {
    /// Ports in use, including those in TIME_WAIT.
    fn used(&self) -> u32 {
        self.open.load(Ordering::Relaxed).saturating_add(self.time_wait.load(Ordering::Relaxed))
    }
}

impl WorkerPorts {
    pub fn new(all: Arc<PortTotals>) -> WorkerPorts {
        WorkerPorts { own_paths: Arc::default(), all }
    }

    pub fn lease(&self, from: Option<IpAddr>, to: SocketAddr) -> PortLease {
        let path = PortPath { source: from, destination: to };
        let sum = self.update_path(path, |used| used.open += 1);
        sum.open.fetch_add(1, Ordering::Relaxed);
        self.all.check_level(path, &sum);
        PortLease { ports: self.clone(), path }
    }

    /// Counts an attempt that found no free port.
    pub fn exhausted(&self, from: Option<IpAddr>, to: SocketAddr) {
        let path = PortPath { source: from, destination: to };
        let sum = self.update_path(path, |used| used.exhausted += 1);
        if sum.warned_level.fetch_max(NONE, Ordering::Relaxed) < NONE {
            self.all.report_low(path, sum.used(), 0);
        }
    }

    /// All paths with an open connection, with ports in TIME_WAIT, or that ran out of ports.
    pub fn all(&self) -> Vec<UsedPortPath> {
        let own = lock(&self.own_paths);
        let resting = |own: &WorkerPathUsage| own.sum.time_wait.load(Ordering::Relaxed);
        let known = own.iter().map(|(path, own)| UsedPortPath {
            path: *path,
            usage: PathUsage { time_wait: resting(own), ..own.used },
        });
        known.filter(|used| used.usage != PathUsage::default()).collect()
    }

    fn update_path(&self, path: PortPath, act: impl FnOnce(&mut PathUsage)) -> Arc<PathTotals> {
        let mut own = lock(&self.own_paths);
        let own = own.entry(path).or_insert_with(|| WorkerPathUsage {
            used: PathUsage::default(),
            sum: self.all.sum(path),
        });
        act(&mut own.used);
        Arc::clone(&own.sum)
    }

    fn release(&self, path: PortPath) {
        let mut own = lock(&self.own_paths);
        let many = own.len() > MAX_IDLE_PATHS;
        let Some(entry) = own.get_mut(&path) else { return };
        entry.used.open = entry.used.open.saturating_sub(1);
        entry.sum.open.fetch_sub(1, Ordering::Relaxed);
        // If two threads do this at once, either may be last. At worst one observation is sent too often or with a
        // lower level.
        self.all.rearm_warnings(&entry.sum);
        if many && entry.is_idle() {
            own.remove(&path);
            drop(own);
            self.all.forget(path);
        }
    }
}

impl WorkerPorts {
    /// Removes unused paths if there are many.
    pub fn forget_idle(&self) {
        let gone: Vec<PortPath> = {
            let mut own = lock(&self.own_paths);
            let over = own.len().saturating_sub(MAX_IDLE_PATHS);
            let idle = own.iter().filter(|(_, own)| own.is_idle());
            let gone: Vec<PortPath> = idle.map(|(path, _)| *path).take(over).collect();
            gone.iter().for_each(|path| drop(own.remove(path)));
            gone
        };
        gone.into_iter().for_each(|path| self.all.forget(path));
    }
}

impl WorkerPathUsage {
    fn is_idle(&self) -> bool {
        self.used == PathUsage::default() && self.sum.time_wait.load(Ordering::Relaxed) == 0
    }
}

impl Drop for PortLease {
    fn drop(&mut self) {
        self.ports.release(self.path);
    }
}

/// Reports nothing, as if ports were unlimited.
impl Default for PortTotals {
    fn default() -> PortTotals {
        PortTotals { range: u32::MAX, observer: None, paths: Mutex::default() }
    }
}

impl fmt::Debug for PortTotals {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("AllPorts").field("range", &self.range).finish_non_exhaustive()
    }
}

/// Whether `open` is below this percentage of the range.
fn is_below(open: u32, percent: u64, range: u32) -> bool {
    u64::from(open) * 100 < u64::from(range) * percent
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
