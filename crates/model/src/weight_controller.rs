//! The weight controller: computes the weights of servers from their load and their response times.
//!
//! At each interval every server is compared with its pool. For each measure — exchanges in flight, exchanges begun,
//! probe latency, reported load — a ratio says how much more than its present part the server could take; above 1 is
//! room. The pool's proportions mix the ratios into a factor, the factor times the server's base is its target, and the
//! weight goes a part of the way:
//!
//! ```text
//!   base   = configured weight ÷ largest configured × bound ÷ 2
//!   ratio  = √(base's share ÷ share of what is in flight, or begun)    each root's inside within ¼ and 4
//!          = √(mean latency ÷ latency),  √(free part ÷ mean free part)
//!   target = base × Σ proportion × ratio ÷ 100, all targets scaled to the sum of bases, within 1 and bound
//!   level  = published + (target − published) × step,    step = 1 ÷ (1 + gain) ≤ 100 ÷ smoothing
//! ```
//!
//! Weights act on the next measurement: a server that gets less soon has room again, so a controller that follows every
//! target swings. The gain is how much a target falls for each unit of added weight; it is measured whenever a weight
//! was changed. Dividing the way by it goes at once to where weight and target meet (Newton's method with a slope by
//! secants). Close to a server's limit the gain is large and the steps are short; while nothing changes the gain
//! decays. A step never exceeds three tenths of the weight.
//!
//! After a step in load weights come within a tenth of the bound of their steady values in ten intervals and pass them
//! at most twice, whatever the proportions. Not if a server's backlog grows without a limit, which has no steady value:
//! connection caps set one.
//!
//! Unknown inputs (no probe, a lost agent) count as average. Rounded levels are published only if they differ from the
//! published ones by more than the sensitivity (strictly); unpublished changes are not added up. The controller never
//! sets 0: only an operator does.
//!
//! It reads no clock and no counter, and ignores health. Servers that may take no work are left out: without traffic
//! nothing can be measured.

pub mod slow_start;

use serde::{Deserialize, Serialize};

use crate::config::WeightControllerConfig;

/// Ratios stay within this and its inverse: one interval's accident must not take a server out.
const MAX_RATIO: f64 = 4.0;
/// Caps the measured gain: bounds how short steps get.
const MAX_GAIN: f64 = 40.0;
/// The gain until one was measured, unless the smoothing is less.
const INITIAL_GAIN: f64 = 0.5;
/// The part of a gain that is left when a smaller one was measured.
const GAIN_DECREASE: f64 = 0.5;
/// The part of a gain, above the first, that is left after an interval without a change.
const GAIN_DECAY: f64 = 0.8;
/// The longest step, as a part of the weight; a step of 1 is always allowed.
const MAX_STEP: f64 = 0.3;
/// Larger counts are invalid.
const MAX_COUNT: f64 = 1e12;
/// Added to both sides of a comparison of latencies, milliseconds: below it differences are noise.
const LATENCY_FLOOR_MS: f64 = 1.0;
/// Added to both sides of a comparison of free parts, so that nearly full servers do not divide by zero.
const FREE_FLOOR: f64 = 0.05;

/// What was measured of one server in the last interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "Reading")]
pub struct WeightInput {
    /// Its weight as the file or an operator says, above 0.
    pub configured: u16,
    /// Exchanges (`tcp`: connections; packets: flows) in flight, on average.
    pub active: f64,
    /// Exchanges begun.
    pub new: f64,
    /// What its probe took, milliseconds; `None`: not probed.
    pub latency_ms: Option<f64>,
    /// What it says of its load, 0–1; `None`: nothing.
    pub load: Option<f64>,
}

/// What the judge keeps of a server from one interval to the next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename = "WeighLevel")]
pub struct WeightState {
    /// The weight before rounding.
    pub level: f64,
    /// The part of the way from what was published to the target that was gone.
    pub step: f64,
    /// By how much its target falls for each unit of weight more.
    pub gain: f64,
    /// What was published when it was judged last, and the target then; `None`: it was not.
    pub last: Option<(u16, f64)>,
    /// What is published.
    pub published: u16,
}

/// One server's arithmetic, for those who ask why.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename = "Row")]
pub struct WeightCalculation {
    /// What went in.
    pub reading: WeightInput,
    /// The weight of a server that is like the others.
    pub base: f64,
    /// Room by exchanges in flight, exchanges begun, latency, load; 1 is average.
    pub ratios: [f64; 4],
    /// The ratios mixed by the proportions.
    pub factor: f64,
    /// Where the weight goes.
    pub target: f64,
    /// What was published before.
    pub before: u16,
    /// The level rounded: published if the change of all is large enough.
    pub wanted: u16,
    /// What is kept.
    pub kept: WeightState,
}

