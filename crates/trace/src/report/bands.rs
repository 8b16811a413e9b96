//! The two views of time in reports.

use serde::Serialize;

use super::number::seconds;
use crate::attribution::bands::TimeBands;

/// Where time went by. Sums to the total.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TimeLocation {
    /// While requests travelled, opening connections included.
    pub request: f64,
    pub server: f64,
    pub response: f64,
}

/// Seconds by owner, which sum to the total.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TimeOwners {
    pub client: f64,
    pub network: f64,
    pub server: f64,
    /// The balancer's: only of captures of both of its sides.
    pub balancer: f64,
    /// Nobody's, because packets are missing in the capture.
    pub unknown: f64,
}

impl From<&TimeBands> for TimeLocation {
    fn from(bands: &TimeBands) -> TimeLocation {
        let [request, server, response] =
            [bands.request, bands.server, bands.response].map(seconds);
        TimeLocation { request, server, response }
    }
}

impl From<&TimeBands> for TimeOwners {
    fn from(bands: &TimeBands) -> TimeOwners {
        let [client, network, server, balancer] = bands.owners.map(seconds);
        TimeOwners { client, network, server, balancer, unknown: seconds(bands.unknown) }
    }
}
