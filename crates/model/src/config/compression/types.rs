//! The checked configuration of response compression.
//!
//! `model::compression` decides which response is compressed.

use serde::Serialize;

/// The default media types for compression.
pub const DEFAULT_TYPES: [&str; 11] = [
    "text/*",
    "application/json",
    "application/javascript",
    "application/xml",
    "application/xhtml+xml",
    "application/rss+xml",
    "application/atom+xml",
    "application/ld+json",
    "application/manifest+json",
    "application/wasm",
    "image/svg+xml",
];

/// Compression of responses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CompressionConfig {
    /// Content codings in order of preference; default all, in this order: zstd, br, gzip.
    pub codings: Vec<ContentCoding>,
    /// Media types, lower case; `text/*` matches all that begin with `text/`.
    pub types: Vec<String>,
    /// Responses of known length below this size are not compressed; default 1 KiB.
    pub min: u64,
    /// Limit for concurrent compressions per worker; default 64.
    pub at_once: u32,
    /// A worker that was busy for more than this share of its time starts no compression, percent; default 80.
    pub busy: u8,
}

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContentCoding {
    /// Zstandard (RFC 8878).
    Zstd,
    /// Brotli (RFC 7932).
    Br,
    /// GZIP (RFC 1952).
    Gzip,
}

impl ContentCoding {
    /// All codings in the default order of preference.
    pub const ALL: [ContentCoding; 3] =
        [ContentCoding::Zstd, ContentCoding::Br, ContentCoding::Gzip];

    /// The name in Accept-Encoding and Content-Encoding.
    pub const fn name(self) -> &'static str {
        match self {
            ContentCoding::Zstd => "zstd",
            ContentCoding::Br => "br",
            ContentCoding::Gzip => "gzip",
        }
    }
}
