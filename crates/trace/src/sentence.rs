//! Findings as text: the owner of the time, the cause, the evidence, and what to change.
//!
//! One sentence for each limit; it computes no figures.

use model::limit::Limit;

use crate::attribution::window_flag::WindowFlag;
use crate::limit_tally::{LimitCell, TransactionPlace};

/// The figures of a sentence.
#[derive(Debug)]
pub struct SentenceFacts<'a> {
    pub cell: &'a LimitCell,
    pub window: Option<i64>,
    /// Whether the receiver's program leaves data unread in its buffer.
    pub reads_slowly: bool,
    pub segment: u32,
    /// The time in nanoseconds that a change would save.
    pub saving_ns: i64,
    /// Share of all that users waited.
    pub share: f64,
    /// A contradiction that explains it.
    pub flag: Option<WindowFlag>,
}

/// The finding in a sentence.
pub fn describe_finding(facts: &SentenceFacts<'_>) -> String {
    let cell = facts.cell;
    let TransferParties { sender, receiver } = transfer_parties(cell);
    let evidence = &cell.evidence;
    let head = format!(
        "{} ({:.0} %) in the {}: ",
        format_span(cell.ns),
        facts.share * 100.0,
        place_name(cell.place)
    );
    let packets = if evidence.to > 0 {
        format!(
            " (packets {} to {}: {})",
            evidence.from,
            evidence.to,
            format_span(evidence.longest_ns)
        )
    } else {
        String::new()
    };
    format!("{head}{}{packets}.", describe_limit(facts, sender, receiver))
}

fn describe_limit(facts: &SentenceFacts<'_>, sender: &str, receiver: &str) -> String {
    let cell = facts.cell;
    let window = facts.window.unwrap_or(0);
    let round_trip = format_span(cell.round_trip_ns);
    match cell.limit {
        Limit::DelayedAck => {
            format!("the {receiver} held back acknowledgements that the {sender} waited for")
        }
        Limit::NagleDelayedAck => format!(
            "the {sender} sent small pieces one by one, each waiting for an acknowledgement that the {receiver} held back"
        ),
        Limit::Nagle => format!(
            "the {sender} sent small pieces one by one, each waiting for the acknowledgement of the one before"
        ),
        Limit::ZeroWindow => format!("the {receiver} did not read, and closed its receive window"),
        Limit::SillyWindow => format!(
            "the {receiver} advertised a window of {window} bytes, less than one segment of {}",
            facts.segment
        ),
        Limit::LinkRate => "the link was full".to_owned(),
        Limit::Rwnd => format!(
            "the {receiver}'s receive window of {window} bytes was full, for a round trip of {round_trip}"
        ),
        Limit::Loss if cell.place == TransactionPlace::Setup => {
            "the first packets of connections were lost or not answered, and sent again".to_owned()
        }
        Limit::Loss => "packets were lost and had to be sent again".to_owned(),
        Limit::LossSuspected => {
            "silences such as lost packets leave, the packets themselves unseen".to_owned()
        }
        Limit::AppSender => format!("the {sender}'s program had nothing to send"),
        Limit::SendBuffer => format!(
            "the {sender} kept at most {} bytes in flight, whatever the window allowed: its send buffer, for a round \
             trip of {round_trip}",
            cell.cap
        ),
        Limit::SlowStart => "the transfer was still in slow start".to_owned(),
        Limit::Cwnd => "the congestion window held the transfer".to_owned(),
        Limit::Send => "packets were on their way".to_owned(),
        Limit::Latency => format!("{} round trips of {round_trip}", cell.turns),
        Limit::Connect => format!("{} connections were opened", cell.turns),
        Limit::ServerThink => "the server worked on its answers".to_owned(),
        Limit::ClientThink => "the client paused".to_owned(),
        Limit::BalancerHold => "the balancer held what it had to pass on".to_owned(),
        // Packets do not distinguish these; the running balancer does.
        Limit::Queue
        | Limit::Tls
        | Limit::StreamWindow
        | Limit::BalancerCpu
        | Limit::AuthAnswer
        | Limit::Unknown => cell.limit.title().to_owned(),
    }
}

