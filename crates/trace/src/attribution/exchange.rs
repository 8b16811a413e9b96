//! One request-response turn: finds its packets and its times, and has both transfers sliced.
//!
//! Times are those of the capture: q0 and q1 of the request's first and last packet, p0 and p1 of the response's. The
//! server cannot have responded before q1 and one round trip between capture and server.

use super::link_estimate::LinkEstimate;
use super::message_transfer::MessageTransfer;
use super::path::{self, PathTiming};
use super::sender::{Ack, SenderView, SentSegment};
use super::shares::LimitShares;
use super::transaction::{ExchangeKind, MessagePackets, TracedTransaction, TransferPhase};
use super::transfer::{RECOVERY_NS, attribute_transfer};
use super::turns::ConversationTurn;
use crate::event::ConnectionSide;
use crate::ranges::OffsetRange;

/// The context of all turns of a connection.
#[derive(Debug)]
pub struct TurnContext<'a> {
    /// The senders' views of both directions.
    pub views: &'a [SenderView; 2],
    pub path: &'a PathTiming,
    /// The link in both directions.
    pub links: [LinkEstimate; 2],
    pub segments: [u32; 2],
    /// How much longer a round trip to each side may take by the path alone, nanoseconds; `None`: too few samples tell.
    variation_ns: [Option<i64>; 2],
    /// As above; with few samples what no timer of a receiver explains.
    likely_variation_ns: [i64; 2],
    /// How much longer one usually takes.
    usual_extra_ns: [i64; 2],
    /// Whether every slice is wanted, for drawing.
    pub detailed: bool,
}

/// Packets of a message: their indexes in the sender's view, and the packet that completed the message.
#[derive(Clone, Copy)]
struct MessageSpan {
    first: usize,
    last: usize,
    complete: bool,
}

/// Analyses a turn. `None` if none of its packets is stored.
pub fn attribute_turn(
    ground: &TurnContext<'_>,
    mut turn: ConversationTurn,
) -> Option<TracedTransaction> {
    let [client, server] = ground.views;
    let request_span = turn.request.and_then(|range| find_span(client, range));
    let response_span = turn.response.and_then(|range| find_span(server, range));
    let near_ns =
        [ConnectionSide::Client, ConnectionSide::Server].map(|side| ground.path.near_ns(side));
    let mut out = TracedTransaction {
        kind: turn.kind,
        title: turn.title.take(),
        status: turn.status,
        request: TransferPhase::default(),
        response: None,
        setup_ns: 0,
        setup_lost_ns: 0,
        queue_ns: 0,
        tail_ns: 0,
        server_ns: 0,
        unknown_ns: 0,
        lost_ns: 0,
        latency_ns: 0,
        pause_ns: 0,
        near_ns,
        complete: request_span.is_some_and(|span| span.complete)
            && turn.response.is_some()
            && response_span.is_some_and(|span| span.complete),
    };
    let times = |sender: &SenderView, span: MessageSpan| {
        (sender.sent[span.first].time_ns, sender.sent[span.last].time_ns)
    };
    match (request_span, response_span) {
        (None, None) => return None,
        (Some(request_span), None) => {
            let (from_ns, to_ns) = times(client, request_span);
            let side = ConnectionSide::Client;
            out.request = ground.attribute_phase(side, request_span, turn.request?, from_ns, to_ns);
        }
        (None, Some(response_span)) => {
            let (p0, p1) = times(server, response_span);
            out.kind = ExchangeKind::AnswerOnly;
            out.request.from_ns = p0;
            out.request.to_ns = p0;
            out.response = Some(ground.attribute_phase(
                ConnectionSide::Server,
                response_span,
                turn.response?,
                p0,
                p1,
            ));
            let doubtful_ns = ground.path.doubtful_ns(ConnectionSide::Client).min(near_ns[0]);
            out.latency_ns = near_ns[0] - doubtful_ns;
            out.unknown_ns = doubtful_ns;
        }
        (Some(request_span), Some(response_span))
            if times(server, response_span).1 < times(client, request_span).0 =>
        {
            // A response that was over before the request began does not belong to it.
            let (from_ns, to_ns) = times(client, request_span);
            let side = ConnectionSide::Client;
            out.complete = false;
            out.request = ground.attribute_phase(side, request_span, turn.request?, from_ns, to_ns);
        }
        (Some(request_span), Some(response_span)) => {
            ground.attribute_phases(&mut out, &turn, request_span, response_span)
        }
    }
    Some(out)
}

