//! The weight controller: rows of its calculation, and simulations in which its weights affect its inputs.

#![allow(clippy::unwrap_used, reason = "a test says what it expected and stops")]

use std::time::Duration;

use model::config::WeightControllerConfig;
use model::load_balancing::Rng;
use model::weight_controller::{
    WeighedServer, WeightInput, WeightState, compute_weights, resume_state,
};

const DEFAULT: WeightControllerConfig = WeightControllerConfig {
    active: 50,
    new: 50,
    latency: 0,
    agent: 0,
    every: Duration::from_secs(2),
    sensitivity: 5,
    smoothing: 150,
    bound: 20,
};

fn says(active: u8, new: u8, latency: u8, agent: u8) -> WeightControllerConfig {
    WeightControllerConfig { active, new, latency, agent, ..DEFAULT }
}

fn reading(configured: u16, active: f64, new: f64) -> WeightInput {
    WeightInput { configured, active, new, ..WeightInput::default() }
}

fn fresh(input: WeightInput) -> WeighedServer {
    WeighedServer { input, state: None }
}

fn level(published: u16) -> Option<WeightState> {
    Some(resume_state(&DEFAULT, published))
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.01
}

// Rows: I09
#[test]
fn servers_alike_have_half_the_bound() {
    let alike = [fresh(reading(1, 8.0, 100.0)); 3];
    let judgement = compute_weights(&DEFAULT, &alike);
    for row in &judgement.rows {
        assert_eq!((row.rounded, row.state.published), (10, 10));
        assert_eq!(row.ratios, [1.0; 4]);
        assert!(close(row.target, 10.0));
    }
    assert!(!judgement.publish, "nothing changed");
}

#[test]
fn configured_weights_are_what_is_compared_with() {
    let fitting = [fresh(reading(3, 30.0, 300.0)), fresh(reading(1, 10.0, 100.0))];
    let judgement = compute_weights(&DEFAULT, &fitting);
    assert!(close(judgement.rows[0].base, 10.0) && close(judgement.rows[1].base, 10.0 / 3.0));
    assert!(judgement.rows.iter().all(|row| close(row.factor, 1.0)), "{judgement:?}");
    assert_eq!(judgement.rows.iter().map(|row| row.rounded).collect::<Vec<_>>(), [10, 3]);
}

// Rows: I10
#[test]
fn rows_of_the_arithmetic() {
    // 18 in flight at one server, none at the other. With one assumed per server: 19/20 and 1/20 of all, base share
    // 1/2.
    let judgement = compute_weights(
        &says(100, 0, 0, 0),
        &[fresh(reading(1, 18.0, 0.0)), fresh(reading(1, 0.0, 0.0))],
    );
    let [busy, idle] = &judgement.rows[..] else { panic!() };
    assert!(
        close(busy.ratios[0], (10.0f64 / 19.0).sqrt()) && close(idle.ratios[0], 2.0),
        "{judgement:?}"
    );
    let root = (10.0f64 / 19.0).sqrt();
    let targets = 10.0 * (root + 2.0);
    assert!(close(busy.target, 10.0 * root * 20.0 / targets));
    assert!(close(busy.state.level, 7.0), "a step is three tenths of the weight at most");
    assert!(close(idle.state.level, 13.0), "{idle:?}");
    let closer = compute_weights(
        &says(100, 0, 0, 0),
        &[fresh(reading(1, 9.0, 0.0)), fresh(reading(1, 7.0, 0.0))],
    );
    let row = &closer.rows[0];
    assert!(close(row.state.level, 10.0 + (row.target - 10.0) / 1.5), "two thirds of the way");

    let latency = |millis: f64| WeightInput {
        configured: 1,
        latency_ms: Some(millis),
        ..WeightInput::default()
    };
    let rows =
        compute_weights(&says(0, 0, 100, 0), &[fresh(latency(9.0)), fresh(latency(29.0))]).rows;
    assert!(
        close(rows[0].ratios[2], 2.0f64.sqrt()) && close(rows[1].ratios[2], (2.0f64 / 3.0).sqrt())
    );

    let load =
        |load: f64| WeightInput { configured: 1, load: Some(load), ..WeightInput::default() };
    let rows = compute_weights(&says(0, 0, 0, 100), &[fresh(load(0.05)), fresh(load(0.85))]).rows;
    assert!(
        close(rows[0].ratios[3], (1.0f64 / 0.6).sqrt())
            && close(rows[1].ratios[3], (0.2f64 / 0.6).sqrt()),
        "{rows:?}"
    );
}

