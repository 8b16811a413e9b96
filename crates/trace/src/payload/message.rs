//! A decoded message: where it begins and ends, and its kind. Plain data.

/// A message of HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpMessage {
    /// Offset of its first byte.
    pub from: i64,
    /// Offset behind its last byte; `None`: it ends with the connection.
    pub to: Option<i64>,
    pub start: MessageStart,
}

/// The kind of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageStart {
    /// Method and target, shortened.
    Request(Box<str>),
    Status(u16),
}
