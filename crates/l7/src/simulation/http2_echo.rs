//! Scenarios of HTTP/2 on both sides of the worker: servers echo bodies, and windows, sizes, resets and pauses of both
//! sides come from a seed. What nobody has reset arrives complete, and every account closes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use model::config::{ClientHttp2Mode, PoolConfig, ServerHttp2Mode, ServiceConfig};
use model::id::ServiceId;
use wire::field_section::FieldSection;
use wire::http2::{
    AbuseLimits, BodyPart, ErrorCode, Http2Event, Http2Machine, MachineLimits, ResetOrigin,
};

use super::harness::{WorkerHarness, addresses, seeds, setting};
use super::server::body;
use super::world::{PeerEvent, PeerIo, ScriptedPeer};

/// Streams of each client.
const STREAMS: u64 = 8;

/// How streams ended, over all clients.
#[derive(Debug, Default)]
struct EchoLedger {
    whole: u64,
    /// The client has reset the stream.
    reset: u64,
    /// The server, or the balancer for it, has ended the stream early.
    broken: u64,
    wrong: Vec<String>,
}

fn limits(io: &mut PeerIo) -> MachineLimits {
    MachineLimits {
        // Smaller windows cut bodies into pieces that count as abuse.
        stream_window: [1_000, 5_000, 65_535, 300_000][io.below(4) as usize],
        connection_window: 65_535 + io.below(100_000) as u32,
        concurrent_streams: 100,
        header_list_bytes: 1 << 16,
        send_buffer_bytes: 1 + io.below(70_000) as usize,
        extended_connect: false,
        abuse: AbuseLimits::NONE,
    }
}

fn time(io: &PeerIo) -> Duration {
    Duration::from_nanos(io.now())
}

/// Moves bytes between a machine and the world; returns whether the connection is over.
fn exchange(machine: &mut Http2Machine, what: PeerEvent, io: &mut PeerIo) -> bool {
    let input = Bytes::from(io.take());
    if !input.is_empty() {
        machine.receive(input, time(io));
    }
    let over = matches!(what, PeerEvent::End | PeerEvent::Broken);
    if over {
        machine.receive_end();
    }
    over
}

/// Writes what the machine has, as far as there is room.
fn write(machine: &mut Http2Machine, unsent: &mut Vec<u8>, io: &mut PeerIo) {
    loop {
        let output = machine.output();
        if output.is_empty() {
            break;
        }
        let n = output.len();
        unsent.extend_from_slice(output);
        machine.consume_output(n);
    }
    io.write(unsent);
}

/// A stream of a client.
struct EchoUpload {
    upload: Vec<u8>,
    sent: usize,
    back: Vec<u8>,
    status: Vec<u8>,
    /// The stream is reset after this many bytes have come back.
    leaves_after: Option<usize>,
}

struct EchoClient {
    machine: Option<Http2Machine>,
    ledger: Rc<RefCell<EchoLedger>>,
    seed: u64,
    unsent: Vec<u8>,
    streams: BTreeMap<u32, EchoUpload>,
    resets: bool,
    /// A timer is set.
    timed: bool,
    over: bool,
}

impl EchoClient {
    fn begin(&mut self, io: &mut PeerIo) -> Http2Machine {
        let mut machine = Http2Machine::client(&limits(io), time(io));
        for at in 0..STREAMS {
            let size = [0, 1, 700, 40_000, 200_000][io.below(5) as usize];
            let upload = body(self.seed * 100 + at, size);
            let mut fields = FieldSection::default();
            fields.push(b":method", b"POST");
            fields.push(b":scheme", b"http");
            fields.push(b":authority", b"shop");
            fields.push(b":path", b"/");
            if io.below(2) == 0 {
                fields.push(b"content-length", size.to_string().as_bytes());
            }
            let stream = machine.open_stream(&fields, size == 0).unwrap();
            let leaves = self.resets && io.below(4) == 0;
            let leaves_after = leaves.then(|| io.below(1 + size) as usize);
            let status = Vec::new();
            let back = Vec::new();
            let request = EchoUpload { upload, sent: 0, back, status, leaves_after };
            self.streams.insert(stream, request);
        }
        machine
    }

