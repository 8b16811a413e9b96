//! The kernel's counters of one connection (tcp_info, linux/tcp.h), and their change within an exchange.
//!
//! It reads no socket.

use serde::{Deserialize, Serialize};

/// Totals of a connection since it was opened, and its state at the time of reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfoSample {
    /// Time with unacknowledged sent data, including the two limited times below; microseconds.
    pub busy_us: u64,
    /// The part of it that was limited by the peer's receive window.
    pub rwnd_limited_us: u64,
    /// The part of it that was limited by the balancer's send buffer.
    pub sndbuf_limited_us: u64,
    /// Acknowledged bytes that the balancer sent.
    pub bytes_acked: u64,
    /// Bytes received from the peer.
    pub bytes_received: u64,
    /// The newest estimate of the delivery rate, bytes a second.
    pub delivery_rate: u64,
    /// Segments that the balancer retransmitted.
    pub retransmits: u32,
    /// Out-of-order segments of the peer.
    pub out_of_order: u32,
    /// Smoothed round trip, microseconds.
    pub rtt_us: u32,
    /// The smallest round trip, microseconds; 0: none measured.
    pub min_rtt_us: u32,
    /// Bytes in the send buffer that were not yet sent.
    pub not_sent: u32,
    /// The peer's window, bytes.
    pub window: u32,
    /// The congestion window, segments.
    pub cwnd: u32,
    /// Slow start threshold, segments: below it the congestion window doubles each round trip.
    pub ssthresh: u32,
    /// Bytes of a full segment.
    pub mss: u32,
    /// The size of the send buffer, bytes, bookkeeping included (SO_SNDBUF); 0: unknown.
    pub send_buffer: u32,
    /// The round trip that the receiving side sees, microseconds: it has the queue of the path towards us in it.
    pub receive_rtt_us: u32,
}

/// The change of a connection's counters between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TcpInfoDelta {
    /// Time with unacknowledged sent data, including the two limited times below; microseconds.
    pub busy_us: u64,
    /// The part of it that was limited by the peer's receive window.
    pub rwnd_limited_us: u64,
    /// The part of it that was limited by the balancer's send buffer.
    pub sndbuf_limited_us: u64,
    /// Acknowledged bytes that the balancer sent.
    pub bytes_acked: u64,
    /// Bytes received from the peer.
    pub bytes_received: u64,
    /// The newest estimate of the delivery rate, bytes a second.
    pub delivery_rate: u64,
    /// Segments that the balancer retransmitted.
    pub retransmits: u32,
    /// Out-of-order segments of the peer.
    pub out_of_order: u32,
    /// Smoothed round trip at the end, microseconds.
    pub rtt_us: u32,
    /// The smallest round trip, microseconds; 0: none measured.
    pub min_rtt_us: u32,
    /// Bytes in the send buffer at the end that were not yet sent.
    pub not_sent: u32,
    /// The peer's window at the end, bytes.
    pub window: u32,
    /// The congestion window at the end, segments.
    pub cwnd: u32,
    /// Slow start threshold, segments: below it the congestion window doubles each round trip.
    pub ssthresh: u32,
    /// Bytes of a full segment.
    pub mss: u32,
    /// Size of the send buffer at the end, bytes, including bookkeeping (SO_SNDBUF); 0: unknown.
    #[serde(default)]
    pub send_buffer: u32,
    /// The round trip that the receiving side sees at the end, microseconds; 0: unknown.
    #[serde(default)]
    pub receive_rtt_us: u32,
    /// Whether the first reading belongs to this exchange; otherwise the counters include earlier exchanges on the same
    /// connection.
    pub own: bool,
}

impl TcpInfoSample {
    /// The change since `before` on the same connection.
    pub fn delta_since(&self, before: &TcpInfoSample, own: bool) -> TcpInfoDelta {
        TcpInfoDelta {
            busy_us: self.busy_us.saturating_sub(before.busy_us),
            rwnd_limited_us: self.rwnd_limited_us.saturating_sub(before.rwnd_limited_us),
            sndbuf_limited_us: self.sndbuf_limited_us.saturating_sub(before.sndbuf_limited_us),
            bytes_acked: self.bytes_acked.saturating_sub(before.bytes_acked),
            bytes_received: self.bytes_received.saturating_sub(before.bytes_received),
            delivery_rate: self.delivery_rate,
            retransmits: self.retransmits.saturating_sub(before.retransmits),
            out_of_order: self.out_of_order.saturating_sub(before.out_of_order),
            rtt_us: self.rtt_us,
            min_rtt_us: self.min_rtt_us,
            not_sent: self.not_sent,
            window: self.window,
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            mss: self.mss,
            send_buffer: self.send_buffer,
            receive_rtt_us: self.receive_rtt_us,
            own,
        }
    }
}

impl TcpInfoDelta {
    pub fn min_round_trip(&self) -> u64 {
        u64::from(self.min_rtt_us) * 1000
    }

    /// Segments lost on the path to the peer, if they belong to this exchange.
    pub fn lost_segments(&self) -> u32 {
        if self.own { self.retransmits } else { 0 }
    }

    /// Segments out of order after a loss on the path to the balancer.
    pub fn missed_segments(&self) -> u32 {
        if self.own { self.out_of_order } else { 0 }
    }
}
