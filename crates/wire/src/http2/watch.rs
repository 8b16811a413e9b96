//! Frames of one direction of a connection (RFC 9113 §4.1) as they pass, told apart and not interpreted.
//!
//! Fed with whatever pieces the bytes come in; it keeps a frame's head and at most eight bytes of its payload. It
//! limits nothing and refuses nothing: whoever reads the frames does.

/// What a frame is (RFC 9113 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// DATA.
    Data,
    /// HEADERS.
    Headers,
    /// PRIORITY.
    Priority,
    /// RST_STREAM.
    Reset,
    /// SETTINGS.
    Settings,
    /// PUSH_PROMISE.
    Push,
    /// PING.
    Ping,
    /// GOAWAY.
    GoAway,
    /// WINDOW_UPDATE.
    Window,
    /// CONTINUATION.
    Continuation,
    /// Any other, which is to be ignored (RFC 9113 §5.5).
    Unknown,
}

/// A frame whose head has passed, and what its first bytes said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it is.
    pub kind: Kind,
    /// Its flags.
    pub flags: u8,
    /// Bytes of its payload.
    pub length: u32,
    /// Its stream.
    pub stream: u32,
    /// The error code of RST_STREAM and GOAWAY; 0 for others.
    pub code: u32,
}

impl Frame {
    /// DATA and HEADERS that end their stream.
    pub fn ends_stream(self) -> bool {
        matches!(self.kind, Kind::Data | Kind::Headers) && self.flags & 1 == 1
    }

    /// SETTINGS and PING that answer ours.
    pub fn acknowledges(self) -> bool {
        matches!(self.kind, Kind::Settings | Kind::Ping) && self.flags & 1 == 1
    }
}

/// Bytes of a frame's head.
const HEAD: usize = 9;
/// What of a payload is kept: the last stream and the code of GOAWAY.
const KEPT: usize = 8;
/// Bytes of what a client sends first (RFC 9113 §3.4).
const PREFACE: usize = 24;

/// One direction of a connection.
#[derive(Clone, Debug)]
pub struct Watch {
    preface: usize,
    kept: [u8; HEAD + KEPT],
    have: usize,
    /// Of a frame whose head has passed: payload that is still to come.
    left: usize,
    last: Kind,
    in_block: bool,
}

impl Watch {
    /// What a client sends: its preface first.
    pub fn of_client() -> Watch {
        Watch {
            preface: PREFACE,
            kept: [0; HEAD + KEPT],
            have: 0,
            left: 0,
            last: Kind::Unknown,
            in_block: false,
        }
    }

    /// What a server sends.
    pub fn of_server() -> Watch {
        Watch { preface: 0, ..Watch::of_client() }
    }

    /// Whether something other than a body is in the middle: HEADERS without its last CONTINUATION, the preface, or part
    /// of a frame that is not DATA.
    pub fn unfinished(&self) -> bool {
        let begun = self.preface > 0 && self.preface < PREFACE;
        begun || self.in_block || self.have > 0 || (self.left > 0 && self.last != Kind::Data)
    }

    /// Takes what passes and tells of every frame once what is kept of it is there.
    pub fn feed(&mut self, mut bytes: &[u8], mut tell: impl FnMut(Frame)) {
        let skipped = self.preface.min(bytes.len());
        self.preface -= skipped;
        bytes = &bytes[skipped..];
        while !bytes.is_empty() {
            if self.have == 0 && self.left > 0 {
                let skipped = self.left.min(bytes.len());
                self.left -= skipped;
                bytes = &bytes[skipped..];
                continue;
            }
            let wanted = self.wanted();
            let taken = (wanted - self.have).min(bytes.len());
            self.kept[self.have..self.have + taken].copy_from_slice(&bytes[..taken]);
            self.have += taken;
            bytes = &bytes[taken..];
            if self.have == self.wanted() {
                let frame = self.frame();
                self.left = (frame.length as usize + HEAD).saturating_sub(self.have);
                (self.have, self.last) = (0, frame.kind);
                match frame.kind {
                    Kind::Headers | Kind::Push | Kind::Continuation => {
                        self.in_block = frame.flags & 4 == 0
                    }
                    _ => {}
                }
                tell(frame);
            }
        }
    }

