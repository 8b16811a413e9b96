//! The types of HTTP/2 frames, by their numbers.

/// The frame types of RFC 9113 §6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameType {
    Data,
    Headers,
    Priority,
    Reset,
    Settings,
    Push,
    Ping,
    GoAway,
    Window,
    Continuation,
    /// PRIORITY_UPDATE (RFC 9218 §7.1).
    PriorityUpdate,
    /// Any other type, which must be ignored (RFC 9113 §5.5).
    Unknown,
}

impl FrameType {
    /// The type with this number.
    pub(super) fn from_byte(byte: u8) -> FrameType {
        match byte {
            0 => FrameType::Data,
            1 => FrameType::Headers,
            2 => FrameType::Priority,
            3 => FrameType::Reset,
            4 => FrameType::Settings,
            5 => FrameType::Push,
            6 => FrameType::Ping,
            7 => FrameType::GoAway,
            8 => FrameType::Window,
            9 => FrameType::Continuation,
            16 => FrameType::PriorityUpdate,
            _ => FrameType::Unknown,
        }
    }
}
