//! Source ports in use towards each destination, how many are left, and a word before there are none.
//!
//! The kernel gives out ports; this counts those that our open connections hold, by source address and destination
//! (a port is free again for another destination). Ports that rest in TIME_WAIT are the kernel's to count: whoever has read
//! them says so from time to time.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::outside::{Observation, Outside};

/// Where a connection goes, and from where if that was set.
pub type Path = (Option<IpAddr>, SocketAddr);

/// Paths without a connection that a worker remembers, so that connections one after the other find theirs.
const REMEMBERED: usize = 256;

/// Per cent of the range in use at which a word is due, by grade from 1 on. The grade after those: none was left.
const DUE: [u64; 2] = [80, 95];
/// Per cent below which the words from each grade on may be said again.
const AGAIN: [u64; 2] = [75, 90];
/// No port was left.
const NONE: u8 = 3;

/// What is known of one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Connections open now.
    pub open: u32,
    /// Attempts that found no port.
    pub exhausted: u64,
    /// Ports in TIME_WAIT, of all workers' connections, when that was last looked at.
    pub resting: u32,
}

/// Ports that rest in TIME_WAIT and cannot be taken yet, by destination and the address they are of.
pub type Resting = HashMap<SocketAddr, HashMap<IpAddr, u32>>;

/// What the workers share: the range, the sums, and who is told.
pub struct AllPorts {
    range: u32,
    outside: Option<Arc<dyn Outside>>,
    paths: Mutex<HashMap<Path, Arc<Sum>>>,
}

/// One worker's count; cloned handles share it.
#[derive(Clone, Debug, Default)]
pub struct Ports {
    own: Arc<Mutex<HashMap<Path, Own>>>,
    all: Arc<AllPorts>,
}

/// A port in use until dropped.
#[derive(Debug)]
pub struct Lease {
    ports: Ports,
    path: Path,
}

#[derive(Debug)]
struct Own {
    used: Use,
    sum: Arc<Sum>,
}

/// Over all workers.
#[derive(Debug, Default)]
struct Sum {
    open: AtomicU32,
    resting: AtomicU32,
    /// The highest grade that was told.
    told: AtomicU8,
}

impl AllPorts {
    /// Of so many ports for each path; whoever is outside hears when few are left.
    pub fn new(range: u32, outside: Arc<dyn Outside>) -> AllPorts {
        AllPorts { range, outside: Some(outside), paths: Mutex::default() }
    }

    /// How many ports there are for each path.
    pub fn range(&self) -> u32 {
        self.range
    }

    fn sum(&self, path: Path) -> Arc<Sum> {
        Arc::clone(held(&self.paths).entry(path).or_default())
    }

    /// Forgets a path that no worker remembers.
    fn forget(&self, path: Path) {
        let mut paths = held(&self.paths);
        if paths.get(&path).is_some_and(|sum| Arc::strong_count(sum) == 1) {
            paths.remove(&path);
        }
    }

    /// Takes up which ports rest now, and tells where few are left for it.
    pub fn rest(&self, resting: &Resting) {
        let paths: Vec<(Path, Arc<Sum>)> =
            held(&self.paths).iter().map(|(path, sum)| (*path, Arc::clone(sum))).collect();
        let chosen: HashSet<(IpAddr, SocketAddr)> =
            paths.iter().filter_map(|((from, to), _)| Some(((*from)?, *to))).collect();
        for ((from, to), sum) in paths {
            let by = resting.get(&to);
            let ports = match from {
                Some(from) => by.and_then(|by| by.get(&from)).copied(),
                // Of addresses that the kernel chose, that with most: each has a range of its own.
                None => by.and_then(|by| {
                    let others = by.iter().filter(|(from, _)| !chosen.contains(&(**from, to)));
                    others.map(|(_, ports)| *ports).max()
                }),
            };
            sum.resting.store(ports.unwrap_or(0), Ordering::Relaxed);
            self.grade((from, to), &sum);
            self.calm(&sum);
        }
    }

    /// Tells, once a crossing, that few ports are left.
    fn grade(&self, path: Path, sum: &Sum) {
        let used = sum.used();
        let grade = DUE.iter().filter(|due| !below(used, **due, self.range)).count() as u8;
        if grade > 0 && sum.told.fetch_max(grade, Ordering::Relaxed) < grade {
            self.tell(path, used, self.range.saturating_sub(used));
        }
    }

