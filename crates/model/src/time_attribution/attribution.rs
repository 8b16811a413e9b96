//! Attributes the time of one exchange to owners and limits, from its facts.
//!
//! Each phase and each wait is assigned to one owner until no time of the exchange is left, so the sum is the total for
//! any facts. If a socket was not read, or carries several exchanges, time that only its counters explain stays
//! unknown.

use crate::cause::{Cause, Side};
use crate::limit::{Limit, TimeOwner};

use super::breakdown::TimeBreakdown;
use super::exchange_measurement::{ExchangeMeasurement, RequestDrain};
use super::tcp_info::TcpInfoDelta;
use super::wait_times::WaitReason;

/// Round trips of a TLS handshake (RFC 8446 §2, RFC 5246 §7.3).
const TLS_ROUND_TRIPS: u64 = 2;
/// Round trips to open a connection under TLS: one for TCP, two for the handshake.
const CONNECT_ROUND_TRIPS: u64 = 3;
/// The smallest cost of one lost segment, nanoseconds: the minimum retransmission timeout of Linux.
const MIN_RTO: u64 = 200_000_000;
/// Segments of the initial window (RFC 6928).
const FIRST_FLIGHT: u64 = 10;
/// A round trip that exceeds the smallest by this ratio indicates a queue in front of the link.
const QUEUE_RTT_RATIO: (u64, u64) = (135, 100);
/// The round trip must also exceed the smallest by this much, microseconds.
const QUEUE_RTT_EXCESS_US: u64 = 4_000;
/// The delay after which HyStart++ takes a link for full: an eighth of the smallest round trip, within these bounds,
/// microseconds (RFC 9406, 4.3). A sender that stops there leaves no longer queue.
const HYSTART_EXCESS_US: std::ops::RangeInclusive<u64> = 4_000..=16_000;
/// What the kernel's clock of milliseconds adds to a receiver's round trip by rounding both ends, microseconds.
const RECEIVE_RTT_TICK_US: u64 = 2_000;

/// The longest that Linux delays an acknowledgement (TCP_DELACK_MAX), nanoseconds.
const MAX_ACK_DELAY: u64 = 200_000_000;
/// Arrivals within a round trip that show a full link. A sender that pauses makes one or two of each pause.
const FLIGHT_ARRIVALS: u64 = 8;

/// Attributes the time of an exchange. The parts sum to its total.
pub fn attribute_time(facts: &ExchangeMeasurement) -> TimeBreakdown {
    let mut share =
        UnattributedTime { remaining: facts.total, breakdown: TimeBreakdown::default() };
    let phases = &facts.phases;
    let waits = &facts.wait_times;
    share.assign(Some(TimeOwner::Balancer), Limit::BalancerCpu, waits.total(WaitReason::Processor));
    share.assign(Some(TimeOwner::Balancer), Limit::BalancerHold, phases.accept);
    attribute_handshake(facts, &mut share);
    let head = SendingWait { whole: phases.head, ..SendingWait::of(TimeOwner::Client) };
    attribute_sending(&head, facts.client_tcp.as_ref(), &mut share);
    // No client and no server of the request is to blame for a service that the operator has asked.
    share.assign(Some(TimeOwner::Balancer), Limit::AuthAnswer, waits.total(WaitReason::AuthAnswer));
    share.assign(Some(TimeOwner::Balancer), Limit::Queue, phases.queue);
    attribute_connect(facts, &mut share);
    let [from_client, _, from_server, _] = facts.bytes;
    let client = facts.client_tcp.as_ref();
    let server = facts.server_tcp.as_ref();
    let [client_arrivals, server_arrivals] = waits.arrivals();
    let sending = SendingWait {
        whole: waits.total(WaitReason::ClientSend),
        bytes: from_client,
        arrivals: client_arrivals,
        hides_losses: facts.flags.client_quic,
        ..SendingWait::of(TimeOwner::Client)
    };
    attribute_sending(&sending, client, &mut share);
    attribute_receiving(
        waits.total(WaitReason::ServerReceive),
        server,
        TimeOwner::Server,
        &mut share,
    );
    attribute_response_wait(facts, &mut share);
    let sending = SendingWait {
        whole: waits.total(WaitReason::ServerSend),
        bytes: from_server,
        arrivals: server_arrivals,
        ..SendingWait::of(TimeOwner::Server)
    };
    attribute_sending(&sending, server, &mut share);
    attribute_receiving(
        waits.total(WaitReason::ClientReceive),
        client,
        TimeOwner::Client,
        &mut share,
    );
    share.assign(
        Some(TimeOwner::Client),
        Limit::StreamWindow,
        waits.total(WaitReason::StreamWindow),
    );
    share.assign(
        Some(TimeOwner::Server),
        Limit::StreamWindow,
        waits.total(WaitReason::ServerStreamWindow),
    );
    share.assign(Some(TimeOwner::Client), Limit::ClientThink, waits.total(WaitReason::ClientThink));
    share.assign(None, Limit::Unknown, waits.total(WaitReason::Either));
    attribute_rest(facts, &mut share);
    share.breakdown.sort();
    share.breakdown
}

