//! Scenarios of HTTP/2 servers that refuse streams or send GOAWAY at any point of a request's body. A request that a
//! server declared as unprocessed is sent again, completely and once, whatever its method.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use model::config::{ClientHttp2Mode, PoolConfig, ServerHttp2Mode};
use model::id::ServiceId;

use super::client::{ClientNotes, ClientOutcome, PlannedRequest, RequestNote, SimClient};
use super::harness::{WorkerHarness, addresses, seeds, setting};
use super::server::body;
use super::stream_client::StreamClient;
use super::world::{PeerEvent, PeerIo, ScriptedPeer};

/// Frame types, flags and codes of RFC 9113.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
const REFUSED_STREAM: u32 = 7;
const PREFACE: usize = 24;
/// `:status: 200` of the static table (RFC 7541, appendix A).
const STATUS_200: u8 = 0x88;

/// What servers have processed: the bodies of complete requests.
type ProcessedBodies = Rc<RefCell<Vec<Vec<u8>>>>;

/// What a server does with a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamFate {
    Served,
    /// Refused after this many bytes of its body, or at its end.
    Refused(usize),
    /// As above, with a GOAWAY whose last stream id is below this stream's.
    Excluded(usize),
}

struct ReceivedStream {
    body: Vec<u8>,
    fate: StreamFate,
}

/// One connection to a server.
struct RefusingServer {
    processed: ProcessedBodies,
    /// Number of streams that may still be refused, over all connections.
    refusals: Rc<Cell<u32>>,
    inbox: Vec<u8>,
    out: Vec<u8>,
    greeted: bool,
    streams: BTreeMap<u32, ReceivedStream>,
    /// The last stream that is processed, after a GOAWAY was sent.
    last: Option<u32>,
    over: bool,
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

impl RefusingServer {
    fn new(processed: ProcessedBodies, refusals: Rc<Cell<u32>>) -> RefusingServer {
        RefusingServer {
            processed,
            refusals,
            inbox: Vec::new(),
            out: Vec::new(),
            greeted: false,
            streams: BTreeMap::new(),
            last: None,
            over: false,
        }
    }

    fn frames(&mut self, io: &mut PeerIo) {
        if !self.greeted && self.inbox.len() >= PREFACE {
            self.greeted = true;
            self.inbox.drain(..PREFACE);
            frame(SETTINGS, 0, 0, &[], &mut self.out);
        }
        while self.greeted && self.inbox.len() >= 9 {
            let length = u32::from_be_bytes([0, self.inbox[0], self.inbox[1], self.inbox[2]]);
            let whole = 9 + length as usize;
            if self.inbox.len() < whole {
                return;
            }
            let bytes: Vec<u8> = self.inbox.drain(..whole).collect();
            let stream = u32::from_be_bytes([bytes[5], bytes[6], bytes[7], bytes[8]]);
            self.came(bytes[3], bytes[4], stream, &bytes[9..], io);
        }
    }

    fn came(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8], io: &mut PeerIo) {
        match kind {
            SETTINGS if flags & ACK == 0 => frame(SETTINGS, ACK, 0, &[], &mut self.out),
            PING if flags & ACK == 0 => frame(PING, ACK, 0, payload, &mut self.out),
            RST_STREAM => drop(self.streams.remove(&stream)),
            HEADERS if self.last.is_some_and(|last| stream > last) => {}
            HEADERS => {
                let fate = self.fate(io);
                self.streams.insert(stream, ReceivedStream { body: Vec::new(), fate });
                self.look(stream, flags & END_STREAM != 0, io);
            }
            DATA => {
                let more = (payload.len() as u32).to_be_bytes();
                if !payload.is_empty() {
                    frame(WINDOW_UPDATE, 0, 0, &more, &mut self.out);
                }
                if let Some(got) = self.streams.get_mut(&stream) {
                    got.body.extend_from_slice(payload);
                    self.look(stream, flags & END_STREAM != 0, io);
                }
            }
            _ => {}
        }
    }

    fn fate(&mut self, io: &mut PeerIo) -> StreamFate {
        let left = self.refusals.get();
        if left == 0 || io.below(2) == 0 {
            return StreamFate::Served;
        }
        self.refusals.set(left - 1);
        // At once, somewhere in the body, or at its end.
        let after = [0, io.below(70_000) as usize, usize::MAX][io.below(3) as usize];
        match io.below(3) {
            0 if self.last.is_none() => StreamFate::Excluded(after),
            _ => StreamFate::Refused(after),
        }
    }

