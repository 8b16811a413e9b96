//! How the body is written that follows a head which was written as HTTP/1.1. It writes none.

/// How the body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http1BodyFraming {
    None,
    /// Its bytes alone, as many as Content-Length says.
    Length(u64),
    Chunked,
    /// Its bytes alone until the stream ends: after an upgrade.
    Raw,
}
