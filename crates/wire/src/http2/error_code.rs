//! Error codes of HTTP/2 (RFC 9113 §7), and a violation with the code that answers it.

use crate::http1::Defect;

/// The code of RST_STREAM and GOAWAY; unknown ones have no special meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    pub const NO_ERROR: ErrorCode = ErrorCode(0);
    pub const PROTOCOL_ERROR: ErrorCode = ErrorCode(1);
    pub const INTERNAL_ERROR: ErrorCode = ErrorCode(2);
    pub const FLOW_CONTROL_ERROR: ErrorCode = ErrorCode(3);
    pub const SETTINGS_TIMEOUT: ErrorCode = ErrorCode(4);
    pub const STREAM_CLOSED: ErrorCode = ErrorCode(5);
    pub const FRAME_SIZE_ERROR: ErrorCode = ErrorCode(6);
    pub const REFUSED_STREAM: ErrorCode = ErrorCode(7);
    pub const CANCEL: ErrorCode = ErrorCode(8);
    pub const COMPRESSION_ERROR: ErrorCode = ErrorCode(9);
    pub const CONNECT_ERROR: ErrorCode = ErrorCode(10);
    pub const ENHANCE_YOUR_CALM: ErrorCode = ErrorCode(11);
    pub const INADEQUATE_SECURITY: ErrorCode = ErrorCode(12);
    pub const HTTP_1_1_REQUIRED: ErrorCode = ErrorCode(13);

    /// The name of the RFC, in lower case.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 14] = [
            "no-error",
            "protocol-error",
            "internal-error",
            "flow-control-error",
            "settings-timeout",
            "stream-closed",
            "frame-size-error",
            "refused-stream",
            "cancel",
            "compression-error",
            "connect-error",
            "enhance-your-calm",
            "inadequate-security",
            "http-1-1-required",
        ];
        NAMES.get(self.0 as usize).copied().unwrap_or("unknown-code")
    }
}

/// What a violation ends, with the code that the peer gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameViolation {
    /// The connection ends (RFC 9113 §5.4.1).
    Connection(ErrorCode),
    /// One stream ends (RFC 9113 §5.4.2).
    Stream(StreamViolation),
}

/// A violation that ends one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamViolation {
    pub(super) stream: u32,
    pub(super) code: ErrorCode,
    pub(super) defect: Defect,
}

impl FrameViolation {
    pub(super) const PROTOCOL: FrameViolation =
        FrameViolation::Connection(ErrorCode::PROTOCOL_ERROR);
    pub(super) const FRAME_SIZE: FrameViolation =
        FrameViolation::Connection(ErrorCode::FRAME_SIZE_ERROR);
    pub(super) const FLOW_CONTROL: FrameViolation =
        FrameViolation::Connection(ErrorCode::FLOW_CONTROL_ERROR);
    pub(super) const STREAM_CLOSED: FrameViolation =
        FrameViolation::Connection(ErrorCode::STREAM_CLOSED);

    /// A violation of the protocol that ends one stream.
    pub(super) fn stream(stream: u32, code: ErrorCode) -> FrameViolation {
        let defect = Defect::Http2Protocol;
        FrameViolation::Stream(StreamViolation { stream, code, defect })
    }
}
