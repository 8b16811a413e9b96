//! Benchmarks as users order them: what is asked, how often, and the result that is left.

pub mod drive;
mod heat;
pub mod http;
pub mod pace;
pub mod page;
pub mod scenario;
pub mod stream;
mod surface;
pub mod url;
