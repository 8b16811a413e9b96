//! A measured transaction through one balancer.

use std::time::Duration;

use model::config::unit::ByteSize;

use super::transaction_trace::TransactionTrace;
use crate::study::parameter::Parameters;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TransactionCase {
    pub name: String,
    /// The balancer's send buffer; `None`: the kernel chooses.
    pub buffer: Option<u64>,
    /// Whether the path breaks its window scale.
    pub broken: bool,
    /// Duration by the client's clock, seconds.
    pub took: f64,
    pub trace: TransactionTrace,
}

/// The name of a case.
pub fn case_name(buffer: Option<u64>, broken: bool) -> String {
    let buffer = buffer
        .map_or_else(|| "send buffer auto".to_owned(), |n| format!("send buffer {}", ByteSize(n)));
    if broken { format!("{buffer}, window scale broken") } else { buffer }
}

/// The round trip that the parameters request.
pub fn requested_round_trip(parameters: &Parameters) -> Duration {
    parameters.time("delay") * 2
}
