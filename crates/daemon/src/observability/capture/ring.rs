//! Packets that passed lately, in bounded memory, and those that a capture takes of them. Pure.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Memory of a packet beside its bytes (estimate).
const PACKET_OVERHEAD: u64 = 96;
/// Connections that one capture may be about.
/// A capture is about one client or server at a time; further connections are another's.
pub const FLOWS: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedPacket {
    /// When it passed, nanoseconds since 1970.
    pub at_ns: u64,
    pub source: SocketAddr,
    pub destination: SocketAddr,
    /// Bytes that there were.
    pub original: u32,
    pub bytes: Box<[u8]>,
}

impl CapturedPacket {
    fn cost(&self) -> u64 {
        self.bytes.len() as u64 + PACKET_OVERHEAD
    }
}

#[derive(Debug)]
pub struct PacketRing {
    packets: VecDeque<Arc<CapturedPacket>>,
    bytes: u64,
    max_bytes: u64,
    evicted: u64,
}

impl PacketRing {
    /// A ring of this many bytes.
    pub fn new(most: u64) -> PacketRing {
        PacketRing { packets: VecDeque::new(), bytes: 0, max_bytes: most, evicted: 0 }
    }

    pub fn resize(&mut self, most: u64) {
        self.max_bytes = most;
        self.shrink();
    }

    /// Adds a packet; evicts the oldest ones to make room.
    pub fn push(&mut self, packet: Arc<CapturedPacket>) {
        self.bytes += packet.cost();
        self.packets.push_back(packet);
        self.shrink();
    }

    fn shrink(&mut self) {
        while self.bytes > self.max_bytes
            && let Some(gone) = self.packets.pop_front()
        {
            self.bytes -= gone.cost();
            self.evicted += 1;
        }
    }

    /// Packets that went for others.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }
}

/// Connections by an end: of an address or of any, to a port of the other side or to any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureFlow {
    pub ip: Option<IpAddr>,
    pub port: u16,
    /// The other end's; `None`: any.
    pub other: Option<u16>,
}

impl CaptureFlow {
    fn matches(&self, packet: &CapturedPacket) -> bool {
        let one = |this: &SocketAddr, that: &SocketAddr| {
            this.port() == self.port
                && self.ip.is_none_or(|ip| ip == this.ip())
                && self.other.is_none_or(|port| port == that.port())
        };
        one(&packet.source, &packet.destination) || one(&packet.destination, &packet.source)
    }
}

/// Connections with a comment about them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnotatedFlow {
    pub flow: CaptureFlow,
    pub note: String,
}

/// A packet with the comment that it carries in a file; mostly none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnotatedPacket {
    pub packet: Arc<CapturedPacket>,
    pub note: String,
}

/// A capture under way.
#[derive(Debug, Default)]
pub struct CaptureBuffer {
    flows: Vec<AnnotatedFlow>,
    packets: Vec<Arc<CapturedPacket>>,
    bytes: u64,
    max_bytes: u64,
    /// Packets and connections that did not fit.
    left_out: u64,
}

impl CaptureBuffer {
    /// A buffer of at most this many bytes.
    pub fn new(most: u64) -> CaptureBuffer {
        CaptureBuffer { max_bytes: most, ..CaptureBuffer::default() }
    }

    /// Adds a connection: its packets in the ring, and later ones. `note`: a comment about it.
    pub fn add_flow(&mut self, ring: &PacketRing, flow: CaptureFlow, note: &str) {
        if let Some(known) = self.flows.iter_mut().find(|known| known.flow == flow) {
            if !note.is_empty() && known.note.len() < trace::output::COMMENT_BYTES {
                known.note.push_str(if known.note.is_empty() { "" } else { "\n" });
                known.note.push_str(note);
            }
            return;
        }
        if self.flows.len() >= FLOWS {
            self.left_out += 1;
            return;
        }
        let mine = |packet: &&Arc<CapturedPacket>| {
            flow.matches(packet) && !self.flows.iter().any(|known| known.flow.matches(packet))
        };
        let found: Vec<Arc<CapturedPacket>> =
            ring.packets.iter().filter(mine).map(Arc::clone).collect();
        self.flows.push(AnnotatedFlow { flow, note: note.to_owned() });
        found.into_iter().for_each(|packet| self.push_packet(packet));
    }

    /// Takes a packet that has just passed, if it is of one of the connections.
    pub fn offer(&mut self, packet: &Arc<CapturedPacket>) {
        if self.flows.iter().any(|known| known.flow.matches(packet)) {
            self.push_packet(Arc::clone(packet));
        }
    }

