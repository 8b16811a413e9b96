//! Query counters: each query has exactly one fate, so the fates of a transport add up to the queries that it received.

use std::sync::atomic::{AtomicU64, Ordering};

/// The transport of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DnsTransport {
    Udp,
    Tcp,
}

impl DnsTransport {
    pub const ALL: [DnsTransport; 2] = [DnsTransport::Udp, DnsTransport::Tcp];

    pub const fn name(self) -> &'static str {
        match self {
            DnsTransport::Udp => "udp",
            DnsTransport::Tcp => "tcp",
        }
    }
}

macro_rules! fates {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The result of a query.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fate { $($(#[$doc])* $name,)* }

        impl Fate {
            /// All fates in their order.
            pub const ALL: &'static [Fate] = &[$(Fate::$name,)*];

            pub const fn name(self) -> &'static str {
                match self { $(Fate::$name => $text,)* }
            }
        }
    };
}

fates! {
    Answered = "answered",
    /// The name exists, but has no records of the type.
    NoData = "no-data",
    /// The name does not exist in one of our zones.
    NoName = "no-name",
    /// A name outside our zones, or a zone transfer.
    Refused = "refused",
    /// The query was malformed; the reply reports that.
    Malformed = "malformed",
    /// Another operation than a query.
    NotImplemented = "not-implemented",
    /// Another version of EDNS than 0.
    BadVersion = "bad-version",
    /// The answer did not fit: the client must use TCP.
    Truncated = "truncated",
    /// Above the rate: the client must use TCP.
    Slipped = "slipped",
    /// Above the rate: no answer.
    Limited = "limited",
    /// Shorter than a header: no answer.
    Short = "short",
    /// The message was an answer itself: no answer.
    IsAnswer = "is-answer",
    /// The answer could not be sent.
    Unsent = "unsent",
}

/// Sizes the counters; it follows the list above.
const FATES: usize = Fate::ALL.len();

impl Fate {
    /// Whether a reply is sent.
    pub const fn is_sent(self) -> bool {
        !matches!(self, Fate::Limited | Fate::Short | Fate::IsAnswer | Fate::Unsent)
    }
}

#[derive(Debug, Default)]
pub struct DnsCounters {
    fates: [[AtomicU64; FATES]; 2],
    received: [AtomicU64; 2],
    /// Networks removed from the rate limiter while they were above their rate.
    pub evicted_networks: AtomicU64,
}

impl DnsCounters {
    pub fn add_received(&self, by: DnsTransport, count: u64) {
        self.received[by as usize].fetch_add(count, Ordering::Relaxed);
    }

    pub fn add(&self, by: DnsTransport, fate: Fate, count: u64) {
        if let Some(counter) = self.fates[by as usize].get(fate as usize) {
            counter.fetch_add(count, Ordering::Relaxed);
        }
    }

    pub fn received(&self, by: DnsTransport) -> u64 {
        self.received[by as usize].load(Ordering::Relaxed)
    }

    pub fn by_fate(&self, by: DnsTransport, fate: Fate) -> u64 {
        self.fates[by as usize].get(fate as usize).map_or(0, |it| it.load(Ordering::Relaxed))
    }
}

/// One thread's counters. They are added to the common ones after a batch, so that a batch costs one addition each.
#[derive(Debug, Default)]
pub struct CounterBatch([u64; FATES]);

impl CounterBatch {
    #[inline]
    pub fn add(&mut self, fate: Fate) {
        if let Some(counter) = self.0.get_mut(fate as usize) {
            *counter += 1;
        }
    }

    /// Adds the counts to the common ones and resets them.
    pub fn flush(&mut self, by: DnsTransport, counts: &DnsCounters) {
        for (fate, count) in Fate::ALL.iter().zip(&mut self.0) {
            if *count > 0 {
                counts.add(by, *fate, std::mem::take(count));
            }
        }
    }
}
