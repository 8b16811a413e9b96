//! What is counted of the API: refusals by why, streams, updates that readers were too slow for. Nothing but counters.

use std::sync::atomic::{AtomicU64, Ordering};

/// Why a request was refused before it reached a route, over TCP or because of its head, or a stream was not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    /// Too many requests of one client.
    Rate,
    /// The request names a foreign host.
    Host,
    Origin,
    /// No token, or a wrong one.
    Token,
    /// A certificate that no role is known for.
    Certificate,
    /// A token or certificate with too small a role.
    Role,
    Streams,
    /// A head that several readers would understand differently.
    Malformed,
}

impl RefusalReason {
    const ALL: [RefusalReason; 8] = [
        RefusalReason::Rate,
        RefusalReason::Host,
        RefusalReason::Origin,
        RefusalReason::Token,
        RefusalReason::Certificate,
        RefusalReason::Role,
        RefusalReason::Streams,
        RefusalReason::Malformed,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            RefusalReason::Rate => "rate",
            RefusalReason::Host => "host",
            RefusalReason::Origin => "origin",
            RefusalReason::Token => "token",
            RefusalReason::Certificate => "certificate",
            RefusalReason::Role => "role",
            RefusalReason::Streams => "streams",
            RefusalReason::Malformed => "malformed",
        }
    }
}

/// A listener whose connections are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenerKind {
    Socket,
    /// The API and its page over TCP.
    Api,
    Metrics,
}

impl ListenerKind {
    const ALL: [ListenerKind; 3] = [ListenerKind::Socket, ListenerKind::Api, ListenerKind::Metrics];

    pub const fn name(self) -> &'static str {
        match self {
            ListenerKind::Socket => "socket",
            ListenerKind::Api => "api",
            ListenerKind::Metrics => "metrics",
        }
    }
}

#[derive(Debug, Default)]
pub struct ApiCounters {
    refused: [AtomicU64; RefusalReason::ALL.len()],
    evicted: [AtomicU64; ListenerKind::ALL.len()],
    rejected: [AtomicU64; ListenerKind::ALL.len()],
    streams: AtomicU64,
    lost_updates: AtomicU64,
}

/// How many requests and streams were refused for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusalCount {
    pub reason: RefusalReason,
    pub count: u64,
}

/// How many connections of one listener were closed or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenerCount {
    pub listener: ListenerKind,
    pub connections: u64,
}

/// The counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiCounts {
    pub refused: Vec<RefusalCount>,
    /// Connections evicted in favour of new ones, by listener.
    pub evicted: Vec<ListenerCount>,
    /// Connections that got none.
    pub rejected: Vec<ListenerCount>,
    pub streams: u64,
    /// Updates that readers were too slow for.
    pub lost_updates: u64,
}

impl ApiCounters {
    pub fn record_refusal(&self, why: RefusalReason) {
        self.refused[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection that was evicted in favour of a new one.
    pub fn record_eviction(&self, listener: ListenerKind) {
        self.evicted[listener as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// A connection got no place.
    pub fn record_rejection(&self, listener: ListenerKind) {
        self.rejected[listener as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// A stream that begins, unless `most` are open.
    pub fn try_begin_stream(&self, most: u64) -> bool {
        let more = |open: u64| (open < most).then_some(open + 1);
        self.streams.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// A stream that has ended.
    pub fn end_stream(&self) {
        self.streams.fetch_sub(1, Ordering::Relaxed);
    }

    /// Updates that a reader was too slow for.
    pub fn record_lost_updates(&self, updates: u64) {
        self.lost_updates.fetch_add(updates, Ordering::Relaxed);
    }

    pub fn snapshot(&self) -> ApiCounts {
        let count = |reason: RefusalReason| {
            let count = self.refused[reason as usize].load(Ordering::Relaxed);
            RefusalCount { reason, count }
        };
        let by = |counts: &[AtomicU64; ListenerKind::ALL.len()]| {
            let count = |listener: ListenerKind| {
                let connections = counts[listener as usize].load(Ordering::Relaxed);
                ListenerCount { listener, connections }
            };
            ListenerKind::ALL.into_iter().map(count).collect()
        };
        ApiCounts {
            evicted: by(&self.evicted),
            rejected: by(&self.rejected),
            refused: RefusalReason::ALL.into_iter().map(count).collect(),
            streams: self.streams.load(Ordering::Relaxed),
            lost_updates: self.lost_updates.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_have_a_limit_and_each_refusal_its_own_row() {
        let counts = ApiCounters::default();
        assert!(
            counts.try_begin_stream(2) && counts.try_begin_stream(2) && !counts.try_begin_stream(2)
        );
        counts.end_stream();
        assert!(counts.try_begin_stream(2));
        counts.record_refusal(RefusalReason::Streams);
        counts.record_lost_updates(3);
        let read = counts.snapshot();
        let expected = RefusalCount { reason: RefusalReason::Streams, count: 1 };
        assert_eq!((read.streams, read.lost_updates, read.refused[6]), (2, 3, expected));
        assert_eq!(read.refused.iter().map(|row| row.count).sum::<u64>(), 1);
    }
}
