//! One HTTP/2 connection: the protocol's machine, and the streams that use it.
//!
//! The connection's driver task feeds the machine and passes its events on (`next_request`). Tasks of streams call the
//! machine too; what they send is written by the driver. No bytes are read or written here (`transport`).

use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::collections::{HashMap, VecDeque};
use std::rc::{Rc, Weak};
use std::time::Duration;

use bytes::Bytes;
use model::monotonic_time::MonotonicTime;
use model::time_attribution::TcpInfoSample;
use wire::field_section::FieldSection;
use wire::http2::{ErrorCode, Http2Event, Http2Machine, ResetOrigin, StreamReset};

use super::bdp_estimator::BdpEstimator;
use super::flush_delay::FlushDelay;
use crate::conn::stream::ProxyStream;
use crate::rt::{NetDriver, TaskId, WorkerRuntime};

/// The payload of PINGs.
/// One PING is in flight at a time, so its payload says nothing.
const PING: [u8; 8] = *b"steelyrd";

/// A request that a client has begun.
pub enum Http2Arrival {
    Request {
        stream: u32,
        fields: FieldSection,
        end_stream: bool,
    },
    /// A request whose head is larger than the limit.
    HeadTooLarge {
        stream: u32,
    },
}

/// A response head that a server has sent.
pub enum Http2ResponseFields {
    Informational(FieldSection),
    Final { fields: FieldSection, end_stream: bool },
}

/// What the driver keeps of a stream.
struct StreamEntry {
    task: Option<TaskId>,
    /// Why the stream was broken.
    reset: Option<StreamReset>,
    /// Response heads that were not read yet.
    heads: VecDeque<Http2ResponseFields>,
}

pub struct Http2Connection<N: NetDriver> {
    rt: Rc<WorkerRuntime<N>>,
    machine: RefCell<Http2Machine>,
    driver: Cell<Option<TaskId>>,
    entries: RefCell<HashMap<u32, StreamEntry>>,
    transport: OnceCell<Weak<ProxyStream<N>>>,
    bdp: RefCell<BdpEstimator>,
    /// Body bytes that the estimator knows.
    estimated_bytes: Cell<u64>,
    /// When the unanswered PING was sent.
    pinged_at: Cell<Option<MonotonicTime>>,
    /// Since when no body byte waits for the transport.
    empty_since: Cell<Option<MonotonicTime>>,
    pub flush_delay: FlushDelay,
    /// Bytes that the streams buffer for the peer.
    pub buffered: Rc<Cell<usize>>,
    /// Number of open streams.
    pub open: Cell<u32>,
    /// Number of streams since the connection was opened.
    pub streams: Cell<u64>,
    /// When bytes were last received.
    pub last_received: Cell<MonotonicTime>,
    /// Since when a header block or frame is incomplete; `NEVER`: none is.
    pub unfinished_since: Cell<MonotonicTime>,
    /// The peer's settings were received.
    pub greeted: Cell<bool>,
    /// No new streams may be opened: the peer or this side sent GOAWAY.
    pub closing: Cell<bool>,
    /// For building heads.
    scratch: RefCell<FieldSection>,
}

/// The machine's form of a time.
fn machine_time(now: MonotonicTime) -> Duration {
    Duration::from_nanos(now.0)
}

impl<N: NetDriver> Http2Connection<N> {
    /// A connection whose machine `start` makes.
    pub fn new(
        rt: &Rc<WorkerRuntime<N>>,
        bdp: BdpEstimator,
        start: impl FnOnce(Duration) -> Http2Machine,
    ) -> Http2Connection<N> {
        let now = rt.now();
        Http2Connection {
            rt: rt.clone(),
            machine: RefCell::new(start(machine_time(now))),
            driver: Cell::new(None),
            entries: RefCell::default(),
            transport: OnceCell::new(),
            bdp: RefCell::new(bdp),
            estimated_bytes: Cell::new(0),
            pinged_at: Cell::new(None),
            empty_since: Cell::new(Some(now)),
            flush_delay: FlushDelay::default(),
            buffered: Rc::default(),
            open: Cell::default(),
            streams: Cell::default(),
            last_received: Cell::new(now),
            unfinished_since: Cell::new(MonotonicTime::NEVER),
            greeted: Cell::new(false),
            closing: Cell::new(false),
            scratch: RefCell::default(),
        }
    }

    /// Makes the current task the driver, which writes what streams send.
    pub fn attach_driver(&self) {
        self.driver.set(self.rt.current());
    }

