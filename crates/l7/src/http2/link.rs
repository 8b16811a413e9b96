//! What the streams of one connection share with the task that drives it: what passed, what waits to be written, and
//! whether it may go on.
//!
//! It drives nothing and owns no socket.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{Rc, Weak};

use model::attribute::Tcp;
use model::config::Http2Flood;
use model::moment::Moment;
use wire::http2::{Frame, Kind, Watch};

use super::bdp::Bdp;
use super::flood::{Deed, Deeds, Flood};

/// Error codes of RFC 9113 §7 that only the library gives.
mod code {
    pub const PROTOCOL_ERROR: u32 = 1;
    pub const FLOW_CONTROL_ERROR: u32 = 3;
    pub const STREAM_CLOSED: u32 = 5;
    pub const FRAME_SIZE_ERROR: u32 = 6;
    pub const REFUSED_STREAM: u32 = 7;
    pub const COMPRESSION_ERROR: u32 = 9;
    pub const ENHANCE_YOUR_CALM: u32 = 11;
}

/// What the library has done by itself since it was last asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByLibrary {
    /// Streams reset for a rule of HTTP that their head or length broke.
    pub malformed: u64,
    /// Streams or the connection ended for a rule of the protocol.
    pub protocol: u64,
    /// Streams refused beyond their limit.
    pub refused: u64,
    /// Heads answered with 431, or that ended the connection.
    pub heads: u64,
}

/// The connection below its streams.
pub trait Below {
    /// What the kernel counts of it.
    fn counters(&self) -> Option<Tcp>;
    /// Our port of it.
    fn port(&self) -> Option<u16>;
}

/// One connection.
pub struct Link {
    came: RefCell<Watch>,
    went: RefCell<Watch>,
    deeds: RefCell<Deeds>,
    /// The size of windows.
    pub bdp: RefCell<Bdp>,
    by_library: Cell<ByLibrary>,
    /// Heads and trailers that we have given the library to send.
    heads_given: Cell<u64>,
    heads_went: Cell<u64>,
    /// Bytes of bodies that we have given the library to send.
    data_given: Cell<u64>,
    data_went: Cell<u64>,
    /// Since when nothing that was given waits; only while `data_went` has reached `data_given`.
    empty_since: Cell<Option<Moment>>,
    below: OnceCell<Weak<dyn Below>>,
    /// Bytes that its streams keep for the peer.
    pub kept: Rc<Cell<usize>>,
    /// Streams under way.
    pub open: Cell<u32>,
    /// Streams since the beginning.
    pub streams: Cell<u64>,
    /// When anything came last.
    pub heard: Cell<Moment>,
    /// Since when a head is in the middle; `NEVER`: none is.
    pub unfinished_since: Cell<Moment>,
    /// No more streams may begin: the peer said so, or we did.
    pub closing: Cell<bool>,
    now: Cell<Moment>,
    spoken: Cell<bool>,
    towards_client: bool,
}

impl Link {
    /// Towards a client with these limits, or towards a server.
    pub fn new(limits: Option<Http2Flood>, bdp: Bdp, now: Moment) -> Link {
        let towards_client = limits.is_some();
        let (came, went) = match towards_client {
            true => (Watch::of_client(), Watch::of_server()),
            false => (Watch::of_server(), Watch::of_client()),
        };
        let free = Http2Flood {
            resets: u32::MAX,
            control_frames: u32::MAX,
            tiny_frames: u32::MAX,
            malformed: u32::MAX,
        };
        Link {
            came: RefCell::new(came),
            went: RefCell::new(went),
            deeds: RefCell::new(Deeds::new(limits.unwrap_or(free), now)),
            bdp: RefCell::new(bdp),
            by_library: Cell::default(),
            heads_given: Cell::default(),
            heads_went: Cell::default(),
            data_given: Cell::default(),
            data_went: Cell::default(),
            empty_since: Cell::new(Some(now)),
            below: OnceCell::new(),
            kept: Rc::default(),
            open: Cell::default(),
            streams: Cell::default(),
            heard: Cell::new(now),
            unfinished_since: Cell::new(Moment::NEVER),
            closing: Cell::new(false),
            now: Cell::new(now),
            spoken: Cell::new(false),
            towards_client,
        }
    }

    /// The time of this turn.
    pub fn at(&self, now: Moment) {
        self.now.set(now);
    }

    /// Looks at what came.
    pub fn received(&self, bytes: &[u8]) {
        let now = self.now.get();
        let mut watch = self.came.borrow_mut();
        watch.feed(bytes, |frame| self.came_one(frame, now));
        self.heard.set(now);
        self.spoken.set(true);
        match watch.unfinished() {
            false => self.unfinished_since.set(Moment::NEVER),
            true if self.unfinished_since.get() == Moment::NEVER => self.unfinished_since.set(now),
            true => {}
        }
    }

