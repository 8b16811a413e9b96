//! What is counted of the API: refusals by why, streams, updates that readers were too slow for. Nothing but counters.

use std::sync::atomic::{AtomicU64, Ordering};

/// Why a request was refused before it reached a route, over TCP or because of its head, or a stream was not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Too many requests of one client.
    Rate,
    /// It asks for a host that is not ours.
    Host,
    /// Another page asks.
    Origin,
    /// No token, or a wrong one.
    Token,
    /// A certificate that no role is known for.
    Certificate,
    /// A token or certificate with too small a role.
    Role,
    /// Too many streams.
    Streams,
    /// A head that several readers would understand differently.
    Malformed,
}

impl Why {
    const ALL: [Why; 8] = [
        Why::Rate,
        Why::Host,
        Why::Origin,
        Why::Token,
        Why::Certificate,
        Why::Role,
        Why::Streams,
        Why::Malformed,
    ];

    /// As in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Why::Rate => "rate",
            Why::Host => "host",
            Why::Origin => "origin",
            Why::Token => "token",
            Why::Certificate => "certificate",
            Why::Role => "role",
            Why::Streams => "streams",
            Why::Malformed => "malformed",
        }
    }
}

/// A listener whose connections are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    /// The control socket.
    Socket,
    /// The API and its page over TCP.
    Api,
    /// Metrics.
    Metrics,
}

impl Listener {
    const ALL: [Listener; 3] = [Listener::Socket, Listener::Api, Listener::Metrics];

    /// As in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Listener::Socket => "socket",
            Listener::Api => "api",
            Listener::Metrics => "metrics",
        }
    }
}

/// The counters.
#[derive(Debug, Default)]
pub struct Counts {
    refused: [AtomicU64; Why::ALL.len()],
    evicted: [AtomicU64; Listener::ALL.len()],
    turned_away: [AtomicU64; Listener::ALL.len()],
    streams: AtomicU64,
    lost: AtomicU64,
}

/// What they were at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Refusals by why.
    pub refused: Vec<(&'static str, u64)>,
    /// Connections closed so that newcomers had a place, by listener.
    pub evicted: Vec<(&'static str, u64)>,
    /// Connections that got none.
    pub turned_away: Vec<(&'static str, u64)>,
    /// Streams open.
    pub streams: u64,
    /// Updates that readers were too slow for.
    pub lost: u64,
}

impl Counts {
    /// A refusal.
    pub fn refuse(&self, why: Why) {
        self.refused[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// A connection was closed so that a newcomer had a place.
    pub fn evict(&self, listener: Listener) {
        self.evicted[listener as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// A connection got no place.
    pub fn turn_away(&self, listener: Listener) {
        self.turned_away[listener as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// A stream that begins, unless `most` are open.
    pub fn begin(&self, most: u64) -> bool {
        let more = |open: u64| (open < most).then_some(open + 1);
        self.streams.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// A stream that has ended.
    pub fn end(&self) {
        self.streams.fetch_sub(1, Ordering::Relaxed);
    }

    /// Updates that a reader was too slow for.
    pub fn lose(&self, updates: u64) {
        self.lost.fetch_add(updates, Ordering::Relaxed);
    }

    /// All of them.
    pub fn read(&self) -> Read {
        let count = |why: Why| (why.name(), self.refused[why as usize].load(Ordering::Relaxed));
        let by = |counts: &[AtomicU64; Listener::ALL.len()]| {
            let count = |of: Listener| (of.name(), counts[of as usize].load(Ordering::Relaxed));
            Listener::ALL.into_iter().map(count).collect()
        };
        Read {
            evicted: by(&self.evicted),
            turned_away: by(&self.turned_away),
            refused: Why::ALL.into_iter().map(count).collect(),
            streams: self.streams.load(Ordering::Relaxed),
            lost: self.lost.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_have_a_limit_and_each_refusal_its_own_row() {
        let counts = Counts::default();
        assert!(counts.begin(2) && counts.begin(2) && !counts.begin(2));
        counts.end();
        assert!(counts.begin(2));
        counts.refuse(Why::Streams);
        counts.lose(3);
        let read = counts.read();
        assert_eq!((read.streams, read.lost, read.refused[6]), (2, 3, ("streams", 1)));
        assert_eq!(read.refused.iter().map(|(_, count)| count).sum::<u64>(), 1);
    }
}
