//! The framing of a body that follows a head written as HTTP/1.1.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http1BodyFraming {
    None,
    /// The body's bytes alone, as many as Content-Length says.
    Length(u64),
    Chunked,
    /// The body's bytes alone until the stream ends: after an upgrade.
    Raw,
}
