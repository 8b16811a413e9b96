//! Source ports in use towards each destination, how many are left, and a word before there are none.
//!
//! The kernel gives out ports; this counts those that our open connections hold, by source address and destination
//! (a port is free again for another destination). Ports in TIME-WAIT are not seen here.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
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
}

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

    fn tell(&self, (source, destination): Path, in_use: u32, left: u32) {
        if let Some(outside) = &self.outside {
            outside.observe(Observation::SourcePortsLow { source, destination, in_use, left });
        }
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
        let open = sum.open.fetch_add(1, Ordering::Relaxed) + 1;
        let grade = DUE.iter().filter(|due| !below(open, **due, self.all.range)).count() as u8;
        if grade > 0 && sum.told.fetch_max(grade, Ordering::Relaxed) < grade {
            self.all.tell(path, open, self.all.range.saturating_sub(open));
        }
        Lease { ports: self.clone(), path }
    }

    /// Counts an attempt that found no port.
    pub fn exhausted(&self, from: Option<IpAddr>, to: SocketAddr) {
        let path = (from, to);
        let sum = self.with(path, |used| used.exhausted += 1);
        if sum.told.fetch_max(NONE, Ordering::Relaxed) < NONE {
            self.all.tell(path, sum.open.load(Ordering::Relaxed), 0);
        }
    }

    /// All paths with a connection that is open, or that ran out.
    pub fn all(&self) -> Vec<(Path, Use)> {
        let own = held(&self.own);
        let known = own.iter().map(|(path, own)| (*path, own.used));
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
        let open = entry.sum.open.fetch_sub(1, Ordering::Relaxed).saturating_sub(1);
        // Of two who do this at once either may be the last: a word more or less, a grade lower.
        let again = AGAIN.iter().take_while(|again| !below(open, **again, self.all.range)).count();
        if again < AGAIN.len() {
            entry.sum.told.fetch_min(again as u8, Ordering::Relaxed);
        }
        if many && entry.used == Use::default() {
            own.remove(&path);
            drop(own);
            self.all.forget(path);
        }
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
