//! A transaction through one balancer, as it was measured.

use std::time::Duration;

use model::config::unit::ByteSize;

use super::transaction_trace::TransactionTrace;
use crate::study::parameter::Parameters;

/// A transaction through one balancer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TransactionCase {
    pub name: String,
    /// The balancer's send buffer; `None`: as the kernel does it.
    pub buffer: Option<u64>,
    /// Whether its window scale is broken on the way.
    pub broken: bool,
    /// How long it took by the client's clock, seconds.
    pub took: f64,
    /// What its packets show.
    pub trace: TransactionTrace,
}

/// What a case is called.
pub fn case_name(buffer: Option<u64>, broken: bool) -> String {
    let buffer = buffer
        .map_or_else(|| "send buffer auto".to_owned(), |n| format!("send buffer {}", ByteSize(n)));
    if broken { format!("{buffer}, window scale broken") } else { buffer }
}

/// The round trip that was asked for.
pub fn requested_round_trip(parameters: &Parameters) -> Duration {
    parameters.time("delay") * 2
}
