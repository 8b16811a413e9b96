//! Source ports in use towards each destination, and how many are left.
//!
//! The kernel gives out ports; this counts those that our open connections hold, by source address and destination
//! (a port is free again for another destination). Ports in TIME-WAIT are not seen here.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

/// Where a connection goes, and from where if that was set.
pub type Path = (Option<IpAddr>, SocketAddr);

/// What is known of one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Connections open now.
    pub open: u32,
    /// Attempts that found no port.
    pub exhausted: u64,
}

/// One worker's count; cloned handles share it.
#[derive(Clone, Debug, Default)]
pub struct Ports(Arc<Mutex<HashMap<Path, Use>>>);

/// A port in use until dropped.
#[derive(Debug)]
pub struct Lease {
    ports: Ports,
    path: Path,
}

impl Ports {
    /// Counts a connection.
    pub fn lease(&self, from: Option<IpAddr>, to: SocketAddr) -> Lease {
        let path = (from, to);
        self.with(|paths| paths.entry(path).or_default().open += 1);
        Lease { ports: self.clone(), path }
    }

    /// Counts an attempt that found no port.
    pub fn exhausted(&self, from: Option<IpAddr>, to: SocketAddr) {
        self.with(|paths| paths.entry((from, to)).or_default().exhausted += 1);
    }

    /// All paths that were ever used by a connection that is open, or that ran out.
    pub fn all(&self) -> Vec<(Path, Use)> {
        self.with(|paths| paths.iter().map(|(path, used)| (*path, *used)).collect())
    }

    fn with<T>(&self, act: impl FnOnce(&mut HashMap<Path, Use>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.ports.with(|paths| {
            if let Some(used) = paths.get_mut(&self.path) {
                used.open = used.open.saturating_sub(1);
                if *used == Use::default() {
                    paths.remove(&self.path);
                }
            }
        });
    }
}
