//! The state that the streams of one connection share with its driver task: frame counters, queued bytes, and whether
//! new streams may be opened.
//!
//! The connection is driven elsewhere, and this module owns no socket.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{Rc, Weak};

use model::config::Http2FloodLimits;
use model::monotonic_time::MonotonicTime;
use model::time_attribution::TcpInfoSample;
use wire::http2::{FrameObserver, FrameType, ObservedFrame};

use super::bdp_estimator::BdpEstimator;
use super::flood::{FloodCounters, FloodEvent, FloodLimit};

/// Error codes of RFC 9113 §7 that only the library sends.
mod code {
    pub const PROTOCOL_ERROR: u32 = 1;
    pub const FLOW_CONTROL_ERROR: u32 = 3;
    pub const STREAM_CLOSED: u32 = 5;
    pub const FRAME_SIZE_ERROR: u32 = 6;
    pub const REFUSED_STREAM: u32 = 7;
    pub const COMPRESSION_ERROR: u32 = 9;
    pub const ENHANCE_YOUR_CALM: u32 = 11;
}

/// Actions of the library since the last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LibraryCounters {
    /// Streams reset because their head or length violated HTTP.
    pub malformed: u64,
    /// Streams or the connection ended because of a protocol violation.
    pub protocol: u64,
    /// Streams refused above the stream limit.
    pub refused: u64,
    /// Heads that were answered with 431, or that ended the connection.
    pub heads: u64,
}

/// The TCP connection that carries the streams.
pub trait LowerTransport {
    /// The kernel's TCP_INFO counters of the connection.
    fn counters(&self) -> Option<TcpInfoSample>;
    /// The balancer's port of the connection.
    fn port(&self) -> Option<u16>;
}

pub struct Http2Connection {
    inbound: RefCell<FrameObserver>,
    outbound: RefCell<FrameObserver>,
    flood_counters: RefCell<FloodCounters>,
    /// The size of the flow-control windows.
    pub bdp: RefCell<BdpEstimator>,
    library_counters: Cell<LibraryCounters>,
    /// Heads and trailers that were passed to the library.
    heads_queued: Cell<u64>,
    heads_sent: Cell<u64>,
    /// Body bytes that were passed to the library.
    data_queued: Cell<u64>,
    data_sent: Cell<u64>,
    /// Since when no queued byte waits to be sent; set only while `data_sent` has reached `data_queued`.
    empty_since: Cell<Option<MonotonicTime>>,
    lower: OnceCell<Weak<dyn LowerTransport>>,
    /// Bytes that the streams buffer for the peer.
    pub buffered: Rc<Cell<usize>>,
    pub open: Cell<u32>,
    /// Number of streams since the connection was opened.
    pub streams: Cell<u64>,
    /// When bytes were last received.
    pub last_received: Cell<MonotonicTime>,
    /// Since when a header block or frame is incomplete; `NEVER`: none is.
    pub unfinished_since: Cell<MonotonicTime>,
    /// No new streams may be opened: the peer or this side sent GOAWAY.
    pub closing: Cell<bool>,
    now: Cell<MonotonicTime>,
    spoken: Cell<bool>,
    towards_client: bool,
}

impl Http2Connection {
    /// A connection to a client with these limits, or to a server (`None`).
    pub fn new(
        limits: Option<Http2FloodLimits>,
        bdp: BdpEstimator,
        now: MonotonicTime,
    ) -> Http2Connection {
        let towards_client = limits.is_some();
        let (came, went) = match towards_client {
            true => (FrameObserver::for_client(), FrameObserver::for_server()),
            false => (FrameObserver::for_server(), FrameObserver::for_client()),
        };
        let free = Http2FloodLimits {
            resets: u32::MAX,
            control_frames: u32::MAX,
            tiny_frames: u32::MAX,
            malformed: u32::MAX,
        };
        Http2Connection {
            inbound: RefCell::new(came),
            outbound: RefCell::new(went),
            flood_counters: RefCell::new(FloodCounters::new(limits.unwrap_or(free), now)),
            bdp: RefCell::new(bdp),
            library_counters: Cell::default(),
            heads_queued: Cell::default(),
            heads_sent: Cell::default(),
            data_queued: Cell::default(),
            data_sent: Cell::default(),
            empty_since: Cell::new(Some(now)),
            lower: OnceCell::new(),
            buffered: Rc::default(),
            open: Cell::default(),
            streams: Cell::default(),
            last_received: Cell::new(now),
            unfinished_since: Cell::new(MonotonicTime::NEVER),
            closing: Cell::new(false),
            now: Cell::new(now),
            spoken: Cell::new(false),
            towards_client,
        }
    }

    /// Sets the time of the current turn.
    pub fn set_now(&self, now: MonotonicTime) {
        self.now.set(now);
    }

    /// Counts the frames in received bytes.
    pub fn received(&self, bytes: &[u8]) {
        let now = self.now.get();
        let mut watch = self.inbound.borrow_mut();
        watch.feed(bytes, |frame| self.frame_received(frame, now));
        self.last_received.set(now);
        self.spoken.set(true);
        match watch.is_mid_frame() {
            false => self.unfinished_since.set(MonotonicTime::NEVER),
            true if self.unfinished_since.get() == MonotonicTime::NEVER => {
                self.unfinished_since.set(now)
            }
            true => {}
        }
    }

