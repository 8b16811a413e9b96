//! What a QUIC connection's sending waited for, added up as the kernel adds it up for TCP (tcp_info).
//!
//! `quinn-proto` tells that a stream may not be written, and not why. Its frames and its congestion control tell it.

use model::monotonic_time::MonotonicTime;
use model::time_attribution::TcpInfoSample;
use quinn_proto::Connection;

use crate::downstream::quic::congestion_control;

/// Why a stream's bytes could not be handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SendBlock {
    /// The congestion window is full.
    Path,
    /// The client's window, of the stream or the connection, is full.
    Window,
    /// The balancer's send buffer is full of what is on its way.
    Buffer,
}

/// Times for which streams could not be written, nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct SendTimes {
    /// All of them.
    blocked: u64,
    window: u64,
    buffer: u64,
    block: Option<SendBlock>,
    since: MonotonicTime,
    /// Full windows that the library had reported when nothing blocked.
    reported: u64,
}

/// What the library knows where a stream cannot be written.
#[derive(Clone, Copy, Debug)]
struct BlockedStream {
    /// All that it has taken is sent, or may be sent at once.
    is_drained: bool,
    /// It has told the client that the window is full.
    is_window_reported: bool,
}

impl BlockedStream {
    fn find_block(&self) -> SendBlock {
        match (self.is_drained, self.is_window_reported) {
            (false, _) => SendBlock::Path,
            (true, true) => SendBlock::Window,
            // All is on its way, and no more may be kept.
            (true, false) => SendBlock::Buffer,
        }
    }
}

impl SendTimes {
    /// Adds up the time since the last call, and looks at what blocks from now on.
    pub fn update(&mut self, conn: &Connection, is_blocked: bool, now: MonotonicTime) {
        if !is_blocked && self.block.is_none() {
            return;
        }
        let sent = conn.stats().frame_tx;
        let reported = sent.data_blocked + sent.stream_data_blocked;
        let block = is_blocked.then(|| {
            let blocked = BlockedStream {
                is_drained: congestion_control::read_sent_bytes(conn).is_drained,
                is_window_reported: reported > self.reported,
            };
            blocked.find_block()
        });
        if !is_blocked {
            self.reported = reported;
        }
        self.change(block, now);
    }

    /// The counters that the kernel would have of a TCP connection. What is received out of order is not known.
    pub fn read_counters(&self, conn: &Connection) -> TcpInfoSample {
        TcpInfoSample {
            busy_us: self.blocked / 1000,
            rwnd_limited_us: self.window / 1000,
            sndbuf_limited_us: self.buffer / 1000,
            // The client's window is not known; it was not closed for good.
            window: 1,
            ..read_path(conn)
        }
    }

    /// From now on this blocks; `None`: nothing does.
    fn change(&mut self, block: Option<SendBlock>, now: MonotonicTime) {
        let spent = now.since(self.since).as_nanos() as u64;
        if let Some(before) = self.block {
            self.blocked = self.blocked.saturating_add(spent);
            match before {
                SendBlock::Path => {}
                SendBlock::Window => self.window = self.window.saturating_add(spent),
                SendBlock::Buffer => self.buffer = self.buffer.saturating_add(spent),
            }
        }
        self.block = block;
        self.since = now;
    }
}

fn read_path(conn: &Connection) -> TcpInfoSample {
    let stats = conn.stats();
    let path = stats.path;
    let metrics = conn.congestion_state().metrics();
    let packet = u64::from(path.current_mtu.max(1));
    let packets = |bytes: u64| clamp(bytes / packet);
    let micros = |time: std::time::Duration| u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
    TcpInfoSample {
        bytes_acked: congestion_control::read_sent_bytes(conn).acked,
        bytes_received: stats.udp_rx.bytes,
        retransmits: clamp(path.lost_packets),
        rtt_us: micros(path.rtt),
        min_rtt_us: micros(path.min_rtt),
        cwnd: packets(metrics.congestion_window),
        ssthresh: metrics.ssthresh.map_or(u32::MAX, packets),
        mss: clamp(packet),
        // The client acknowledges what is sent to it, so its round trip has the queue of either direction in it.
        receive_rtt_us: micros(path.rtt),
        ..TcpInfoSample::default()
    }
}

fn clamp(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_window_is_told_from_a_full_buffer_and_a_busy_path() {
        let block = |is_drained, is_window_reported| {
            BlockedStream { is_drained, is_window_reported }.find_block()
        };
        assert_eq!(block(false, false), SendBlock::Path);
        assert_eq!(block(false, true), SendBlock::Path, "what was taken is not sent yet");
        assert_eq!(block(true, true), SendBlock::Window);
        assert_eq!(block(true, false), SendBlock::Buffer);
    }

    #[test]
    fn times_are_added_up_by_what_blocked() {
        let at = |milliseconds: u64| MonotonicTime(milliseconds * 1_000_000);
        let mut times = SendTimes::default();
        times.change(Some(SendBlock::Path), at(10));
        times.change(Some(SendBlock::Window), at(15));
        times.change(Some(SendBlock::Buffer), at(35));
        times.change(None, at(36));
        times.change(Some(SendBlock::Window), at(100));
        times.change(None, at(101));
        let sums = [times.blocked, times.window, times.buffer].map(|nanos| nanos / 1_000_000);
        assert_eq!(sums, [27, 21, 1]);
    }
}
