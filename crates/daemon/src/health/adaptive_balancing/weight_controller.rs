//! The weight controller: its state of each pool from one step to the next, and the weights that follow. Pure:
//! snapshots, counts and the time go in, changed weights come out.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use model::config::{PoolConfig, ServerWeight, WeightControllerConfig};
use model::id::{PoolId, ServerId};
use model::load_balancing::eligible_servers::EligibleServers;
use model::monotonic_time::MonotonicTime;
use model::snapshot::{PoolView, ServerState, ServerView};
use model::weight_controller::{self, WeightCalculation, WeightInput, WeightState, slow_start};

use crate::state::{StateSnapshot, WeightShare};

/// How long a server that was put out for what it answered takes from a tenth of its share to the whole, where
/// `slow-start` does not say.
const EJECTION_RAMP: Duration = Duration::from_secs(10);

/// What the counters say of a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerLoadSample {
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
pub struct WeightChanges {
    /// Shares that changed; `None`: the weight stands as it is again.
    pub shares: Vec<(ServerId, Option<WeightShare>)>,
    /// The arithmetic that was made, with the change of the pool's weights in percent.
    pub rows: Vec<(ServerId, WeightCalculation, f64)>,
}

#[derive(Debug, Default)]
pub struct WeightController {
    pools: HashMap<PoolId, PoolWeights>,
}

#[derive(Debug)]
struct PoolWeights {
    config: Arc<PoolConfig>,
    next_run: MonotonicTime,
    servers: HashMap<ServerId, ServerWeightState>,
}

#[derive(Debug, Default)]
struct ServerWeightState {
    level: Option<WeightState>,
    up: bool,
    /// It has been up, or came when others were up: from now on it ramps when it comes up.
    ramps_when_up: bool,
    /// It was put out for what it answered: it ramps when it comes back, with `slow-start` or without.
    returns_from_ejection: bool,
    ramps_since: Option<MonotonicTime>,
    /// Exchanges begun when it was judged last.
    begun: Option<u64>,
    /// Sum of what was in flight at each look since, and the looks.
    active: (f64, u32),
}

impl WeightController {
    /// Looks at everything once.
    pub fn update(
        &mut self,
        picture: &StateSnapshot,
        now: MonotonicTime,
        seen: impl Fn(&ServerView) -> ServerLoadSample,
    ) -> WeightChanges {
        let mut looked = WeightChanges::default();
        let pools = &picture.snapshot.pools;
        let wanted =
            |pool: &PoolView| pool.config.judge.is_some() || pool.config.slow_start.is_some();
        self.pools.retain(|id, bench| {
            pools.get(id).is_some_and(|pool| wanted(pool) || bench.has_ejected_servers())
        });
        for (id, view) in pools {
            if !wanted(view) && !self.pools.contains_key(id) && !any_ejected(picture, view) {
                reset_shares(picture, view, &mut looked);
                continue;
            }
            let first = PoolWeights {
                config: Arc::clone(&view.config),
                next_run: now,
                servers: HashMap::new(),
            };
            let known = self.pools.contains_key(id);
            let bench = self.pools.entry(*id).or_insert(first);
            bench.follow(picture, view, now, known);
            bench.update_levels(picture, view, now, &seen, &mut looked);
            bench.update_shares(picture, view, now, &mut looked);
        }
        looked
    }

    /// Whether a judge looks at this server.
    pub fn controls(&self, server: ServerId) -> bool {
        let judged = self.pools.values().filter(|bench| bench.config.judge.is_some());
        judged.into_iter().any(|bench| bench.servers.contains_key(&server))
    }

    /// How long until the next look, at most `usual` while a pool has a judge; `None`: until the snapshot changes.
    pub fn wait(&self, now: MonotonicTime, usual: Duration) -> Option<Duration> {
        self.pools.values().filter_map(|bench| bench.wait(now, usual)).min()
    }
}