    /// Bytes to be kept of the frame that is coming.
    fn wanted(&self) -> usize {
        if self.have < HEAD {
            return HEAD;
        }
        match kind(self.kept[3]) {
            Kind::Reset | Kind::GoAway => HEAD + KEPT.min(self.length() as usize),
            _ => HEAD,
        }
    }

    fn length(&self) -> u32 {
        u32::from_be_bytes([0, self.kept[0], self.kept[1], self.kept[2]])
    }

    fn frame(&self) -> Frame {
        let word = |at: usize| {
            self.kept[at..at + 4].iter().fold(0, |word, &byte| word << 8 | u32::from(byte))
        };
        let kind = kind(self.kept[3]);
        let code = match kind {
            Kind::Reset if self.have >= HEAD + 4 => word(HEAD),
            Kind::GoAway if self.have >= HEAD + 8 => word(HEAD + 4),
            _ => 0,
        };
        let stream = word(5) & 0x7fff_ffff;
        Frame { kind, flags: self.kept[4], length: self.length(), stream, code }
    }
}

fn kind(byte: u8) -> Kind {
    match byte {
        0 => Kind::Data,
        1 => Kind::Headers,
        2 => Kind::Priority,
        3 => Kind::Reset,
        4 => Kind::Settings,
        5 => Kind::Push,
        6 => Kind::Ping,
        7 => Kind::GoAway,
        8 => Kind::Window,
        9 => Kind::Continuation,
        _ => Kind::Unknown,
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
    fn frames_are_told_however_their_bytes_come() {
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        bytes.extend(frame(4, 0, 0, &[0; 12]));
        bytes.extend(frame(1, 0, 1, b"head"));
        bytes.extend(frame(9, 4, 1, b"rest"));
        bytes.extend(frame(0, 1, 1, &[7; 100]));
        bytes.extend(frame(3, 0, 3, &[0, 0, 0, 8]));
        bytes.extend(frame(7, 0, 0, &[0, 0, 0, 9, 0, 0, 0, 11, b'x']));
        bytes.extend(frame(99, 0, 0, &[]));
        let mut whole = Vec::new();
        let mut watch = Watch::of_client();
        watch.feed(&bytes, |frame| whole.push(frame));
        assert!(!watch.unfinished());
        let kinds: Vec<Kind> = whole.iter().map(|frame| frame.kind).collect();
        use Kind::{Continuation, Data, GoAway, Headers, Reset, Settings, Unknown};
        assert_eq!(kinds, [Settings, Headers, Continuation, Data, Reset, GoAway, Unknown]);
        assert_eq!((whole[4].stream, whole[4].code), (3, 8));
        assert_eq!((whole[5].length, whole[5].code), (9, 11));
        assert!(whole[3].ends_stream());
        for size in 1..30 {
            let (mut pieces, mut watch) = (Vec::new(), Watch::of_client());
            for piece in bytes.chunks(size) {
                watch.feed(piece, |frame| pieces.push(frame));
            }
            assert_eq!(pieces, whole, "in pieces of {size}");
        }
    }

    #[test]
    fn what_is_not_whole_is_known() {
        let mut watch = Watch::of_server();
        watch.feed(&frame(1, 0, 1, b"head"), |_| {});
        assert!(watch.unfinished(), "a head waits for its continuation");
        watch.feed(&frame(9, 4, 1, b"rest"), |_| {});
        assert!(!watch.unfinished());
        watch.feed(&[0, 0], |_| {});
        assert!(watch.unfinished(), "two bytes of a frame's head");
    }

    #[test]
    fn short_payloads_have_no_code() {
        let mut told = Vec::new();
        Watch::of_server().feed(&frame(3, 0, 1, &[1]), |frame| told.push(frame.code));
        Watch::of_server().feed(&frame(7, 0, 1, &[]), |frame| told.push(frame.code));
        assert_eq!(told, [0, 0]);
    }
}