    fn came_one(&self, frame: Frame, now: Moment) {
        let deed = match frame.kind {
            Kind::Data => {
                self.bdp.borrow_mut().came(u64::from(frame.length));
                if frame.length > 0 || frame.ends_stream() {
                    return;
                }
                Deed::Control
            }
            Kind::Reset => Deed::Reset,
            Kind::GoAway => {
                self.closing.set(true);
                Deed::Control
            }
            Kind::Ping | Kind::Settings if frame.acknowledges() => return,
            Kind::Ping | Kind::Settings | Kind::Priority | Kind::Unknown => Deed::Control,
            Kind::Headers | Kind::Continuation | Kind::Push | Kind::Window => return,
        };
        self.deeds.borrow_mut().note(deed, now);
    }

    /// Whether nothing came yet.
    pub fn silent(&self) -> bool {
        !self.spoken.get()
    }

    /// Looks at what goes.
    pub fn sent(&self, bytes: &[u8]) {
        self.went.borrow_mut().feed(bytes, |frame| self.went_one(frame));
    }

    fn went_one(&self, frame: Frame) {
        let mut sum = self.by_library.get();
        match (frame.kind, frame.code) {
            (Kind::Data, _) => {
                self.data_went.set(self.data_went.get() + u64::from(frame.length));
                return;
            }
            (Kind::Headers, _) => {
                self.heads_went.set(self.heads_went.get() + 1);
                if self.towards_client && self.heads_went.get() > self.heads_given.get() {
                    self.heads_given.set(self.heads_went.get());
                    sum.heads += 1;
                }
            }
            (Kind::Reset, code::PROTOCOL_ERROR) => {
                sum.malformed += 1;
                self.deeds.borrow_mut().note(Deed::Malformed, self.now.get());
            }
            (Kind::Reset, code::REFUSED_STREAM) => sum.refused += 1,
            (
                Kind::Reset,
                code::FLOW_CONTROL_ERROR | code::STREAM_CLOSED | code::FRAME_SIZE_ERROR,
            ) => {
                sum.protocol += 1;
                // Whatever makes us reset streams counts: each may have put a server to work (MadeYouReset).
                self.deeds.borrow_mut().note(Deed::Malformed, self.now.get());
            }
            // A limit of the library's own.
            (Kind::GoAway, code::ENHANCE_YOUR_CALM) => {
                sum.heads += u64::from(!self.deeds.borrow_mut().meet());
            }
            (
                Kind::GoAway,
                code::PROTOCOL_ERROR
                | code::COMPRESSION_ERROR
                | code::FLOW_CONTROL_ERROR
                | code::STREAM_CLOSED
                | code::FRAME_SIZE_ERROR,
            ) => sum.protocol += 1,
            _ => return,
        }
        self.by_library.set(sum);
    }

    /// A head or trailers were given to be sent.
    pub fn gives_head(&self) {
        self.heads_given.set(self.heads_given.get() + 1);
    }

    /// Bytes of a body were given to be sent.
    pub fn gives_data(&self, bytes: usize) {
        self.data_given.set(self.data_given.get() + bytes as u64);
        self.empty_since.set(None);
    }

    /// It is carried by this connection.
    pub fn stands_on(&self, below: Weak<dyn Below>) {
        // There is one for its whole life.
        let _ = self.below.set(below);
    }

    /// The connection has taken all that was gathered for it.
    pub fn taken(&self) {
        if self.empty_since.get().is_none() && self.data_went.get() >= self.data_given.get() {
            self.empty_since.set(Some(self.now.get()));
        }
    }

    /// Since when nothing that was given waits for the connection: from then on the peer's windows are what holds a
    /// stream up.
    pub fn held_by_window(&self) -> Option<Moment> {
        self.empty_since.get()
    }

    /// What the kernel counts of the connection.
    pub fn counters(&self) -> Option<Tcp> {
        self.below.get().and_then(Weak::upgrade)?.counters()
    }

    /// Our port of the connection.
    pub fn port(&self) -> Option<u16> {
        self.below.get().and_then(Weak::upgrade)?.port()
    }

    /// A body was cut into a piece of few bytes.
    pub fn tiny(&self) {
        self.deeds.borrow_mut().note(Deed::Tiny, self.now.get());
    }

    /// The limit that was met, if one was.
    pub fn met(&self) -> Option<Flood> {
        self.deeds.borrow().met()
    }

    /// What the library has done by itself since the last call.
    pub fn take_by_library(&self) -> ByLibrary {
        self.by_library.take()
    }
}

/// A stream being under way.
pub struct OpenStream(std::rc::Rc<Link>);

impl OpenStream {
    /// Counts it until it is dropped.
    pub fn enter(link: &std::rc::Rc<Link>) -> OpenStream {
        link.open.set(link.open.get() + 1);
        link.streams.set(link.streams.get() + 1);
        OpenStream(link.clone())
    }

    /// Its connection.
    pub fn link(&self) -> &Link {
        &self.0
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.open.set(self.0.open.get() - 1);
    }
}
