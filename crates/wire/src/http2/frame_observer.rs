//! Observes the frames of one direction of an HTTP/2 connection (RFC 9113 §4.1) without interpreting their payload.
//!
//! The bytes may arrive in any pieces. The observer stores a frame's header and at most eight bytes of its payload. It
//! limits and rejects nothing: the HTTP/2 library does.

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

/// A frame whose header has been observed, with the error code from its first payload bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedFrame {
    pub kind: FrameType,
    pub flags: u8,
    /// Length of the payload in bytes.
    pub length: u32,
    pub stream: u32,
    /// The error code of RST_STREAM and GOAWAY; 0 for all others.
    pub code: u32,
}

impl ObservedFrame {
    /// Whether the frame is a DATA or HEADERS frame with END_STREAM.
    pub fn ends_stream(self) -> bool {
        matches!(self.kind, FrameType::Data | FrameType::Headers) && self.flags & 1 == 1
    }

    /// Whether the frame is a SETTINGS or PING frame with the ACK flag.
    pub fn acknowledges(self) -> bool {
        matches!(self.kind, FrameType::Settings | FrameType::Ping) && self.flags & 1 == 1
    }
}

/// Length of a frame header in bytes.
/// RFC 9113 §4.1.
const HEAD: usize = 9;
/// Payload bytes that are stored: the last stream id and the error code of GOAWAY.
/// RFC 9113 §6.8.
const CAPTURED_PAYLOAD: usize = 8;
/// Length of the client connection preface in bytes (RFC 9113 §3.4).
const PREFACE: usize = 24;

/// The observer of one direction of a connection.
#[derive(Clone, Debug)]
pub struct FrameObserver {
    preface: usize,
    header_bytes: [u8; HEAD + CAPTURED_PAYLOAD],
    header_length: usize,
    /// Payload bytes of the current frame that are still to come.
    payload_left: usize,
    last: FrameType,
    in_block: bool,
}

impl FrameObserver {
    /// Observes a client's bytes, which start with the connection preface.
    pub fn for_client() -> FrameObserver {
        FrameObserver {
            preface: PREFACE,
            header_bytes: [0; HEAD + CAPTURED_PAYLOAD],
            header_length: 0,
            payload_left: 0,
            last: FrameType::Unknown,
            in_block: false,
        }
    }

    /// Observes a server's bytes.
    pub fn for_server() -> FrameObserver {
        FrameObserver { preface: 0, ..FrameObserver::for_client() }
    }

    /// Whether the observed bytes end inside something other than a body: a header block without its last CONTINUATION,
    /// the preface, or part of a frame other than DATA.
    pub fn is_mid_frame(&self) -> bool {
        let begun = self.preface > 0 && self.preface < PREFACE;
        begun
            || self.in_block
            || self.header_length > 0
            || (self.payload_left > 0 && self.last != FrameType::Data)
    }

    /// Consumes `bytes` and reports every frame once its stored bytes are complete.
    pub fn feed(&mut self, mut bytes: &[u8], mut tell: impl FnMut(ObservedFrame)) {
        let skipped = self.preface.min(bytes.len());
        self.preface -= skipped;
        bytes = &bytes[skipped..];
        while !bytes.is_empty() {
            if self.header_length == 0 && self.payload_left > 0 {
                let skipped = self.payload_left.min(bytes.len());
                self.payload_left -= skipped;
                bytes = &bytes[skipped..];
                continue;
            }
            let wanted = self.wanted_bytes();
            let taken = (wanted - self.header_length).min(bytes.len());
            self.header_bytes[self.header_length..self.header_length + taken]
                .copy_from_slice(&bytes[..taken]);
            self.header_length += taken;
            bytes = &bytes[taken..];
            if self.header_length == self.wanted_bytes() {
                let frame = self.frame();
                self.payload_left =
                    (frame.length as usize + HEAD).saturating_sub(self.header_length);
                self.header_length = 0;
                self.last = frame.kind;
                match frame.kind {
                    FrameType::Headers | FrameType::Push | FrameType::Continuation => {
                        self.in_block = frame.flags & 4 == 0
                    }
                    _ => {}
                }
                tell(frame);
            }
        }
    }