/// The time that is not assigned yet.
struct UnattributedTime {
    remaining: u64,
    breakdown: TimeBreakdown,
}

impl UnattributedTime {
    fn assign(&mut self, owner: Option<TimeOwner>, limit: Limit, nanos: u64) {
        let nanos = nanos.min(self.remaining);
        self.remaining -= nanos;
        self.breakdown.add(owner, limit, nanos);
    }
}

/// What nothing else explains.
fn attribute_rest(facts: &ExchangeMeasurement, share: &mut UnattributedTime) {
    // The waits include those of a failed attempt; the rest of it was spent on connecting.
    let cause = facts.end_cause().map(Cause::side);
    match (facts.attempts, cause) {
        (0 | 1, _) => share.assign(Some(TimeOwner::Balancer), Limit::BalancerHold, u64::MAX),
        (_, None | Some(Side::Network)) => {
            share.assign(Some(TimeOwner::Network), Limit::Connect, u64::MAX);
        }
        (_, Some(Side::Server)) => {
            share.assign(Some(TimeOwner::Server), Limit::Connect, u64::MAX);
        }
        // Why the attempts before failed is not known.
        (_, Some(Side::Client | Side::Balancer)) => share.assign(None, Limit::Connect, u64::MAX),
    }
}

/// The client's handshake: its round trips belong to the path, the rest to the client.
fn attribute_handshake(facts: &ExchangeMeasurement, share: &mut UnattributedTime) {
    let tls = facts.phases.tls;
    let Some(client) = &facts.client_tcp else {
        return share.assign(None, Limit::Tls, tls);
    };
    let path = tls.min(TLS_ROUND_TRIPS * client.min_round_trip());
    share.assign(Some(TimeOwner::Network), Limit::Tls, path);
    share.assign(Some(TimeOwner::Client), Limit::Tls, tls - path);
}

/// Connecting belongs to the path; under TLS the time beyond its round trips belongs to the server.
fn attribute_connect(facts: &ExchangeMeasurement, share: &mut UnattributedTime) {
    let whole = facts.phases.connect;
    let path = match &facts.server_tcp {
        Some(server)
            if facts.flags.server_tls && server.lost_segments() == 0 && server.min_rtt_us > 0 =>
        {
            whole.min(CONNECT_ROUND_TRIPS * server.min_round_trip())
        }
        _ => whole,
    };
    share.assign(Some(TimeOwner::Network), Limit::Connect, path);
    share.assign(Some(TimeOwner::Server), Limit::Tls, whole - path);
}

/// From the request's last byte to the response's first: one round trip, the cost of a lost request, what kept a long
/// request in our send buffer, the server's work.
fn attribute_response_wait(facts: &ExchangeMeasurement, share: &mut UnattributedTime) {
    let whole = facts.wait_times.total(WaitReason::ServerResponse);
    let path = facts.server_tcp.map_or(0, |server| server.min_round_trip()).min(whole);
    share.assign(Some(TimeOwner::Network), Limit::Latency, path);
    let mut left = whole - path;
    let drain = request_drain(facts);
    let window = drain.rwnd_limited_us.saturating_mul(1000).min(left);
    share.assign(Some(TimeOwner::Server), Limit::Rwnd, window);
    left -= window;
    // Where it is known how long data was outstanding, nothing was sent again beyond that.
    let outstanding = match drain.busy_us {
        0 => left,
        busy => busy.saturating_sub(drain.rwnd_limited_us).saturating_mul(1000).min(left),
    };
    let lost = facts.server_tcp.map_or(0, |server| u64::from(server.lost_segments()));
    // A lost segment costs a retransmission timeout: the kernel's minimum, or about two round trips on a long path.
    let retransmission = lost.saturating_mul(MIN_RTO.max(2 * path)).min(outstanding);
    share.assign(Some(TimeOwner::Network), Limit::Loss, retransmission);
    left -= retransmission;
    // The last acknowledgement may be delayed without that anything was still to be sent.
    let acknowledging = path.saturating_add(MAX_ACK_DELAY).saturating_add(retransmission);
    let sending = match drain.busy_us {
        0 => 0,
        _ => outstanding.saturating_sub(acknowledging).min(left),
    };
    let limit = facts.server_tcp.as_ref().map_or(Limit::Unknown, path_limit);
    share.assign(Some(TimeOwner::Network), limit, sending);
    share.assign(Some(TimeOwner::Server), Limit::ServerThink, left - sending);
}

