//! A small model of TCP over one path, in simulated time: what limits its transfers is planted in the settings.
//!
//! It models what an analysis must recognise and no more: windows, congestion, buffers, delayed acknowledgements,
//! Nagle, loss and its repair, a link's rate and the times of programs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::capture::{ACK, FIN, MS, PlantedPacket, SYN};
use crate::host::{HostAction, HostSettings, ModelHost, Segment};
use crate::truth::{PlantedOwners, TruthRecord};

/// A request and its answer: when programs send how much.
#[derive(Clone, Debug)]
pub struct PlannedExchange {
    /// The client's pause before it.
    pub pause_ms: i64,
    /// Each piece of a message: the wait before it, and its bytes.
    pub request: Vec<PlannedPiece>,
    pub think_ms: i64,
    pub answer: Vec<PlannedPiece>,
}

#[derive(Clone, Copy, Debug)]
pub struct PlannedPiece {
    pub wait_ms: i64,
    pub bytes: usize,
}

#[derive(Clone, Debug)]
pub struct ModelSettings {
    pub hosts: [HostSettings; 2],
    pub one_way_ns: i64,
    /// Most jitter of each packet; order is kept.
    pub jitter_ns: i64,
    /// Bytes a second from the server to the client; 0: no limit.
    pub rate: i64,
    /// One in so many data packets of the server is lost; 0: none.
    pub lose_every: u64,
    /// Whether it is lost before the capture.
    pub lose_before_capture: bool,
    /// Where the capture is, in parts of the path from the client, percent.
    pub capture_percent: i64,
    pub exchanges: Vec<PlannedExchange>,
    pub is_tls: bool,
    /// Whether segments have timestamps, in milliseconds of clocks that differ.
    pub has_stamps: bool,
    pub connection: u16,
    pub start_ms: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ModelEvent {
    Arrive(usize, Segment),
    /// A program writes this many bytes.
    Write(usize, usize),
    Timer(usize, u64),
    Acknowledge(usize, u64),
    Read(usize),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct QueuedEvent {
    time_ns: i64,
    order: u64,
    event: ModelEvent,
}

/// A running model.
#[derive(Debug)]
pub struct TcpModel {
    settings: ModelSettings,
    streams: [Vec<u8>; 2],
    hosts: [ModelHost; 2],
    queue: BinaryHeap<Reverse<QueuedEvent>>,
    now_ns: i64,
    order: u64,
    random: u64,
    link_free_ns: i64,
    last_arrival_ns: [i64; 2],
    data_packets: u64,
    ids: [u16; 2],
    asked: usize,
    answered: usize,
    is_closed: bool,
    packets: Vec<PlantedPacket>,
    truth: TruthRecord,
}

/// What a run showed at the capture, and whose time it really was.
#[derive(Debug)]
pub struct PlantedRun {
    pub packets: Vec<PlantedPacket>,
    pub owners: PlantedOwners,
}

/// What the hosts' clocks show when the model begins, milliseconds.
const CLOCKS_MS: [i64; 2] = [4_294_960_000, 77_123];

const INITIAL: [u32; 2] = [4_000_000_000, 77_000];

impl TcpModel {
    /// The packets of a run, as they pass the capture.
    pub fn run(settings: &ModelSettings) -> Vec<PlantedPacket> {
        TcpModel::run_with_truth(settings).packets
    }

    pub fn run_with_truth(settings: &ModelSettings) -> PlantedRun {
        let streams = crate::streams::build_streams(&settings.exchanges, settings.is_tls);
        let hosts = [0, 1]
            .map(|at| ModelHost::new(settings.hosts[at].clone(), settings.hosts[1 - at].window));
        let mut model = TcpModel {
            settings: settings.clone(),
            streams,
            hosts,
            queue: BinaryHeap::new(),
            now_ns: settings.start_ms * MS,
            order: 0,
            random: 0x9e37_79b9_7f4a_7c15 ^ u64::from(settings.connection),
            link_free_ns: 0,
            last_arrival_ns: [0; 2],
            data_packets: 0,
            ids: [300, 40_000],
            asked: 0,
            answered: 0,
            is_closed: false,
            packets: Vec::new(),
            truth: TruthRecord::default(),
        };
        model.shake_hands();
        model.ask();
        // A limit instead of a hang: no case has as many events.
        for _ in 0..4_000_000 {
            let Some(Reverse(next)) = model.queue.pop() else { break };
            model.now_ns = next.time_ns;
            model.handle(next.event);
        }
        let begun_ns = settings.start_ms * MS;
        let owners = model.truth.owners(&settings.exchanges, begun_ns, &settings.hosts);
        PlantedRun { packets: model.packets, owners }
    }

    fn shake_hands(&mut self) {
        let shake = [(0, SYN), (1, SYN | ACK), (0, ACK)];
        for (from, flags) in shake {
            self.set_clock(from);
            let mut segment = self.hosts[from].acknowledgement();
            segment.flags = flags;
            let arrives = self.transmit(from, segment.clone()).unwrap();
            self.hosts[1 - from].note_stamp(&segment);
            self.now_ns = if flags == ACK { self.now_ns } else { arrives };
        }
    }

    fn ask(&mut self) {
        let Some(exchange) = self.settings.exchanges.get(self.asked) else { return };
        let mut at_ns = self.now_ns + exchange.pause_ms * MS;
        for piece in exchange.request.clone() {
            at_ns += piece.wait_ms * MS;
            self.push(at_ns, ModelEvent::Write(0, piece.bytes));
        }
        self.asked += 1;
    }

    fn handle(&mut self, event: ModelEvent) {
        let now_ns = self.now_ns;
        let at = match event {
            ModelEvent::Write(at, bytes) => {
                self.hosts[at].write(bytes);
                at
            }
            ModelEvent::Arrive(at, segment) => {
                self.hosts[at].receive(&segment, now_ns);
                self.run_programs(at);
                at
            }
            ModelEvent::Timer(at, token) => {
                self.hosts[at].on_timer(token);
                at
            }
            ModelEvent::Acknowledge(at, token) => {
                self.hosts[at].on_delayed_ack(token);
                at
            }
            ModelEvent::Read(at) => {
                self.hosts[at].read(now_ns);
                at
            }
        };
        self.set_clock(at);
        for action in self.hosts[at].take_actions(now_ns) {
            match action {
                HostAction::Send(segment) => {
                    if let Some(arrives) = self.transmit(at, segment.clone()) {
                        self.push(arrives, ModelEvent::Arrive(1 - at, segment));
                    }
                }
                HostAction::SetTimer(at_ns, token) => {
                    self.push(at_ns, ModelEvent::Timer(at, token))
                }
                HostAction::DelayAck(at_ns, token) => {
                    self.push(at_ns, ModelEvent::Acknowledge(at, token));
                }
                HostAction::ReadAt(at_ns) => self.push(at_ns, ModelEvent::Read(at)),
            }
        }
        let is_queued = at == 1 && self.link_free_ns > now_ns;
        self.truth.note_state(at, now_ns, &self.hosts[at], is_queued);
        self.close_when_done();
    }

    fn set_clock(&mut self, at: usize) {
        self.hosts[at].stamp = (CLOCKS_MS[at] + self.now_ns / MS) as u32;
    }

    /// What the programs do with what arrived.
    fn run_programs(&mut self, at: usize) {
        let total = |exchanges: &[PlannedExchange], is_request: bool| -> usize {
            let pieces = exchanges
                .iter()
                .flat_map(|one| if is_request { &one.request } else { &one.answer });
            pieces.map(|piece| piece.bytes).sum()
        };
        let received = self.hosts[at].received() as usize;
        if at == 1 {
            while self.answered < self.asked
                && received >= total(&self.settings.exchanges[..=self.answered], true)
            {
                let exchange = self.settings.exchanges[self.answered].clone();
                self.answered += 1;
                let mut at_ns = self.now_ns + exchange.think_ms * MS;
                for piece in exchange.answer {
                    at_ns += piece.wait_ms * MS;
                    self.push(at_ns, ModelEvent::Write(1, piece.bytes));
                }
            }
        } else if self.asked == self.answered
            && received >= total(&self.settings.exchanges[..self.asked], false)
        {
            self.ask();
        }
    }

    fn close_when_done(&mut self) {
        let done = self.queue.is_empty() && !self.is_closed;
        if done && self.answered == self.settings.exchanges.len() {
            self.is_closed = true;
            for (from, flags) in [(0, FIN | ACK), (1, FIN | ACK), (0, ACK)] {
                let mut segment = self.hosts[from].acknowledgement();
                segment.flags = flags;
                segment.seq += u64::from(flags == ACK);
                segment.ack += u64::from(from == 1 || flags == ACK);
                let arrives = self.transmit(from, segment).unwrap();
                self.now_ns = arrives;
            }
        }
    }

    /// Puts a segment on the path: captures it, and returns when it arrives. `None`: lost.
    fn transmit(&mut self, from: usize, segment: Segment) -> Option<i64> {
        let settings = &self.settings;
        let length = segment.length as i64;
        let mut leaves_ns = self.now_ns;
        if from == 1 && settings.rate > 0 {
            // The link is at the client's end: a queue stands between server and link.
            leaves_ns =
                leaves_ns.max(self.link_free_ns) + (length + 54) * 1_000_000_000 / settings.rate;
            self.link_free_ns = leaves_ns;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let jitter = if settings.jitter_ns > 0 {
            (self.random % settings.jitter_ns.cast_unsigned()).cast_signed()
        } else {
            0
        };
        let arrives =
            (leaves_ns + settings.one_way_ns + jitter).max(self.last_arrival_ns[from] + 1_000);
        self.last_arrival_ns[from] = arrives;
        let percent =
            if from == 0 { settings.capture_percent } else { 100 - settings.capture_percent };
        // Before the queue the capture sees packets as they were sent.
        let passes_ns = self.now_ns + (arrives - self.now_ns) * percent / 100;
        let is_lost = from == 1 && length > 0 && settings.lose_every > 0 && !segment.is_repeat && {
            self.data_packets += 1;
            self.data_packets.is_multiple_of(settings.lose_every)
        };
        let is_captured = !(is_lost && settings.lose_before_capture);
        if is_captured {
            let packet = self.planted(from, &segment, passes_ns);
            self.packets.push(packet);
        }
        self.ids[from] = self.ids[from].wrapping_add(1);
        self.truth.note_sent(from, self.now_ns, &segment, is_lost);
        (!is_lost).then_some(arrives)
    }

    fn planted(&self, from: usize, segment: &Segment, time_ns: i64) -> PlantedPacket {
        let host = &self.settings.hosts[from];
        let is_syn = segment.flags & SYN != 0;
        let start = segment.seq as usize;
        let syn = u32::from(!is_syn);
        let is_scaled = self.settings.hosts.iter().all(|host| host.scale.is_some()) && !is_syn;
        let shift = if is_scaled { host.scale.unwrap_or(0) } else { 0 };
        PlantedPacket {
            time_ns,
            connection: self.settings.connection,
            is_from_client: from == 0,
            seq: INITIAL[from].wrapping_add(segment.seq as u32).wrapping_add(syn),
            ack: if segment.flags & ACK != 0 {
                INITIAL[1 - from].wrapping_add(segment.ack as u32).wrapping_add(1)
            } else {
                0
            },
            flags: segment.flags,
            window: (segment.window >> shift).min(65_535) as u16,
            scale: host.scale,
            ip_id: self.ids[from],
            ttl: 64,
            vlan: None,
            stamps: self.settings.has_stamps.then_some([segment.stamp, segment.echo]),
            payload: self.streams[from][start.min(self.streams[from].len())..]
                [..segment.length.min(self.streams[from].len().saturating_sub(start))]
                .to_vec(),
        }
    }

    fn push(&mut self, time_ns: i64, event: ModelEvent) {
        self.order += 1;
        self.queue.push(Reverse(QueuedEvent { time_ns, order: self.order, event }));
    }
}
