//! One sampled connection as the datapath stores it: totals since it was first seen. Facts only.

use std::net::IpAddr;

/// A side of a connection, by what it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowSide {
    Client,
    Server,
}

impl FlowSide {
    /// In the order of their places in pairs.
    pub const ALL: [FlowSide; 2] = [FlowSide::Client, FlowSide::Server];

    pub const fn name(self) -> &'static str {
        match self {
            FlowSide::Client => "client",
            FlowSide::Server => "server",
        }
    }
}

/// The window scale of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowWindowScale {
    /// Both SYNs were seen, or one of them that offers no scaling: windows are shifted by this much.
    Known(u8),
    /// Only the side's own SYN was seen: at most this, if the other side agreed.
    AtMost(u8),
    /// The SYN was not seen: only a zero window can be recognized.
    Unknown,
}

/// Counters of the packets that one side sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowSideCounters {
    pub packets: u64,
    /// Packets whose data had already passed the balancer: lost behind it, or retransmitted unnecessarily.
    pub retransmitted: u64,
    /// Packets that filled a gap late: lost before the balancer.
    pub filled: u64,
    /// Packets that filled a gap at once: reordered.
    pub reordered: u64,
    /// Packets with a zero window.
    pub zero_window: u64,
    /// Packets whose window is smaller than a segment.
    pub silly_window: u64,
    pub resets: u64,
    /// How long its window was closed, nanoseconds.
    pub zero_window_nanos: u64,
    /// How long its window was smaller than a segment.
    pub silly_window_nanos: u64,
    /// How long it was silent before a packet that repaired a loss.
    pub loss_recovery_nanos: u64,
}

impl FlowSideCounters {
    fn fields_mut(&mut self) -> [&mut u64; 10] {
        [
            &mut self.packets,
            &mut self.retransmitted,
            &mut self.filled,
            &mut self.reordered,
            &mut self.zero_window,
            &mut self.silly_window,
            &mut self.resets,
            &mut self.zero_window_nanos,
            &mut self.silly_window_nanos,
            &mut self.loss_recovery_nanos,
        ]
    }

    pub fn add(&mut self, mut other: FlowSideCounters) {
        for (mine, more) in self.fields_mut().into_iter().zip(other.fields_mut()) {
            *mine = mine.saturating_add(*more);
        }
    }

    /// The counts since `before`.
    pub fn delta_since(mut self, mut before: FlowSideCounters) -> FlowSideCounters {
        for (mine, before) in self.fields_mut().into_iter().zip(before.fields_mut()) {
            *mine = mine.saturating_sub(*before);
        }
        self
    }
}

/// One sampled connection. Of each pair the first is the client's, the second the server's; times are nanoseconds on
/// the kernel's clock, 0 if not seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSample {
    /// Identifies the connection, together with `first_packet_at`.
    pub fingerprint: u64,
    pub first_packet_at: u64,
    pub client: IpAddr,
    pub port: u16,
    /// The service, by index.
    pub service: u32,
    /// The server, by index.
    pub server: u32,
    /// Both directions pass the balancer.
    pub bidirectional: bool,
    /// The first packets were not seen.
    pub joined_late: bool,
    /// A reset, or both sides' FIN.
    pub ended: bool,
    /// The server answered the SYN with a reset.
    pub refused: bool,
    /// The first and the last SYN.
    pub syn: [u64; 2],
    /// The server's first and last SYN-ACK.
    pub syn_ack: [u64; 2],
    /// The client's first packet after that; if only one direction is seen, after its SYN.
    pub ack: u64,
    pub syns: [u32; 2],
    pub scale: [FlowWindowScale; 2],
    pub sides: [FlowSideCounters; 2],
}
