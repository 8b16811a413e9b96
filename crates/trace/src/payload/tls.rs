//! TLS records: where application data begins, and which record is open (RFC 8446, 5.1). Nothing is decrypted.

use super::need::{DecodeStep, StreamBuffer};
use crate::bytes::u16_at;
use crate::ranges::OffsetRange;

/// The decoder state of one side.
#[derive(Clone, Debug, Default)]
pub struct TlsDecoder {
    first_data: Option<i64>,
    /// The record whose header was read last.
    last_record: Option<OffsetRange>,
    /// Headers are not found any more: bytes are missing, or they are not those of records.
    lost: bool,
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
        if self.lost {
            need.skip_to(i64::MAX / 2);
            return DecodeStep::Wait;
        }
        let step = self.read_header(need);
        if step == DecodeStep::Unreadable && self.first_data.is_some() {
            self.lose_records();
            return DecodeStep::Advanced;
        }
        step
    }

    fn read_header(&mut self, need: &mut StreamBuffer) -> DecodeStep {
        let bytes = need.bytes();
        if bytes.len() < HEADER {
            return need.wait_step();
        }
        let length = u16_at(bytes, 3, true);
        if !(20..=24).contains(&bytes[0]) || bytes[1] != 3 || length > MAX_RECORD {
            return DecodeStep::Unreadable;
        }
        let from = need.start();
        if bytes[0] == APPLICATION {
            self.first_data.get_or_insert(from);
        }
        let to = from + HEADER as i64 + i64::from(length);
        self.last_record = Some(OffsetRange { from, to });
        need.skip_to(to);
        DecodeStep::Advanced
    }

    /// From here on nothing is known of records.
    pub fn lose_records(&mut self) {
        self.lost = true;
        self.last_record = None;
    }

    /// The last record whose header was read; `None` too where records are not known.
    pub fn last_record(&self) -> Option<OffsetRange> {
        self.last_record
    }

    /// Offset of the first application data.
    pub fn first_data(&self) -> Option<i64> {
        self.first_data
    }
}