    /// What may be told again, since fewer are used than then.
    fn calm(&self, sum: &Sum) {
        let used = sum.used();
        let again = AGAIN.iter().take_while(|again| !below(used, **again, self.range)).count();
        if again < AGAIN.len() {
            sum.told.fetch_min(again as u8, Ordering::Relaxed);
        }
    }

    fn tell(&self, (source, destination): Path, in_use: u32, left: u32) {
        if let Some(outside) = &self.outside {
            outside.observe(Observation::SourcePortsLow { source, destination, in_use, left });
        }
    }
}

impl Sum {
    /// Ports that nobody else can have.
    fn used(&self) -> u32 {
        self.open.load(Ordering::Relaxed).saturating_add(self.resting.load(Ordering::Relaxed))
    }
}

impl Ports {
    /// One worker's share.
    pub fn of(all: Arc<AllPorts>) -> Ports {
        Ports { own: Arc::default(), all }
    }

    /// Counts a connection.
    pub fn lease(&self, from: Option<IpAddr>, to: SocketAddr) -> Lease {
        let path = (from, to);
        let sum = self.with(path, |used| used.open += 1);
        sum.open.fetch_add(1, Ordering::Relaxed);
        self.all.grade(path, &sum);
        Lease { ports: self.clone(), path }
    }

    /// Counts an attempt that found no port.
    pub fn exhausted(&self, from: Option<IpAddr>, to: SocketAddr) {
        let path = (from, to);
        let sum = self.with(path, |used| used.exhausted += 1);
        if sum.told.fetch_max(NONE, Ordering::Relaxed) < NONE {
            self.all.tell(path, sum.used(), 0);
        }
    }

    /// All paths with a connection that is open, with ports that rest, or that ran out.
    pub fn all(&self) -> Vec<(Path, Use)> {
        let own = held(&self.own);
        let resting = |own: &Own| own.sum.resting.load(Ordering::Relaxed);
        let known =
            own.iter().map(|(path, own)| (*path, Use { resting: resting(own), ..own.used }));
        known.filter(|(_, used)| *used != Use::default()).collect()
    }

    fn with(&self, path: Path, act: impl FnOnce(&mut Use)) -> Arc<Sum> {
        let mut own = held(&self.own);
        let own = own
            .entry(path)
            .or_insert_with(|| Own { used: Use::default(), sum: self.all.sum(path) });
        act(&mut own.used);
        Arc::clone(&own.sum)
    }

    fn release(&self, path: Path) {
        let mut own = held(&self.own);
        let many = own.len() > REMEMBERED;
        let Some(entry) = own.get_mut(&path) else { return };
        entry.used.open = entry.used.open.saturating_sub(1);
        entry.sum.open.fetch_sub(1, Ordering::Relaxed);
        // Of two who do this at once either may be the last: a word more or less, a grade lower.
        self.all.calm(&entry.sum);
        if many && entry.is_idle() {
            own.remove(&path);
            drop(own);
            self.all.forget(path);
        }
    }
}

impl Ports {
    /// Forgets paths that nothing is known of any more, where there are many.
    pub fn tidy(&self) {
        let gone: Vec<Path> = {
            let mut own = held(&self.own);
            let over = own.len().saturating_sub(REMEMBERED);
            let idle = own.iter().filter(|(_, own)| own.is_idle());
            let gone: Vec<Path> = idle.map(|(path, _)| *path).take(over).collect();
            gone.iter().for_each(|path| drop(own.remove(path)));
            gone
        };
        gone.into_iter().for_each(|path| self.all.forget(path));
    }
}

impl Own {
    fn is_idle(&self) -> bool {
        self.used == Use::default() && self.sum.resting.load(Ordering::Relaxed) == 0
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.ports.release(self.path);
    }
}

/// Nobody is told, as if ports were endless.
impl Default for AllPorts {
    fn default() -> AllPorts {
        AllPorts { range: u32::MAX, outside: None, paths: Mutex::default() }
    }
}

impl fmt::Debug for AllPorts {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("AllPorts").field("range", &self.range).finish_non_exhaustive()
    }
}

/// Whether so many are less than that share of the range.
fn below(open: u32, percent: u64, range: u32) -> bool {
    u64::from(open) * 100 < u64::from(range) * percent
}

fn held<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
