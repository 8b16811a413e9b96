//! The weight controller: computes the weights of servers from their load and their response times.
//!
//! At each interval every server is compared with its pool. The measures are exchanges in flight, exchanges started,
//! probe latency and reported load. Of each measure a ratio shows how much more than its present part the server could
//! get; a ratio above 1 means free capacity. The pool's proportions mix the ratios into a factor. The factor times the
//! server's base is its target, and the weight changes by a part of the difference:
//!
//! ```text
//!   base   = configured weight ÷ largest configured × bound ÷ 2
//!   ratio  = √(base's share ÷ share of what is in flight, or begun)    each root's inside within ¼ and 4
//!          = √(mean latency ÷ latency),  √(free part ÷ mean free part)
//!   target = base × Σ proportion × ratio ÷ 100, all targets scaled to the sum of bases, within 1 and bound
//!   level  = published + (target − published) × step,    step = 1 ÷ (1 + gain) ≤ 100 ÷ smoothing
//! ```
//!
//! Weights affect the next measurement: a server with less load soon has free capacity again, so a controller that
//! follows every target oscillates. The gain is how much a target falls for each unit of added weight; it is measured
//! whenever a weight was changed. Dividing the difference by it leads directly to the point where weight and target
//! meet (Newton's method with the secant slope). Close to a server's limit the gain is large and the steps are short;
//! while nothing changes the gain decays. A step never exceeds three tenths of the weight.
//!
//! After a step in load, weights come within a tenth of the bound of their steady values in ten intervals and pass them
//! at most twice, for any proportions. The exception is a server whose backlog grows without a limit, which has no
//! steady value: connection limits set one.
//!
//! Unknown inputs (no probe, a lost agent) count as average. Rounded levels are published only if they differ from the
//! published ones by more than the sensitivity (strictly); unpublished changes are not added up. The controller never
//! sets 0: only an operator does.
//!
//! It reads no clock and no counter, and ignores health. Servers that get no work are left out: without traffic nothing
//! can be measured.

pub mod slow_start;

use serde::{Deserialize, Serialize};

use crate::config::WeightControllerConfig;

/// Limit of ratios, and of their inverse: an accident of one interval must not take a server out.
const MAX_RATIO: f64 = 4.0;
/// Limit of the measured gain: bounds how short steps get.
const MAX_GAIN: f64 = 40.0;
/// The initial gain, unless the smoothing gives a smaller one.
const INITIAL_GAIN: f64 = 0.5;
/// The part of a gain that remains when a smaller one was measured.
const GAIN_DECREASE: f64 = 0.5;
/// The part of a gain, above the initial one, that remains after an interval without a change.
const GAIN_DECAY: f64 = 0.8;
/// The longest step, as a part of the weight; a step of 1 is always allowed.
const MAX_STEP: f64 = 0.3;
/// Larger counts are invalid.
const MAX_COUNT: f64 = 1e12;
/// Added to both sides of a comparison of latencies, milliseconds: smaller differences are noise.
const LATENCY_FLOOR_MS: f64 = 1.0;
/// Added to both sides of a comparison of free parts, so that nearly full servers do not divide by zero.
const FREE_FLOOR: f64 = 0.05;

/// The measurements of one server in the last interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct WeightInput {
    /// The weight set in the file or by an operator, above 0.
    pub configured: u16,
    /// Exchanges (`tcp`: connections; packets: flows) in flight, on average.
    pub active: f64,
    /// Exchanges started.
    pub new: f64,
    /// Duration of its health checks, milliseconds; absent: no health check.
    #[serde(alias = "latency_ms")]
    pub latency_ms: Option<f64>,
    /// The load that it reports, 0 to 1; absent: unknown.
    pub load: Option<f64>,
}

/// The state of a server between two intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WeightState {
    /// The weight before rounding.
    pub level: f64,
    /// The part of the difference between published weight and target that the last step covered.
    pub step: f64,
    /// How much its target falls for each added unit of weight.
    pub gain: f64,
    /// The published weight and the target of the last calculation; absent: no calculation yet.
    pub last: Option<WeightTarget>,
    /// The published weight.
    pub published: u16,
}

/// The published weight of a server, and the weight that it should have had.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "(u16, f64)", into = "(u16, f64)")]
pub struct WeightTarget {
    pub published: u16,
    pub target: f64,
}

