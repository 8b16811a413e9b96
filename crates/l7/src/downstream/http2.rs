//! HTTP/2 towards clients.

pub(crate) mod downstream_stream;
pub(crate) mod request;
pub mod serve;