/// What the kernel did with the request after its last byte was handed over. In a tunnel it is not known which byte is the
/// last: there it is what the server's window held up, beyond the waits for the server to take more.
fn request_drain(facts: &ExchangeMeasurement) -> RequestDrain {
    match &facts.server_tcp {
        Some(server) if facts.flags.tunnel && server.own => {
            let waited_us = facts.wait_times.total(WaitReason::ServerReceive) / 1000;
            let rwnd_limited_us = server.rwnd_limited_us.saturating_sub(waited_us);
            RequestDrain { busy_us: 0, rwnd_limited_us }
        }
        _ => facts.request_drain,
    }
}

/// Waiting for a side to send.
struct SendingWait {
    sender: TimeOwner,
    whole: u64,
    /// What was received meanwhile.
    bytes: u64,
    /// How often it was waited for.
    arrivals: u32,
    /// Losses on the way to us are not counted.
    hides_losses: bool,
}

impl SendingWait {
    fn of(sender: TimeOwner) -> SendingWait {
        SendingWait { sender, whole: 0, bytes: 0, arrivals: 0, hides_losses: false }
    }

    /// Whether less arrived than any path lets through: two packets in each round trip (RFC 9002, 7.2; RFC 5681, 3.1).
    fn has_pauses(&self, change: &TcpInfoDelta) -> bool {
        let packets = 2 * u128::from(change.mss) * u128::from(self.whole);
        u128::from(self.bytes) * u128::from(change.min_round_trip()) < packets
    }

    /// Whether the link towards us was full: segments arrived one by one, without a pause that a sender without data
    /// would make, after a round trip that a queue had made longer.
    fn fills_link(&self, change: &TcpInfoDelta) -> bool {
        let least = u64::from(change.min_rtt_us);
        let seen = u64::from(change.receive_rtt_us);
        // What the sender answers at once shows the same queue.
        let has_queue =
            exceeds_by_queue(seen, least) || exceeds_by_queue(u64::from(change.rtt_us), least);
        // A program acknowledges what QUIC carries. Where it may take longer than the path, its delay is no queue.
        let is_paths = !self.hides_losses || least >= QUEUE_RTT_EXCESS_US;
        has_queue && is_paths && self.is_steady(change)
    }

    /// Whether the link towards us may have been full: the round trip is longer than the sender's own pace explains, by
    /// less than a path may vary.
    fn may_fill_link(&self, change: &TcpInfoDelta) -> bool {
        let pace_us = self.whole / 1000 / u64::from(self.arrivals).max(1);
        let excess_us =
            u64::from(change.receive_rtt_us).saturating_sub(u64::from(change.min_rtt_us));
        excess_us > 2 * pace_us + RECEIVE_RTT_TICK_US && self.is_steady(change)
    }

    /// Whether segments arrived one by one, without a pause that a sender without data would make.
    fn is_steady(&self, change: &TcpInfoDelta) -> bool {
        let arrivals = u64::from(self.arrivals);
        let seen = u64::from(change.receive_rtt_us);
        let has_no_pause = self.whole / arrivals.max(1) <= seen * 1000 / FLIGHT_ARRIVALS;
        // Half of them: some wait for nothing that came.
        let full_segments = self.bytes >= arrivals.saturating_mul(u64::from(change.mss)) / 2;
        change.min_rtt_us > 0 && arrivals >= FLIGHT_ARRIVALS && has_no_pause && full_segments
    }
}

/// Whether a round trip exceeds the smallest by what only a queue explains; microseconds.
fn exceeds_by_queue(now: u64, least: u64) -> bool {
    now * QUEUE_RTT_RATIO.1 > least * QUEUE_RTT_RATIO.0 && now > least + QUEUE_RTT_EXCESS_US
}

/// Whether a round trip exceeds the smallest by what a sender takes for a queue; microseconds.
fn exceeds_by_hystart(now: u64, least: u64) -> bool {
    now > least + (least / 8).clamp(*HYSTART_EXCESS_US.start(), *HYSTART_EXCESS_US.end())
}

