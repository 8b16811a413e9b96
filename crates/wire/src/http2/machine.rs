//! One connection of HTTP/2 (RFC 9113), in either role: bytes go in, events and bytes come out.
//!
//! The machine owns no socket, reads no clock and wakes nobody. It validates what the protocol demands of frames and
//! heads; what a message means is decided by the application.

mod closing;
mod output;
mod receive;
mod receive_data;
mod receive_head;
mod release;
mod send;

use std::collections::VecDeque;
use std::time::Duration;

use super::abuse::{AbuseCounters, AbuseKind, AbuseLimits};
use super::event::{Http2Event, MachineCounters};
use super::flow_control::{InboundWindow, OutboundWindow};
use super::frame_input::FrameInput;
use super::frames::{PREFACE, append_ping, append_window_update};
use super::hpack::{HpackDecoder, HpackEncoder};
use super::output_buffer::OutputBuffer;
use super::scheduler::SendScheduler;
use super::settings::{
    AnnouncedSettings, ConnectionRole, HEADER_TABLE_BYTES, INITIAL_WINDOW, PeerSettings,
    append_window_setting,
};
use super::stream_record::StreamTable;
use crate::field_section::FieldSection;

/// The limits of one connection.
#[derive(Clone, Copy, Debug)]
pub struct MachineLimits {
    /// The receive window of each stream, in bytes.
    pub stream_window: u32,
    /// The receive window of the whole connection, in bytes.
    pub connection_window: u32,
    /// Most streams that a client may have open at a time.
    pub concurrent_streams: u32,
    /// Most bytes of a decoded head; each field counts 32 bytes more than its text.
    pub header_list_bytes: u32,
    /// Most bytes of one stream's body that wait to be sent.
    pub send_buffer_bytes: usize,
    /// A server allows `:protocol` (RFC 8441).
    pub extended_connect: bool,
    pub abuse: AbuseLimits,
}

/// A header block of which CONTINUATION frames are missing.
#[derive(Debug)]
struct PartialBlock {
    stream: u32,
    end_stream: bool,
    depends_on_itself: bool,
    bytes: Vec<u8>,
}

/// How far this side has closed the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShutdownStage {
    None,
    /// The first GOAWAY was sent, and a PING that follows it.
    Announced,
    /// The last GOAWAY was sent. Streams of the peer above this one are ignored.
    Final(u32),
}

/// Sections that are kept to be used again.
const SPARE_SECTIONS: usize = 4;

/// The memory that such a section may have.
/// A head of usual size; larger ones are freed.
const SPARE_BYTES: usize = 4_096;

#[derive(Debug)]
pub struct Http2Machine {
    role: ConnectionRole,
    limits: MachineLimits,
    now: Duration,
    input: FrameInput,
    partial_block: Option<PartialBlock>,
    decoder: HpackDecoder,
    encoder: HpackEncoder,
    streams: StreamTable,
    /// Streams that are not closed on both sides.
    active: usize,
    /// The highest stream that the peer has opened.
    last_peer_stream: u32,
    /// The stream that this side opens next.
    next_stream: u32,
    peer: PeerSettings,
    settings_received: bool,
    /// By how much the initial window of streams exceeds the announced one, until the peer has acknowledged the settings.
    initial_excess: u32,
    send_window: OutboundWindow,
    receive_window: InboundWindow,
    scheduler: SendScheduler,
    /// Body bytes of all streams that wait to be sent.
    buffered: usize,
    /// Streams that this side has reset: frames that were in flight are ignored.
    recently_reset: VecDeque<u32>,
    /// The highest stream that has left that list.
    forgotten_reset: u32,
    shutdown: ShutdownStage,
    /// The last stream of the peer's GOAWAY.
    peer_goaway: Option<u32>,
    failed: bool,
    data_received: u64,
    abuse: AbuseCounters,
    counters: MachineCounters,
    events: VecDeque<Http2Event>,
    output: OutputBuffer,
    spare_sections: Vec<FieldSection>,
}

impl Http2Machine {
    /// The side that accepts requests. Its SETTINGS are in the output.
    pub fn server(limits: &MachineLimits, now: Duration) -> Http2Machine {
        Http2Machine::new(ConnectionRole::Server, limits, now)
    }

    /// The side that sends requests. The preface and its SETTINGS are in the output.
    pub fn client(limits: &MachineLimits, now: Duration) -> Http2Machine {
        Http2Machine::new(ConnectionRole::Client, limits, now)
    }