    fn push_packet(&mut self, packet: Arc<CapturedPacket>) {
        if self.bytes + packet.cost() > self.max_bytes {
            self.left_out += 1;
            return;
        }
        self.bytes += packet.cost();
        self.packets.push(packet);
    }

    /// Packets in order of arrival. The first packet of each connection carries its comment.
    pub fn packets(&mut self) -> Vec<AnnotatedPacket> {
        self.packets.sort_by_key(|packet| packet.at_ns);
        let mut said = vec![false; self.flows.len()];
        let with_note = |packet: &Arc<CapturedPacket>| {
            let at = self.flows.iter().position(|known| known.flow.matches(packet));
            let first = at.filter(|at| !std::mem::replace(&mut said[*at], true));
            let note = first.map(|at| self.flows[at].note.clone()).unwrap_or_default();
            AnnotatedPacket { packet: Arc::clone(packet), note }
        };
        self.packets.iter().map(with_note).collect()
    }

    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured_packet(at_ns: u64, from: &str, to: &str) -> Arc<CapturedPacket> {
        let from = from.parse().unwrap();
        let to = to.parse().unwrap();
        Arc::new(CapturedPacket {
            at_ns,
            source: from,
            destination: to,
            original: 40,
            bytes: vec![0; 4].into(),
        })
    }

    fn flow(ip: &str, port: u16, other: Option<u16>) -> CaptureFlow {
        CaptureFlow { ip: ip.parse().ok(), port, other }
    }

    #[test]
    fn the_oldest_go_and_are_counted() {
        let mut ring = PacketRing::new(5 * 100);
        (0..8).for_each(|at| ring.push(captured_packet(at, "192.0.2.1:1", "192.0.2.2:80")));
        assert_eq!((ring.packets.len(), ring.evicted(), ring.packets[0].at_ns), (5, 3, 3));
        ring.resize(100);
        assert_eq!((ring.packets.len(), ring.evicted()), (1, 7));
    }

    #[test]
    fn a_capture_has_both_sides_of_what_it_is_about_and_nothing_else() {
        let mut ring = PacketRing::new(1 << 20);
        let rows = [
            (1, "192.0.2.1:1000", "192.0.2.9:80"),
            (2, "192.0.2.1:1001", "192.0.2.9:80"),
            (3, "10.0.0.9:4000", "10.0.0.1:8080"),
            (4, "10.0.0.9:4001", "10.0.0.1:8080"),
            (5, "10.0.0.1:8080", "10.0.0.9:4000"),
            (6, "192.0.2.9:80", "192.0.2.1:1000"),
        ];
        rows.iter().for_each(|(at, from, to)| ring.push(captured_packet(*at, from, to)));
        let mut taking = CaptureBuffer::new(1 << 20);
        taking.add_flow(&ring, flow("192.0.2.1", 1000, None), "the client");
        taking.add_flow(&ring, flow("10.0.0.1", 8080, Some(4000)), "the server");
        taking.offer(&captured_packet(7, "192.0.2.1:1000", "192.0.2.9:80"));
        taking.offer(&captured_packet(8, "192.0.2.1:1001", "192.0.2.9:80"));
        taking.add_flow(&ring, flow("192.0.2.1", 1000, None), "again");
        let found: Vec<(u64, String)> =
            taking.packets().into_iter().map(|one| (one.packet.at_ns, one.note)).collect();
        let expected = [(1, "the client\nagain"), (3, "the server"), (5, ""), (6, ""), (7, "")];
        assert_eq!(found, expected.map(|(at, note)| (at, note.to_owned())));
        let mut all = CaptureBuffer::new(1 << 20);
        all.add_flow(&ring, CaptureFlow { ip: None, port: 80, other: None }, "");
        assert_eq!(all.packets().len(), 3, "a service on any address");
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let mut taking = CaptureBuffer::new(250);
        let ring = PacketRing::new(1 << 20);
        taking.add_flow(&ring, flow("192.0.2.1", 1, None), "");
        (0..5).for_each(|at| taking.offer(&captured_packet(at, "192.0.2.1:1", "192.0.2.2:80")));
        assert_eq!((taking.packets().len(), taking.left_out()), (2, 3));
        for port in 2..FLOWS as u16 + 2 {
            taking.add_flow(&ring, flow("192.0.2.1", port, None), "");
        }
        assert_eq!(taking.left_out(), 4);
    }
}
