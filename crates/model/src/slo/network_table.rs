//! The workers' counters of SLO outcomes: totals of a service and of a bounded number of client networks, without lock
//! or allocation.
//!
//! Each worker writes to its own slot. A slot has two pages of networks. From time to time the reader switches to the
//! other page, so that networks without traffic make room. It reads a page to its end after the worker has left it. A
//! full page counts all further networks as one. Readings are differences, which are summed elsewhere.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

use super::outcome_counts::{COUNTS, OutcomeIndices, SloOutcomeCounts};
use crate::counter::Count;

/// Slots that are probed for a network before it counts as one of the others: bounds the cost of an operation.
const PROBES: usize = 16;
/// The epoch of a page that is being emptied.
const RESETTING: u64 = u64::MAX;
/// ::ffff:0.0.0.0, the prefix of IPv4 networks.
const MAPPED: u128 = 0xffff_0000_0000;
/// 2^64 divided by the golden ratio, odd: spreads keys that differ in few bits.
const HASH_MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// A network of clients, which one row counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SloNetwork {
    address: IpAddr,
    bits: u8,
}

impl std::fmt::Display for SloNetwork {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}/{}", self.address, self.bits)
    }
}

/// The prefix lengths of networks, and how many are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkGrouping {
    /// Networks at a time, on each page.
    pub networks: u32,
    pub mask4: u8,
    pub mask6: u8,
}

impl NetworkGrouping {
    /// The first bits of an address, as a number.
    fn key(&self, client: IpAddr) -> u128 {
        let cut = |bits: u128, length: u32, keep: u8| {
            let away = length.saturating_sub(u32::from(keep));
            bits.checked_shr(away).and_then(|bits| bits.checked_shl(away)).unwrap_or(0)
        };
        match client.to_canonical() {
            IpAddr::V4(ip) => MAPPED | cut(u128::from(ip.to_bits()), 32, self.mask4),
            IpAddr::V6(ip) => cut(ip.to_bits(), 128, self.mask6),
        }
    }

    pub fn network(&self, client: IpAddr) -> SloNetwork {
        self.network_of_key(self.key(client))
    }

    fn network_of_key(&self, key: u128) -> SloNetwork {
        match key >> 32 == MAPPED >> 32 {
            true => {
                SloNetwork { address: Ipv4Addr::from_bits(key as u32).into(), bits: self.mask4 }
            }
            false => SloNetwork { address: Ipv6Addr::from_bits(key).into(), bits: self.mask6 },
        }
    }
}

/// SLO counters of a service, of all workers.
#[derive(Debug)]
pub struct SloTable {
    shape: NetworkGrouping,
    /// The lowest bit is the page that is written. Only the reader changes it.
    epoch: AtomicU64,
    slots: Box<[SloWorkerSlot]>,
}

#[derive(Debug)]
struct SloWorkerSlot {
    total_counts: [Count; COUNTS],
    pages: [NetworkPage; 2],
}

#[derive(Debug)]
struct NetworkPage {
    /// The epoch in which it is written; only the worker stores it.
    epoch: AtomicU64,
    used: AtomicUsize,
    /// By hash: the number of a network plus one; 0: free.
    index: Box<[AtomicU32]>,
    keys: Box<[[AtomicU64; 2]]>,
    counts: Box<[[Count; COUNTS]]>,
    others: [Count; COUNTS],
}

impl SloTable {
    pub fn new(workers: usize, shape: NetworkGrouping) -> SloTable {
        let slot = |_| SloWorkerSlot {
            total_counts: zero_counts(),
            pages: [NetworkPage::new(shape), NetworkPage::new(shape)],
        };
        SloTable { shape, epoch: AtomicU64::new(0), slots: (0..workers).map(slot).collect() }
    }

    pub fn shape(&self) -> NetworkGrouping {
        self.shape
    }

    /// Counts an operation of a client; only the slot's worker may call it.
    #[inline]
    pub fn record(&self, worker: usize, client: IpAddr, places: OutcomeIndices) {
        let Some(slot) = self.slots.get(worker) else { return };
        let epoch = self.epoch.load(Ordering::Relaxed);
        let page = &slot.pages[(epoch & 1) as usize];
        if page.epoch.load(Ordering::Relaxed) != epoch {
            page.reset(epoch);
        }
        let of_network = page.counters_of(self.shape.key(client));
        for at in places.indices() {
            slot.total_counts[at].add(1);
            of_network[at].add(1);
        }
    }

    /// Switches writing to the other page; its counts must have been read before.
    pub fn flip_pages(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts since the start, without networks.
    pub fn totals(&self) -> SloOutcomeCounts {
        let mut sum = SloOutcomeCounts::default();
        for slot in &self.slots {
            sum += &read_counts(&slot.total_counts);
        }
        sum
    }
}

impl NetworkPage {
    fn new(shape: NetworkGrouping) -> NetworkPage {
        let networks = shape.networks as usize;
        let places = (networks * 2).next_power_of_two();
        NetworkPage {
            epoch: AtomicU64::new(0),
            used: AtomicUsize::new(0),
            index: (0..places).map(|_| AtomicU32::new(0)).collect(),
            keys: (0..networks).map(|_| Default::default()).collect(),
            counts: (0..networks).map(|_| zero_counts()).collect(),
            others: zero_counts(),
        }
    }

