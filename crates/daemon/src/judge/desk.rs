//! What is kept of each judged pool from one look to the next, and which shares follow. Pure: pictures, counts and
//! the time go in, changed shares come out.
//!
//! The arithmetic is `model::weigh`'s; whose turn it is in a pool is `model::pick::eligible`'s.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use model::config::{Judge, Pool, Weight};
use model::id::{PoolId, ServerId};
use model::moment::Moment;
use model::pick::eligible::Eligible;
use model::snapshot::{PoolView, ServerState, ServerView};
use model::weigh::{self, Level, Reading, Row, ramp};

use crate::control::{Picture, Share};

/// How long a server that was put out for what it answered takes from a tenth of its share to the whole, where
/// `slow-start` does not say.
const RETURN: Duration = Duration::from_secs(10);

/// What the counters say of a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Exchanges in flight; flows where packets are forwarded.
    pub active: u32,
    /// Exchanges begun since the process began.
    pub begun: u64,
    /// What its last good probe took, milliseconds.
    pub latency_ms: Option<f64>,
    /// The load that it reports, 0–1.
    pub load: Option<f64>,
}

/// What a look came to.
#[derive(Debug, Default)]
pub struct Looked {
    /// Shares that changed; `None`: the weight stands as it is again.
    pub shares: Vec<(ServerId, Option<Share>)>,
    /// The arithmetic that was made, with the change of the pool's weights in percent.
    pub rows: Vec<(ServerId, Row, f64)>,
}

/// Every judged pool.
#[derive(Debug, Default)]
pub struct Desk {
    pools: HashMap<PoolId, Bench>,
}

/// One pool.
#[derive(Debug)]
struct Bench {
    config: Arc<Pool>,
    /// The next judgement.
    due: Moment,
    seats: HashMap<ServerId, Seat>,
}

/// One server.
#[derive(Debug, Default)]
struct Seat {
    level: Option<Level>,
    up: bool,
    /// It has been up, or came when others were up: from now on it ramps when it comes up.
    seasoned: bool,
    /// It was put out for what it answered: it ramps when it comes back, with `slow-start` or without.
    returns: bool,
    ramps_since: Option<Moment>,
    /// Exchanges begun when it was judged last.
    begun: Option<u64>,
    /// Sum of what was in flight at each look since, and the looks.
    active: (f64, u32),
}

impl Desk {
    /// Looks at everything once.
    pub fn look(
        &mut self,
        picture: &Picture,
        now: Moment,
        seen: impl Fn(&ServerView) -> Seen,
    ) -> Looked {
        let mut looked = Looked::default();
        let pools = &picture.snapshot.pools;
        let wanted =
            |pool: &PoolView| pool.config.judge.is_some() || pool.config.slow_start.is_some();
        self.pools.retain(|id, bench| {
            pools.get(id).is_some_and(|pool| wanted(pool) || bench.awaits_somebody())
        });
        for (id, view) in pools {
            if !wanted(view) && !self.pools.contains_key(id) && !somebody_is_out(picture, view) {
                stand(picture, view, &mut looked);
                continue;
            }
            let first = Bench { config: Arc::clone(&view.config), due: now, seats: HashMap::new() };
            let known = self.pools.contains_key(id);
            let bench = self.pools.entry(*id).or_insert(first);
            bench.follow(picture, view, now, known);
            bench.weigh(picture, view, now, &seen, &mut looked);
            bench.share(picture, view, now, &mut looked);
        }
        looked
    }

    /// Whether a judge looks at this server.
    pub fn judges(&self, server: ServerId) -> bool {
        let judged = self.pools.values().filter(|bench| bench.config.judge.is_some());
        judged.into_iter().any(|bench| bench.seats.contains_key(&server))
    }

    /// How long until the next look, at most `usual` while a pool has a judge; `None`: until the picture changes.
    pub fn wait(&self, now: Moment, usual: Duration) -> Option<Duration> {
        self.pools.values().filter_map(|bench| bench.wait(now, usual)).min()
    }
}

impl Bench {
    /// Takes in who is there and who came up. `known`: the pool was looked at before.
    fn follow(&mut self, picture: &Picture, view: &PoolView, now: Moment, known: bool) {
        if self.config.judge != view.config.judge {
            self.seats.values_mut().for_each(|seat| seat.level = None);
            self.due = now;
        }
        self.config = Arc::clone(&view.config);
        let present: HashSet<ServerId> = view.servers.iter().map(|server| server.id).collect();
        self.seats.retain(|id, _| present.contains(id));
        for server in &view.servers {
            let up = server.state == ServerState::Up;
            let others_up = self.seats.iter().any(|(id, seat)| *id != server.id && seat.up);
            let seat = self.seats.entry(server.id).or_insert_with(|| Seat {
                level: resumed(&view.config, picture, server.id),
                up: up && !known,
                seasoned: known || up,
                ..Seat::default()
            });
            if picture.servers.get(&server.id).is_some_and(|facts| facts.ejected.is_some()) {
                (seat.returns, seat.seasoned) = (true, true);
            }
            let ramps = view.config.slow_start.is_some() || seat.returns;
            if up && !seat.up && seat.seasoned && others_up && ramps {
                seat.ramps_since = Some(now);
            } else if up && seat.ramps_since.is_none() {
                seat.returns = false;
            }
            if !up {
                seat.ramps_since = None;
            }
            seat.seasoned |= up;
            seat.up = up;
        }
    }