    fn new(role: ConnectionRole, limits: &MachineLimits, now: Duration) -> Http2Machine {
        let mut machine = Http2Machine {
            role,
            limits: *limits,
            now,
            input: FrameInput::new(role),
            partial_block: None,
            decoder: HpackDecoder::new(HEADER_TABLE_BYTES),
            encoder: HpackEncoder::default(),
            streams: StreamTable::default(),
            active: 0,
            last_peer_stream: 0,
            next_stream: 1,
            peer: PeerSettings::new(),
            settings_received: false,
            initial_excess: INITIAL_WINDOW.saturating_sub(limits.stream_window),
            send_window: OutboundWindow::new(INITIAL_WINDOW),
            receive_window: InboundWindow::new(INITIAL_WINDOW, INITIAL_WINDOW),
            scheduler: SendScheduler::default(),
            buffered: 0,
            recently_reset: VecDeque::new(),
            forgotten_reset: 0,
            shutdown: ShutdownStage::None,
            peer_goaway: None,
            failed: false,
            data_received: 0,
            abuse: AbuseCounters::new(limits.abuse, now),
            counters: MachineCounters::default(),
            events: VecDeque::new(),
            output: OutputBuffer::default(),
            spare_sections: Vec::new(),
        };
        machine.begin_output();
        machine
    }

    fn begin_output(&mut self) {
        let out = &mut self.output.bytes;
        if self.role == ConnectionRole::Client {
            out.extend_from_slice(PREFACE);
        }
        let announced = AnnouncedSettings {
            stream_window: self.limits.stream_window,
            concurrent_streams: self.limits.concurrent_streams,
            header_list_bytes: self.limits.header_list_bytes,
            extended_connect: self.limits.extended_connect,
        };
        announced.append(self.role, out);
        if let Some(increment) = self.receive_window.grow(self.limits.connection_window) {
            append_window_update(0, increment, out);
        }
    }

    /// The next thing that has happened.
    pub fn next_event(&mut self) -> Option<Http2Event> {
        self.events.pop_front()
    }

    /// Sends a PING, which `Pong` answers with the payload.
    pub fn ping(&mut self, payload: [u8; 8]) {
        if !self.failed {
            append_ping(0, payload, &mut self.output.bytes);
        }
    }

    /// Lets the windows grow to these sizes; they never shrink.
    pub fn set_window(&mut self, stream_window: u32, connection_window: u32) {
        if self.failed {
            return;
        }
        if stream_window > self.limits.stream_window {
            self.limits.stream_window = stream_window;
            append_window_setting(stream_window, &mut self.output.bytes);
            for record in self.streams.values_mut() {
                record.incoming.window.grow_by_settings(stream_window);
            }
        }
        if let Some(increment) = self.receive_window.grow(connection_window) {
            append_window_update(0, increment, &mut self.output.bytes);
        }
    }

    /// Whether a client can open a stream now.
    pub fn may_open(&self) -> bool {
        self.open_refusal().is_none()
    }

    /// Most streams that the peer allows at a time.
    pub fn peer_concurrent_streams(&self) -> u32 {
        self.peer.concurrent_streams
    }

    /// Streams that are not closed on both sides.
    pub fn open_streams(&self) -> usize {
        self.active
    }

    /// Whether the server allows `:protocol`.
    pub fn allows_extended_connect(&self) -> bool {
        self.peer.extended_connect
    }

    /// Whether either side has announced the end of the connection, or it has failed.
    pub fn is_closing(&self) -> bool {
        self.failed || self.peer_goaway.is_some() || self.shutdown != ShutdownStage::None
    }

    /// Whether the connection has failed: only the output is left to be sent.
    pub fn is_failed(&self) -> bool {
        self.failed
    }

    /// Whether what was received ends within the preface, a head, or a frame other than DATA.
    pub fn is_mid_frame(&self) -> bool {
        !self.failed && (self.partial_block.is_some() || self.input.is_mid_frame())
    }

    /// Whether nothing was received yet.
    pub fn is_silent(&self) -> bool {
        self.input.is_silent()
    }

    /// The sum of the payloads of DATA frames that were received.
    pub fn data_received(&self) -> u64 {
        self.data_received
    }

    /// Returns and resets the counters.
    pub fn take_counters(&mut self) -> MachineCounters {
        std::mem::take(&mut self.counters)
    }

    /// The limit against abuse that was exceeded.
    pub fn abuse(&self) -> Option<AbuseKind> {
        self.abuse.reached()
    }

    /// Takes a section back, whose memory is used again.
    pub fn recycle(&mut self, mut fields: FieldSection) {
        if self.spare_sections.len() < SPARE_SECTIONS && fields.capacity() <= SPARE_BYTES {
            fields.clear();
            self.spare_sections.push(fields);
        }
    }

    /// Frees memory that an idle connection does not need.
    pub fn free_memory(&mut self) {
        self.spare_sections = Vec::new();
        self.events.shrink_to(0);
        self.output.free();
        self.input.free();
    }
}
