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
use model::weight_controller::slow_start::{self, RampingWeight};
use model::weight_controller::{self, WeighedServer, WeightCalculation, WeightInput, WeightState};

use crate::state::{StateSnapshot, WeightShare, WeightShareChange};

/// How long an ejected server takes from a tenth of its share to the whole, if `slow-start` sets nothing.
/// A server that was out has cold caches and no connections; its full share at once could overload it.
const EJECTION_RAMP: Duration = Duration::from_secs(10);

/// The counters of one server.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerLoadSample {
    /// Exchanges in flight; flows where packets are forwarded.
    pub active: u32,
    /// Exchanges begun since the process began.
    pub begun: u64,
    /// The duration of the last successful probe, milliseconds.
    pub latency_ms: Option<f64>,
    /// The load that it reports, 0–1.
    pub load: Option<f64>,
}

/// The result of one check.
#[derive(Debug, Default)]
pub struct WeightChanges {
    /// The servers whose share changed.
    pub shares: Vec<WeightShareChange>,
    /// The arithmetic that was made.
    pub rows: Vec<ServerWeightCalculation>,
}

/// The calculation of a server's weight.
#[derive(Debug)]
pub struct ServerWeightCalculation {
    pub server: ServerId,
    pub calculation: WeightCalculation,
    /// The change of all weights of its pool, in percent of their sum.
    pub pool_change: f64,
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
    /// The server has been up, or was added while others were up. From now on, it ramps up when it becomes healthy.
    ramps_when_up: bool,
    /// The server was ejected: it ramps when it returns, with or without `slow-start`.
    returns_from_ejection: bool,
    ramps_since: Option<MonotonicTime>,
    /// Exchanges begun at the last decision.
    begun: Option<u64>,
    /// The sum of requests in flight over the samples since.
    active_sum: f64,
    /// The number of those samples.
    active_samples: u32,
}

impl WeightController {
    /// Looks at everything once.
    pub fn update(
        &mut self,
        snapshot: &StateSnapshot,
        now: MonotonicTime,
        seen: impl Fn(&ServerView) -> ServerLoadSample,
    ) -> WeightChanges {
        let mut looked = WeightChanges::default();
        let pools = &snapshot.snapshot.pools;
        let wanted =
            |pool: &PoolView| pool.config.judge.is_some() || pool.config.slow_start.is_some();
        self.pools.retain(|id, pool_weights| {
            pools.get(id).is_some_and(|pool| wanted(pool) || pool_weights.has_ejected_servers())
        });
        for (id, view) in pools {
            if !wanted(view) && !self.pools.contains_key(id) && !any_ejected(snapshot, view) {
                reset_shares(snapshot, view, &mut looked);
                continue;
            }
            let first = PoolWeights {
                config: Arc::clone(&view.config),
                next_run: now,
                servers: HashMap::new(),
            };
            let known = self.pools.contains_key(id);
            let pool_weights = self.pools.entry(*id).or_insert(first);
            pool_weights.follow(snapshot, view, now, known);
            pool_weights.update_levels(snapshot, view, now, &seen, &mut looked);
            pool_weights.update_shares(snapshot, view, now, &mut looked);
        }
        looked
    }

    /// Whether a controller handles this server.
    pub fn controls(&self, server: ServerId) -> bool {
        let controlled =
            self.pools.values().filter(|pool_weights| pool_weights.config.judge.is_some());
        controlled.into_iter().any(|pool_weights| pool_weights.servers.contains_key(&server))
    }

    /// The delay until the next check, at most `usual` while a pool has a controller; `None`: until the snapshot
    /// changes.
    pub fn wait(&self, now: MonotonicTime, usual: Duration) -> Option<Duration> {
        self.pools.values().filter_map(|pool_weights| pool_weights.wait(now, usual)).min()
    }
}

