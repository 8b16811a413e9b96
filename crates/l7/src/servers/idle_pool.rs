//! The idle connection pool of one server, and the keep-alive limit learned from the server.
//!
//! Last in, first out, so that the other connections can age and be closed.

use std::time::Duration;

use model::monotonic_time::MonotonicTime;

use crate::conn::client_peer::ConnectionOwner;
use crate::conn::upstream_connection::UpstreamConnection;
use crate::rt::NetDriver;

/// Share of the learned limit at which a connection is closed: the server closes it a little before the balancer
/// notices.
/// A tenth covers the path's delay and the coarse timers of servers.
const RETIRE_FRACTION: f64 = 0.9;

/// A request that is not idempotent uses only a connection that has been idle for less than this share of the limit.
/// A request that may not be repeated needs a wide margin; half of the limit still serves most requests.
const SAFE_FRACTION: f64 = 0.5;

/// Lifetime of a learned limit, since a restart of the server looks like a limit too.
/// Ten minutes: after a restart of the server, its real limit is learned again.
const LEARNED_LIMIT_TTL: Duration = Duration::from_secs(600);

/// A close after a shorter idle time does not indicate a limit.
/// No server is configured to close after less; such ends are failures.
const SHORTEST_LIMIT: Duration = Duration::from_millis(100);

/// The idle connections to one server.
pub struct IdleConnectionPool<N: NetDriver> {
    idle: Vec<IdleConnection<N>>,
    learned_limit: Option<LearnedIdleLimit>,
    /// When all connections were last checked.
    last_sweep: MonotonicTime,
}

/// A connection that waits for its next request.
struct IdleConnection<N: NetDriver> {
    since: MonotonicTime,
    connection: UpstreamConnection<N>,
}

/// The server's keep-alive limit, as it was announced or observed.
#[derive(Clone, Copy)]
struct LearnedIdleLimit {
    limit: Duration,
    learned_at: MonotonicTime,
}

impl<N: NetDriver> Default for IdleConnectionPool<N> {
    fn default() -> Self {
        IdleConnectionPool {
            idle: Vec::new(),
            learned_limit: None,
            last_sweep: MonotonicTime::default(),
        }
    }
}

/// The result of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepCounts {
    /// Connections that the server had closed.
    pub stale: u64,
    /// Connections that were closed at their limit.
    pub retired: u64,
}

impl<N: NetDriver> IdleConnectionPool<N> {
    /// Adds a connection. If the pool has `most` already, the oldest is closed; if `most` is 0, this one is. Returns
    /// whether one was closed.
    pub fn put(
        &mut self,
        connection: UpstreamConnection<N>,
        now: MonotonicTime,
        most: usize,
    ) -> bool {
        if most == 0 {
            return true;
        }
        connection.stream.detach_task();
        let full = self.idle.len() >= most;
        if full {
            self.idle.remove(0);
        }
        self.idle.push(IdleConnection { since: now, connection });
        full
    }

    /// Takes the most recently used connection that is still open and fits `owner`. `careful`: if the server is known
    /// to close idle connections, only one that is far from its limit.
    pub fn take(
        &mut self,
        now: MonotonicTime,
        configured: Duration,
        careful: bool,
        owner: &ConnectionOwner,
        swept: &mut SweepCounts,
    ) -> Option<UpstreamConnection<N>> {
        let limit = self.idle_limit(now, configured);
        while let Some(at) = self.idle.iter().rposition(|idle| idle.connection.owner.fits(owner)) {
            let IdleConnection { since, connection } = self.idle.remove(at);
            let age = now.since(since);
            if connection.stream.may_read() || connection.stream.is_broken() {
                self.learn_limit(now, known_good_age(self.last_sweep, since, age));
                swept.stale += 1;
            } else if age >= limit {
                swept.retired += 1;
            } else if careful
                && self.learned_limit(now).is_some()
                && age >= limit.mul_f64(SAFE_FRACTION)
            {
                self.idle.insert(at, IdleConnection { since, connection });
                return None;
            } else {
                connection.stream.attach_current_task();
                return Some(connection);
            }
        }
        None
    }

    /// Whether the pool holds a connection for this owner.
    pub fn has(&self, owner: &ConnectionOwner) -> bool {
        self.idle.iter().any(|idle| idle.connection.owner.fits(owner))
    }

    pub fn len(&self) -> usize {
        self.idle.len()
    }

    pub fn is_empty(&self) -> bool {
        self.idle.is_empty()
    }

    /// Since when the oldest connection has been idle.
    pub fn oldest(&self) -> Option<MonotonicTime> {
        self.idle.first().map(|idle| idle.since)
    }

    pub fn close_oldest(&mut self) {
        self.idle.drain(..self.idle.len().min(1));
    }

    /// Closes connections that have reached their limit, that the server has closed, or whose owner is gone.
    pub fn sweep(&mut self, now: MonotonicTime, configured: Duration) -> SweepCounts {
        let mut swept = SweepCounts::default();
        let mut learned = None;
        let looked = std::mem::replace(&mut self.last_sweep, now);
        let limit = self.idle_limit(now, configured);
        self.idle.retain(|IdleConnection { since, connection }| {
            let age = now.since(*since);
            if connection.stream.may_read() || connection.stream.is_broken() {
                swept.stale += 1;
                let good_for = known_good_age(looked, *since, age);
                learned = Some(learned.map_or(good_for, |least: Duration| least.min(good_for)));
                false
            } else if age >= limit || connection.owner.is_orphaned() {
                swept.retired += 1;
                false
            } else {
                true
            }
        });
        if let Some(age) = learned {
            self.learn_limit(now, age);
        }
        swept
    }

    /// Stores the limit that the server announced (`Keep-Alive: timeout=`).
    pub fn set_keep_alive_limit(&mut self, now: MonotonicTime, limit: Duration) {
        self.learn_limit(now, limit);
    }

    pub fn clear(&mut self) {
        self.idle.clear();
    }

    fn learn_limit(&mut self, now: MonotonicTime, age: Duration) {
        if age >= SHORTEST_LIMIT {
            let least = self.learned_limit(now).map_or(age, |least| least.min(age));
            self.learned_limit = Some(LearnedIdleLimit { limit: least, learned_at: now });
        }
    }

    fn learned_limit(&self, now: MonotonicTime) -> Option<Duration> {
        self.learned_limit
            .filter(|learned| now.since(learned.learned_at) < LEARNED_LIMIT_TTL)
            .map(|learned| learned.limit)
    }

    fn idle_limit(&self, now: MonotonicTime, configured: Duration) -> Duration {
        self.learned_limit(now)
            .map_or(configured, |limit| limit.mul_f64(RETIRE_FRACTION).min(configured))
    }
}

/// How long a closed connection was certainly open: until the last check of all connections.
fn known_good_age(looked: MonotonicTime, since: MonotonicTime, age: Duration) -> Duration {
    if looked > since { looked.since(since) } else { age }
}