    /// Sets the connection that carries the streams.
    pub fn set_transport(&self, transport: Weak<ProxyStream<N>>) {
        // It is set once, so the call cannot fail.
        let _ = self.transport.set(transport);
    }

    /// The machine, for the driver.
    pub fn machine(&self) -> RefMut<'_, Http2Machine> {
        self.machine.borrow_mut()
    }

    /// Calls the machine for a stream. The driver's task is woken if there is something to write then.
    pub fn with_machine<T>(&self, call: impl FnOnce(&mut Http2Machine) -> T) -> T {
        let mut machine = self.machine.borrow_mut();
        let result = call(&mut machine);
        let wakes = machine.has_output();
        drop(machine);
        if wakes {
            self.wake_driver();
        }
        result
    }

    /// Calls with a list of fields that is empty; its memory is used again.
    pub fn with_fields<T>(&self, call: impl FnOnce(&mut FieldSection) -> T) -> T {
        let mut fields = self.scratch.borrow_mut();
        fields.clear();
        call(&mut fields)
    }

    pub fn wake_driver(&self) {
        if let Some(driver) = self.driver.get() {
            self.rt.wake(driver);
        }
    }

    /// Feeds received bytes to the machine.
    pub fn receive(&self, bytes: Bytes) {
        let now = self.rt.now();
        let mut machine = self.machine.borrow_mut();
        machine.receive(bytes, machine_time(now));
        self.last_received.set(now);
        match machine.is_mid_frame() {
            false => self.unfinished_since.set(MonotonicTime::NEVER),
            true if self.unfinished_since.get() == MonotonicTime::NEVER => {
                self.unfinished_since.set(now)
            }
            true => {}
        }
        let sum = machine.data_received();
        let before = self.estimated_bytes.replace(sum);
        if sum > before {
            self.bdp.borrow_mut().add_received(sum - before);
        }
    }

    /// Handles the machine's events up to the next request of a client.
    pub fn next_request(&self) -> Option<Http2Arrival> {
        loop {
            let event = self.machine.borrow_mut().next_event()?;
            match event {
                Http2Event::Request { stream, fields, end_stream } => {
                    return Some(Http2Arrival::Request { stream, fields, end_stream });
                }
                Http2Event::HeadTooLarge { stream, .. } => {
                    return Some(Http2Arrival::HeadTooLarge { stream });
                }
                Http2Event::Response { stream, fields, end_stream } => {
                    self.add_head(stream, Http2ResponseFields::Final { fields, end_stream });
                }
                Http2Event::Informational { stream, fields } => {
                    self.add_head(stream, Http2ResponseFields::Informational(fields));
                }
                // The machine counts malformed requests.
                Http2Event::Malformed { fields, .. } => self.machine.borrow_mut().recycle(fields),
                Http2Event::Readable { stream }
                | Http2Event::Writable { stream }
                | Http2Event::Stopped { stream, .. } => self.wake_stream(stream),
                Http2Event::Ended { stream, reset } => self.end_stream(stream, reset),
                Http2Event::PeerSettings => self.greeted.set(true),
                Http2Event::Pong { .. } => self.pong_received(),
                Http2Event::GoAway { .. } | Http2Event::Failed { .. } => self.closing.set(true),
            }
        }
    }

    fn add_head(&self, stream: u32, head: Http2ResponseFields) {
        if let Some(entry) = self.entries.borrow_mut().get_mut(&stream) {
            entry.heads.push_back(head);
        }
        self.wake_stream(stream);
    }

    fn wake_stream(&self, stream: u32) {
        let task = self.entries.borrow().get(&stream).and_then(|entry| entry.task);
        if let Some(task) = task {
            self.rt.wake(task);
        }
    }

    fn end_stream(&self, stream: u32, reset: StreamReset) {
        if let Some(entry) = self.entries.borrow_mut().get_mut(&stream) {
            entry.reset = Some(reset);
        }
        self.wake_stream(stream);
    }

    /// The transport has ended: every stream is broken.
    pub fn end(&self) {
        self.closing.set(true);
        self.machine.borrow_mut().receive_end();
        while self.next_request().is_some() {}
    }

    fn pong_received(&self) {
        self.pinged_at.set(None);
        let mut bdp = self.bdp.borrow_mut();
        if let Some(window) = bdp.pong_received() {
            self.machine.borrow_mut().set_window(window, bdp.connection_window());
        }
    }

    /// Sends a PING if `wanted`, or if the windows may have to grow. One is in flight at a time.
    pub fn send_ping(&self, wanted: bool) {
        let mut bdp = self.bdp.borrow_mut();
        let sizing = bdp.wants_ping();
        if self.pinged_at.get().is_none() && (sizing || wanted) {
            self.machine.borrow_mut().ping(PING);
            self.pinged_at.set(Some(self.rt.now()));
            if sizing {
                bdp.ping_sent();
            }
        }
    }

    /// When the unanswered PING was sent.
    pub fn pinged_at(&self) -> Option<MonotonicTime> {
        self.pinged_at.get()
    }

    /// Body bytes were passed to the machine.
    pub fn body_queued(&self) {
        self.empty_since.set(None);
    }

    /// The transport has taken all bytes that the peer's windows allow.
    pub fn output_taken(&self) {
        if self.empty_since.get().is_none() {
            self.empty_since.set(Some(self.rt.now()));
        }
    }

    /// Since when no data waits for the transport: from then on only the peer's window delays a stream.
    pub fn window_blocked_since(&self) -> Option<MonotonicTime> {
        self.empty_since.get()
    }

    /// The kernel's TCP_INFO counters of the connection.
    pub fn counters(&self) -> Option<TcpInfoSample> {
        self.transport.get().and_then(Weak::upgrade)?.counters()
    }

    /// The balancer's port of the connection.
    pub fn port(&self) -> Option<u16> {
        self.transport.get().and_then(Weak::upgrade)?.local_port()
    }
}