    /// Number of bytes to store of the current frame.
    fn wanted_bytes(&self) -> usize {
        if self.header_length < HEAD {
            return HEAD;
        }
        match FrameType::from_byte(self.header_bytes[3]) {
            FrameType::Reset | FrameType::GoAway => {
                HEAD + CAPTURED_PAYLOAD.min(self.length() as usize)
            }
            _ => HEAD,
        }
    }

    fn length(&self) -> u32 {
        u32::from_be_bytes([0, self.header_bytes[0], self.header_bytes[1], self.header_bytes[2]])
    }

    fn frame(&self) -> ObservedFrame {
        let word = |at: usize| {
            self.header_bytes[at..at + 4].iter().fold(0, |word, &byte| word << 8 | u32::from(byte))
        };
        let kind = FrameType::from_byte(self.header_bytes[3]);
        let code = match kind {
            FrameType::Reset if self.header_length >= HEAD + 4 => word(HEAD),
            FrameType::GoAway if self.header_length >= HEAD + 8 => word(HEAD + 4),
            _ => 0,
        };
        let stream = word(5) & 0x7fff_ffff;
        ObservedFrame { kind, flags: self.header_bytes[4], length: self.length(), stream, code }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut out = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        out.extend([kind, flags]);
        out.extend(stream.to_be_bytes());
        out.extend(payload);
        out
    }

    #[test]
    fn frames_are_read_however_their_bytes_come() {
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        bytes.extend(frame(4, 0, 0, &[0; 12]));
        bytes.extend(frame(1, 0, 1, b"head"));
        bytes.extend(frame(9, 4, 1, b"rest"));
        bytes.extend(frame(0, 1, 1, &[7; 100]));
        bytes.extend(frame(3, 0, 3, &[0, 0, 0, 8]));
        bytes.extend(frame(7, 0, 0, &[0, 0, 0, 9, 0, 0, 0, 11, b'x']));
        bytes.extend(frame(99, 0, 0, &[]));
        let mut whole = Vec::new();
        let mut watch = FrameObserver::for_client();
        watch.feed(&bytes, |frame| whole.push(frame));
        assert!(!watch.is_mid_frame());
        let kinds: Vec<FrameType> = whole.iter().map(|frame| frame.kind).collect();
        use FrameType::{Continuation, Data, GoAway, Headers, Reset, Settings, Unknown};
        assert_eq!(kinds, [Settings, Headers, Continuation, Data, Reset, GoAway, Unknown]);
        assert_eq!((whole[4].stream, whole[4].code), (3, 8));
        assert_eq!((whole[5].length, whole[5].code), (9, 11));
        assert!(whole[3].ends_stream());
        for size in 1..30 {
            let mut pieces = Vec::new();
            let mut watch = FrameObserver::for_client();
            for piece in bytes.chunks(size) {
                watch.feed(piece, |frame| pieces.push(frame));
            }
            assert_eq!(pieces, whole, "in pieces of {size}");
        }
    }

    #[test]
    fn what_is_not_whole_is_known() {
        let mut watch = FrameObserver::for_server();
        watch.feed(&frame(1, 0, 1, b"head"), |_| {});
        assert!(watch.is_mid_frame(), "a head waits for its continuation");
        watch.feed(&frame(9, 4, 1, b"rest"), |_| {});
        assert!(!watch.is_mid_frame());
        watch.feed(&[0, 0], |_| {});
        assert!(watch.is_mid_frame(), "two bytes of a frame's head");
    }

    #[test]
    fn short_payloads_have_no_code() {
        let mut told = Vec::new();
        FrameObserver::for_server().feed(&frame(3, 0, 1, &[1]), |frame| told.push(frame.code));
        FrameObserver::for_server().feed(&frame(7, 0, 1, &[]), |frame| told.push(frame.code));
        assert_eq!(told, [0, 0]);
    }
}