/// The weights of a pool's servers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeightAssignment {
    /// In the order of the readings.
    pub rows: Vec<WeightCalculation>,
    /// The change of the weights in percent of their sum.
    pub change: f64,
    /// The change exceeds the sensitivity: `kept.published` is the wanted weight, else the one published before.
    pub publish: bool,
}

/// Computes the weights of servers that take work. `before`: the state of each, `None` for a new one.
pub fn compute_weights(
    settings: &WeightControllerConfig,
    servers: &[(WeightInput, Option<WeightState>)],
) -> WeightAssignment {
    let servers: Vec<_> =
        servers.iter().map(|(reading, level)| (sanitize(reading), *level)).collect();
    let means = PoolMeans::from_servers(&servers);
    let largest = servers.iter().map(|(reading, _)| reading.configured).max().unwrap_or(1).max(1);
    let half = f64::from(settings.bound) / 2.0;
    let base = |reading: &WeightInput| f64::from(reading.configured) / f64::from(largest) * half;
    let bases: f64 = servers.iter().map(|(reading, _)| base(reading)).sum();
    let mut rows: Vec<WeightCalculation> = servers
        .iter()
        .map(|(reading, before)| {
            let base = base(reading);
            let ratios = means.ratios(reading, base / bases.max(f64::MIN_POSITIVE));
            let factor = mix_ratios(settings, ratios);
            let fresh = resume_state(settings, round_weight(base, settings.bound));
            let kept = before.unwrap_or(WeightState { level: base.max(1.0), ..fresh });
            let target = base * factor;
            let before = kept.published;
            let wanted = kept.published;
            WeightCalculation {
                reading: *reading,
                base,
                ratios,
                factor,
                target,
                before,
                wanted,
                kept,
            }
        })
        .collect();
    let targets: f64 = rows.iter().map(|row| row.target).sum();
    for row in &mut rows {
        let scaled = row.target * bases / targets.max(f64::MIN_POSITIVE);
        row.target = scaled.clamp(1.0, f64::from(settings.bound));
        row.kept = step_toward(settings, row.kept, row.target);
        row.wanted = round_weight(row.kept.level, settings.bound);
    }
    let change = weight_change_percent(&rows);
    let publish = change > f64::from(settings.sensitivity);
    if publish {
        rows.iter_mut().for_each(|row| row.kept.published = row.wanted);
    }
    WeightAssignment { rows, change, publish }
}

/// The state for a published weight from another process, or from other settings: the weight continues.
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
    fn from_servers(servers: &[(WeightInput, Option<WeightState>)]) -> PoolMeans {
        let readings = || servers.iter().map(|(reading, _)| reading);
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
        // One exchange a server is assumed, so that few exchanges move little.
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
        Some((weight, old)) if weight != before.published => {
            let seen = (old - target) / (published - f64::from(weight));
            seen.max(before.gain * GAIN_DECREASE).clamp(first, MAX_GAIN)
        }
        _ => first + (before.gain - first).max(0.0) * GAIN_DECAY,
    };
    let longest = (MAX_STEP * published).max(1.0);
    let way = ((target - published) / (1.0 + gain)).clamp(-longest, longest);
    // With more smoothing than the first gain gives, the level lags behind the way and never passes it.
    let lag = (1.0 + INITIAL_GAIN) * 100.0 / f64::from(settings.smoothing.max(100));
    let level = before.level + (published + way - before.level) * lag.min(1.0);
    let apart = target - published;
    let step = if apart.abs() < f64::EPSILON { 0.0 } else { (level - published) / apart };
    let last = Some((before.published, target));
    WeightState { level, step, gain, last, published: before.published }
}

/// The gain that the smoothing stands for, as far as it does not exceed the usual one.
fn first_gain(settings: &WeightControllerConfig) -> f64 {
    (f64::from(settings.smoothing.max(100)) / 100.0 - 1.0).min(INITIAL_GAIN)
}

/// Percent of the published sum by which the wanted weights differ.
fn weight_change_percent(rows: &[WeightCalculation]) -> f64 {
    let published: u64 = rows.iter().map(|row| u64::from(row.before)).sum();
    let moved: u64 = rows.iter().map(|row| u64::from(row.wanted.abs_diff(row.before))).sum();
    moved as f64 * 100.0 / published.max(1) as f64
}

/// Drops numbers that a counter cannot give.
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