    fn handle(&mut self, machine: &mut Http2Machine, event: Http2Event) {
        match event {
            Http2Event::Response { stream, fields, .. } => {
                if let Some(request) = self.streams.get_mut(&stream) {
                    request.status = fields.get(b":status").unwrap_or_default().to_vec();
                }
            }
            Http2Event::Ended { stream, reset } => {
                if let ResetOrigin::Local(defect) = reset.origin {
                    self.ledger.borrow_mut().wrong.push(format!("{defect:?} on {stream}"));
                }
                if self.streams.remove(&stream).is_some() {
                    self.ledger.borrow_mut().broken += 1;
                    machine.close_stream(stream, ErrorCode::CANCEL);
                }
            }
            Http2Event::Failed { code, .. } => {
                self.ledger.borrow_mut().wrong.push(format!("the connection failed: {code:?}"));
            }
            _ => {}
        }
    }

    /// Sends and reads what is possible on each stream.
    fn advance(&mut self, machine: &mut Http2Machine, io: &mut PeerIo) {
        let ids: Vec<u32> = self.streams.keys().copied().collect();
        for id in ids {
            let Some(request) = self.streams.get_mut(&id) else { continue };
            let rest = &request.upload[request.sent..];
            if !rest.is_empty()
                && let Ok(n) = machine.send_data(id, rest, true)
            {
                request.sent += n;
            }
            if request.leaves_after.is_some_and(|after| request.back.len() >= after) {
                self.streams.remove(&id);
                self.ledger.borrow_mut().reset += 1;
                machine.reset(id, ErrorCode::CANCEL);
                machine.close_stream(id, ErrorCode::CANCEL);
                continue;
            }
            if io.below(3) == 0 {
                // A slow reader.
                continue;
            }
            match machine.read_data(id) {
                BodyPart::Data(piece) => {
                    machine.release(id, piece.len());
                    request.back.extend_from_slice(&piece);
                }
                BodyPart::End => self.complete(machine, id),
                BodyPart::Pending | BodyPart::Gone => {}
            }
        }
    }

    fn complete(&mut self, machine: &mut Http2Machine, id: u32) {
        let Some(request) = self.streams.remove(&id) else { return };
        machine.close_stream(id, ErrorCode::CANCEL);
        let mut ledger = self.ledger.borrow_mut();
        match request.status.as_slice() {
            b"200" if request.back == request.upload => ledger.whole += 1,
            b"200" => ledger.wrong.push(format!(
                "{} of {} bytes came back",
                request.back.len(),
                request.upload.len()
            )),
            _ => ledger.broken += 1,
        }
    }
}

impl ScriptedPeer for EchoClient {
    fn on_event(&mut self, what: PeerEvent, io: &mut PeerIo) {
        if self.over {
            return;
        }
        self.timed &= what != PeerEvent::Timer;
        let mut machine = match self.machine.take() {
            Some(machine) => machine,
            None => self.begin(io),
        };
        let ended = exchange(&mut machine, what, io);
        while let Some(event) = machine.next_event() {
            self.handle(&mut machine, event);
        }
        self.advance(&mut machine, io);
        write(&mut machine, &mut self.unsent, io);
        if ended || self.streams.is_empty() {
            self.over = true;
            self.ledger.borrow_mut().broken += self.streams.len() as u64;
            io.close(false);
        } else if !std::mem::replace(&mut self.timed, true) {
            io.set_timer(Duration::from_millis(5));
        }
        self.machine = Some(machine);
    }
}

/// A server that sends every body back.
struct EchoServer {
    machine: Option<Http2Machine>,
    unsent: Vec<u8>,
    /// Open streams, with bytes that were read and not sent yet.
    streams: BTreeMap<u32, EchoBuffer>,
    resets: bool,
    /// A timer is set.
    timed: bool,
    over: bool,
}

#[derive(Default)]
struct EchoBuffer {
    held: Vec<u8>,
    ended: bool,
    /// Bytes until the server resets the stream.
    left: Option<usize>,
}

impl EchoServer {
    fn handle(&mut self, machine: &mut Http2Machine, event: Http2Event, io: &mut PeerIo) {
        match event {
            Http2Event::Request { stream, .. } => {
                let mut fields = FieldSection::default();
                fields.push(b":status", b"200");
                // An error means that the stream was reset meanwhile, which the next event says.
                let _ = machine.send_response(stream, &fields, false);
                let leaves = self.resets && io.below(6) == 0;
                let left = leaves.then(|| io.below(50_000) as usize);
                self.streams.insert(stream, EchoBuffer { left, ..EchoBuffer::default() });
            }
            Http2Event::Ended { stream, .. } => {
                self.streams.remove(&stream);
                machine.close_stream(stream, ErrorCode::CANCEL);
            }
            _ => {}
        }
    }

