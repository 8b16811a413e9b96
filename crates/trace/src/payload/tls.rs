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
    sealed: SealedRun,
    /// Headers are not found any more: bytes are missing, or they are not those of records.
    lost: bool,
}

/// Records of application data behind the handshake's. With TLS 1.3 the lengths of the first ones tell what they are.
#[derive(Clone, Debug, Default)]
struct SealedRun {
    /// Offset from which on they count.
    from: Option<i64>,
    /// The first one's bytes.
    first: Option<u16>,
    /// How many at the beginning are alike, and short.
    alike: u32,
    /// Offset behind those.
    alike_to: i64,
    /// Another one followed.
    is_over: bool,
    /// The client's Finished was among them, and more behind it.
    is_finished: bool,
    has_more: bool,
}

/// Bytes of a record's header, and the type of application data in it (RFC 8446 §5.1).
const HEADER: usize = 5;
const APPLICATION: u8 = 23;
/// The longest record: 2^14 bytes, and the overhead of its protection (RFC 5246, 6.2.3).
const MAX_RECORD: u16 = (1 << 14) + 2_048;
/// Bytes of an encrypted alert: two, the type and the tag (RFC 8446, 5.2 and 6).
const SEALED_ALERT: u16 = 19;
/// Bytes of an encrypted Finished, with a hash of 32 or of 48 bytes (RFC 8446, 4.4.4).
const SEALED_FINISHED: [u16; 2] = [53, 69];
/// Bytes of an encrypted session ticket. Servers send several of one length, without being asked (RFC 8446, 4.6.1).
const TICKET: std::ops::RangeInclusive<u16> = 64..=1_024;

/// Whether bytes begin with a handshake's record.
pub fn is_record(bytes: &[u8]) -> bool {
    bytes.len() >= HEADER && bytes[0] == 22 && bytes[1] == 3 && u16_at(bytes, 3, true) <= MAX_RECORD
}

/// Whether bytes begin with a record of application data.
pub fn is_application_data(bytes: &[u8]) -> bool {
    bytes.len() >= HEADER && bytes[0] == APPLICATION && bytes[1] == 3
}

/// Whether bytes begin with no record at all.
pub fn is_other(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| !(20..=24).contains(first))
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
        let to = from + HEADER as i64 + i64::from(length);
        if bytes[0] == APPLICATION {
            self.first_data.get_or_insert(from);
            self.sealed.note_record(length, to);
        }
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

    /// What follows is behind the handshake of TLS 1.3.
    pub fn begin_sealed(&mut self, from: i64) {
        self.sealed = SealedRun { from: Some(from), ..SealedRun::default() };
    }

    /// Whether the handshake was one of TLS 1.3, and is over. Only of a server.
    pub fn is_sealed(&self) -> bool {
        self.sealed.from.is_some()
    }

    /// Session tickets at the beginning. Only of a server.
    pub fn tickets(&self) -> Option<OffsetRange> {
        let from = self.sealed.from.filter(|_| self.sealed.alike > 1)?;
        Some(OffsetRange { from, to: self.sealed.alike_to })
    }

    /// Whether it begins with an alert.
    pub fn begins_with_alert(&self) -> bool {
        self.sealed.first == Some(SEALED_ALERT)
    }

    /// Whether something follows the handshake. Only of a client.
    pub fn asks(&self) -> bool {
        self.sealed.has_more
    }

    /// Offset of the first application data.
    pub fn first_data(&self) -> Option<i64> {
        self.first_data
    }
}

impl SealedRun {
    fn note_record(&mut self, length: u16, to: i64) {
        let first = *self.first.get_or_insert(length);
        self.has_more |= self.is_finished;
        self.is_finished |= SEALED_FINISHED.contains(&length);
        self.is_over |= length != first || !TICKET.contains(&length);
        if !self.is_over {
            self.alike += 1;
            self.alike_to = to;
        }
    }
}
