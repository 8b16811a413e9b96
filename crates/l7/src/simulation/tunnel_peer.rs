//! Peers of a tunnel: bytes in both directions at once, and every way to end them.
//!
//! Client and server run the same script, each with its side of a plan. An upgrade is a tunnel after a request.
//! `TunnelPlans` records what each side received, for the tests.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::server::{body, pattern};
use super::world::{PeerEvent, PeerIo, ScriptedPeer};

/// How a side ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelEnd {
    /// After it has sent everything.
    Own,
    /// After it has sent everything and the other side has ended.
    After,
    /// With a reset, after it has sent this many bytes.
    Reset(usize),
    Never,
}

/// The plan of both sides; the client's part first.
#[derive(Clone, Copy, Debug)]
pub struct TunnelPlan {
    pub sends: [u64; 2],
    pub ends: [TunnelEnd; 2],
    pub reads: [bool; 2],
}

/// What a side observed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TunnelRecord {
    pub got: u64,
    /// A byte was not the expected one.
    pub wrong: bool,
    /// The other side's end arrived.
    pub ended: bool,
    pub broken: bool,
    /// The side has sent a reset itself.
    pub reset: bool,
}

/// Plans by number, with the observations of both sides.
pub type TunnelPlans = Rc<RefCell<BTreeMap<u64, (TunnelPlan, [TunnelRecord; 2])>>>;

/// One side of a tunnel.
pub struct TunnelPeer {
    plans: TunnelPlans,
    side: usize,
    upgrade: bool,
    id: Option<u64>,
    /// The bytes before the tunnel.
    before: Vec<u8>,
    out: Vec<u8>,
    /// Bytes of `out` that do not belong to the tunnel.
    head: usize,
    sent: usize,
    talking: bool,
    end_sent: bool,
    finished: bool,
}

impl TunnelPeer {
    /// The client of plan `id`.
    pub fn client(plans: TunnelPlans, upgrade: bool, id: u64) -> TunnelPeer {
        let mut talker = TunnelPeer::server(plans, upgrade);
        talker.side = 0;
        talker.id = Some(id);
        if upgrade {
            let fields = "Host: shop\r\nConnection: upgrade\r\nUpgrade: talk\r\n\r\n";
            talker.out = format!("GET /{id} HTTP/1.1\r\n{fields}").into_bytes();
            talker.head = talker.out.len();
        } else {
            talker.out = id.to_be_bytes().to_vec();
            talker.head = 8;
            talker.send_next();
        }
        talker
    }

    /// A server, which gets the number of its plan from the client.
    pub fn server(plans: TunnelPlans, upgrade: bool) -> TunnelPeer {
        TunnelPeer {
            plans,
            side: 1,
            upgrade,
            id: None,
            before: Vec::new(),
            out: Vec::new(),
            head: 0,
            sent: 0,
            talking: false,
            end_sent: false,
            finished: false,
        }
    }

    fn plan(&self) -> Option<TunnelPlan> {
        self.plans.borrow().get(&self.id?).map(|(plan, _)| *plan)
    }

    fn note(&self, change: impl FnOnce(&mut TunnelRecord)) {
        let mut plans = self.plans.borrow_mut();
        if let Some((_, record)) = self.id.and_then(|id| plans.get_mut(&id)) {
            change(&mut record[self.side]);
        }
    }

    fn send_next(&mut self) {
        let (Some(plan), Some(id)) = (self.plan(), self.id) else { return };
        self.talking = true;
        self.out.extend(body(id * 2 + self.side as u64, plan.sends[self.side]));
    }

    /// Reads the bytes before the tunnel; the rest belongs to the tunnel.
    fn preface(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.before.extend(bytes);
        if !self.upgrade {
            let Some(id) = self.before.first_chunk() else { return Vec::new() };
            self.id = Some(u64::from_be_bytes(*id));
            self.send_next();
            return self.before.split_off(8);
        }
        let Some(at) = self.before.windows(4).position(|four| four == b"\r\n\r\n") else {
            return Vec::new();
        };
        let rest = self.before.split_off(at + 4);
        let head = String::from_utf8_lossy(&self.before).into_owned();
        if self.side == 1 {
            let id = head.strip_prefix("GET /").and_then(|rest| rest.split(' ').next());
            self.id = id.and_then(|id| id.parse().ok());
            let fields = "Connection: upgrade\r\nUpgrade: talk\r\n\r\n";
            self.out = format!("HTTP/1.1 101 Switching Protocols\r\n{fields}").into_bytes();
            self.head = self.out.len();
            self.send_next();
        } else if head.starts_with("HTTP/1.1 101 ") {
            self.send_next();
        } else {
            self.finished = true;
        }
        rest
    }

    fn absorb(&mut self, bytes: Vec<u8>) {
        let bytes = if self.talking { bytes } else { self.preface(&bytes) };
        let Some(id) = self.id else { return };
        let theirs = id * 2 + 1 - self.side as u64;
        self.note(|record| {
            for byte in bytes {
                record.wrong |= byte != pattern(theirs, record.got);
                record.got += 1;
            }
        });
    }

    fn write(&mut self, most: usize, io: &mut PeerIo) {
        let mut part = self.out[..most.min(self.out.len())].to_vec();
        let before = part.len();
        io.write(&mut part);
        self.out.drain(..before - part.len());
        self.sent += before - part.len();
    }

    fn finish(&mut self, end: TunnelEnd, ended: bool, io: &mut PeerIo) {
        match end {
            TunnelEnd::Reset(at) => {
                self.write((at + self.head).saturating_sub(self.sent), io);
                if self.talking && (self.out.is_empty() || self.sent >= at + self.head) {
                    self.finished = true;
                    self.note(|record| record.reset = true);
                    io.close(true);
                }
                return;
            }
            _ => self.write(usize::MAX, io),
        }
        let ends = end == TunnelEnd::Own || (end == TunnelEnd::After && ended);
        if self.talking && self.out.is_empty() && ends && !self.end_sent {
            self.end_sent = true;
            io.end();
        }
        if self.end_sent && ended {
            self.finished = true;
            io.close(false);
        }
    }
}

impl ScriptedPeer for TunnelPeer {
    fn on_event(&mut self, what: PeerEvent, io: &mut PeerIo) {
        if self.finished {
            return;
        }
        let reads = self.plan().is_none_or(|plan| plan.reads[self.side]) || !self.talking;
        let bytes = if reads { io.take() } else { Vec::new() };
        self.absorb(bytes);
        self.note(|record| {
            record.ended |= what == PeerEvent::End;
            record.broken |= what == PeerEvent::Broken;
        });
        if what == PeerEvent::Broken || self.finished {
            self.finished = true;
            return io.close(false);
        }
        match self.plan() {
            Some(plan) => {
                let ended = self.id.is_some_and(|id| self.plans.borrow()[&id].1[self.side].ended);
                self.finish(plan.ends[self.side], ended, io);
            }
            None if what == PeerEvent::End => io.close(false),
            None => {}
        }
    }
}