    fn frame_received(&self, frame: ObservedFrame, now: MonotonicTime) {
        let deed = match frame.kind {
            FrameType::Data => {
                self.bdp.borrow_mut().add_received(u64::from(frame.length));
                if frame.length > 0 || frame.ends_stream() {
                    return;
                }
                FloodEvent::Control
            }
            FrameType::Reset => FloodEvent::Reset,
            FrameType::GoAway => {
                self.closing.set(true);
                FloodEvent::Control
            }
            FrameType::Ping | FrameType::Settings if frame.acknowledges() => return,
            FrameType::Ping
            | FrameType::Settings
            | FrameType::Priority
            | FrameType::PriorityUpdate
            | FrameType::Unknown => FloodEvent::Control,
            FrameType::Headers | FrameType::Continuation | FrameType::Push | FrameType::Window => {
                return;
            }
        };
        self.flood_counters.borrow_mut().record(deed, now);
    }

    /// Whether nothing has been received yet.
    pub fn is_silent(&self) -> bool {
        !self.spoken.get()
    }

    /// Counts the frames in sent bytes.
    pub fn sent(&self, bytes: &[u8]) {
        self.outbound.borrow_mut().feed(bytes, |frame| self.frame_sent(frame));
    }

    fn frame_sent(&self, frame: ObservedFrame) {
        let mut sum = self.library_counters.get();
        match (frame.kind, frame.code) {
            (FrameType::Data, _) => {
                self.data_sent.set(self.data_sent.get() + u64::from(frame.length));
                return;
            }
            (FrameType::Headers, _) => {
                self.heads_sent.set(self.heads_sent.get() + 1);
                if self.towards_client && self.heads_sent.get() > self.heads_queued.get() {
                    self.heads_queued.set(self.heads_sent.get());
                    sum.heads += 1;
                }
            }
            (FrameType::Reset, code::PROTOCOL_ERROR) => {
                sum.malformed += 1;
                self.flood_counters.borrow_mut().record(FloodEvent::Malformed, self.now.get());
            }
            (FrameType::Reset, code::REFUSED_STREAM) => sum.refused += 1,
            (
                FrameType::Reset,
                code::FLOW_CONTROL_ERROR | code::STREAM_CLOSED | code::FRAME_SIZE_ERROR,
            ) => {
                sum.protocol += 1;
                // Every cause for a reset by this side counts: each stream may have caused work at a server
                // (MadeYouReset).
                self.flood_counters.borrow_mut().record(FloodEvent::Malformed, self.now.get());
            }
            // The library's own limit.
            (FrameType::GoAway, code::ENHANCE_YOUR_CALM) => {
                sum.heads += u64::from(!self.flood_counters.borrow_mut().reach_library_limit());
            }
            (
                FrameType::GoAway,
                code::PROTOCOL_ERROR
                | code::COMPRESSION_ERROR
                | code::FLOW_CONTROL_ERROR
                | code::STREAM_CLOSED
                | code::FRAME_SIZE_ERROR,
            ) => sum.protocol += 1,
            _ => return,
        }
        self.library_counters.set(sum);
    }

    /// Counts a head or trailers that were passed to the library.
    pub fn head_queued(&self) {
        self.heads_queued.set(self.heads_queued.get() + 1);
    }

    /// Counts body bytes that were passed to the library.
    pub fn data_queued(&self, bytes: usize) {
        self.data_queued.set(self.data_queued.get() + bytes as u64);
        self.empty_since.set(None);
    }

    /// Sets the connection that carries the streams.
    pub fn set_lower(&self, below: Weak<dyn LowerTransport>) {
        // It is set once, so the call cannot fail.
        let _ = self.lower.set(below);
    }

    /// The transport has sent all bytes that were gathered for it.
    pub fn output_taken(&self) {
        if self.empty_since.get().is_none() && self.data_sent.get() >= self.data_queued.get() {
            self.empty_since.set(Some(self.now.get()));
        }
    }

    /// Since when no data waits for the transport: from then on only the peer's window delays a stream.
    pub fn window_blocked_since(&self) -> Option<MonotonicTime> {
        self.empty_since.get()
    }

    /// The kernel's TCP_INFO counters of the connection.
    pub fn counters(&self) -> Option<TcpInfoSample> {
        self.lower.get().and_then(Weak::upgrade)?.counters()
    }

    /// The balancer's port of the connection.
    pub fn port(&self) -> Option<u16> {
        self.lower.get().and_then(Weak::upgrade)?.port()
    }

    /// Counts a body piece that is tiny because of the peer's window.
    pub fn count_tiny_piece(&self) {
        self.flood_counters.borrow_mut().record(FloodEvent::Tiny, self.now.get());
    }

    /// The flood limit that was reached, if any.
    pub fn limit_reached(&self) -> Option<FloodLimit> {
        self.flood_counters.borrow().limit_reached()
    }

    /// Returns and resets the counters of the library's actions.
    pub fn take_library_counters(&self) -> LibraryCounters {
        self.library_counters.take()
    }
}

/// An open stream, counted until it is dropped.
pub struct OpenStream(std::rc::Rc<Http2Connection>);

impl OpenStream {
    pub fn enter(link: &std::rc::Rc<Http2Connection>) -> OpenStream {
        link.open.set(link.open.get() + 1);
        link.streams.set(link.streams.get() + 1);
        OpenStream(link.clone())
    }

    pub fn connection(&self) -> &Http2Connection {
        &self.0
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.open.set(self.0.open.get() - 1);
    }
}
