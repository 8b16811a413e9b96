//! Reads the datapath's samples of watched connections, and switches sampling on and off. `model::insight` evaluates
//! them.

use std::net::IpAddr;

use bpf::{MapError, MapValue, MappedArray};
use model::flow_samples::{FlowSample, FlowSideCounters, FlowWindowScale};

use crate::abi::{self, Watch, WatchCount};
use crate::datapath::PacketDatapath;
use crate::plan::encoding::from_mapped_bytes;

/// Words of an entry.
const WORDS: usize = Watch::SIZE / 8;
/// The fingerprint of an entry that is being filled in.
const CLAIM: u64 = 1;

/// The sample table in shared memory.
#[derive(Debug)]
pub struct FlowSampler {
    watched: MappedArray,
}

/// Counters of the sampling table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SamplingCounters {
    /// Begun to be watched.
    pub started: u64,
    /// Not watched: no entry was free.
    pub full: u64,
    /// Given up for others while they were idle.
    pub evicted: u64,
    /// Replaced before they were read.
    pub unread: u64,
}

impl FlowSampler {
    /// Lays the table of a plane into memory.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn new(plane: &PacketDatapath) -> std::io::Result<FlowSampler> {
        let bytes = plane.watched.capacity() as usize * Watch::SIZE;
        Ok(FlowSampler { watched: MappedArray::new(&plane.watched, bytes)? })
    }

    /// Everything that is watched now.
    pub fn read_samples(&self) -> Vec<FlowSample> {
        let entries = (0..self.watched.word_count()).step_by(WORDS);
        entries.filter_map(|at| self.read_entry(at)).map(|watch| to_sample(&watch)).collect()
    }

    /// One entry. `None` if it is free, or was reused during the read.
    fn read_entry(&self, at: usize) -> Option<Watch> {
        let fingerprint = self.watched.load(at);
        if fingerprint <= CLAIM {
            return None;
        }
        let mut bytes = [0; Watch::SIZE];
        for word in 0..WORDS {
            let value = self.watched.load(at + word);
            bytes[word * 8..word * 8 + 8].copy_from_slice(&value.to_ne_bytes());
        }
        let watch = Watch::read(&bytes);
        let same = self.watched.load(at) == fingerprint && self.watched.load(at + 1) == watch.born;
        (same && watch.fingerprint == fingerprint).then_some(watch)
    }

    /// Forgets everything that is watched.
    pub fn clear(&self) {
        for at in (0..self.watched.word_count()).step_by(WORDS) {
            let fingerprint = self.watched.load(at);
            // Ignored: an entry that the datapath reuses at the same time is new, and stays. An entry being filled in
            // is left alone for the same reason.
            if fingerprint > CLAIM {
                let _ = self.watched.compare_exchange(at, fingerprint, 0);
            }
        }
    }
}

/// The threshold out of 2^31 for sampling one connection in `sample`. `None` turns sampling off.
pub fn threshold(sample: Option<u32>) -> u32 {
    sample.map_or(0, |sample| (1u32 << 31).div_ceil(sample.max(1)))
}

/// Samples one connection in `sample`. Samples under another number are removed, because they would continue with gaps.
/// Returns whether something changed.
///
/// # Errors
/// A map refuses.
pub fn set_sampling(
    plane: &PacketDatapath,
    watcher: &FlowSampler,
    sample: Option<u32>,
) -> Result<bool, MapError> {
    let mut config = plane.config.get(&0)?.unwrap_or_default();
    let wanted = threshold(sample);
    if config.insight == wanted {
        return Ok(false);
    }
    let none = abi::Config { insight: 0, ..config };
    plane.config.set(&0, &none)?;
    watcher.clear();
    config.insight = wanted;
    plane.config.set(&0, &config)?;
    Ok(true)
}

