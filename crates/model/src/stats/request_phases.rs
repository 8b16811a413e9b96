//! Times of a service before the response.

use super::histogram::Histogram;

/// The phases before the response. They are counted for services only, since no server is involved yet.
#[derive(Debug, Default)]
pub struct RequestPhaseHistograms {
    /// From accept(2) to the first handling of a connection.
    pub accept: Histogram,
    /// A client's TLS handshake.
    pub tls: Histogram,
    /// From a request's first byte to the end of its head.
    pub head: Histogram,
    /// From when a connection to a server exists to the last byte of the request sent.
    pub body_in: Histogram,
}

impl RequestPhaseHistograms {
    /// Names in the order of `all`.
    pub const NAMES: [&'static str; 4] = ["accept", "tls", "head", "body-in"];

    /// All, in the order of `NAMES`.
    pub fn all(&self) -> [&Histogram; 4] {
        [&self.accept, &self.tls, &self.head, &self.body_in]
    }
}
