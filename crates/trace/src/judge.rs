//! From a connection's packets to findings: what happened when, whose time it was, and what limited.
//!
//! Pure: kept packets and counters go in, transactions with shares of time come out. It is asked once a connection is
//! over, or when too many packets are kept; it keeps nothing itself.

pub mod bands;
pub mod flag;
pub mod path;
pub mod scale;
pub mod sender;
pub mod shares;
pub mod transaction;

mod link;
mod loss;
mod message;
mod pace;
mod rounds;
mod scaling;
mod slice;
mod turns;

use model::limit::Limit;

use crate::conversation::Conversation;
use crate::direction::Direction;
use crate::event::Side;
use message::Ground;
use path::Path;
use scale::{Scale, Wishes};
use sender::Sender;
use transaction::Transaction;

/// What judging a connection found.
#[derive(Debug)]
pub struct Judged {
    /// Round trips.
    pub path: Path,
    /// Window scale of both sides.
    pub scales: [Scale; 2],
    /// Segment sizes of what both sides send, bytes.
    pub segments: [u32; 2],
    /// Requests with their answers.
    pub transactions: Vec<Transaction>,
    /// Whether requests overlap, so that there are totals only.
    pub multiplexed: bool,
    /// Windows that contradict what was announced.
    pub flags: Vec<flag::Flag>,
    /// Most bytes in flight in the sender's view, by direction.
    pub max_in_flight: [i64; 2],
    /// Time to open the connection, nanoseconds.
    pub setup_ns: i64,
    /// What both sides sent as they saw it, where every slice was wanted.
    pub views: Option<[Sender; 2]>,
}

/// Judges what is kept of a connection.
///
/// `continued`: an earlier piece of it was judged before; `detailed`: every slice is wanted, for drawing.
pub fn judge(
    conversation: &Conversation,
    wishes: &Wishes,
    continued: bool,
    detailed: bool,
) -> Judged {
    let path = Path::measure(conversation);
    let segments = segments(conversation);
    let sides = [Side::Client, Side::Server];
    let scales = sides.map(|side| {
        let sender = Sender::view(conversation, side.peer(), &path, None);
        let segment = segments[side.peer().index()];
        scaling::of(conversation, side, &sender, &path, segment, wishes)
    });
    let views = sides
        .map(|side| Sender::view(conversation, side, &path, Some(scales[side.peer().index()])));
    let flags = sides.map(|side| {
        let segment = segments[side.peer().index()];
        flag::inconsistent(conversation, side, scales[side.index()], segment)
    });
    let found = turns::find(conversation);
    let mut ground = Ground::new(&views, &path, segments);
    ground.detailed = detailed;
    let judged = found.turns.iter().filter_map(|turn| message::transaction(&ground, turn));
    let mut transactions: Vec<Transaction> = judged.collect();
    message::pauses(&mut transactions);
    let setup_ns = if continued { 0 } else { setup(conversation, &path) };
    if let Some(first) = transactions.first_mut() {
        first.set_up(setup_ns, lost_in_setup(conversation, setup_ns, &path));
    }
    Judged {
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

/// Largest segments of both sides: as announced, else as large as anything either side sent more than once.
fn segments(conversation: &Conversation) -> [u32; 2] {
    let [client, server] = &conversation.directions;
    let seen = client.largest.1.max(server.largest.1).clamp(SMALLEST_SEGMENT, LARGEST_SEGMENT);
    let of = |sender: &Direction, wished: u16| match wished {
        0 => seen,
        wished => sender.segment(wished),
    };
    [of(client, server.mss), of(server, client.mss)]
}

/// What every host accepts (RFC 9293, 3.7.1).
const SMALLEST_SEGMENT: u32 = 536;
/// What a usual link carries; larger ones are put together by the capturing host.
const LARGEST_SEGMENT: u32 = 1_460;

/// From the first SYN to when the client may send, as the client sees it.
fn setup(conversation: &Conversation, path: &Path) -> i64 {
    let shake = &conversation.handshake;
    let (Some(syn), Some(answer)) = (shake.syn_ns, shake.syn_ack_ns) else { return 0 };
    (answer - syn).max(0) + path.near_ns(Side::Client)
}

/// The part of it that went by because SYNs had to be sent again.
fn lost_in_setup(conversation: &Conversation, setup_ns: i64, path: &Path) -> (Limit, i64) {
    let again = conversation.handshake.syns > 1;
    (Limit::Loss, if again { (setup_ns - path.round_trip_ns()).max(0) } else { 0 })
}
