//! The simulated scenes: the servers of each, every policy, the loads.

use model::config::BalancePolicy;

pub struct PoolScene {
    /// The name in tables and plots.
    pub name: &'static str,
    /// Relative speed of each server; 1 is full speed.
    pub speeds: [f64; 10],
    /// The configured weights.
    pub weights: [u16; 10],
    /// The server that answers every request at once with an error.
    pub failing: Option<usize>,
}

pub const SCENES: [PoolScene; 4] = [
    PoolScene { name: "identical", speeds: [1.0; 10], weights: [1; 10], failing: None },
    PoolScene {
        name: "uneven",
        speeds: [1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25],
        weights: [4, 4, 4, 4, 2, 2, 2, 1, 1, 1],
        failing: None,
    },
    PoolScene {
        name: "one slow",
        speeds: [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0 / 3.0],
        weights: [1; 10],
        failing: None,
    },
    PoolScene { name: "one failing", speeds: [1.0; 10], weights: [1; 10], failing: Some(9) },
];

/// Every policy, as configured by default.
pub const POLICIES: [BalancePolicy; 12] = [
    BalancePolicy::LeastRequest,
    BalancePolicy::PeakEwma,
    BalancePolicy::Prequal,
    BalancePolicy::LeastConnections,
    BalancePolicy::RoundRobin,
    BalancePolicy::Random,
    BalancePolicy::Fastest,
    BalancePolicy::LeastBandwidth,
    BalancePolicy::LeastLoaded,
    BalancePolicy::BoundedHash { size: 16_381, load_factor: 125 },
    BalancePolicy::Maglev { size: 16_381 },
    BalancePolicy::Source { mask4: 32, mask6: 128 },
];

/// Arrivals, in percent of the capacity of working servers.
pub const LOADS: [u32; 5] = [70, 90, 100, 110, 130];

impl PoolScene {
    /// The capacity of its servers; 1 is one of full speed.
    pub fn capacity(&self) -> f64 {
        let able = self.speeds.iter().enumerate().filter(|(at, _)| self.failing != Some(*at));
        able.map(|(_, speed)| speed).sum()
    }
}
