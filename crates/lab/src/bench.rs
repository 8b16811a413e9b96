//! Benchmarks as users order them: what is asked, how often, and the result that is left.

pub mod drive;
mod heatmap;
pub mod http;
pub mod page;
pub mod rate_steps;
pub mod scenario;
pub mod stream;
mod surface;
pub mod url;