    /// Clears the page. A concurrent reader sees the reset and discards its reading.
    #[cold]
    fn reset(&self, epoch: u64) {
        self.epoch.store(RESETTING, Ordering::Relaxed);
        // With this fence no cleared counter is visible before RESETTING is. The fence of `read_page` is its
        // counterpart.
        fence(Ordering::Release);
        self.used.store(0, Ordering::Relaxed);
        self.index.iter().for_each(|place| place.store(0, Ordering::Relaxed));
        self.counts.iter().chain([&self.others]).for_each(clear_counts);
        // Release: a reader that sees the new epoch sees the cleared counters.
        self.epoch.store(epoch, Ordering::Release);
    }

    /// The counters of a network.
    #[inline]
    fn counters_of(&self, key: u128) -> &[Count; COUNTS] {
        let high = (key >> 64) as u64;
        let low = key as u64;
        let hash = (high ^ low.wrapping_mul(HASH_MULTIPLIER)).wrapping_mul(HASH_MULTIPLIER) >> 32;
        for probe in 0..PROBES {
            let at = (hash as usize).wrapping_add(probe) & (self.index.len() - 1);
            let place = &self.index[at];
            let Some(known) = place.load(Ordering::Relaxed).checked_sub(1) else {
                return self.claim_place(place, [high, low]);
            };
            let [a, b] = &self.keys[known as usize];
            if a.load(Ordering::Relaxed) == high && b.load(Ordering::Relaxed) == low {
                return &self.counts[known as usize];
            }
        }
        &self.others
    }

    #[cold]
    fn claim_place(&self, place: &AtomicU32, [high, low]: [u64; 2]) -> &[Count; COUNTS] {
        let used = self.used.load(Ordering::Relaxed);
        let (Some([a, b]), Some(counts)) = (self.keys.get(used), self.counts.get(used)) else {
            return &self.others;
        };
        a.store(high, Ordering::Relaxed);
        b.store(low, Ordering::Relaxed);
        place.store(used as u32 + 1, Ordering::Relaxed);
        // Release: a reader that sees the number also sees the network's key.
        self.used.store(used + 1, Ordering::Release);
        counts
    }
}

fn zero_counts() -> [Count; COUNTS] {
    std::array::from_fn(|_| Count::default())
}

/// Two's complement: the added number makes 0.
fn clear_counts(counts: &[Count; COUNTS]) {
    counts.iter().for_each(|count| count.add(count.get().wrapping_neg()));
}

fn read_counts(counts: &[Count; COUNTS]) -> SloOutcomeCounts {
    SloOutcomeCounts(std::array::from_fn(|at| counts[at].get()))
}

/// The last reading of a service's counters, so that the next one yields the difference.
#[derive(Debug, Default)]
pub struct SloReader {
    totals: SloOutcomeCounts,
    pages: Vec<[PageCursor; 2]>,
}

#[derive(Debug, Default)]
struct PageCursor {
    epoch: u64,
    counts: Vec<SloOutcomeCounts>,
    others: SloOutcomeCounts,
}

impl SloReader {
    /// Counts since the last reading: of each network with operations, with `None` for all others together; and the
    /// total. A network is listed once for each worker.
    pub fn read(
        &mut self,
        users: &SloTable,
        mut each: impl FnMut(Option<SloNetwork>, &SloOutcomeCounts),
    ) -> SloOutcomeCounts {
        self.pages.resize_with(users.slots.len(), Default::default);
        for (slot, seen) in users.slots.iter().zip(&mut self.pages) {
            for (page, seen) in slot.pages.iter().zip(seen) {
                seen.read_page(page, users.shape, &mut each);
            }
        }
        let now = users.totals();
        let since = now.minus(&self.totals);
        self.totals = now;
        since
    }
}

impl PageCursor {
    fn read_page(
        &mut self,
        page: &NetworkPage,
        shape: NetworkGrouping,
        each: &mut impl FnMut(Option<SloNetwork>, &SloOutcomeCounts),
    ) {
        // Acquire pairs with the Release of `reset`.
        let epoch = page.epoch.load(Ordering::Acquire);
        if epoch == RESETTING {
            return;
        }
        // Acquire: the keys of all rows below this number are visible.
        let used = page.used.load(Ordering::Acquire).min(page.keys.len());
        let mut rows = Vec::with_capacity(used);
        for ([high, low], counts) in page.keys.iter().zip(&page.counts).take(used) {
            let high = high.load(Ordering::Relaxed);
            let low = low.load(Ordering::Relaxed);
            rows.push((u128::from(high) << 64 | u128::from(low), read_counts(counts)));
        }
        let others = read_counts(&page.others);
        // The reads above are done before the epoch is read again; a reset in between changes it.
        fence(Ordering::Acquire);
        if page.epoch.load(Ordering::Relaxed) != epoch {
            return;
        }
        if self.epoch != epoch {
            *self = PageCursor { epoch, ..PageCursor::default() };
        }
        self.counts.resize_with(used.max(self.counts.len()), SloOutcomeCounts::default);
        for ((key, now), before) in rows.iter().zip(&mut self.counts) {
            let since = now.minus(before);
            if since.total() > 0 {
                each(Some(shape.network_of_key(*key)), &since);
            }
            *before = *now;
        }
        let since = others.minus(&self.others);
        if since.total() > 0 {
            each(None, &since);
        }
        self.others = others;
    }
}

#[cfg(test)]
mod tests;