    /// Applies the fate of a stream, if it is time.
    fn look(&mut self, stream: u32, ended: bool, io: &mut PeerIo) {
        let Some(got) = self.streams.get(&stream) else { return };
        let now = |after: usize| ended || got.body.len() >= after;
        match got.fate {
            StreamFate::Served if ended => {
                if let Some(got) = self.streams.remove(&stream) {
                    self.processed.borrow_mut().push(got.body);
                }
                frame(HEADERS, END_HEADERS | END_STREAM, stream, &[STATUS_200], &mut self.out);
            }
            StreamFate::Refused(after) if now(after) => {
                self.streams.remove(&stream);
                let code = REFUSED_STREAM.to_be_bytes();
                frame(RST_STREAM, 0, stream, &code, &mut self.out);
            }
            StreamFate::Excluded(after) if now(after) => {
                let last = stream.saturating_sub(2);
                self.streams.retain(|stream, _| *stream <= last);
                self.last = Some(self.last.map_or(last, |before| before.min(last)));
                let payload = [last.to_be_bytes(), [0; 4]].concat();
                frame(GOAWAY, 0, 0, &payload, &mut self.out);
                // The connection ends a moment later, or when the peer closes it.
                if io.below(2) == 0 {
                    let delay = Duration::from_micros(io.below(2000));
                    io.set_timer(delay);
                }
            }
            _ => {}
        }
    }
}

impl ScriptedPeer for RefusingServer {
    fn on_event(&mut self, what: PeerEvent, io: &mut PeerIo) {
        if self.over {
            return;
        }
        self.inbox.extend(io.take());
        self.frames(io);
        io.write(&mut self.out);
        let parts = self.last.is_some() && self.streams.is_empty() && self.out.is_empty();
        if matches!(what, PeerEvent::End | PeerEvent::Broken) || (what == PeerEvent::Timer && parts)
        {
            self.over = true;
            io.close(what == PeerEvent::Broken);
        }
    }
}

fn pool(pool: &mut PoolConfig) {
    pool.http2.speak = ServerHttp2Mode::Only;
    pool.retries = 20;
    pool.retry.budget = None;
}

/// Requests with bodies of every kind, one after another.
fn plan(seed: u64, client: u64, count: u64) -> Vec<PlannedRequest> {
    let sizes = [0, 1, 700, 5_000, 40_000, 60_000];
    let planned = |n: u64| {
        let id = client * 100 + n;
        let upload = sizes[((seed + id) % 6) as usize];
        let chunked = upload > 0 && (seed + n).is_multiple_of(3);
        PlannedRequest {
            method: "POST",
            size: 0,
            upload,
            chunked,
            ..PlannedRequest::get(id, "plain")
        }
    };
    (0..count).map(planned).collect()
}

fn run(seed: u64, of_http2: bool) {
    let served = |service: &mut model::config::ServiceConfig| {
        service.http2.offer = if of_http2 { ClientHttp2Mode::Always } else { ClientHttp2Mode::Off };
    };
    let stage = WorkerHarness::new(seed, 30_000, setting(&addresses(2), served, pool, |_| ()));
    let processed = ProcessedBodies::default();
    let refusals = Rc::new(Cell::new(12));
    for address in addresses(2) {
        let processed = processed.clone();
        let refusals = refusals.clone();
        stage.serve(address, move || RefusingServer::new(processed.clone(), refusals.clone()));
    }
    let door = stage.open(ServiceId(0));
    let notes = ClientNotes::default();
    let mut wanted = Vec::new();
    for client in 0..4 {
        let plan = plan(seed, client, 6);
        wanted.extend(plan.iter().map(|one| body(one.id + 1, one.upload)));
        let delay = Duration::from_millis(client);
        match of_http2 {
            true => stage.client(&door, client, delay, StreamClient::new(notes.clone(), plan)),
            false => stage.client(&door, client, delay, SimClient::new(notes.clone(), plan, false)),
        }
    }
    stage.until(|| notes.borrow().len() == wanted.len() && stage.connections() == 0);
    for RequestNote { planned, saw } in notes.borrow().iter() {
        assert_eq!(*saw, ClientOutcome::Answer(200, None), "seed {seed}: {planned:?}");
    }
    let mut processed = processed.borrow().clone();
    processed.sort();
    wanted.sort();
    assert!(processed == wanted, "seed {seed}: {} processed", processed.len());
    stage.finish();
}

#[test]
fn what_servers_of_http_2_did_not_process_is_sent_again_for_clients_of_http_1() {
    seeds(30).for_each(|seed| run(seed, false));
}

#[test]
fn what_servers_of_http_2_did_not_process_is_sent_again_for_clients_of_http_2() {
    seeds(30).for_each(|seed| run(seed, true));
}