impl From<(u16, f64)> for WeightTarget {
    fn from((published, target): (u16, f64)) -> WeightTarget {
        WeightTarget { published, target }
    }
}

impl From<WeightTarget> for (u16, f64) {
    fn from(last: WeightTarget) -> (u16, f64) {
        (last.published, last.target)
    }
}

/// The calculation of one server's weight, for explanations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WeightCalculation {
    /// The input.
    #[serde(alias = "reading")]
    pub input: WeightInput,
    /// The weight of a server with average load.
    pub base: f64,
    /// Free capacity by exchanges in flight, exchanges started, latency, load; 1 is average.
    pub ratios: [f64; 4],
    /// The ratios mixed by the proportions.
    pub factor: f64,
    /// The target weight.
    pub target: f64,
    /// The previously published weight.
    #[serde(alias = "before")]
    pub previous: u16,
    /// The rounded level, which is published if the change of all weights is large enough.
    #[serde(alias = "wanted")]
    pub rounded: u16,
    /// The state for the next interval.
    #[serde(alias = "kept")]
    pub state: WeightState,
}

/// The weights of a pool's servers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeightAssignment {
    /// In the order of the inputs.
    pub rows: Vec<WeightCalculation>,
    /// The change of the weights in percent of their sum.
    pub change: f64,
    /// Whether the change exceeds the sensitivity: `kept.published` is the wanted weight, otherwise the previously
    /// published one.
    pub publish: bool,
}

/// A server whose weight is to be computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeighedServer {
    pub input: WeightInput,
    /// The state after the last calculation; `None`: the server is new.
    pub state: Option<WeightState>,
}

/// Computes the weights of servers that get work.
pub fn compute_weights(
    settings: &WeightControllerConfig,
    servers: &[WeighedServer],
) -> WeightAssignment {
    let servers: Vec<WeighedServer> = servers
        .iter()
        .map(|server| WeighedServer { input: sanitize(&server.input), ..*server })
        .collect();
    let means = PoolMeans::from_servers(&servers);
    let largest = servers.iter().map(|server| server.input.configured).max().unwrap_or(1).max(1);
    let half = f64::from(settings.bound) / 2.0;
    let base = |reading: &WeightInput| f64::from(reading.configured) / f64::from(largest) * half;
    let bases: f64 = servers.iter().map(|server| base(&server.input)).sum();
    let mut rows: Vec<WeightCalculation> = servers
        .iter()
        .map(|WeighedServer { input: reading, state: before }| {
            let base = base(reading);
            let ratios = means.ratios(reading, base / bases.max(f64::MIN_POSITIVE));
            let factor = mix_ratios(settings, ratios);
            let fresh = resume_state(settings, round_weight(base, settings.bound));
            let kept = before.unwrap_or(WeightState { level: base.max(1.0), ..fresh });
            let target = base * factor;
            let before = kept.published;
            let wanted = kept.published;
            WeightCalculation {
                input: *reading,
                base,
                ratios,
                factor,
                target,
                previous: before,
                rounded: wanted,
                state: kept,
            }
        })
        .collect();
    let targets: f64 = rows.iter().map(|row| row.target).sum();
    for row in &mut rows {
        let scaled = row.target * bases / targets.max(f64::MIN_POSITIVE);
        row.target = scaled.clamp(1.0, f64::from(settings.bound));
        row.state = step_toward(settings, row.state, row.target);
        row.rounded = round_weight(row.state.level, settings.bound);
    }
    let change = weight_change_percent(&rows);
    let publish = change > f64::from(settings.sensitivity);
    if publish {
        rows.iter_mut().for_each(|row| row.state.published = row.rounded);
    }
    WeightAssignment { rows, change, publish }
}

/// The state for a weight published by another process, or with other settings.
pub fn resume_state(settings: &WeightControllerConfig, published: u16) -> WeightState {
    let published = published.clamp(1, settings.bound);
    let gain = first_gain(settings);
    WeightState {
        level: f64::from(published),
        step: 1.0 / (1.0 + gain),
        gain,
        last: None,
        published,
    }
}

struct PoolMeans {
    servers: f64,
    active: f64,
    new: f64,
    latency_ms: Option<f64>,
    free_share: Option<f64>,
}

