//! A scripted server: parses requests with the codec, and responds in many valid and invalid ways.
//!
//! The path selects the behaviour: `/MODE/SIZE/ID`. The server records what it received in a ledger that the tests
//! read.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use wire::http1::{self, BodyKind, ChunkedDecoder, ChunkedOutput, HeadLimits, HeaderSlots};

use super::world::{PeerEvent, PeerIo, ScriptedPeer};

/// What servers received, by the id of the request.
#[derive(Debug, Default)]
pub struct ServerLedger {
    /// How often each request was received completely.
    pub received: HashMap<u64, u32>,
    /// Requests in the order of receipt.
    pub order: Vec<LedgerEntry>,
    /// Requests with a body that differs from the client's.
    pub wrong: Vec<u64>,
    /// Bytes that were not a valid request.
    pub nonsense: Vec<String>,
}

/// A request that a server received.
#[derive(Clone, Copy, Debug)]
pub struct LedgerEntry {
    /// The time in nanoseconds.
    pub at: u64,
    /// The server's number.
    pub server: usize,
    /// The request's id.
    pub id: u64,
}

/// One connection to a server.
pub struct SimServer {
    ledger: Rc<RefCell<ServerLedger>>,
    inbox: Vec<u8>,
    out: Vec<u8>,
    then: AfterAnswer,
    /// Closes a connection that was idle for this long.
    idle: Option<Duration>,
    number: usize,
    /// Writes nothing before this time.
    waits: u64,
    /// Bytes that are sent one at a time.
    drips: Vec<u8>,
    last: u64,
    /// A check of the idle time is due.
    looks: bool,
    closed: bool,
}

/// Time between two bytes of a response that is sent byte by byte.
const DRIP: Duration = Duration::from_millis(500);

/// The action after everything is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterAnswer {
    Stay,
    Close,
    Reset,
}

/// The byte at `at` of the body of message `id`.
pub fn pattern(id: u64, at: u64) -> u8 {
    (id.wrapping_mul(31).wrapping_add(at.wrapping_mul(7)) % 251) as u8
}

pub fn body(id: u64, size: u64) -> Vec<u8> {
    (0..size).map(|at| pattern(id, at)).collect()
}

impl SimServer {
    pub fn new(ledger: Rc<RefCell<ServerLedger>>, idle: Option<Duration>) -> SimServer {
        SimServer {
            ledger,
            inbox: Vec::new(),
            out: Vec::new(),
            then: AfterAnswer::Stay,
            idle,
            number: 0,
            waits: 0,
            drips: Vec::new(),
            last: 0,
            looks: false,
            closed: false,
        }
    }

    /// Sets the number of this server.
    pub fn number(self, number: usize) -> SimServer {
        SimServer { number, ..self }
    }

    fn requests(&mut self, io: &mut PeerIo) {
        while self.then == AfterAnswer::Stay {
            let bytes = std::mem::take(&mut self.inbox);
            match self.request(&bytes, io) {
                Some(used) => self.inbox = bytes[used..].to_vec(),
                None => {
                    self.inbox = bytes;
                    return;
                }
            }
        }
    }

    /// Parses one request and prepares its response; `None`: the request is incomplete.
    fn request(&mut self, bytes: &[u8], io: &mut PeerIo) -> Option<usize> {
        let limits = HeadLimits::default();
        let mut slots = HeaderSlots::new();
        let request = match http1::parse_request(bytes, &limits, &mut slots) {
            Ok(Some(request)) => request,
            Ok(None) => return None,
            Err(defect) => {
                self.ledger
                    .borrow_mut()
                    .nonsense
                    .push(format!("{defect}: {}", bytes.escape_ascii()));
                self.then = AfterAnswer::Reset;
                return None;
            }
        };
        let rest = &bytes[request.head_len..];
        let (body, used) = match request.body {
            BodyKind::None => (Vec::new(), 0),
            BodyKind::Length(n) if rest.len() as u64 >= n => {
                (rest[..n as usize].to_vec(), n as usize)
            }
            BodyKind::Length(_) => return None,
            // The body cannot be complete yet: no request follows before its response.
            BodyKind::Chunked if !rest.ends_with(b"\r\n\r\n") => return None,
            BodyKind::Chunked => {
                let mut out = Vec::new();
                let fed = ChunkedDecoder::new(ChunkedOutput::Unframed).feed(rest, &mut out).ok()?;
                if !fed.finished {
                    return None;
                }
                (out, fed.consumed)
            }
        };
        let mut words = request.target.split('/').skip(1);
        let mode = words.next().unwrap_or_default();
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        let size = number();
        let id = number();
        let mut ledger = self.ledger.borrow_mut();
        *ledger.received.entry(id).or_default() += 1;
        ledger.order.push(LedgerEntry { at: io.now(), server: self.number, id });
        if body != self::body(id + 1, body.len() as u64) {
            ledger.wrong.push(id);
        }
        drop(ledger);
        let head_only = request.method.is_head();
        let used = request.head_len + used;
        self.answer(mode, size, id, head_only, io);
        Some(used)
    }

