//! The state of one stream (RFC 9113 §5.1), and the table of streams.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use bytes::Bytes;

use super::flow_control::{InboundWindow, OutboundWindow};
use super::priority::StreamPriority;
use crate::field_section::FieldSection;

/// One direction of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamHalf {
    /// The head has not passed.
    Head,
    Body,
    /// END_STREAM or RST_STREAM has passed.
    Closed,
}

/// How a stream's outgoing body ends, once its data has been sent.
#[derive(Debug, Default)]
pub(super) enum OutgoingEnd {
    /// More data may follow.
    #[default]
    Open,
    EndStream,
    Trailers(Box<FieldSection>),
}

#[derive(Debug)]
pub(super) struct StreamRecord {
    /// What this side sends.
    pub(super) local: StreamHalf,
    /// What the peer sends.
    pub(super) remote: StreamHalf,
    pub(super) outgoing: OutgoingBody,
    pub(super) incoming: IncomingBody,
    pub(super) priority: StreamPriority,
    /// The stream counts as open.
    pub(super) counted: bool,
    /// The application has closed the stream.
    pub(super) released: bool,
    /// The stream was reset, by either side.
    pub(super) reset: bool,
    /// The request was HEAD.
    pub(super) is_head: bool,
}

#[derive(Debug)]
pub(super) struct OutgoingBody {
    pub(super) window: OutboundWindow,
    pub(super) pieces: VecDeque<Bytes>,
    pub(super) bytes: usize,
    pub(super) end: OutgoingEnd,
    /// The stream is in the scheduler.
    pub(super) scheduled: bool,
    /// Less was taken than offered.
    pub(super) wants_room: bool,
}

#[derive(Debug)]
pub(super) struct IncomingBody {
    pub(super) window: InboundWindow,
    pub(super) pieces: VecDeque<Bytes>,
    pub(super) trailers: Option<Box<FieldSection>>,
    /// Data bytes that may still arrive, if the head has told.
    pub(super) expected: Option<u64>,
}

impl StreamRecord {
    /// A stream whose heads have not passed.
    pub(super) fn new(send: OutboundWindow, receive: InboundWindow) -> StreamRecord {
        StreamRecord {
            local: StreamHalf::Head,
            remote: StreamHalf::Head,
            outgoing: OutgoingBody {
                window: send,
                pieces: VecDeque::new(),
                bytes: 0,
                end: OutgoingEnd::Open,
                scheduled: false,
                wants_room: false,
            },
            incoming: IncomingBody {
                window: receive,
                pieces: VecDeque::new(),
                trailers: None,
                expected: None,
            },
            priority: StreamPriority::default(),
            counted: true,
            released: false,
            reset: false,
            is_head: false,
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.local == StreamHalf::Closed && self.remote == StreamHalf::Closed
    }

    /// Whether the application can still send data.
    pub(super) fn takes_data(&self) -> bool {
        self.local == StreamHalf::Body && matches!(self.outgoing.end, OutgoingEnd::Open)
    }

    /// Bytes of data that are accepted now.
    pub(super) fn room(&self, buffer_bytes: usize) -> usize {
        let most = self.outgoing.window.available().min(buffer_bytes);
        most.saturating_sub(self.outgoing.bytes)
    }

    /// Drops everything that waits to be sent.
    pub(super) fn drop_outgoing(&mut self) {
        self.outgoing.pieces.clear();
        self.outgoing.bytes = 0;
        self.outgoing.end = OutgoingEnd::Open;
        self.outgoing.wants_room = false;
    }
}

/// Streams by their id.
pub(super) type StreamTable = HashMap<u32, StreamRecord, BuildHasherDefault<StreamIdHasher>>;

/// Spreads stream ids, which are consecutive. The peer's choice of ids is harmless: the number of streams is limited.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StreamIdHasher(u64);

impl Hasher for StreamIdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, id: u32) {
        self.0 = (self.0 ^ u64::from(id)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
