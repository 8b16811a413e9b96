//! Benchmarks as users run them: the requests, the repeats, and the result file.

pub mod drive;
mod heatmap;
pub mod http;
pub mod http_search;
pub mod page;
pub mod rate_steps;
pub mod scenario;
pub mod stream;
mod surface;
pub mod url;