impl<'a> TurnContext<'a> {
    pub fn new(
        views: &'a [SenderView; 2],
        path: &'a PathTiming,
        segments: [u32; 2],
    ) -> TurnContext<'a> {
        let links = [ConnectionSide::Client, ConnectionSide::Server]
            .map(|side| LinkEstimate::estimate(path, side.peer(), &views[side.index()]));
        let sides = [ConnectionSide::Client, ConnectionSide::Server];
        let variation_ns = sides.map(|side| path.variation_ns(side));
        let varies_ns = |side: ConnectionSide| variation_ns[side.index()];
        let undelayed_ns = |side| path.prompt_ns(side) - path.near_ns(side);
        TurnContext {
            views,
            path,
            links,
            segments,
            variation_ns,
            likely_variation_ns: sides.map(|side| varies_ns(side).unwrap_or(undelayed_ns(side))),
            usual_extra_ns: sides
                .map(|side| path.usual_extra_ns(side, varies_ns(side).unwrap_or(0))),
            detailed: false,
        }
    }

    /// A path of varying delay brings many an answer later than the acknowledgement before it, and none earlier. Where
    /// answers mostly come right behind, the others' lag is the path's.
    pub fn settle_thinks(&self, transactions: &mut [TracedTransaction]) {
        let varies_ns = self.likely_variation_ns[ConnectionSide::Server.index()];
        if varies_ns <= path::STEADY_NS {
            return;
        }
        let is_short =
            |one: &&mut TracedTransaction| one.response.is_some() && one.server_ns <= varies_ns;
        let short: Vec<_> = transactions.iter_mut().filter(is_short).collect();
        let prompt = short.iter().filter(|one| one.server_ns <= PROMPT_NS).count();
        if prompt * 5 >= short.len() * 2 {
            for one in short {
                one.queue_ns += std::mem::take(&mut one.server_ns);
            }
        }
    }

    fn attribute_phases(
        &self,
        out: &mut TracedTransaction,
        turn: &ConversationTurn,
        mut request_span: MessageSpan,
        response_span: MessageSpan,
    ) {
        let [client, server] = self.views;
        let (Some(request), Some(response)) = (turn.request, turn.response) else { return };
        let [near_client, near_server] = out.near_ns;
        let p0 = server.sent[response_span.first].time_ns;
        let p1 = server.sent[response_span.last].time_ns;
        let q0 = client.sent[request_span.first].time_ns;
        let mut q1 = client.sent[request_span.last].time_ns;
        if p1 < q1 + near_server {
            // The response ended before the request, so later packets of the request caused no delay.
            let until = (p1 - near_server).max(q0);
            let within = &client.sent[request_span.first..=request_span.last];
            request_span.last =
                request_span.first + within.partition_point(|s| s.time_ns <= until).max(1) - 1;
            q1 = client.sent[request_span.last].time_ns;
        }
        let arrived = q1 + near_server;
        if p0 > arrived {
            let last = &client.sent[request_span.last];
            let answer = &server.sent[response_span.first];
            out.queue_ns = self.queue_delay(ConnectionSide::Client, request.to, last, Some(answer));
            out.server_ns = p0 - arrived - out.queue_ns;
            if client.sent[request_span.last].untimed || server.sent[response_span.first].untimed {
                out.unknown_ns = std::mem::take(&mut out.server_ns);
            }
            // The least time after which a lost answer comes again.
            let long_ns = RECOVERY_NS.max(2 * (near_client + near_server));
            if answer.jump && out.server_ns > long_ns {
                out.lost_ns = std::mem::take(&mut out.server_ns);
            }
        }
        let from_ns = p0.max(arrived).min(p1);
        out.request = self.attribute_phase(ConnectionSide::Client, request_span, request, q0, q1);
        out.response = Some(self.attribute_phase(
            ConnectionSide::Server,
            response_span,
            response,
            from_ns,
            p1,
        ));
        // Where packets are lost an acknowledgement waits for more than a queue.
        let lossy =
            server.sent[response_span.first..=response_span.last].iter().any(|sent| sent.repairs);
        out.tail_ns = if lossy {
            0
        } else {
            let last = &server.sent[response_span.last];
            self.queue_delay(ConnectionSide::Server, response.to, last, None)
        };
        let total = p1 - q0 + near_client + out.tail_ns;
        let rest = total - out.working_ns();
        // A turn pays for the path once. What is left beyond that was idle, and is not the path's.
        out.latency_ns = rest.min(near_client + near_server).max(0);
        out.unknown_ns += (rest - out.latency_ns).max(0);
        let sides = [ConnectionSide::Client, ConnectionSide::Server];
        let doubtful_ns = sides.map(|side| self.path.doubtful_ns(side)).iter().sum::<i64>();
        let doubtful_ns = doubtful_ns.min(out.latency_ns);
        out.latency_ns -= doubtful_ns;
        out.unknown_ns += doubtful_ns;
    }

    /// How much longer than the base the end of a message was on its way behind the capture. The round trips before it
    /// show a queue, all of them how the path varies, and the delay of its own acknowledgement is the upper bound. A
    /// delayed acknowledgement does not count. How late the packet passed by its sender's clock is the lower bound.
    /// `to`: the offset after the message. `last`: its last packet. `answer`: the packet before which it has arrived.
    fn queue_delay(
        &self,
        sender: ConnectionSide,
        to: i64,
        last: &SentSegment,
        answer: Option<&SentSegment>,
    ) -> i64 {
        let receiver = sender.peer();
        let base = self.path.near_ns(receiver);
        let is_before = |ack: &&Ack| {
            answer.is_none_or(|it| ack.sender_ns <= it.time_ns && ack.number != it.number)
        };
        let most = answer.map_or(i64::MAX, |answer| answer.time_ns - last.time_ns - base);
        let late = last.late_ns.min(most);
        let last = last.time_ns;
        let covered = self.views[sender.index()].first_ack(to).filter(is_before);
        let extra = match covered {
            Some(ack) => ack.sender_ns - last - base,
            // Nothing shows it: an answer acknowledges its request itself.
            None if answer.is_some() => {
                return late.max(self.usual_extra_ns[receiver.index()]).min(most);
            }
            None => 0,
        };
        if extra <= late {
            return late;
        }
        let around = last - 2 * self.path.round_trip_ns();
        let samples = self.path.samples(receiver);
        let from = samples.partition_point(|sample| sample.time_ns < around);
        let to = samples.partition_point(|sample| sample.time_ns < last).max(from);
        let near = samples[from.max(to.saturating_sub(MAX_NEAR))..to].iter();
        let queued = near.filter(|s| !s.lone).map(|sample| sample.round_trip_ns - base).max();
        extra.min(queued.unwrap_or(self.likely_variation_ns[receiver.index()])).max(late)
    }

    fn attribute_phase(
        &self,
        side: ConnectionSide,
        span: MessageSpan,
        range: OffsetRange,
        from_ns: i64,
        to_ns: i64,
    ) -> TransferPhase {
        let sender = &self.views[side.index()];
        let link = &self.links[side.index()];
        let first = &sender.sent[span.first];
        let last = &sender.sent[span.last];
        let within = &sender.sent[span.first..=span.last];
        let fresh = within.iter().filter(|sent| !sent.repeat && sent.from < range.to);
        let bytes = range.to.min(sender.high[span.last]) - range.from.max(first.from);
        let mut shares = LimitShares::default();
        let transfer = MessageTransfer {
            sender,
            link,
            first: span.first,
            last: span.last,
            from_ns,
            to: range.to,
            round_trip_ns: self.path.round_trip_ns(),
            usual_round_trip_ns: self.path.round_trip_ns()
                + self.usual_extra_ns.iter().sum::<i64>(),
            varies_ns: self.variation_ns[side.index()],
            peer_varies_ns: self.variation_ns[side.peer().index()].unwrap_or(0),
            by_clock: self.path.varies_ns > 0,
            near_ns: self.path.near_ns(side),
            segment: i64::from(self.segments[side.index()]),
            detailed: self.detailed,
        };
        let sliced = attribute_transfer(&transfer, &mut shares);
        let mut phase = TransferPhase {
            from_ns: first.time_ns,
            to_ns: last.time_ns,
            numbers: MessagePackets { first: first.number, last: last.number },
            packets: fresh.count() as u64,
            bytes: bytes.max(0).cast_unsigned(),
            ns: (to_ns - from_ns).max(0),
            max_in_flight: sliced.max_in_flight,
            cap: sliced.cap,
            window: sliced.window,
            link_rate: link.fastest(),
            causes: Vec::new(),
            stretches: sliced.stretches,
        };
        phase.set_causes(&shares);
        debug_assert_eq!(phase.causes.iter().map(|cause| cause.ns).sum::<i64>(), phase.ns);
        phase
    }
}