    fn answer(&mut self, mode: &str, size: u64, id: u64, head_only: bool, io: &mut PeerIo) {
        let body = body(id, size);
        // Fails half of the time, at random.
        let fails = mode == "busy" || (mode.ends_with("half") && io.below(2) == 0);
        let status = if fails { "503 Busy" } else { "200 OK" };
        let plain = |extra: &str| {
            format!("HTTP/1.1 {status}\r\n{extra}Content-Length: {size}\r\n\r\n").into_bytes()
        };
        match mode {
            "half" if fails => {
                self.then =
                    if id.is_multiple_of(2) { AfterAnswer::Close } else { AfterAnswer::Reset };
                return;
            }
            "chunked" => return self.chunked(&body, head_only, io),
            "until-close" => {
                self.out.extend(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
                self.then = AfterAnswer::Close;
            }
            "hints" => self.out.extend(
                [&b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"[..], &plain("")].concat(),
            ),
            "closing" => {
                self.out.extend(plain("Connection: close\r\n"));
                self.then = AfterAnswer::Close;
            }
            "silent-close" => {
                self.out.extend(plain(""));
                self.then = AfterAnswer::Close;
            }
            "cut" => {
                let short = size / 2;
                self.out.extend(plain(""));
                self.out.extend(&body[..short as usize]);
                self.then =
                    if id.is_multiple_of(2) { AfterAnswer::Close } else { AfterAnswer::Reset };
                return;
            }
            "die" => {
                self.then =
                    if id.is_multiple_of(2) { AfterAnswer::Close } else { AfterAnswer::Reset };
                return;
            }
            "garbage" => {
                self.out.extend(b"SSH-2.0-OpenSSH\r\n\r\n");
                self.then = AfterAnswer::Close;
                return;
            }
            "silent" => return,
            "later" => {
                let delay = Duration::from_millis(20 + io.below(200));
                self.waits = io.now() + delay.as_nanos() as u64;
                io.set_timer(delay);
                self.out.extend(plain(""));
            }
            "drip" => {
                self.out.extend(plain(""));
                self.drips = body;
                return io.set_timer(DRIP);
            }
            "stall" => {
                self.out.extend(plain(""));
                return self.out.extend(&body[..body.len() / 2]);
            }
            _ => self.out.extend(plain("")),
        }
        if !head_only {
            self.out.extend(body);
        }
    }

    fn chunked(&mut self, body: &[u8], head_only: bool, io: &mut PeerIo) {
        self.out.extend(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        if head_only {
            return;
        }
        let mut rest = body;
        while !rest.is_empty() {
            let n = 1 + io.below(rest.len() as u64) as usize;
            self.out.extend(format!("{n:x};x=1\r\n").bytes());
            self.out.extend(&rest[..n]);
            self.out.extend(b"\r\n");
            rest = &rest[n..];
        }
        self.out.extend(b"0\r\nX-End: 1\r\n\r\n");
    }
}

impl ScriptedPeer for SimServer {
    fn on_event(&mut self, what: PeerEvent, io: &mut PeerIo) {
        if self.closed {
            return;
        }
        match what {
            PeerEvent::Timer => self.looks = false,
            _ => self.last = io.now(),
        }
        self.inbox.extend(io.take());
        self.requests(io);
        if what == PeerEvent::Timer && !self.drips.is_empty() {
            self.out.push(self.drips.remove(0));
            io.set_timer(DRIP);
        }
        if io.now() >= self.waits {
            io.write(&mut self.out);
        }
        let idle = self.idle.filter(|idle| {
            io.now() >= self.last + idle.as_nanos() as u64
                && self.inbox.is_empty()
                && self.out.is_empty()
        });
        let over = matches!(what, PeerEvent::End | PeerEvent::Broken) && self.out.is_empty();
        if over || idle.is_some() || (self.out.is_empty() && self.then != AfterAnswer::Stay) {
            self.closed = true;
            io.close(self.then == AfterAnswer::Reset || what == PeerEvent::Broken);
        } else if let Some(idle) = self.idle
            && !std::mem::replace(&mut self.looks, true)
        {
            io.set_timer(idle - Duration::from_nanos(io.now() - self.last).min(idle / 2));
        }
    }
}
