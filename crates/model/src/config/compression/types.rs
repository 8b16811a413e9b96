//! The configuration of compressing answers.
//!
//! Which response is compressed is decided by `model::compression`.

use serde::Serialize;

/// Media types that are compressed unless others are written.
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

/// Compressing of answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CompressionConfig {
    /// Which codings, the one that is preferred first; default all, in this order: zstd, br, gzip.
    pub codings: Vec<ContentCoding>,
    /// Of which media types, lower case; `text/*` for all that begin so.
    pub types: Vec<String>,
    /// Bytes below which an answer of known length is left as it is; default 1 KiB.
    pub min: u64,
    /// Answers being compressed at a time, per worker; default 64.
    pub at_once: u32,
    /// A worker that was busy for more than this share of its time begins no more, percent; default 80.
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
    /// All, in the order of preference by default.
    pub const ALL: [ContentCoding; 3] =
        [ContentCoding::Zstd, ContentCoding::Br, ContentCoding::Gzip];

    /// Its name in Accept-Encoding and Content-Encoding.
    pub const fn name(self) -> &'static str {
        match self {
            ContentCoding::Zstd => "zstd",
            ContentCoding::Br => "br",
            ContentCoding::Gzip => "gzip",
        }
    }
}