/// Samples of the round trip that are looked at before a message's end: two round trips have no more on most links.
const MAX_NEAR: usize = 4_096;
/// Packets behind a message of which some may repeat its bytes. Linux has no more in flight by default (tcp_wmem: 4 MiB);
/// where nothing is acknowledged, each message would have all packets behind it.
const MAX_BEHIND: usize = 4_096;

fn find_span(sender: &SenderView, range: OffsetRange) -> Option<MessageSpan> {
    if range.to <= range.from {
        return None;
    }
    let first = sender.high.partition_point(|high| *high <= range.from);
    if first >= sender.sent.len() || sender.sent[first].from >= range.to {
        return None;
    }
    let reached = sender.high.partition_point(|high| *high < range.to);
    let complete = reached < sender.sent.len();
    let mut last = reached.min(sender.sent.len() - 1);
    // Retransmissions before everything was acknowledged belong to the message.
    let acked = sender.acked_ns(range.to).unwrap_or(i64::MAX);
    for (at, sent) in sender.sent.iter().enumerate().skip(last + 1).take(MAX_BEHIND) {
        if sent.time_ns >= acked {
            break;
        }
        if sent.from < range.to && (sent.repairs || sent.repeat) {
            last = at;
        }
    }
    Some(MessageSpan { first, last, complete })
}

/// An answer as soon as this behind the acknowledgement of its request left with it, nanoseconds.
const PROMPT_NS: i64 = 200_000;

/// Adds the pauses of the client between turns.
pub fn add_pauses(transactions: &mut [TracedTransaction]) {
    for at in 1..transactions.len() {
        let before = transactions[at - 1].span().to_ns + transactions[at - 1].near_ns[0];
        let pause = transactions[at].request.from_ns - before;
        transactions[at].pause_ns = pause.max(0);
    }
}
