//! Statistics of few runs: medians, ranks, intervals. Nothing here assumes that noise is normal unless it says so.
//!
//! It knows nothing of what was measured.

pub mod family;
pub mod interval;
pub mod normal;
pub mod rank;
pub mod sample;