/// A stream, counted as open until it is dropped.
pub struct OpenStream<N: NetDriver> {
    connection: Rc<Http2Connection<N>>,
    /// 0: no request was sent on it.
    id: Cell<u32>,
    /// The code for a stream that is dropped before its end.
    code: ErrorCode,
}

impl<N: NetDriver> OpenStream<N> {
    /// A stream of a client.
    pub fn accept(connection: &Rc<Http2Connection<N>>, id: u32) -> OpenStream<N> {
        let open = OpenStream::reserve(connection, ErrorCode::INTERNAL_ERROR);
        open.enter(id, None);
        open
    }

    /// A stream to a server, without a request yet.
    pub fn begin(connection: &Rc<Http2Connection<N>>) -> OpenStream<N> {
        OpenStream::reserve(connection, ErrorCode::CANCEL)
    }

    fn reserve(connection: &Rc<Http2Connection<N>>, code: ErrorCode) -> OpenStream<N> {
        connection.open.set(connection.open.get() + 1);
        connection.streams.set(connection.streams.get() + 1);
        OpenStream { connection: connection.clone(), id: Cell::new(0), code }
    }

    /// Enters the id of a stream whose request was sent. The current task uses the stream.
    pub fn enter_for_current_task(&self, id: u32) {
        self.enter(id, self.connection.rt.current());
    }

    /// Enters the stream's id. `task` is woken when something happens.
    fn enter(&self, id: u32, task: Option<TaskId>) {
        self.id.set(id);
        let entry = StreamEntry { task, reset: None, heads: VecDeque::new() };
        self.connection.entries.borrow_mut().insert(id, entry);
    }

    /// The current task uses the stream from now on.
    pub fn attach_current_task(&self) {
        let task = self.connection.rt.current();
        if let Some(entry) = self.connection.entries.borrow_mut().get_mut(&self.id.get()) {
            entry.task = task;
        }
    }

    pub fn id(&self) -> u32 {
        self.id.get()
    }

    pub fn connection(&self) -> &Http2Connection<N> {
        &self.connection
    }

    /// Why the stream was broken.
    pub fn reset_cause(&self) -> Option<StreamReset> {
        self.connection.entries.borrow().get(&self.id.get())?.reset
    }

    /// The next response head.
    pub fn take_head(&self) -> Option<Http2ResponseFields> {
        self.connection.entries.borrow_mut().get_mut(&self.id.get())?.heads.pop_front()
    }

    /// Resets the stream, so that the peer does not treat what was sent as complete.
    pub fn reset(&self) {
        if self.id.get() > 0 {
            self.connection.with_machine(|machine| machine.reset(self.id.get(), self.code));
        }
    }

    /// The error of a stream that is gone without a known cause.
    pub fn unknown_reset(&self) -> StreamReset {
        StreamReset { code: self.code, origin: ResetOrigin::Connection }
    }
}

impl<N: NetDriver> Drop for OpenStream<N> {
    fn drop(&mut self) {
        let id = self.id.get();
        if id > 0 {
            self.connection.entries.borrow_mut().remove(&id);
            self.connection.with_machine(|machine| machine.close_stream(id, self.code));
        }
        self.connection.open.set(self.connection.open.get() - 1);
        if self.connection.open.get() == 0 {
            // The driver's deadlines depend on whether streams are open.
            self.connection.wake_driver();
        }
    }
}