/// Waiting for a side to send: the cost of losses, of a full link and of slow start; the rest belongs to the sender.
fn attribute_sending(
    wait: &SendingWait,
    change: Option<&TcpInfoDelta>,
    share: &mut UnattributedTime,
) {
    let SendingWait { sender, bytes, .. } = *wait;
    let mut left = wait.whole;
    if let Some(change) = change {
        // A millisecond at least, so that a loss counts on the shortest paths too.
        let turn = change.min_round_trip().max(u64::from(change.rtt_us) * 1000).max(1_000_000);
        let lost = u64::from(change.missed_segments()).saturating_mul(turn).min(left);
        share.assign(Some(TimeOwner::Network), Limit::Loss, lost);
        left -= lost;
        if wait.fills_link(change) {
            return share.assign(Some(TimeOwner::Network), Limit::LinkRate, left);
        }
        let starting = (slow_start_round_trips(bytes, change) * change.min_round_trip()).min(left);
        share.assign(Some(TimeOwner::Network), Limit::SlowStart, starting);
        left -= starting;
        if wait.may_fill_link(change) || (wait.hides_losses && !wait.has_pauses(change)) {
            return share.assign(None, Limit::Unknown, left);
        }
    }
    share.assign(Some(sender), Limit::AppSender, left);
}

/// Round trips after the first that these bytes need when the window doubles each time.
fn slow_start_round_trips(bytes: u64, change: &TcpInfoDelta) -> u64 {
    let segment = u64::from(change.mss);
    match bytes.checked_div(FIRST_FLIGHT * segment) {
        Some(flights) => u64::from((flights + 1).ilog2()),
        None => 0,
    }
}

/// Waiting for `receiver` to read more, divided as the kernel's counters of that socket divide its time.
fn attribute_receiving(
    whole: u64,
    change: Option<&TcpInfoDelta>,
    receiver: TimeOwner,
    share: &mut UnattributedTime,
) {
    let Some(change) = change else { return share.assign(None, Limit::Unknown, whole) };
    let window = change.rwnd_limited_us;
    let buffer = change.sndbuf_limited_us;
    let path = change.busy_us.saturating_sub(window.saturating_add(buffer));
    let all = u128::from(window) + u128::from(buffer) + u128::from(path);
    if all == 0 {
        return share.assign(None, Limit::Unknown, whole);
    }
    let part = |of: u64| (u128::from(whole) * u128::from(of) / all) as u64;
    let closed = if change.window == 0 { Limit::ZeroWindow } else { Limit::Rwnd };
    share.assign(Some(receiver), closed, part(window));
    share.assign(Some(TimeOwner::Balancer), Limit::SendBuffer, part(buffer));
    let rest = whole - part(window) - part(buffer);
    // The kernel does not count the send buffer as the limit if a write finds it full after all of it was sent.
    match fills_buffer(change) && !is_lossy(change) {
        true => share.assign(Some(TimeOwner::Balancer), Limit::SendBuffer, rest),
        false => share.assign(Some(TimeOwner::Network), path_limit(change), rest),
    }
}

/// Whether the balancer's send buffer was full of bytes in flight. A buffer that the kernel sizes holds two congestion
/// windows and their bookkeeping, at least three times the bytes ever in flight.
fn fills_buffer(change: &TcpInfoDelta) -> bool {
    let bytes = u128::from(change.bytes_acked);
    let rtt = u128::from(change.rtt_us);
    let on_its_way = (bytes * rtt).checked_div(u128::from(change.busy_us));
    change.send_buffer > 0 && on_its_way.is_some_and(|bytes| 2 * bytes >= change.send_buffer.into())
}

/// Whether retransmissions matter: one segment in a hundred (Siekkinen 2006).
fn is_lossy(change: &TcpInfoDelta) -> bool {
    let segments = change.bytes_acked / u64::from(change.mss.max(1));
    u64::from(change.retransmits) * 100 > segments
}

/// The limit of the bytes in flight.
fn path_limit(change: &TcpInfoDelta) -> Limit {
    let now = u64::from(change.rtt_us);
    let least = u64::from(change.min_rtt_us);
    if is_lossy(change) {
        Limit::Loss
    } else if exceeds_by_hystart(now, least) {
        Limit::LinkRate
    } else if change.cwnd < change.ssthresh {
        Limit::SlowStart
    } else {
        Limit::Cwnd
    }
}
