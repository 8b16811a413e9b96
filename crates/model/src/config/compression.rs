//! `compress` of a service.

mod build;
mod keys;
mod types;

pub(super) use build::build_compression;
pub(super) use keys::COMPRESS;
pub use types::{CompressionConfig, ContentCoding, DEFAULT_TYPES};