/// The counters of the sampling table, over all CPUs.
///
/// # Errors
/// The map cannot be read.
pub fn sampling_counters(plane: &PacketDatapath) -> Result<SamplingCounters, MapError> {
    let rows: Vec<WatchCount> = plane.watch_counts.each_cpu(&0)?;
    let mut sum = SamplingCounters::default();
    for row in rows {
        sum.started += row.begun;
        sum.full += row.full;
        sum.evicted += row.evicted;
        sum.unread += row.unread;
    }
    Ok(sum)
}

fn to_sample(watch: &Watch) -> FlowSample {
    let client: IpAddr = from_mapped_bytes(watch.client);
    let has = |flag: u32| watch.flags & flag != 0;
    let both = has(abi::WATCH_BOTH);
    FlowSample {
        fingerprint: watch.fingerprint,
        first_packet_at: watch.born,
        client,
        port: watch.client_port,
        service: watch.service,
        server: watch.server,
        bidirectional: both,
        joined_late: has(abi::WATCH_LATE),
        ended: has(abi::WATCH_ENDED),
        refused: has(abi::WATCH_REFUSED),
        syn: watch.syn,
        syn_ack: watch.syn_ack,
        ack: watch.ack,
        syns: watch.syns,
        scale: [0, 1].map(|side| window_scale(watch.shift, side, both)),
        sides: [0, 1].map(|side| side_sample(watch, side)),
    }
}

/// The window scale of a side, as far as the captured SYNs show it.
fn window_scale(shifts: [u8; 2], side: usize, both: bool) -> FlowWindowScale {
    const NONE: u32 = abi::SHIFT_NONE;
    const UNKNOWN: u32 = abi::SHIFT_UNKNOWN;
    let [own, other] = [shifts[side], shifts[1 - side]].map(u32::from);
    match (own, if both { other } else { own }) {
        (NONE, _) | (_, NONE) => FlowWindowScale::Known(0),
        (UNKNOWN, _) | (_, UNKNOWN) => FlowWindowScale::Unknown,
        _ if both => FlowWindowScale::Known(shifts[side]),
        _ => FlowWindowScale::AtMost(shifts[side]),
    }
}

fn side_sample(watch: &Watch, side: usize) -> FlowSideCounters {
    FlowSideCounters {
        packets: watch.packets[side].into(),
        retransmitted: watch.again[side].into(),
        filled: watch.filled[side].into(),
        reordered: watch.reordered[side].into(),
        zero_window: watch.zero[side].into(),
        silly_window: watch.silly[side].into(),
        resets: watch.resets[side].into(),
        zero_window_nanos: watch.zero_ns[side],
        silly_window_nanos: watch.silly_ns[side],
        loss_recovery_nanos: watch.loss_ns[side],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_shares_of_what_can_be_drawn() {
        for (sample, want) in
            [(None, 0), (Some(1), 1 << 31), (Some(2), 1 << 30), (Some(64), 1 << 25)]
        {
            assert_eq!(threshold(sample), want, "{sample:?}");
        }
        assert_eq!(threshold(Some(1_000_000)), 2_148);
        assert_eq!(threshold(Some(u32::MAX)), 1, "seldom, but not never");
    }

    #[test]
    fn a_window_scale_is_reported_only_where_it_is_known() {
        let none = abi::SHIFT_NONE as u8;
        let unknown = abi::SHIFT_UNKNOWN as u8;
        for (shifts, both, want) in [
            ([7, 9], true, FlowWindowScale::Known(7)),
            ([7, none], true, FlowWindowScale::Known(0)),
            ([none, 9], true, FlowWindowScale::Known(0)),
            ([7, unknown], true, FlowWindowScale::Unknown),
            ([unknown, 9], true, FlowWindowScale::Unknown),
            ([none, unknown], true, FlowWindowScale::Known(0)),
            ([unknown, none], true, FlowWindowScale::Known(0)),
            ([7, unknown], false, FlowWindowScale::AtMost(7)),
            ([none, unknown], false, FlowWindowScale::Known(0)),
            ([unknown, unknown], false, FlowWindowScale::Unknown),
        ] {
            assert_eq!(window_scale(shifts, 0, both), want, "{shifts:?} {both}");
        }
    }
}