#[test]
fn what_is_not_known_is_average() {
    let known = WeightInput {
        configured: 1,
        latency_ms: Some(5.0),
        load: Some(0.9),
        ..WeightInput::default()
    };
    let unknown = WeightInput { configured: 1, ..WeightInput::default() };
    let rows = compute_weights(&says(0, 0, 50, 50), &[fresh(known), fresh(unknown)]).rows;
    assert!(rows.iter().all(|row| row.rounded == 10), "{rows:?}");
}

// Rows: I11
#[test]
fn a_change_must_exceed_the_sensitivity() {
    // Sums of 100, so that per cent are units: a change of 5 is not published, one of 6 is.
    let scale = WeightControllerConfig { bound: 200, smoothing: 100, ..says(0, 0, 100, 0) };
    let resumed = |published| WeighedServer {
        input: reading(1, 0.0, 0.0),
        state: Some(resume_state(&scale, published)),
    };
    for (published, want) in [(95, false), (94, true)] {
        // Alone, a server's target is its base, 100.
        let judgement = compute_weights(&scale, &[resumed(published)]);
        let moved = f64::from(100 - published) * 100.0 / f64::from(published);
        assert!(close(judgement.change, moved));
        assert_eq!(judgement.publish, moved > 5.0);
        assert_eq!(judgement.publish, want || moved > 5.0);
    }
    let alone = |published| compute_weights(&scale, &[resumed(published)]);
    assert!(!alone(100).publish);
    assert!(!alone(105).publish, "105 is 4.8 % away from where it goes");
    assert!(alone(106).publish);
}

#[test]
fn what_is_not_published_does_not_add_up() {
    let settings = says(0, 100, 0, 0);
    let mut states = [None; 4];
    // One server has slightly more load: the rounded change always stays below the sensitivity.
    for _ in 0..100 {
        let servers = [0, 1, 2, 3].map(|at| WeighedServer {
            input: reading(1, 0.0, if at == 0 { 90.0 } else { 100.0 }),
            state: states[at],
        });
        let judgement = compute_weights(&settings, &servers);
        assert!(!judgement.publish, "{judgement:?}");
        judgement.rows.iter().enumerate().for_each(|(at, row)| states[at] = Some(row.state));
    }
}

#[test]
fn more_smoothing_is_slower_and_gets_there() {
    let after = |smoothing: u16, intervals: usize| {
        let settings = WeightControllerConfig { smoothing, ..says(0, 0, 0, 100) };
        let mut world = FluidPool::new(&[100.0, 50.0], None);
        world.arriving = 60.0;
        world.run(&settings, intervals)[intervals - 1][1]
    };
    let quick = after(100, 2);
    let slow = after(800, 2);
    assert!(quick < slow, "{quick} {slow}");
    assert!(after(800, 60).abs_diff(after(150, 60)) <= 1);
}

// Rows: I09
#[test]
fn it_never_gives_zero_and_never_more_than_the_bound() {
    let strange = [f64::NAN, -5.0, 0.0, 1e300, f64::INFINITY];
    let mut rng = Rng::new(5);
    for _ in 0..2000 {
        let mut odd = |normal: f64| match rng.below(12) {
            at @ 0..5 => strange[at as usize],
            _ => rng.below(100) as f64 * normal,
        };
        let servers: Vec<WeighedServer> = (0..5)
            .map(|at| {
                let reading = WeightInput {
                    configured: 1 + at,
                    active: odd(1.0),
                    new: odd(10.0),
                    latency_ms: Some(odd(1.0)).filter(|_| at != 1),
                    load: Some(odd(0.01)).filter(|_| at != 2),
                };
                WeighedServer { input: reading, state: level(7).filter(|_| at != 3) }
            })
            .collect();
        for row in compute_weights(&says(25, 25, 25, 25), &servers).rows {
            assert!((1..=20).contains(&row.rounded), "{row:?}");
            assert!(row.state.level.is_finite() && row.state.step.is_finite(), "{row:?}");
            assert!((0.0..=40.0).contains(&row.state.gain), "{row:?}");
        }
    }
}

