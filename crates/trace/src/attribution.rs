//! From a connection's packets to findings: the events, the owner of each time, and the limits.
//!
//! Pure: stored packets and counters go in, transactions with shares of time come out. The analysis runs at a
//! connection's end, or when too many packets are stored. This module stores nothing.

pub mod bands;
pub mod path;
pub mod scale;
pub mod sender;
pub mod shares;
pub mod transaction;
pub mod window_flag;

mod arrival_line;
mod base_round_trip;
mod bursts;
mod exchange;
mod lag;
mod link_estimate;
mod loss_tracker;
mod message_transfer;
mod pace;
mod round_levels;
mod rounds;
mod scale_detection;
mod sender_clock;
mod transfer;
mod turns;
mod unattributed_time;
mod window_lags;

use crate::conversation::Conversation;
use crate::direction::DirectionState;
use crate::event::{ConnectionSide, PacketEvent};
use exchange::TurnContext;
use path::PathTiming;
use scale::{ScaleOverrides, WindowScale};
use sender::SenderView;
use transaction::{ExchangeKind, MessagePackets, TracedTransaction};

/// The analysis of a connection.
#[derive(Debug)]
pub struct ConnectionAttribution {
    pub path: PathTiming,
    /// Window scale of both sides.
    pub scales: [WindowScale; 2],
    /// The segment sizes of both sides in bytes.
    pub segments: [u32; 2],
    /// Requests with their answers.
    pub transactions: Vec<TracedTransaction>,
    /// Whether requests overlap, so that there are totals only.
    pub multiplexed: bool,
    /// Windows that contradict the announced scale.
    pub flags: Vec<window_flag::WindowFlag>,
    /// Most bytes in flight in the sender's view, by direction.
    pub max_in_flight: [i64; 2],
    /// Time to open the connection, nanoseconds.
    pub setup_ns: i64,
    /// The senders' views of both directions, if every slice is needed.
    pub views: Option<[SenderView; 2]>,
}

/// Analyses the stored packets of a connection.
///
/// `continued`: an earlier piece was analysed before; `detailed`: every slice is needed, for drawing.
pub fn attribute_connection(
    conversation: &Conversation,
    wishes: &ScaleOverrides,
    continued: bool,
    detailed: bool,
) -> ConnectionAttribution {
    let steady = sender_clock::steady_by_clocks(conversation);
    let captured = conversation;
    let conversation = steady.as_ref().map_or(conversation, |steady| &steady.conversation);
    let mut path = PathTiming::measure(conversation);
    if let Some(steady) = &steady {
        let passed = PathTiming::measure(captured);
        path.passed_ns =
            [ConnectionSide::Client, ConnectionSide::Server].map(|side| passed.near_ns(side));
        path.varies_ns = steady.varies_ns;
        path.usual_late_ns = steady.usual_late_ns;
        path.lateness_ns.clone_from(&steady.lateness_ns);
    }
    let segments = segment_sizes(conversation);
    let sides = [ConnectionSide::Client, ConnectionSide::Server];
    let scales = sides.map(|side| {
        let segment = segments[side.peer().index()];
        scale_detection::detect_scale(conversation, side, &path, segment, wishes)
    });
    let views = sides.map(|side| {
        SenderView::from_conversation(conversation, side, &path, Some(scales[side.peer().index()]))
    });
    let flags = sides.map(|side| {
        let segment = segments[side.peer().index()];
        window_flag::find_inconsistent_window(conversation, side, scales[side.index()], segment)
    });
    let found = turns::find_turns(conversation);
    let mut ground = TurnContext::new(&views, &path, segments);
    ground.detailed = detailed;
    let mut transactions: Vec<TracedTransaction> = Vec::with_capacity(found.turns.len());
    for turn in found.turns {
        transactions.extend(exchange::attribute_turn(&ground, turn));
    }
    ground.settle_thinks(&mut transactions);
    unattributed_time::hide_unseen(&mut transactions, conversation, &path);
    exchange::add_pauses(&mut transactions);
    unattributed_time::release_pauses(&mut transactions, conversation);
    let setup_ns = if continued { 0 } else { setup_time(conversation, &path) };
    if let Some(first) = transactions.first_mut() {
        if !continued {
            wait_for_greeting(first, conversation, &path);
        }
        first.set_up(setup_ns, lost_in_setup(conversation, setup_ns, &path));
    }
    ConnectionAttribution {
        scales,
        segments,
        transactions,
        multiplexed: found.multiplexed,
        flags: flags.into_iter().flatten().collect(),
        max_in_flight: [views[0].max_in_flight(), views[1].max_in_flight()],
        path,
        setup_ns,
        views: detailed.then_some(views),
    }
}

/// Adds the wait for a greeting, without which the client has nothing to say.
fn wait_for_greeting(
    first: &mut TracedTransaction,
    conversation: &Conversation,
    path: &PathTiming,
) {
    let greeting = first.response.as_ref().filter(|_| conversation.talk.is_greeted());
    let (Some(greeting), Some(open_ns)) = (greeting, conversation.handshake.ack_ns) else { return };
    let wait_ns = greeting.from_ns - open_ns - path.near_ns(ConnectionSide::Server);
    if first.kind != ExchangeKind::AnswerOnly || wait_ns <= 0 {
        return;
    }
    let is_ack = |event: &&PacketEvent| event.side() == ConnectionSide::Client && !event.is_syn();
    let number = conversation.events.iter().find(is_ack).map_or(0, |event| event.number);
    first.server_ns = wait_ns;
    first.request.from_ns = open_ns;
    first.request.to_ns = open_ns;
    first.request.numbers = MessagePackets { first: number, last: number };
    first.title.get_or_insert_with(|| "greeting".into());
}

/// Largest segments of both sides: as announced, else as large as anything either side sent more than once.
fn segment_sizes(conversation: &Conversation) -> [u32; 2] {
    let [client, server] = &conversation.directions;
    let seen = client.largest.repeated.max(server.largest.repeated);
    let seen = seen.clamp(SMALLEST_SEGMENT, LARGEST_SEGMENT);
    let of = |sender: &DirectionState, wished: u16| match wished {
        0 => seen,
        wished => sender.max_segment(wished),
    };
    [of(client, server.mss), of(server, client.mss)]
}

/// The segment size that every host accepts (RFC 9293, 3.7.1).
const SMALLEST_SEGMENT: u32 = 536;
/// The segment size of a usual link; larger segments were merged by the capturing host.
const LARGEST_SEGMENT: u32 = 1_460;

/// The time from the first SYN until the client may send, from the client's side.
fn setup_time(conversation: &Conversation, path: &PathTiming) -> i64 {
    let shake = &conversation.handshake;
    let (Some(syn), Some(answer)) = (shake.syn_ns, shake.syn_ack_ns) else { return 0 };
    let behind_ns = path.handshake_ns[0].unwrap_or(path.near_ns(ConnectionSide::Client));
    (answer - syn).max(0) + behind_ns
}

/// The part of the setup time spent on retransmitted SYNs.
fn lost_in_setup(conversation: &Conversation, setup_ns: i64, path: &PathTiming) -> i64 {
    let is_repeated = conversation.handshake.syns > 1;
    if is_repeated { (setup_ns - path.round_trip_ns()).max(0) } else { 0 }
}
