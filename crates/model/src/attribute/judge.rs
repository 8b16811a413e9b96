//! From the facts of one exchange to whose time it was, and why.
//!
//! Each phase and each wait is given to one owner after the other until nothing of the exchange is left, so the sum is
//! the total whatever the facts say. Where a socket was not read, or carries several exchanges, what only it could tell
//! stays unknown.

use crate::limit::{Limit, Owner};

use super::bars::Bars;
use super::evidence::Facts;
use super::tcp::Change;
use super::waits::For;

/// Flights of a handshake of TLS that are waited for (RFC 8446 §2, RFC 5246 §7.3).
const TLS_TURNS: u64 = 2;
/// Round trips of opening a connection under TLS: one for TCP, two for the handshake.
const OPENING_TURNS: u64 = 3;
/// What one lost segment may cost at least before it is sent again: the least retransmission timeout of Linux.
const TIMEOUT: u64 = 200_000_000;
/// Segments of a first flight (RFC 6928).
const FIRST_FLIGHT: u64 = 10;
/// A round trip so much longer than the shortest says that a queue stands before the link.
const STANDING: (u64, u64) = (135, 100);
/// And longer by so much, microseconds.
const STANDING_US: u64 = 4_000;

/// Whose time an exchange took. The parts sum to its total.
pub fn judge(facts: &Facts) -> Bars {
    let mut share = Share { left: facts.total, bars: Bars::default() };
    let (phases, waits) = (&facts.phases, &facts.waits);
    share.take(Some(Owner::Balancer), Limit::BalancerHold, phases.accept);
    handshake(facts, &mut share);
    sends(phases.head, facts.client_tcp.as_ref(), Owner::Client, 0, &mut share);
    share.take(Some(Owner::Balancer), Limit::Queue, phases.queue);
    connect(facts, &mut share);
    let [from_client, _, from_server, _] = facts.bytes;
    let (client, server) = (facts.client_tcp.as_ref(), facts.server_tcp.as_ref());
    sends(waits.of(For::ClientSends), client, Owner::Client, from_client, &mut share);
    takes(waits.of(For::ServerTakes), server, Owner::Server, &mut share);
    answer(facts, &mut share);
    sends(waits.of(For::ServerSends), server, Owner::Server, from_server, &mut share);
    takes(waits.of(For::ClientTakes), client, Owner::Client, &mut share);
    share.take(Some(Owner::Client), Limit::StreamWindow, waits.of(For::StreamTakes));
    share.take(Some(Owner::Client), Limit::ClientThink, waits.of(For::ClientThinks));
    share.take(None, Limit::Unknown, waits.of(For::Either));
    // What an attempt waited for before it failed is in the waits; what is left of it is connecting.
    match facts.attempts {
        0 | 1 => share.take(Some(Owner::Balancer), Limit::BalancerHold, u64::MAX),
        _ => share.take(Some(Owner::Network), Limit::Connect, u64::MAX),
    }
    share.bars.sort();
    share.bars
}

/// What is left to be given to somebody.
struct Share {
    left: u64,
    bars: Bars,
}

impl Share {
    fn take(&mut self, owner: Option<Owner>, limit: Limit, nanos: u64) {
        let nanos = nanos.min(self.left);
        self.left -= nanos;
        self.bars.add(owner, limit, nanos);
    }
}

/// The client's handshake: its round trips are the path's, the rest is the client's.
fn handshake(facts: &Facts, share: &mut Share) {
    let tls = facts.phases.tls;
    let Some(client) = &facts.client_tcp else {
        return share.take(None, Limit::Tls, tls);
    };
    let path = tls.min(TLS_TURNS * client.round_trip());
    share.take(Some(Owner::Network), Limit::Tls, path);
    share.take(Some(Owner::Client), Limit::Tls, tls - path);
}

/// Connecting is the path's time; under TLS what exceeds its round trips is the server's.
fn connect(facts: &Facts, share: &mut Share) {
    let whole = facts.phases.connect;
    let path = match &facts.server_tcp {
        Some(server) if facts.flags.server_tls && server.lost() == 0 && server.min_rtt_us > 0 => {
            whole.min(OPENING_TURNS * server.round_trip())
        }
        _ => whole,
    };
    share.take(Some(Owner::Network), Limit::Connect, path);
    share.take(Some(Owner::Server), Limit::Tls, whole - path);
}