/// A pool as a fluid model: the controller's inputs follow from the weights that it set.
struct FluidPool {
    /// Exchanges that each server can process in an interval.
    speeds: Vec<f64>,
    /// Exchanges that arrive in an interval.
    arriving: f64,
    backlog: Vec<f64>,
    /// The longest queue of a server, in intervals of its work: what connection limits allow.
    most_waiting: f64,
    weights: Vec<u16>,
    previous: Vec<Option<WeightState>>,
    rng: Option<Rng>,
}

impl FluidPool {
    fn new(speeds: &[f64], rng: Option<Rng>) -> FluidPool {
        let count = speeds.len();
        FluidPool {
            speeds: speeds.to_vec(),
            arriving: 0.0,
            backlog: vec![0.0; count],
            most_waiting: f64::INFINITY,
            weights: vec![10; count],
            previous: vec![None; count],
            rng,
        }
    }

    fn interval(&mut self, settings: &WeightControllerConfig) {
        let sum: f64 = self.weights.iter().map(|weight| f64::from(*weight)).sum();
        let servers: Vec<_> = (0..self.speeds.len())
            .map(|at| {
                let mut new = self.arriving * f64::from(self.weights[at]) / sum;
                if let Some(rng) = &mut self.rng {
                    // Approximately Poisson: the sum of uniform draws has its variance.
                    let draws = (0..12)
                        .map(|_| rng.below(1 << 20) as f64 / f64::from(1 << 20))
                        .sum::<f64>();
                    new = (new + (draws - 6.0) * new.sqrt()).max(0.0);
                }
                let speed = self.speeds[at];
                let busy = new / speed;
                let waiting = (self.backlog[at] + new - speed).max(0.0);
                self.backlog[at] = waiting.min(self.most_waiting * speed);
                // A full server works on a hundredth of its speed at once; further exchanges queue.
                let queued = busy.min(0.98) / (1.0 - busy.min(0.98));
                let active =
                    queued.min(speed / 4.0) + busy.min(1.0) * speed / 100.0 + self.backlog[at];
                let latency_ms = Some(20.0 * 100.0 / speed * (1.0 + queued));
                let load = Some(busy.min(1.0));
                WeighedServer {
                    input: WeightInput { configured: 1, active, new, latency_ms, load },
                    state: self.previous[at],
                }
            })
            .collect();
        let judgement = compute_weights(settings, &servers);
        for (at, row) in judgement.rows.iter().enumerate() {
            self.previous[at] = Some(row.state);
            self.weights[at] = row.state.published;
        }
    }

    /// The weights after each interval.
    fn run(&mut self, settings: &WeightControllerConfig, intervals: usize) -> Vec<Vec<u16>> {
        (0..intervals)
            .map(|_| {
                self.interval(settings);
                self.weights.clone()
            })
            .collect()
    }
}