    fn advance(&mut self, machine: &mut Http2Machine) {
        self.streams.retain(|id, echoed| {
            if echoed.held.is_empty() && !echoed.ended {
                match machine.read_data(*id) {
                    BodyPart::Data(piece) => {
                        machine.release(*id, piece.len());
                        echoed.held.extend_from_slice(&piece);
                    }
                    BodyPart::End => echoed.ended = true,
                    BodyPart::Pending | BodyPart::Gone => {}
                }
            }
            let ended = echoed.ended;
            if !echoed.held.is_empty() || ended {
                let n = machine.send_data(*id, &echoed.held, ended).unwrap_or_default();
                echoed.held.drain(..n);
                if let Some(left) = &mut echoed.left {
                    *left = left.saturating_sub(n);
                }
            }
            if echoed.left == Some(0) {
                machine.close_stream(*id, ErrorCode::INTERNAL_ERROR);
                return false;
            }
            if echoed.ended && echoed.held.is_empty() {
                machine.close_stream(*id, ErrorCode::NO_ERROR);
                return false;
            }
            true
        });
    }
}

impl ScriptedPeer for EchoServer {
    fn on_event(&mut self, what: PeerEvent, io: &mut PeerIo) {
        if self.over {
            return;
        }
        self.timed &= what != PeerEvent::Timer;
        let mut machine = match self.machine.take() {
            Some(machine) => machine,
            None => Http2Machine::server(&limits(io), time(io)),
        };
        self.over = exchange(&mut machine, what, io);
        while let Some(event) = machine.next_event() {
            self.handle(&mut machine, event, io);
        }
        for _ in 0..4 {
            self.advance(&mut machine);
        }
        write(&mut machine, &mut self.unsent, io);
        if self.over {
            io.close(false);
        } else if !self.streams.is_empty() && !std::mem::replace(&mut self.timed, true) {
            io.set_timer(Duration::from_millis(3));
        }
        self.machine = Some(machine);
    }
}

fn run(seed: u64, resets: bool) -> EchoLedger {
    let service = |service: &mut ServiceConfig| service.http2.offer = ClientHttp2Mode::Always;
    let pool = |pool: &mut PoolConfig| pool.http2.speak = ServerHttp2Mode::Only;
    let window = 1_000 + (seed % 7) as usize * 9_000;
    let stage = WorkerHarness::new(seed, window, setting(&addresses(2), service, pool, |_| ()));
    for address in addresses(2) {
        stage.serve(address, move || EchoServer {
            machine: None,
            unsent: Vec::new(),
            streams: BTreeMap::new(),
            resets,
            timed: false,
            over: false,
        });
    }
    let door = stage.open(ServiceId(0));
    let ledger = Rc::new(RefCell::new(EchoLedger::default()));
    for client in 0..3 {
        let peer = EchoClient {
            machine: None,
            ledger: ledger.clone(),
            seed: seed * 10 + client,
            unsent: Vec::new(),
            streams: BTreeMap::new(),
            resets,
            timed: false,
            over: false,
        };
        stage.client(&door, client, Duration::from_millis(client), peer);
    }
    let ended = || {
        let ledger = ledger.borrow();
        ledger.whole + ledger.reset + ledger.broken == 3 * STREAMS
    };
    stage.until(|| ended() && stage.connections() == 0);
    stage.finish();
    let ledger = ledger.take();
    assert!(ledger.wrong.is_empty(), "seed {seed}: {:?}", ledger.wrong);
    ledger
}

#[test]
fn what_nobody_resets_comes_back_complete() {
    for seed in seeds(8) {
        let ledger = run(seed, false);
        assert_eq!((ledger.whole, ledger.broken), (3 * STREAMS, 0), "seed {seed}");
    }
}

#[test]
fn streams_that_either_side_resets_break_no_others() {
    let mut sums = EchoLedger::default();
    for seed in seeds(12) {
        let ledger = run(seed, true);
        sums.whole += ledger.whole;
        sums.reset += ledger.reset;
        sums.broken += ledger.broken;
    }
    assert!(sums.whole > 0 && sums.reset > 0, "{sums:?}");
}
