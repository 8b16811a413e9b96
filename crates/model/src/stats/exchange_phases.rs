//! Histograms of the phases of an exchange with a server.

use super::histogram::Histogram;

/// The phases of an exchange that have histograms.
#[derive(Debug, Default)]
pub struct ExchangePhaseHistograms {
    /// Waiting for a server below its connection limit.
    pub queue: Histogram,
    /// Connecting; 0 is not recorded for reused connections.
    pub connect: Histogram,
    /// From the request's last byte sent to the response's first.
    pub first_byte: Histogram,
    /// From the response's first byte to its last sent.
    pub transfer: Histogram,
    /// From the request's first byte to the response's last sent.
    pub total: Histogram,
}

impl ExchangePhaseHistograms {
    /// Names in the order of `all`.
    pub const NAMES: [&'static str; 5] = ["queue", "connect", "first-byte", "transfer", "total"];

    /// All, in the order of `NAMES`.
    pub fn all(&self) -> [&Histogram; 5] {
        [&self.queue, &self.connect, &self.first_byte, &self.transfer, &self.total]
    }
}