impl PoolWeights {
    /// Takes in who is there and who came up. `known`: the pool was looked at before.
    fn follow(
        &mut self,
        picture: &StateSnapshot,
        view: &PoolView,
        now: MonotonicTime,
        known: bool,
    ) {
        if self.config.judge != view.config.judge {
            self.servers.values_mut().for_each(|seat| seat.level = None);
            self.next_run = now;
        }
        self.config = Arc::clone(&view.config);
        let present: HashSet<ServerId> = view.servers.iter().map(|server| server.id).collect();
        self.servers.retain(|id, _| present.contains(id));
        for server in &view.servers {
            let up = server.state == ServerState::Up;
            let others_up = self.servers.iter().any(|(id, seat)| *id != server.id && seat.up);
            let seat = self.servers.entry(server.id).or_insert_with(|| ServerWeightState {
                level: inherited_level(&view.config, picture, server.id),
                up: up && !known,
                ramps_when_up: known || up,
                ..ServerWeightState::default()
            });
            if picture.servers.get(&server.id).is_some_and(|facts| facts.ejection.is_some()) {
                seat.returns_from_ejection = true;
                seat.ramps_when_up = true;
            }
            let ramps = view.config.slow_start.is_some() || seat.returns_from_ejection;
            if up && !seat.up && seat.ramps_when_up && others_up && ramps {
                seat.ramps_since = Some(now);
            } else if up && seat.ramps_since.is_none() {
                seat.returns_from_ejection = false;
            }
            if !up {
                seat.ramps_since = None;
            }
            seat.ramps_when_up |= up;
            seat.up = up;
        }
    }

    /// Adds a look to the sums and judges when it is time.
    fn update_levels(
        &mut self,
        picture: &StateSnapshot,
        view: &PoolView,
        now: MonotonicTime,
        seen: &impl Fn(&ServerView) -> ServerLoadSample,
        looked: &mut WeightChanges,
    ) {
        let Some(judge) = &self.config.judge else { return };
        let turn = EligibleServers::from_view(view);
        let mut judged = Vec::new();
        for slot in &turn.servers {
            let server = &view.servers[slot.index];
            let Some(seat) = self.servers.get_mut(&server.id) else { continue };
            let seen = seen(server);
            seat.active = (seat.active.0 + f64::from(seen.active), seat.active.1 + 1);
            let configured = picture.servers.get(&server.id).map_or(1, |facts| facts.weight.get());
            let reading = WeightInput {
                configured,
                active: seat.active.0 / f64::from(seat.active.1),
                new: seen.begun.saturating_sub(*seat.begun.get_or_insert(seen.begun)) as f64,
                latency_ms: seen.latency_ms,
                load: seen.load,
            };
            judged.push((server.id, seen.begun, (reading, seat.level)));
        }
        if now < self.next_run {
            return;
        }
        self.next_run = now + judge.every;
        let servers: Vec<(WeightInput, Option<WeightState>)> =
            judged.iter().map(|(_, _, it)| *it).collect();
        let judgement = weight_controller::compute_weights(judge, &servers);
        for ((id, begun, _), row) in judged.into_iter().zip(judgement.rows) {
            let Some(seat) = self.servers.get_mut(&id) else { continue };
            seat.level = Some(row.kept);
            seat.begun = Some(begun);
            seat.active = (0.0, 0);
            looked.rows.push((id, row, judgement.change));
        }
    }

