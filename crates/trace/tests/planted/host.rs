//! One end of the TCP model: what it sends, acknowledges and advertises.

use crate::capture::{ACK, MS};

#[derive(Clone, Debug)]
pub struct HostSettings {
    /// Receive buffer, bytes.
    pub window: u64,
    pub scale: Option<u8>,
    /// Bytes a second that the program reads; 0: at once.
    pub read_rate: u64,
    /// Until when the program does not read at all, milliseconds since the capture began.
    pub reads_from_ms: i64,
    /// How long single acknowledgements are delayed; 0: not at all.
    pub delayed_ack_ms: i64,
    pub nagle: bool,
    /// Send buffer, bytes.
    pub send_buffer: u64,
    /// The first congestion window, segments.
    pub first_window: u64,
}

impl Default for HostSettings {
    fn default() -> HostSettings {
        HostSettings {
            window: 1 << 20,
            scale: Some(7),
            read_rate: 0,
            reads_from_ms: 0,
            delayed_ack_ms: 0,
            nagle: false,
            send_buffer: 4 << 20,
            first_window: 10,
        }
    }
}

/// A segment between the ends; offsets count from the first byte of data.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Segment {
    pub seq: u64,
    pub ack: u64,
    pub flags: u8,
    pub length: usize,
    pub window: u64,
    pub is_repeat: bool,
    /// The sender's clock when it was sent, milliseconds.
    pub stamp: u32,
    /// The latest such time of the peer that the sender knows.
    pub echo: u32,
}

/// What keeps a host from sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendObstacle {
    /// Its program has written nothing more, or its buffer holds no more.
    Program,
    Window,
    Congestion,
    Nagle,
}

#[derive(Debug)]
pub enum HostAction {
    Send(Segment),
    SetTimer(i64, u64),
    DelayAck(i64, u64),
    ReadAt(i64),
}

pub const MSS: u64 = 1_460;

#[derive(Debug)]
pub struct ModelHost {
    settings: HostSettings,
    written: u64,
    unacked: u64,
    next: u64,
    highest: u64,
    congestion: u64,
    threshold: u64,
    edge: u64,
    repeats: u32,
    recover: u64,
    /// What is to be sent again.
    resend: bool,
    received: u64,
    early: Vec<(u64, u64)>,
    read: u64,
    advertised: u64,
    pending: u32,
    ack_now: bool,
    timer: u64,
    timer_set: bool,
    backoff: u32,
    probe: bool,
    ack_token: u64,
    delayed: bool,
    reading: bool,
    read_at_ns: i64,
    /// Its clock, and what it knows of the peer's.
    pub stamp: u32,
    echo: u32,
    actions: Vec<HostAction>,
}

impl ModelHost {
    pub fn new(settings: HostSettings, peer_window: u64) -> ModelHost {
        let congestion = settings.first_window * MSS;
        let advertised = settings.window;
        ModelHost {
            settings,
            written: 0,
            unacked: 0,
            next: 0,
            highest: 0,
            congestion,
            threshold: u64::MAX,
            // A SYN's window is not scaled.
            edge: peer_window.min(65_535),
            repeats: 0,
            recover: 0,
            resend: false,
            received: 0,
            early: Vec::new(),
            read: 0,
            advertised,
            pending: 0,
            ack_now: false,
            timer: 0,
            timer_set: false,
            backoff: 0,
            probe: false,
            ack_token: 0,
            delayed: false,
            reading: false,
            read_at_ns: 0,
            stamp: 0,
            echo: 0,
            actions: Vec::new(),
        }
    }

    /// Bytes that the peer has acknowledged.
    pub fn unacked(&self) -> u64 {
        self.unacked
    }

    pub fn obstacle(&self) -> SendObstacle {
        let buffered = self.unacked + self.settings.send_buffer;
        let room = self.edge.saturating_sub(self.next);
        let by_congestion = self.congestion.saturating_sub(self.next - self.unacked);
        let wanted = MSS.min(self.written - self.next);
        if wanted == 0 || buffered < self.next + wanted {
            SendObstacle::Program
        } else if room < wanted && room <= by_congestion {
            SendObstacle::Window
        } else if by_congestion < wanted {
            SendObstacle::Congestion
        } else {
            SendObstacle::Nagle
        }
    }

    pub fn received(&self) -> u64 {
        self.received
    }

    pub fn write(&mut self, bytes: usize) {
        self.written += bytes as u64;
    }

    fn window(&self) -> u64 {
        let free = self.settings.window - (self.received - self.read).min(self.settings.window);
        // No silly windows: less than a segment is advertised as nothing (RFC 9293, 3.8.6.2.2).
        if free < MSS.min(self.settings.window / 2) { 0 } else { free }
    }

    pub fn acknowledgement(&self) -> Segment {
        Segment {
            seq: self.next,
            ack: self.received,
            flags: ACK,
            length: 0,
            window: self.window(),
            is_repeat: false,
            stamp: self.stamp,
            echo: self.echo,
        }
    }

    /// As RFC 7323, 4.3 has it.
    pub fn note_stamp(&mut self, segment: &Segment) {
        if segment.seq <= self.received {
            self.echo = segment.stamp;
        }
    }