/// How often a server's weight passes its steady value. A difference of one is rounding and ignored.
fn crossings(weights: &[u16], steady: u16) -> usize {
    let sides =
        weights.iter().filter(|weight| weight.abs_diff(steady) > 1).map(|weight| *weight > steady);
    let sides: Vec<bool> = sides.collect();
    sides.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// Proportions in which no measure that diverges near the limit is alone.
const MIXES: [(u8, u8, u8, u8); 4] =
    [(50, 50, 0, 0), (0, 100, 0, 0), (25, 25, 50, 0), (25, 25, 0, 50)];

#[test]
fn after_a_step_in_load_weights_settle_within_ten_intervals_without_swinging() {
    for speeds in
        [vec![100.0; 3], vec![100.0, 100.0, 50.0], vec![100.0, 20.0], vec![100.0, 80.0, 60.0, 40.0]]
    {
        let capacity: f64 = speeds.iter().sum();
        for mix in MIXES {
            let settings = says(mix.0, mix.1, mix.2, mix.3);
            for (low, high) in [(0.2, 0.6), (0.3, 0.85), (0.8, 0.3)] {
                let mut world = FluidPool::new(&speeds, None);
                world.arriving = capacity * low;
                world.run(&settings, 40);
                world.arriving = capacity * high;
                let seen = world.run(&settings, 60);
                let steady = &seen[59];
                for server in 0..speeds.len() {
                    let of: Vec<u16> = seen.iter().map(|weights| weights[server]).collect();
                    let case = format!("{speeds:?} {mix:?} {low}→{high} server {server}: {of:?}");
                    assert!(
                        of[10..].iter().all(|weight| weight.abs_diff(steady[server]) <= 1),
                        "{case}"
                    );
                    assert!(crossings(&of, steady[server]) <= 2, "{case}");
                }
            }
        }
    }
}

/// For any proportions, servers and step: after ten calculations every weight is within a tenth of the bound of its
/// steady value. None has passed that value more than twice.
#[test]
fn no_proportions_make_weights_swing() {
    let speeds = [100.0, 100.0, 80.0, 60.0, 50.0, 40.0, 20.0];
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let mut draw = |below: u64| rng.below(below);
        let count = 2 + draw(5);
        let speeds: Vec<f64> = (0..count).map(|_| speeds[draw(7) as usize]).collect();
        let mut cuts = [draw(21) as u8 * 5, draw(21) as u8 * 5, draw(21) as u8 * 5];
        cuts.sort_unstable();
        let settings = says(cuts[0], cuts[1] - cuts[0], cuts[2] - cuts[1], 100 - cuts[2]);
        let capacity: f64 = speeds.iter().sum();
        let mut load = || (10 + draw(89)) as f64 / 100.0;
        let low = load();
        let high = load();
        let mut world = FluidPool::new(&speeds, None);
        world.most_waiting = 0.5;
        world.arriving = capacity * low;
        world.run(&settings, 40);
        world.arriving = capacity * high;
        let seen = world.run(&settings, 60);
        for server in 0..speeds.len() {
            let of: Vec<u16> = seen.iter().map(|weights| weights[server]).collect();
            let steady = of[59];
            let case =
                format!("seed {seed}: {speeds:?} {settings:?} {low}→{high} {server}: {of:?}");
            assert!(of[10..].iter().all(|weight| weight.abs_diff(steady) <= 2), "{case}");
            assert!(crossings(&of, steady) <= 2, "{case}");
        }
    }
}

#[test]
fn a_server_that_slows_down_loses_weight_and_gets_it_back() {
    for mix in [(50, 50, 0, 0), (25, 25, 50, 0), (25, 25, 0, 50)] {
        let settings = says(mix.0, mix.1, mix.2, mix.3);
        let mut world = FluidPool::new(&[100.0; 4], None);
        world.arriving = 200.0;
        assert_eq!(world.run(&settings, 20)[19], [10; 4]);
        world.speeds[2] = 40.0;
        let slow = world.run(&settings, 20)[19].clone();
        assert!(slow[2] + 2 <= slow[0], "{mix:?}: {slow:?}");
        world.speeds[2] = 100.0;
        let settled = world.run(&settings, 20)[19].clone();
        assert!(settled.iter().all(|weight| weight.abs_diff(10) <= 1), "{mix:?}: {settled:?}");
    }
}

#[test]
fn noise_does_not_make_it_swing() {
    for seed in 0..8 {
        let mut world = FluidPool::new(&[400.0; 5], Some(Rng::new(seed)));
        world.arriving = 1200.0;
        let seen = world.run(&DEFAULT, 200);
        let all = seen[20..].iter().flatten();
        let low = all.clone().min().unwrap();
        let high = all.max().unwrap();
        assert!(*low >= 8 && *high <= 12, "seed {seed}: {low} to {high}");
    }
}

#[test]
fn what_was_published_goes_on_after_a_restart() {
    let mut world = FluidPool::new(&[100.0, 100.0, 30.0], None);
    world.arriving = 150.0;
    let steady = world.run(&DEFAULT, 40)[39].clone();
    world.previous = steady.iter().map(|weight| Some(resume_state(&DEFAULT, *weight))).collect();
    let after = world.run(&DEFAULT, 5);
    for weights in &after {
        assert!(
            weights.iter().zip(&steady).all(|(a, b)| a.abs_diff(*b) <= 1),
            "{steady:?} {after:?}"
        );
    }
}
