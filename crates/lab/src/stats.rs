//! Statistics of few runs: medians, ranks, intervals. No function assumes normal noise unless its comment says so.
//!
//! Independent of what was measured.

pub mod family;
pub mod interval;
pub mod normal;
pub mod rank;
pub mod sample;
