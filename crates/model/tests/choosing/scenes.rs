//! What is simulated: the servers of each scene, every policy, the loads.

use model::config::Balance;

/// Ten servers.
pub struct Scene {
    /// Its name in tables and plots.
    pub name: &'static str,
    /// How fast each works; 1 is full speed.
    pub speeds: [f64; 10],
    /// What the configuration says of them.
    pub weights: [u16; 10],
    /// This one answers everything at once, with an error.
    pub failing: Option<usize>,
}

/// All of them.
pub const SCENES: [Scene; 4] = [
    Scene { name: "identical", speeds: [1.0; 10], weights: [1; 10], failing: None },
    Scene {
        name: "uneven",
        speeds: [1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25],
        weights: [4, 4, 4, 4, 2, 2, 2, 1, 1, 1],
        failing: None,
    },
    Scene {
        name: "one slow",
        speeds: [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0 / 3.0],
        weights: [1; 10],
        failing: None,
    },
    Scene { name: "one failing", speeds: [1.0; 10], weights: [1; 10], failing: Some(9) },
];

/// Every policy, as configured by default.
pub const POLICIES: [Balance; 12] = [
    Balance::LeastRequest,
    Balance::PeakEwma,
    Balance::Prequal,
    Balance::LeastConnections,
    Balance::RoundRobin,
    Balance::Random,
    Balance::Fastest,
    Balance::LeastBandwidth,
    Balance::LeastLoaded,
    Balance::BoundedHash { size: 16_381, load_factor: 125 },
    Balance::Maglev { size: 16_381 },
    Balance::Source { mask4: 32, mask6: 128 },
];

/// What arrives, in percent of what the servers that do their work can do.
pub const LOADS: [u32; 5] = [70, 90, 100, 110, 130];

impl Scene {
    /// What its servers can do together; 1 is one of full speed.
    pub fn capacity(&self) -> f64 {
        let able = self.speeds.iter().enumerate().filter(|(at, _)| self.failing != Some(*at));
        able.map(|(_, speed)| speed).sum()
    }
}