    /// The shares that follow, where they are others than those in force.
    fn update_shares(
        &mut self,
        picture: &StateSnapshot,
        view: &PoolView,
        now: MonotonicTime,
        looked: &mut WeightChanges,
    ) {
        let whole = self.ramp_duration();
        let mut parts = Vec::new();
        for server in &view.servers {
            let Some(facts) = picture.servers.get(&server.id) else { continue };
            let Some(seat) = self.servers.get_mut(&server.id) else { continue };
            let percent = seat
                .ramps_since
                .map_or(100, |since| slow_start::ramp_percent(now.since(since), whole));
            seat.ramps_since = seat.ramps_since.filter(|_| percent < 100);
            let weight = match (&self.config.judge, facts.weight.get()) {
                (_, 0) => 0,
                (Some(judge), configured) => seat.level.map_or_else(
                    || initial_weight(judge, view, picture, configured),
                    |it| it.published,
                ),
                (None, configured) => configured,
            };
            let judged = self.config.judge.is_some().then_some(weight);
            parts.push((facts, judged, weight, percent));
        }
        let weights: Vec<(u16, u16)> =
            parts.iter().map(|(_, _, weight, percent)| (*weight, *percent)).collect();
        for ((facts, judge, _, percent), weight) in
            parts.iter().zip(slow_start::ramped_weights(&weights))
        {
            let weight = ServerWeight::new(weight).unwrap_or(ServerWeight::ONE);
            let plain = judge.is_none() && weight == facts.weight && *percent >= 100;
            let share = (!plain && facts.weight.get() > 0).then_some(WeightShare {
                controller: *judge,
                slow_start_percent: *percent,
                weight,
            });
            if facts.share != share {
                looked.shares.push((facts.id, share));
            }
        }
    }

    /// How long a ramp takes; without `slow-start` only servers that were put out have one.
    fn ramp_duration(&self) -> Duration {
        self.config.slow_start.unwrap_or(EJECTION_RAMP)
    }

    /// Whether a server is out for what it answered, or comes back from that.
    fn has_ejected_servers(&self) -> bool {
        self.servers.values().any(|seat| seat.returns_from_ejection)
    }

    fn wait(&self, now: MonotonicTime, usual: Duration) -> Option<Duration> {
        let judge = self.config.judge.as_ref();
        let look = judge.map(|judge| usual.min(judge.every / 2).min(self.next_run.since(now)));
        let whole = self.ramp_duration();
        let ramps = self.servers.values().filter_map(|seat| seat.ramps_since);
        let step = ramps.filter_map(|since| {
            let passed = now.since(since);
            Some(slow_start::next_step(passed, whole)?.saturating_sub(passed))
        });
        let least = look.into_iter().chain(step.min()).min()?;
        Some(least.max(Duration::from_millis(1)))
    }
}

fn any_ejected(picture: &StateSnapshot, view: &PoolView) -> bool {
    let facts = view.servers.iter().filter_map(|server| picture.servers.get(&server.id));
    facts.into_iter().any(|facts| facts.ejection.is_some())
}

/// The level of a server that has not been judged yet.
fn initial_weight(
    judge: &WeightControllerConfig,
    view: &PoolView,
    picture: &StateSnapshot,
    configured: u16,
) -> u16 {
    let weights = view.servers.iter().filter_map(|server| picture.servers.get(&server.id));
    let largest = weights.map(|facts| facts.weight.get()).max().unwrap_or(1).max(1);
    let level = f64::from(configured) / f64::from(largest) * f64::from(judge.bound) / 2.0;
    level.round().clamp(1.0, f64::from(judge.bound)) as u16
}

/// What the process before gave it.
fn inherited_level(
    pool: &PoolConfig,
    picture: &StateSnapshot,
    server: ServerId,
) -> Option<WeightState> {
    let judge = pool.judge.as_ref()?;
    let before = picture.servers.get(&server)?.share?.controller?;
    Some(weight_controller::resume_state(judge, before))
}

/// A pool that is not judged any more: its weights are what they were.
fn reset_shares(picture: &StateSnapshot, view: &PoolView, looked: &mut WeightChanges) {
    let facts = view.servers.iter().filter_map(|server| picture.servers.get(&server.id));
    let shared = facts.filter(|facts| facts.share.is_some());
    looked.shares.extend(shared.map(|facts| (facts.id, None)));
}
