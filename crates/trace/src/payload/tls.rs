//! TLS records: where application data begins (RFC 8446, 5.1). Nothing is decrypted.

use super::need::{DecodeStep, StreamBuffer};
use crate::bytes::u16_at;

/// The decoder state of one side.
#[derive(Clone, Debug, Default)]
pub struct TlsDecoder {
    first_data: Option<i64>,
}

/// Bytes of a record's header, and the type of application data in it (RFC 8446 §5.1).
const HEADER: usize = 5;
const APPLICATION: u8 = 23;
/// The longest record: 2^14 bytes, and the overhead of its protection (RFC 5246, 6.2.3).
const MAX_RECORD: u16 = (1 << 14) + 2_048;

/// Whether bytes begin with a handshake's record.
pub fn is_record(bytes: &[u8]) -> bool {
    bytes.len() >= HEADER && bytes[0] == 22 && bytes[1] == 3 && u16_at(bytes, 3, true) <= MAX_RECORD
}

/// Whether bytes begin with a record of application data.
pub fn is_application_data(bytes: &[u8]) -> bool {
    bytes.len() >= HEADER && bytes[0] == APPLICATION && bytes[1] == 3
}

impl TlsDecoder {
    /// Reads the next record's header.
    pub fn step(&mut self, need: &mut StreamBuffer) -> DecodeStep {
        // Records after the first application data have no effect here.
        if self.first_data.is_some() {
            need.skip_to(i64::MAX / 2);
            return DecodeStep::Wait;
        }
        let bytes = need.bytes();
        if bytes.len() < HEADER {
            return need.wait_step();
        }
        let length = u16_at(bytes, 3, true);
        if !(20..=24).contains(&bytes[0]) || bytes[1] != 3 || length > MAX_RECORD {
            return DecodeStep::Unreadable;
        }
        if bytes[0] == APPLICATION {
            self.first_data = Some(need.start());
        }
        let behind = need.start() + HEADER as i64 + i64::from(length);
        need.skip_to(behind);
        DecodeStep::Advanced
    }

    /// Offset of the first application data.
    pub fn first_data(&self) -> Option<i64> {
        self.first_data
    }
}