impl PoolMeans {
    fn from_servers(servers: &[WeighedServer]) -> PoolMeans {
        let readings = || servers.iter().map(|server| &server.input);
        PoolMeans {
            servers: servers.len() as f64,
            active: readings().map(|reading| reading.active).sum(),
            new: readings().map(|reading| reading.new).sum(),
            latency_ms: mean(readings().filter_map(|reading| reading.latency_ms)),
            free_share: mean(readings().filter_map(|reading| reading.load).map(free_share)),
        }
    }

    /// `share`: the server's part of all bases.
    fn ratios(&self, reading: &WeightInput, share: f64) -> [f64; 4] {
        // One exchange per server is assumed, so that few exchanges have little effect.
        let part = |own: f64, all: f64| {
            let used = (own + share * self.servers) / (all + self.servers);
            clamp_ratio(share / used.max(f64::MIN_POSITIVE))
        };
        let latency = match (self.latency_ms, reading.latency_ms) {
            (Some(mean), Some(own)) => {
                clamp_ratio((mean + LATENCY_FLOOR_MS) / (own + LATENCY_FLOOR_MS))
            }
            _ => 1.0,
        };
        let load = match (self.free_share, reading.load) {
            (Some(mean), Some(load)) => {
                clamp_ratio((free_share(load) + FREE_FLOOR) / (mean + FREE_FLOOR))
            }
            _ => 1.0,
        };
        [part(reading.active, self.active), part(reading.new, self.new), latency, load]
    }
}

fn mix_ratios(settings: &WeightControllerConfig, ratios: [f64; 4]) -> f64 {
    let says = [settings.active, settings.new, settings.latency, settings.agent];
    says.iter().zip(ratios).map(|(say, ratio)| f64::from(*say) * ratio / 100.0).sum()
}

fn step_toward(settings: &WeightControllerConfig, before: WeightState, target: f64) -> WeightState {
    let published = f64::from(before.published);
    let first = first_gain(settings);
    let gain = match before.last {
        Some(last) if last.published != before.published => {
            let seen = (last.target - target) / (published - f64::from(last.published));
            seen.max(before.gain * GAIN_DECREASE).clamp(first, MAX_GAIN)
        }
        _ => first + (before.gain - first).max(0.0) * GAIN_DECAY,
    };
    let longest = (MAX_STEP * published).max(1.0);
    let way = ((target - published) / (1.0 + gain)).clamp(-longest, longest);
    // With more smoothing than the initial gain gives, the level lags behind the step and never passes it.
    let lag = (1.0 + INITIAL_GAIN) * 100.0 / f64::from(settings.smoothing.max(100));
    let level = before.level + (published + way - before.level) * lag.min(1.0);
    let apart = target - published;
    let step = if apart.abs() < f64::EPSILON { 0.0 } else { (level - published) / apart };
    let last = Some(WeightTarget { published: before.published, target });
    WeightState { level, step, gain, last, published: before.published }
}

/// The gain that corresponds to the smoothing, at most the usual one.
fn first_gain(settings: &WeightControllerConfig) -> f64 {
    (f64::from(settings.smoothing.max(100)) / 100.0 - 1.0).min(INITIAL_GAIN)
}

/// Percent of the published sum by which the wanted weights differ.
fn weight_change_percent(rows: &[WeightCalculation]) -> f64 {
    let published: u64 = rows.iter().map(|row| u64::from(row.previous)).sum();
    let moved: u64 = rows.iter().map(|row| u64::from(row.rounded.abs_diff(row.previous))).sum();
    moved as f64 * 100.0 / published.max(1) as f64
}

/// Replaces numbers that a counter cannot have.
fn sanitize(reading: &WeightInput) -> WeightInput {
    let known = |number: &f64| number.is_finite();
    let count = |number: f64| if number.is_finite() { number.clamp(0.0, MAX_COUNT) } else { 0.0 };
    WeightInput {
        configured: reading.configured,
        active: count(reading.active),
        new: count(reading.new),
        latency_ms: reading.latency_ms.filter(known).map(count),
        load: reading.load.filter(known),
    }
}

fn round_weight(level: f64, bound: u16) -> u16 {
    level.round().clamp(1.0, f64::from(bound)) as u16
}

fn clamp_ratio(ratio: f64) -> f64 {
    ratio.clamp(1.0 / MAX_RATIO, MAX_RATIO).sqrt()
}

fn free_share(load: f64) -> f64 {
    1.0 - load.clamp(0.0, 1.0)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
