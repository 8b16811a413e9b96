//! What queries came to: each in exactly one fate, so that the fates of a transport add up to what it received.

use std::sync::atomic::{AtomicU64, Ordering};

/// How a query came in.
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
        /// What a query came to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fate { $($(#[$doc])* $name,)* }

        impl Fate {
            /// All of them, in their order.
            pub const ALL: &'static [Fate] = &[$(Fate::$name,)*];

            pub const fn name(self) -> &'static str {
                match self { $(Fate::$name => $text,)* }
            }
        }
    };
}

fates! {
    Answered = "answered",
    /// The name is there, the type is not.
    NoData = "no-data",
    /// No such name in a zone of ours.
    NoName = "no-name",
    /// Nothing that we answer for, or a transfer.
    Refused = "refused",
    /// Its form was wrong, and it was told so.
    Malformed = "malformed",
    /// Another operation than a query.
    NotImplemented = "not-implemented",
    /// Another version of EDNS than 0.
    BadVersion = "bad-version",
    /// The answer did not fit: told to come over TCP.
    Truncated = "truncated",
    /// Above the rate: told to come over TCP.
    Slipped = "slipped",
    /// Above the rate: no answer.
    Limited = "limited",
    /// Not even a head: no answer.
    Short = "short",
    /// It was an answer itself: no answer.
    IsAnswer = "is-answer",
    /// The answer could not be sent.
    Unsent = "unsent",
}

const FATES: usize = Fate::ALL.len();

impl Fate {
    /// Whether something is sent.
    pub const fn is_sent(self) -> bool {
        !matches!(self, Fate::Limited | Fate::Short | Fate::IsAnswer | Fate::Unsent)
    }
}

/// Counters that several threads add to.
#[derive(Debug, Default)]
pub struct DnsCounters {
    fates: [[AtomicU64; FATES]; 2],
    received: [AtomicU64; 2],
    /// Networks that lost their place among the limited ones while they had a debt.
    pub evicted_networks: AtomicU64,
}

impl DnsCounters {
    pub fn add_received(&self, by: DnsTransport, count: u64) {
        self.received[by as usize].fetch_add(count, Ordering::Relaxed);
    }

    /// Queries came to this.
    pub fn add(&self, by: DnsTransport, fate: Fate, count: u64) {
        if let Some(counter) = self.fates[by as usize].get(fate as usize) {
            counter.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Received by this transport.
    pub fn received(&self, by: DnsTransport) -> u64 {
        self.received[by as usize].load(Ordering::Relaxed)
    }

    /// So many came to this.
    pub fn by_fate(&self, by: DnsTransport, fate: Fate) -> u64 {
        self.fates[by as usize].get(fate as usize).map_or(0, |it| it.load(Ordering::Relaxed))
    }
}

/// What one thread counts before it adds to the common counters, so that a batch of queries costs one addition each.
#[derive(Debug, Default)]
pub struct CounterBatch([u64; FATES]);

impl CounterBatch {
    #[inline]
    pub fn add(&mut self, fate: Fate) {
        if let Some(counter) = self.0.get_mut(fate as usize) {
            *counter += 1;
        }
    }

    /// Adds all to the common ones, and begins anew.
    pub fn flush(&mut self, by: DnsTransport, counts: &DnsCounters) {
        for (fate, count) in Fate::ALL.iter().zip(&mut self.0) {
            if *count > 0 {
                counts.add(by, *fate, std::mem::take(count));
            }
        }
    }
}