    /// Adds a look to the sums and judges when it is time.
    fn weigh(
        &mut self,
        picture: &Picture,
        view: &PoolView,
        now: Moment,
        seen: &impl Fn(&ServerView) -> Seen,
        looked: &mut Looked,
    ) {
        let Some(judge) = &self.config.judge else { return };
        let turn = Eligible::of(view);
        let mut judged = Vec::new();
        for slot in &turn.slots {
            let server = &view.servers[slot.index];
            let Some(seat) = self.seats.get_mut(&server.id) else { continue };
            let seen = seen(server);
            seat.active = (seat.active.0 + f64::from(seen.active), seat.active.1 + 1);
            let configured = picture.servers.get(&server.id).map_or(1, |facts| facts.weight.get());
            let reading = Reading {
                configured,
                active: seat.active.0 / f64::from(seat.active.1),
                new: seen.begun.saturating_sub(*seat.begun.get_or_insert(seen.begun)) as f64,
                latency_ms: seen.latency_ms,
                load: seen.load,
            };
            judged.push((server.id, seen.begun, (reading, seat.level)));
        }
        if now < self.due {
            return;
        }
        self.due = now + judge.every;
        let servers: Vec<(Reading, Option<Level>)> = judged.iter().map(|(_, _, it)| *it).collect();
        let judgement = weigh::judge(judge, &servers);
        for ((id, begun, _), row) in judged.into_iter().zip(judgement.rows) {
            let Some(seat) = self.seats.get_mut(&id) else { continue };
            (seat.level, seat.begun, seat.active) = (Some(row.kept), Some(begun), (0.0, 0));
            looked.rows.push((id, row, judgement.change));
        }
    }

    /// The shares that follow, where they are others than those in force.
    fn share(&mut self, picture: &Picture, view: &PoolView, now: Moment, looked: &mut Looked) {
        let whole = self.whole();
        let mut parts = Vec::new();
        for server in &view.servers {
            let Some(facts) = picture.servers.get(&server.id) else { continue };
            let Some(seat) = self.seats.get_mut(&server.id) else { continue };
            let percent =
                seat.ramps_since.map_or(100, |since| ramp::percent(now.since(since), whole));
            seat.ramps_since = seat.ramps_since.filter(|_| percent < 100);
            let weight = match (&self.config.judge, facts.weight.get()) {
                (_, 0) => 0,
                (Some(judge), configured) => seat.level.map_or_else(
                    || untroubled(judge, view, picture, configured),
                    |it| it.published,
                ),
                (None, configured) => configured,
            };
            let judged = self.config.judge.is_some().then_some(weight);
            parts.push((facts, judged, weight, percent));
        }
        let weights: Vec<(u16, u16)> =
            parts.iter().map(|(_, _, weight, percent)| (*weight, *percent)).collect();
        for ((facts, judge, _, percent), weight) in parts.iter().zip(ramp::shares(&weights)) {
            let weight = Weight::new(weight).unwrap_or(Weight::ONE);
            let plain = judge.is_none() && weight == facts.weight && *percent >= 100;
            let share = (!plain && facts.weight.get() > 0).then_some(Share {
                judge: *judge,
                percent: *percent,
                weight,
            });
            if facts.share != share {
                looked.shares.push((facts.id, share));
            }
        }
    }

    /// How long a ramp takes; without `slow-start` only servers that were put out have one.
    fn whole(&self) -> Duration {
        self.config.slow_start.unwrap_or(RETURN)
    }

    /// Whether a server is out for what it answered, or comes back from that.
    fn awaits_somebody(&self) -> bool {
        self.seats.values().any(|seat| seat.returns)
    }

    fn wait(&self, now: Moment, usual: Duration) -> Option<Duration> {
        let judge = self.config.judge.as_ref();
        let look = judge.map(|judge| usual.min(judge.every / 2).min(self.due.since(now)));
        let whole = self.whole();
        let ramps = self.seats.values().filter_map(|seat| seat.ramps_since);
        let step = ramps.filter_map(|since| {
            let passed = now.since(since);
            Some(ramp::next_step(passed, whole)?.saturating_sub(passed))
        });
        let least = look.into_iter().chain(step.min()).min()?;
        Some(least.max(Duration::from_millis(1)))
    }
}

fn somebody_is_out(picture: &Picture, view: &PoolView) -> bool {
    let facts = view.servers.iter().filter_map(|server| picture.servers.get(&server.id));
    facts.into_iter().any(|facts| facts.ejected.is_some())
}

/// The level of a server that has not been judged yet.
fn untroubled(judge: &Judge, view: &PoolView, picture: &Picture, configured: u16) -> u16 {
    let weights = view.servers.iter().filter_map(|server| picture.servers.get(&server.id));
    let largest = weights.map(|facts| facts.weight.get()).max().unwrap_or(1).max(1);
    let level = f64::from(configured) / f64::from(largest) * f64::from(judge.bound) / 2.0;
    level.round().clamp(1.0, f64::from(judge.bound)) as u16
}

/// What the process before gave it.
fn resumed(pool: &Pool, picture: &Picture, server: ServerId) -> Option<Level> {
    let judge = pool.judge.as_ref()?;
    let before = picture.servers.get(&server)?.share?.judge?;
    Some(weigh::resumed(judge, before))
}

/// A pool that is not judged any more: its weights are what they were.
fn stand(picture: &Picture, view: &PoolView, looked: &mut Looked) {
    let facts = view.servers.iter().filter_map(|server| picture.servers.get(&server.id));
    let shared = facts.filter(|facts| facts.share.is_some());
    looked.shares.extend(shared.map(|facts| (facts.id, None)));
}