pub fn suggest_fix(facts: &SentenceFacts<'_>) -> String {
    let cell = facts.cell;
    let TransferParties { sender, receiver } = transfer_parties(cell);
    let text = match cell.limit {
        Limit::SillyWindow if facts.flag.is_some() => format!(
            "The {receiver}'s TCP applies a window scale that it did not announce: update it, or turn window scaling or \
             its buffer sharing off there"
        ),
        Limit::Rwnd if facts.reads_slowly => {
            format!(
                "Let the {receiver}'s program read faster: a larger buffer would only fill later"
            )
        }
        Limit::SillyWindow | Limit::Rwnd => {
            format!("Give the {receiver} a larger receive buffer, with window scaling")
        }
        Limit::ZeroWindow => format!("Find out why the {receiver}'s program reads so slowly"),
        Limit::DelayedAck => format!(
            "Let the {sender} send its message in one piece, or the {receiver} acknowledge at once"
        ),
        Limit::NagleDelayedAck | Limit::Nagle => {
            format!("Set TCP_NODELAY at the {sender}, or write its message in one piece")
        }
        Limit::LinkRate => "Send fewer bytes (compress, cache), or get a faster link".to_owned(),
        Limit::Loss if cell.place == TransactionPlace::Setup => {
            "Look for a full accept queue at the server, or for loss on the path".to_owned()
        }
        Limit::Loss | Limit::LossSuspected => "Find where the path loses packets".to_owned(),
        Limit::AppSender => format!("Look into the {sender}'s program: what does it wait for?"),
        Limit::SendBuffer => format!(
            "Give the {sender} a send buffer of at least a round trip's worth, or let the system size it"
        ),
        Limit::SlowStart => {
            "Keep connections open between requests, or send fewer bytes".to_owned()
        }
        Limit::Cwnd => {
            "Look for loss before the capture began, or try another congestion control".to_owned()
        }
        Limit::Latency => {
            "Ask for more in one request, or several at once; bring the server nearer".to_owned()
        }
        Limit::Connect => "Keep connections open and use them again".to_owned(),
        Limit::ServerThink => "Look into the server: it is neither the network nor TCP".to_owned(),
        Limit::ClientThink | Limit::Send => "Nothing".to_owned(),
        Limit::BalancerHold | Limit::BalancerCpu | Limit::AuthAnswer | Limit::Queue => {
            "Look at the balancer's queue and load".to_owned()
        }
        Limit::Tls => "Keep connections open, and resume sessions".to_owned(),
        Limit::StreamWindow => format!("Give the {receiver} larger windows of HTTP/2"),
        Limit::Unknown => "Nothing".to_owned(),
    };
    let stop = if text.ends_with('?') { "" } else { "." };
    if facts.saving_ns > 0 {
        format!("{text}{stop} Would save about {}.", format_span(facts.saving_ns))
    } else {
        format!("{text}{stop}")
    }
}

/// The two sides of a transfer, for people.
struct TransferParties {
    sender: &'static str,
    receiver: &'static str,
}

fn transfer_parties(cell: &LimitCell) -> TransferParties {
    match cell.place {
        TransactionPlace::Response => TransferParties { sender: "server", receiver: "client" },
        _ => TransferParties { sender: "client", receiver: "server" },
    }
}

fn place_name(place: TransactionPlace) -> &'static str {
    match place {
        TransactionPlace::Setup => "opening of connections",
        TransactionPlace::Request => "request",
        TransactionPlace::Server => "server",
        TransactionPlace::Response => "response",
        TransactionPlace::Path => "path",
    }
}

/// A span of time for people, three digits.
pub fn format_span(ns: i64) -> String {
    let seconds = ns as f64 / 1e9;
    match seconds.abs() {
        s if s >= 100.0 => format!("{seconds:.0} s"),
        s if s >= 10.0 => format!("{seconds:.1} s"),
        s if s >= 1.0 => format!("{seconds:.2} s"),
        s if s >= 0.1 => format!("{:.0} ms", seconds * 1e3),
        s if s >= 0.001 => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{:.0} µs", seconds * 1e6),
    }
}
