//! The two views of time in reports.

use serde::Serialize;

use super::number::seconds;
use crate::judge::bands::Bands;

/// Where time went by. Sums to the total.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Location {
    /// While requests travelled, opening connections included.
    pub request: f64,
    /// While servers worked.
    pub server: f64,
    /// While answers travelled.
    pub response: f64,
}

/// Whose time it was. Sums to the total.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Owners {
    /// The client's.
    pub client: f64,
    /// The path's.
    pub network: f64,
    /// The server's.
    pub server: f64,
    /// The balancer's: only of captures of both of its sides.
    pub balancer: f64,
}

impl From<&Bands> for Location {
    fn from(bands: &Bands) -> Location {
        let [request, server, response] =
            [bands.request, bands.server, bands.response].map(seconds);
        Location { request, server, response }
    }
}

impl From<&Bands> for Owners {
    fn from(bands: &Bands) -> Owners {
        let [client, network, server, balancer] = bands.owners.map(seconds);
        Owners { client, network, server, balancer }
    }
}
