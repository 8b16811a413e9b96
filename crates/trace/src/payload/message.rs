//! A message as far as its words told: where it begins and ends, and what it is. Plain data.

/// A message of HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpMessage {
    /// Offset of its first byte.
    pub from: i64,
    /// Offset behind its last byte; `None`: the end of the connection tells.
    pub to: Option<i64>,
    pub start: MessageStart,
}

/// What a head says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageStart {
    /// Method and target, shortened.
    Request(Box<str>),
    Status(u16),
}