impl PoolWeights {
    /// Tracks which servers exist and which became healthy. `known`: the pool was handled before.
    fn follow(
        &mut self,
        snapshot: &StateSnapshot,
        view: &PoolView,
        now: MonotonicTime,
        known: bool,
    ) {
        if self.config.judge != view.config.judge {
            self.servers.values_mut().for_each(|server_weights| server_weights.level = None);
            self.next_run = now;
        }
        self.config = Arc::clone(&view.config);
        let present: HashSet<ServerId> = view.servers.iter().map(|server| server.id).collect();
        self.servers.retain(|id, _| present.contains(id));
        for server in &view.servers {
            let up = server.state == ServerState::Up;
            let others_up = self
                .servers
                .iter()
                .any(|(id, server_weights)| *id != server.id && server_weights.up);
            let server_weights =
                self.servers.entry(server.id).or_insert_with(|| ServerWeightState {
                    level: inherited_level(&view.config, snapshot, server.id),
                    up: up && !known,
                    ramps_when_up: known || up,
                    ..ServerWeightState::default()
                });
            if snapshot.servers.get(&server.id).is_some_and(|facts| facts.ejection.is_some()) {
                server_weights.returns_from_ejection = true;
                server_weights.ramps_when_up = true;
            }
            let ramps = view.config.slow_start.is_some() || server_weights.returns_from_ejection;
            if up && !server_weights.up && server_weights.ramps_when_up && others_up && ramps {
                server_weights.ramps_since = Some(now);
            } else if up && server_weights.ramps_since.is_none() {
                server_weights.returns_from_ejection = false;
            }
            if !up {
                server_weights.ramps_since = None;
            }
            server_weights.ramps_when_up |= up;
            server_weights.up = up;
        }
    }

    /// Adds a sample to the sums, and decides when the interval is over.
    fn update_levels(
        &mut self,
        snapshot: &StateSnapshot,
        view: &PoolView,
        now: MonotonicTime,
        seen: &impl Fn(&ServerView) -> ServerLoadSample,
        looked: &mut WeightChanges,
    ) {
        let Some(judge) = &self.config.judge else { return };
        let turn = EligibleServers::from_view(view);
        let mut samples = Vec::new();
        for slot in &turn.servers {
            let server = &view.servers[slot.index];
            let Some(server_weights) = self.servers.get_mut(&server.id) else { continue };
            let seen = seen(server);
            server_weights.active_sum += f64::from(seen.active);
            server_weights.active_samples += 1;
            let configured = snapshot.servers.get(&server.id).map_or(1, |facts| facts.weight.get());
            let reading = WeightInput {
                configured,
                active: server_weights.active_sum / f64::from(server_weights.active_samples),
                new: seen.begun.saturating_sub(*server_weights.begun.get_or_insert(seen.begun))
                    as f64,
                latency_ms: seen.latency_ms,
                load: seen.load,
            };
            samples.push((
                server.id,
                seen.begun,
                WeighedServer { input: reading, state: server_weights.level },
            ));
        }
        if now < self.next_run {
            return;
        }
        self.next_run = now + judge.every;
        let servers: Vec<WeighedServer> = samples.iter().map(|(_, _, sample)| *sample).collect();
        let judgement = weight_controller::compute_weights(judge, &servers);
        for ((id, begun, _), row) in samples.into_iter().zip(judgement.rows) {
            let Some(server_weights) = self.servers.get_mut(&id) else { continue };
            server_weights.level = Some(row.state);
            server_weights.begun = Some(begun);
            server_weights.active_sum = 0.0;
            server_weights.active_samples = 0;
            looked.rows.push(ServerWeightCalculation {
                server: id,
                calculation: row,
                pool_change: judgement.change,
            });
        }
    }