    pub fn receive(&mut self, segment: &Segment, now_ns: i64) {
        self.note_stamp(segment);
        self.take_ack(segment);
        if segment.length == 0 {
            // A probe is answered.
            self.ack_now |= segment.is_repeat;
            return;
        }
        let to = segment.seq + segment.length as u64;
        let before = self.received;
        if segment.seq <= self.received {
            self.received = self.received.max(to);
            while let Some(at) = self.early.iter().position(|(from, _)| *from <= self.received) {
                let (_, to) = self.early.swap_remove(at);
                self.received = self.received.max(to);
            }
        } else {
            self.early.push((segment.seq, to));
        }
        let in_order = self.received == to && before == segment.seq;
        self.pending += 1;
        self.ack_now |= !in_order || self.pending >= 2 || self.settings.delayed_ack_ms == 0;
        if !self.ack_now && !self.delayed {
            self.delayed = true;
            self.ack_token += 1;
            let at_ns = now_ns + self.settings.delayed_ack_ms * MS;
            self.actions.push(HostAction::DelayAck(at_ns, self.ack_token));
        }
        self.plan_read(now_ns);
    }

    fn plan_read(&mut self, now_ns: i64) {
        let slow = self.settings.read_rate > 0 || now_ns < self.settings.reads_from_ms * MS;
        if !slow {
            self.read = self.received;
        } else if !self.reading && self.read < self.received {
            self.reading = true;
            let from_ns = now_ns.max(self.settings.reads_from_ms * MS);
            // A program reads a buffer at a time.
            let portion = 8 * MSS;
            let wait_ns =
                (portion * 1_000_000_000).checked_div(self.settings.read_rate).unwrap_or(0);
            self.read_at_ns = from_ns + wait_ns.cast_signed();
            self.actions.push(HostAction::ReadAt(self.read_at_ns));
        }
    }

    pub fn read(&mut self, now_ns: i64) {
        let before = self.window();
        self.reading = false;
        let portion = if self.settings.read_rate > 0 { 8 * MSS } else { u64::MAX };
        self.read = self.received.min(self.read.saturating_add(portion));
        let now = self.window();
        // A window that opens by two segments or by half is announced.
        let opened = now >= before + (2 * MSS).min(self.settings.window / 2);
        self.ack_now |= opened
            && (before < 2 * MSS
                || self.advertised + self.settings.window / 2 <= self.received + now);
        self.plan_read(now_ns);
    }

    fn take_ack(&mut self, segment: &Segment) {
        self.edge = self.edge.max(segment.ack + segment.window);
        if segment.ack > self.unacked {
            let acked = segment.ack - self.unacked;
            self.unacked = segment.ack;
            self.next = self.next.max(self.unacked);
            self.repeats = 0;
            self.backoff = 0;
            self.timer_set = false;
            if self.unacked < self.recover {
                // A partial acknowledgement: the next hole (RFC 6582).
                self.resend = true;
            } else if self.congestion < self.threshold {
                self.congestion += acked.min(2 * MSS);
            } else {
                self.congestion += (MSS * MSS / self.congestion).max(1);
            }
        } else if segment.length == 0 && segment.ack == self.unacked && self.next > self.unacked {
            self.repeats += 1;
            if self.repeats == 3 && self.unacked >= self.recover {
                self.threshold = ((self.next - self.unacked) / 2).max(2 * MSS);
                self.congestion = self.threshold;
                self.recover = self.highest;
                self.resend = true;
            }
        }
    }

    pub fn on_timer(&mut self, token: u64) {
        if !self.timer_set || token != self.timer {
            return;
        }
        self.timer_set = false;
        if self.next > self.unacked {
            self.threshold = ((self.next - self.unacked) / 2).max(2 * MSS);
            self.congestion = MSS;
            self.recover = self.highest;
            self.resend = true;
        } else if self.written > self.next {
            self.probe = true;
        }
        self.backoff += 1;
    }

    pub fn on_delayed_ack(&mut self, token: u64) {
        self.ack_now |= self.delayed && token == self.ack_token;
    }

    /// Decides what to send now.
    pub fn take_actions(&mut self, now_ns: i64) -> Vec<HostAction> {
        if std::mem::take(&mut self.resend) && self.next > self.unacked {
            let length = (self.highest - self.unacked).min(MSS);
            self.send(self.unacked, length, true);
        }
        if std::mem::take(&mut self.probe) {
            let mut segment = self.acknowledgement();
            segment.seq = self.next - 1;
            segment.is_repeat = true;
            self.actions.push(HostAction::Send(segment));
        }
        loop {
            let ready = self.written.min(self.unacked + self.settings.send_buffer);
            let flight = self.next - self.unacked;
            let room = self.edge.saturating_sub(self.next);
            let by_congestion = self.congestion.saturating_sub(flight);
            let length = MSS.min(ready - self.next.min(ready)).min(room).min(by_congestion);
            let is_small = length < MSS;
            let is_end = self.next + length == self.written;
            if length == 0 || (is_small && !is_end) {
                break;
            }
            if is_small && flight > 0 && self.settings.nagle {
                break;
            }
            let from = self.next;
            self.next += length;
            self.send(from, length, false);
        }
        if self.ack_now {
            let segment = self.acknowledgement();
            self.note_ack();
            self.actions.push(HostAction::Send(segment));
        }
        let waits = self.next > self.unacked || self.written > self.next;
        if waits && !self.timer_set {
            self.timer_set = true;
            self.timer += 1;
            let at_ns = now_ns + (400 * MS) * (1 << self.backoff.min(6));
            self.actions.push(HostAction::SetTimer(at_ns, self.timer));
        }
        std::mem::take(&mut self.actions)
    }

    fn send(&mut self, from: u64, length: u64, is_repeat: bool) {
        self.highest = self.highest.max(from + length);
        let length = length as usize;
        let segment = Segment { seq: from, length, is_repeat, ..self.acknowledgement() };
        self.note_ack();
        self.actions.push(HostAction::Send(segment));
    }

    fn note_ack(&mut self) {
        self.advertised = self.received + self.window();
        self.ack_now = false;
        self.pending = 0;
        self.delayed = false;
    }
}