/// From the request's last byte to the answer's first: one round trip, what a lost request costs, the server's work.
fn answer(facts: &Facts, share: &mut Share) {
    let whole = facts.waits.of(For::Answer);
    let path = facts.server_tcp.map_or(0, |server| server.round_trip()).min(whole);
    let lost = facts.server_tcp.map_or(0, |server| u64::from(server.lost()));
    let again = lost.saturating_mul(TIMEOUT.max(2 * path)).min(whole - path);
    share.take(Some(Owner::Network), Limit::Latency, path);
    share.take(Some(Owner::Network), Limit::Loss, again);
    share.take(Some(Owner::Server), Limit::ServerThink, whole - path - again);
}

/// Waiting for `sender` to send: what a loss on the way and the beginning of a connection cost, the rest is its own.
fn sends(whole: u64, change: Option<&Change>, sender: Owner, bytes: u64, share: &mut Share) {
    let mut left = whole;
    if let Some(change) = change {
        let turn = change.round_trip().max(u64::from(change.rtt_us) * 1000).max(1_000_000);
        let lost = u64::from(change.missed()).saturating_mul(turn).min(left);
        share.take(Some(Owner::Network), Limit::Loss, lost);
        left -= lost;
        let starting = (turns(bytes, change) * change.round_trip()).min(left);
        share.take(Some(Owner::Network), Limit::SlowStart, starting);
        left -= starting;
    }
    share.take(Some(sender), Limit::AppSender, left);
}

/// Round trips after the first in which so many bytes arrive when the window doubles each time.
fn turns(bytes: u64, change: &Change) -> u64 {
    let segment = u64::from(change.mss);
    match bytes.checked_div(FIRST_FLIGHT * segment) {
        Some(flights) => u64::from((flights + 1).ilog2()),
        None => 0,
    }
}

/// Waiting for `receiver` to take more: split as the kernel's chronographs of that socket split its time.
fn takes(whole: u64, change: Option<&Change>, receiver: Owner, share: &mut Share) {
    let Some(change) = change else { return share.take(None, Limit::Unknown, whole) };
    let (window, buffer) = (change.rwnd_limited_us, change.sndbuf_limited_us);
    let path = change.busy_us.saturating_sub(window.saturating_add(buffer));
    let all = u128::from(window) + u128::from(buffer) + u128::from(path);
    if all == 0 {
        return share.take(None, Limit::Unknown, whole);
    }
    let part = |of: u64| (u128::from(whole) * u128::from(of) / all) as u64;
    let closed = if change.window == 0 { Limit::ZeroWindow } else { Limit::Rwnd };
    share.take(Some(receiver), closed, part(window));
    share.take(Some(Owner::Balancer), Limit::SendBuffer, part(buffer));
    let rest = whole - part(window) - part(buffer);
    // The kernel's clock for the buffer stands still where a write finds it full after all of it was sent.
    match fills_buffer(change) && !is_lossy(change) {
        true => share.take(Some(Owner::Balancer), Limit::SendBuffer, rest),
        false => share.take(Some(Owner::Network), on_path(change), rest),
    }
}

/// Whether our buffer was full of what was on its way. A buffer that the kernel sizes itself holds two congestion
/// windows and their bookkeeping, three and more times as much as is ever on its way.
fn fills_buffer(change: &Change) -> bool {
    let (bytes, rtt) = (u128::from(change.bytes_acked), u128::from(change.rtt_us));
    let on_its_way = (bytes * rtt).checked_div(u128::from(change.busy_us));
    change.send_buffer > 0 && on_its_way.is_some_and(|it| 2 * it >= change.send_buffer.into())
}

/// Whether so much was sent again that it counts: one segment in a hundred (Siekkinen 2006).
fn is_lossy(change: &Change) -> bool {
    let segments = change.bytes_acked / u64::from(change.mss.max(1));
    u64::from(change.retransmits) * 100 > segments
}

/// What kept bytes on the way.
fn on_path(change: &Change) -> Limit {
    let (now, least) = (u64::from(change.rtt_us), u64::from(change.min_rtt_us));
    if is_lossy(change) {
        Limit::Loss
    } else if now * STANDING.1 > least * STANDING.0 && now > least + STANDING_US {
        Limit::LinkRate
    } else if change.cwnd < change.ssthresh {
        Limit::SlowStart
    } else {
        Limit::Cwnd
    }
}
