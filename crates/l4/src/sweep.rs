//! Looks through the tables of connections once: how many each server and service has, and how many of them are
//! half-open. It gives back no entry: the datapath takes those that ended when it needs room.

use std::collections::HashMap;

use bpf::{Mapped, TableError};

use crate::abi::{self, State};
use crate::plane::Plane;

/// Connections that are under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// By index of server.
    pub servers: HashMap<u32, u32>,
    /// Half-open ones, by index of server.
    pub half_open: HashMap<u32, u32>,
    /// Those whose closing time runs, by index of server.
    pub closing: HashMap<u32, u32>,
}

/// The tables, laid into memory.
#[derive(Debug)]
pub struct Sweeper {
    flows: Mapped,
    records: Mapped,
    sticky: Mapped,
}

/// Words of a bucket: as many hashes as words.
const BUCKET: usize = 2 * abi::WAYS_IN_BUCKET as usize;
/// Words of a record.
const RECORD: usize = 8;

impl Sweeper {
    /// Lays the tables of a plane into memory.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn new(plane: &Plane) -> std::io::Result<Sweeper> {
        let bytes = |entries: u32| entries as usize * 64;
        Ok(Sweeper {
            flows: Mapped::new(&plane.flows, bytes(plane.flows.capacity()))?,
            records: Mapped::new(&plane.records, bytes(plane.records.capacity()))?,
            sticky: Mapped::new(&plane.sticky, bytes(plane.sticky.capacity()))?,
        })
    }

    /// Counts what is under way at this tick.
    pub fn census(&self, tick: u32) -> Census {
        let mut census = Census::default();
        for bucket in (0..self.flows.words()).step_by(BUCKET) {
            for at in bucket..bucket + BUCKET / 2 {
                if self.flows.load(at) > 1 {
                    census.flow(self.flows.load(at + BUCKET / 2), tick);
                }
            }
        }
        for at in (0..self.records.words()).step_by(RECORD) {
            let word = self.records.load(at);
            if word & 0xff > State::Claimed as u64 {
                // The share and the server stand in the sixth and seventh word.
                let server = (self.records.load(at + 6) & 0xffff_ffff) as u32;
                census.record(word, server, tick);
            }
        }
        census
    }

    /// Forgets clients that stick to these servers, whose indexes will be given to others.
    pub fn unstick(&self, servers: &[u32]) {
        if servers.is_empty() {
            return;
        }
        for bucket in (0..self.sticky.words()).step_by(BUCKET) {
            for at in bucket..bucket + BUCKET / 2 {
                let print = self.sticky.load(at);
                let word = self.sticky.load(at + BUCKET / 2);
                if print > 1 && servers.contains(&((word & 0xfff_ffff) as u32)) {
                    let _ = self.sticky.exchange(at, print, 0);
                }
            }
        }
    }
}

impl Census {
    fn flow(&mut self, word: u64, tick: u32) {
        let left = ((((word >> 40) as u32) << 8).wrapping_sub(tick << 8)) as i32;
        let state = (word >> 28 & 0xf) as u32;
        if left > 0 {
            self.count((word & 0xfff_ffff) as u32, state);
        }
    }

    fn record(&mut self, word: u64, server: u32, tick: u32) {
        let left = ((word >> 32) as u32).wrapping_sub(tick) as i32;
        if left > 0 {
            self.count(server, (word & 0xff) as u32);
        }
    }

    fn count(&mut self, server: u32, state: u32) {
        *self.servers.entry(server).or_default() += 1;
        if state == State::Embryonic as u32 {
            *self.half_open.entry(server).or_default() += 1;
        }
        if state == State::Closing as u32 {
            *self.closing.entry(server).or_default() += 1;
        }
    }
}

/// Writes what was counted into the gauges, from which the datapath goes on counting.
///
/// # Errors
/// A map refuses.
pub fn gauge(
    plane: &Plane,
    census: &Census,
    owners: &HashMap<u32, u32>,
    services: &[u32],
) -> Result<HashMap<u32, abi::Gauge>, TableError> {
    let mut gauges = HashMap::new();
    let sum = |counts: &HashMap<u32, u32>, service: u32| -> u32 {
        let of = counts.iter().filter(|(server, _)| owners.get(server) == Some(&service));
        of.map(|(_, count)| count).sum()
    };
    for service in services {
        let old = plane.gauges.get(service)?.unwrap_or_default();
        let new = abi::Gauge {
            flows: sum(&census.servers, *service),
            half_open: sum(&census.half_open, *service),
            alarm_tick: old.alarm_tick,
            ..abi::Gauge::default()
        };
        if old != new {
            plane.gauges.set(service, &new)?;
        }
        gauges.insert(*service, new);
    }
    Ok(gauges)
}