    /// The shares that differ from the active ones.
    fn update_shares(
        &mut self,
        snapshot: &StateSnapshot,
        view: &PoolView,
        now: MonotonicTime,
        looked: &mut WeightChanges,
    ) {
        let whole = self.ramp_duration();
        let mut parts = Vec::new();
        for server in &view.servers {
            let Some(facts) = snapshot.servers.get(&server.id) else { continue };
            let Some(server_weights) = self.servers.get_mut(&server.id) else { continue };
            let percent = server_weights
                .ramps_since
                .map_or(100, |since| slow_start::ramp_percent(now.since(since), whole));
            server_weights.ramps_since = server_weights.ramps_since.filter(|_| percent < 100);
            let weight = match (&self.config.judge, facts.weight.get()) {
                (_, 0) => 0,
                (Some(judge), configured) => server_weights.level.map_or_else(
                    || initial_weight(judge, view, snapshot, configured),
                    |level| level.published,
                ),
                (None, configured) => configured,
            };
            let controlled = self.config.judge.is_some().then_some(weight);
            parts.push((facts, controlled, weight, percent));
        }
        let weights: Vec<RampingWeight> = parts
            .iter()
            .map(|(_, _, weight, percent)| RampingWeight { weight: *weight, percent: *percent })
            .collect();
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
                looked.shares.push(WeightShareChange { server: facts.id, share });
            }
        }
    }

    /// How long a ramp takes; without `slow-start` only servers that were put out have one.
    fn ramp_duration(&self) -> Duration {
        self.config.slow_start.unwrap_or(EJECTION_RAMP)
    }

    /// Whether a server is ejected, or ramps up after an ejection.
    fn has_ejected_servers(&self) -> bool {
        self.servers.values().any(|server_weights| server_weights.returns_from_ejection)
    }

    fn wait(&self, now: MonotonicTime, usual: Duration) -> Option<Duration> {
        let judge = self.config.judge.as_ref();
        let look = judge.map(|judge| usual.min(judge.every / 2).min(self.next_run.since(now)));
        let whole = self.ramp_duration();
        let ramps = self.servers.values().filter_map(|server_weights| server_weights.ramps_since);
        let step = ramps.filter_map(|since| {
            let passed = now.since(since);
            Some(slow_start::next_step(passed, whole)?.saturating_sub(passed))
        });
        let least = look.into_iter().chain(step.min()).min()?;
        // A millisecond at least: a step that is due now must not become a busy loop.
        Some(least.max(Duration::from_millis(1)))
    }
}

fn any_ejected(snapshot: &StateSnapshot, view: &PoolView) -> bool {
    let facts = view.servers.iter().filter_map(|server| snapshot.servers.get(&server.id));
    facts.into_iter().any(|facts| facts.ejection.is_some())
}

/// The level of a server without a decision so far.
fn initial_weight(
    judge: &WeightControllerConfig,
    view: &PoolView,
    snapshot: &StateSnapshot,
    configured: u16,
) -> u16 {
    let weights = view.servers.iter().filter_map(|server| snapshot.servers.get(&server.id));
    let largest = weights.map(|facts| facts.weight.get()).max().unwrap_or(1).max(1);
    let level = f64::from(configured) / f64::from(largest) * f64::from(judge.bound) / 2.0;
    level.round().clamp(1.0, f64::from(judge.bound)) as u16
}

/// The level that the previous process had set.
fn inherited_level(
    pool: &PoolConfig,
    snapshot: &StateSnapshot,
    server: ServerId,
) -> Option<WeightState> {
    let judge = pool.judge.as_ref()?;
    let before = snapshot.servers.get(&server)?.share?.controller?;
    Some(weight_controller::resume_state(judge, before))
}

/// Restores the configured weights of a pool that no controller handles any longer.
fn reset_shares(snapshot: &StateSnapshot, view: &PoolView, looked: &mut WeightChanges) {
    let facts = view.servers.iter().filter_map(|server| snapshot.servers.get(&server.id));
    let shared = facts.filter(|facts| facts.share.is_some());
    looked.shares.extend(shared.map(|facts| WeightShareChange { server: facts.id, share: None }));
}
