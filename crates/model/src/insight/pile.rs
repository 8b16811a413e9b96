//! What watched connections showed, kept for an hour at most: of each connection one entry for ten seconds. Bounded; what
//! finds no room is counted, and the oldest goes first.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};

use super::follow::{Change, Unfinished};
use super::judge::judge;
use super::seen::Told;
use crate::attribute::network::{Network, Prefix};
use crate::attribute::{Bars, Group};

/// Nanoseconds of a slice.
const SLICE: u64 = 10_000_000_000;
/// Slices that are kept: an hour.
const SLICES: u64 = 360;
/// Entries over all slices.
pub const PILE: usize = 32_768;
/// Entries of one slice.
const OF_SLICE: usize = 8_192;
/// Connections that are shown.
const EXAMPLES: usize = 5;

/// What is kept.
#[derive(Debug, Default)]
pub struct Pile {
    slices: VecDeque<Slice>,
    kept: usize,
    dropped: u64,
}

#[derive(Debug)]
struct Slice {
    number: u64,
    changes: HashMap<(u64, u64), Change>,
}

/// Which connections are asked about.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// Of this service.
    pub service: u32,
    /// Of one of these servers; `None`: of all.
    pub servers: Option<Vec<u32>>,
    /// Of these clients.
    pub from: Option<Prefix>,
    /// Seen at this moment or later, nanoseconds.
    pub since: u64,
}

/// Times of so many handshakes, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// How many.
    pub count: usize,
    /// Half of them took no longer.
    pub median: u64,
    /// Nineteen of twenty took no longer.
    pub most: u64,
    /// The longest.
    pub longest: u64,
}

/// What watched connections of a service showed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Watched connections that had packets.
    pub watched: usize,
    /// Those of them that began.
    pub begun: usize,
    /// Those whose beginning was not seen.
    pub late: usize,
    /// Those with a window that cannot be read, as its scale is not known.
    pub unscaled: usize,
    /// Handshakes that were done.
    pub opened: usize,
    /// SYN to SYN-ACK.
    pub server_part: Times,
    /// SYN-ACK to ACK.
    pub client_part: Times,
    /// SYN to ACK.
    pub whole: Times,
    /// Handshakes that were not done, by whose turn it was: `Unfinished::ALL`.
    pub unfinished: [usize; 3],
    /// SYNs that the server answered with a reset.
    pub refused: usize,
    /// What clients and servers sent.
    pub sides: [Told; 2],
    /// Whose time it is that they stood still.
    pub bars: Bars,
    /// By server; `None`: it is gone. The most time first.
    pub servers: Vec<Group<Option<u32>>>,
    /// By network of clients. The most time first.
    pub networks: Vec<Group<Network>>,
    /// Those that stood still longest.
    pub examples: Vec<Change>,
}

impl Pile {
    /// Keeps what is new of a connection.
    pub fn add(&mut self, change: Change) {
        let number = change.at / SLICE;
        if self.slices.back().is_none_or(|newest| newest.number < number) {
            self.slices.push_back(Slice { number, changes: HashMap::new() });
        }
        let Some(slice) = self.slices.back_mut() else { return };
        let full = slice.changes.len() >= OF_SLICE;
        match slice.changes.entry((change.print, change.born)) {
            Entry::Occupied(mut kept) => kept.get_mut().join(&change),
            Entry::Vacant(place) if !full => {
                place.insert(change);
                self.kept += 1;
            }
            Entry::Vacant(_) => self.dropped += 1,
        }
        self.forget(number);
    }

    fn forget(&mut self, newest: u64) {
        while let Some(first) = self.slices.front() {
            let old = first.number + SLICES <= newest;
            if !old && (self.kept <= PILE || self.slices.len() == 1) {
                break;
            }
            self.kept -= first.changes.len();
            self.slices.pop_front();
        }
    }

    /// How many entries are kept.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// What found no room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// What the connections that fit showed.
    pub fn found(&self, filter: &Filter) -> Found {
        let fits = |change: &&Change| {
            let servers = filter.servers.as_ref();
            change.service == filter.service
                && change.at >= filter.since
                && servers.is_none_or(|these| change.server.is_some_and(|id| these.contains(&id)))
                && filter.from.is_none_or(|prefix| prefix.has(change.client))
        };
        let slices = self.slices.iter().filter(|slice| (slice.number + 1) * SLICE > filter.since);
        let mut whole: BTreeMap<(u64, u64), Change> = BTreeMap::new();
        for change in slices.flat_map(|slice| slice.changes.values()).filter(fits) {
            match whole.get_mut(&(change.print, change.born)) {
                Some(kept) => kept.join(change),
                None => {
                    whole.insert((change.print, change.born), change.clone());
                }
            }
        }
        sum(whole.into_values().collect())
    }
}

fn sum(mut all: Vec<Change>) -> Found {
    let mut found = Found { watched: all.len(), ..Found::default() };
    let (mut servers, mut networks) = (BTreeMap::new(), BTreeMap::new());
    let mut times: [Vec<u64>; 3] = Default::default();
    for change in &all {
        found.begun += usize::from(change.begun);
        found.late += usize::from(change.late);
        found.unscaled += usize::from(!change.scaled);
        found.refused += usize::from(change.refused);
        if let Some(opened) = change.opened {
            found.opened += 1;
            let parts = [opened.server, opened.client, opened.whole];
            times.iter_mut().zip(parts).for_each(|(times, part)| times.extend(part));
        }
        if let Some(who) = change.unfinished {
            let at = Unfinished::ALL.iter().position(|one| *one == who).unwrap_or_default();
            found.unfinished[at] += 1;
        }
        found.sides.iter_mut().zip(change.sides).for_each(|(sum, more)| sum.add(more));
        let bars = judge(change);
        found.bars.join(&bars, 1.0);
        join(&mut servers, change.server, &bars);
        join(&mut networks, Network::of(change.client), &bars);
    }
    found.bars.sort();
    [found.server_part, found.client_part, found.whole] = times.map(self::times);
    (found.servers, found.networks) = (groups(servers), groups(networks));
    all.sort_by_key(|change| (std::cmp::Reverse(judge(change).total()), change.born, change.print));
    let ended = |change: &Change| {
        change.refused || change.unfinished.is_some() || change.sides.iter().any(|it| it.resets > 0)
    };
    all.retain(|change| judge(change).total() > 0 || ended(change));
    all.truncate(EXAMPLES);
    found.examples = all;
    found
}

fn times(mut all: Vec<u64>) -> Times {
    all.sort_unstable();
    let at = |share: f64| {
        let rank = (all.len() as f64 * share).ceil() as usize;
        all.get(rank.max(1) - 1).copied().unwrap_or_default()
    };
    Times { count: all.len(), median: at(0.5), most: at(0.95), longest: at(1.0) }
}

fn join<K: Ord>(groups: &mut BTreeMap<K, (f64, Bars)>, key: K, bars: &Bars) {
    let group = groups.entry(key).or_default();
    group.0 += 1.0;
    group.1.join(bars, 1.0);
}

fn groups<K>(groups: BTreeMap<K, (f64, Bars)>) -> Vec<Group<K>> {
    let mut all: Vec<Group<K>> = groups
        .into_iter()
        .map(|(key, (exchanges, mut bars))| {
            bars.sort();
            Group { key, exchanges, bars }
        })
        .collect();
    all.sort_by_key(|group| std::cmp::Reverse(group.bars.total()));
    all
}
