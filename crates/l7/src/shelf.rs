//! A shelf of idle connections to one server, and what has been learned of how long the server keeps them.
//!
//! The last one in is the first one out, so that the rest can age and be closed. It opens none.

use std::time::Duration;

use model::moment::Moment;

use crate::caller::Whose;
use crate::connected::Upstream;
use crate::rt::Net;

/// Connections die at the server a little earlier than we hear of it: retire this much before the learned limit.
const MARGIN: f64 = 0.9;

/// A request that cannot be repeated goes only on a connection that has used up less than this much of its limit.
const FAR: f64 = 0.5;

/// What was learned is forgotten after this long: a restart of the server looks like a limit too.
const FORGOTTEN: Duration = Duration::from_secs(600);

/// Ends within so short a time of idleness say nothing about a limit.
const SHORTEST_LIMIT: Duration = Duration::from_millis(100);

/// Idle connections to one server.
pub struct Shelf<N: Net> {
    idle: Vec<(Moment, Upstream<N>)>,
    /// How long the server keeps idle connections, and when we learned it.
    learned: Option<(Duration, Moment)>,
    /// When all were last seen to be good.
    looked: Moment,
}

impl<N: Net> Default for Shelf<N> {
    fn default() -> Self {
        Shelf { idle: Vec::new(), learned: None, looked: Moment::default() }
    }
}

/// What the care of a shelf found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Connections that the server had ended.
    pub stale: u64,
    /// Connections that we closed: at their limit.
    pub retired: u64,
}

impl<N: Net> Shelf<N> {
    /// Puts one back. When there are `most` already, the oldest goes, or this one where none may be kept; returns
    /// whether one went.
    pub fn put(&mut self, connection: Upstream<N>, now: Moment, most: usize) -> bool {
        if most == 0 {
            return true;
        }
        connection.stream.nobodys();
        let full = self.idle.len() >= most;
        if full {
            self.idle.remove(0);
        }
        self.idle.push((now, connection));
        full
    }

    /// Takes the youngest that is still good and fits `whose`. `careful`: where the server is known to end idle
    /// connections, only one that is far from its end.
    pub fn take(
        &mut self,
        now: Moment,
        configured: Duration,
        (careful, whose): (bool, &Whose),
        swept: &mut Swept,
    ) -> Option<Upstream<N>> {
        let limit = self.limit(now, configured);
        while let Some(at) = self.idle.iter().rposition(|(_, kept)| kept.whose.fits(whose)) {
            let (since, connection) = self.idle.remove(at);
            let age = now.since(since);
            if connection.stream.may_read() || connection.stream.broken() {
                self.learn(now, good_for(self.looked, since, age));
                swept.stale += 1;
            } else if age >= limit {
                swept.retired += 1;
            } else if careful && self.known(now).is_some() && age >= limit.mul_f64(FAR) {
                self.idle.insert(at, (since, connection));
                return None;
            } else {
                connection.stream.mine();
                return Some(connection);
            }
        }
        None
    }

    /// Whether one is there that fits.
    pub fn has(&self, whose: &Whose) -> bool {
        self.idle.iter().any(|(_, kept)| kept.whose.fits(whose))
    }

    /// How many are on it.
    pub fn len(&self) -> usize {
        self.idle.len()
    }

    /// Whether nothing is on it.
    pub fn is_empty(&self) -> bool {
        self.idle.is_empty()
    }

    /// Since when the one is idle that is so for longest.
    pub fn oldest(&self) -> Option<Moment> {
        self.idle.first().map(|(since, _)| *since)
    }

    /// Closes that one.
    pub fn close_oldest(&mut self) {
        self.idle.drain(..self.idle.len().min(1));
    }

    /// Closes what has reached its limit, what the server has ended, and what belongs to nobody any more.
    pub fn sweep(&mut self, now: Moment, configured: Duration) -> Swept {
        let mut swept = Swept::default();
        let mut learned = None;
        let looked = std::mem::replace(&mut self.looked, now);
        let limit = self.limit(now, configured);
        self.idle.retain(|(since, connection)| {
            let age = now.since(*since);
            if connection.stream.may_read() || connection.stream.broken() {
                swept.stale += 1;
                let good_for = good_for(looked, *since, age);
                learned = Some(learned.map_or(good_for, |least: Duration| least.min(good_for)));
                false
            } else if age >= limit || connection.whose.is_orphaned() {
                swept.retired += 1;
                false
            } else {
                true
            }
        });
        if let Some(age) = learned {
            self.learn(now, age);
        }
        swept
    }

    /// The server says how long it keeps idle connections (`Keep-Alive: timeout=`).
    pub fn told(&mut self, now: Moment, limit: Duration) {
        self.learn(now, limit);
    }

    /// Closes all.
    pub fn clear(&mut self) {
        self.idle.clear();
    }

    fn learn(&mut self, now: Moment, age: Duration) {
        if age >= SHORTEST_LIMIT {
            let least = self.known(now).map_or(age, |least| least.min(age));
            self.learned = Some((least, now));
        }
    }

    fn known(&self, now: Moment) -> Option<Duration> {
        self.learned.filter(|(_, when)| now.since(*when) < FORGOTTEN).map(|(limit, _)| limit)
    }

    fn limit(&self, now: Moment, configured: Duration) -> Duration {
        self.known(now).map_or(configured, |limit| limit.mul_f64(MARGIN).min(configured))
    }
}

/// How long a connection that has ended was certainly good: until all were last looked at.
fn good_for(looked: Moment, since: Moment, age: Duration) -> Duration {
    if looked > since { looked.since(since) } else { age }
}
