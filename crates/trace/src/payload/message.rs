//! A decoded message: where it begins and ends, and its kind. Plain data.

/// A message of HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpMessage {
    /// Offset of its first byte.
    pub from: i64,
    /// The offset after the last byte. `None` if the message ends with the connection.
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
