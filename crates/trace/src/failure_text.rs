//! Failed connections as text: what happened, to whom, since when, and what to check. It computes no figures.

use crate::address;
use crate::failure::{ConnectionFailure, FailureEnd, TlsRefusal};
use crate::link::{UnreachableNotice, UnreachableReason};
use crate::report::FailureEndpoint;
use crate::sentence::format_span;
use model::failure_code::FailureCode;
use model::limit::TimeOwner;

/// The figures of a sentence.
#[derive(Debug)]
pub struct FailureWords<'a> {
    /// The first such connection.
    pub first: &'a ConnectionFailure,
    pub connections: u64,
    /// Of how many connections.
    pub of: u64,
    pub last_ns: i64,
    pub longest_ns: i64,
    /// The most frequent servers.
    pub servers: &'a [FailureEndpoint],
    pub servers_total: usize,
}

/// Servers that a sentence names.
const NAMED: usize = 3;

/// A group of failed connections in a sentence.
pub fn describe_failure(words: &FailureWords<'_>) -> String {
    let who = match (words.connections, words.of) {
        (_, 1) => "The connection".to_owned(),
        (1, of) => format!("1 of {of} connections"),
        (count, of) => format!("{count} of {of} connections"),
    };
    let since_ns = words.first.since.time_ns;
    let when = if words.connections == 1 {
        format!("at {}", format_span(since_ns))
    } else {
        format!("from {} to {} of the capture", format_span(since_ns), format_span(words.last_ns))
    };
    let what = describe_code(words);
    format!("{who} to {}, {when}: {what}.", describe_servers(words))
}

fn describe_servers(words: &FailureWords<'_>) -> String {
    let named = words.servers.iter().take(NAMED).map(|end| {
        let is_v6 = end.address.contains(':');
        let address = if is_v6 { format!("[{}]", end.address) } else { end.address.clone() };
        end.port.map_or(address.clone(), |port| format!("{address}:{port}"))
    });
    let mut text = named.collect::<Vec<_>>().join(", ");
    let more = words.servers_total.saturating_sub(NAMED);
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

fn describe_code(words: &FailureWords<'_>) -> String {
    let first = words.first;
    let waited = format_span(words.longest_ns);
    let title = first.title.as_deref().map_or_else(String::new, |title| format!(" ({title})"));
    let owner = first.owner.name();
    let of_message = match first.announced {
        Some(announced) => format!("{} of {announced} bytes", first.bytes),
        None => format!("{} bytes", first.bytes),
    };
    match first.code {
        FailureCode::ConnectRefused if first.notice.is_some() => {
            first.notice.as_deref().map_or_else(String::new, describe_notice)
        }
        FailureCode::ConnectRefused => {
            "the server answered the SYN with a reset: refused".to_owned()
        }
        FailureCode::ConnectUnanswered => format!("no answer to the SYN within {waited}"),
        FailureCode::ConnectUnfinished => {
            "the client never acknowledged the server's SYN-ACK".to_owned()
        }
        FailureCode::AcceptQueueFull => format!(
            "the server kept repeating its SYN-ACK and ignored the client's data for {waited}"
        ),
        FailureCode::TlsRefused => describe_refusal(first.refusal, owner),
        FailureCode::RequestUnanswered => {
            format!("a request{title} had no answer for {waited}{}", describe_end(first.ended))
        }
        FailureCode::RequestReset => {
            format!("the {owner} reset the connection instead of answering a request{title}")
        }
        FailureCode::RequestClosed => {
            format!("the {owner} closed the connection instead of answering a request{title}")
        }
        FailureCode::RequestCut => {
            format!("the {owner} gave up a request{title} after {of_message}")
        }
        FailureCode::AnswerCut => {
            let how = match first.ended {
                FailureEnd::Reset(_) => "reset",
                FailureEnd::Closed(_) | FailureEnd::Open => "closed",
            };
            format!("the {owner} {how} the connection within an answer{title}, after {of_message}")
        }
        FailureCode::QuicUnanswered => {
            format!("no answer to the first packets of QUIC within {waited}")
        }
        FailureCode::QuicUnfinished => {
            format!("the {owner} did not go on with the handshake of QUIC for {waited}")
        }
        FailureCode::QuicVersionRefused => {
            "the server does not have the client's version of QUIC".to_owned()
        }
        FailureCode::AnswerStalled => format!(
            "an answer{title} stopped after {of_message} and nothing followed for {waited}{}",
            describe_end(first.ended)
        ),
        FailureCode::ConnectionReset => format!("the {owner} reset the connection"),
        FailureCode::PeerGone => format!(
            "the {owner} stopped answering: what was sent to it was repeated for {waited} without a reply"
        ),
        FailureCode::WindowClosed => {
            format!("the {owner} closed its receive window and did not open it again for {waited}")
        }
        FailureCode::KeepaliveUnanswered => {
            format!("the {owner} did not reply to keep-alive probes for {waited}")
        }
    }
}

fn describe_notice(notice: &UnreachableNotice) -> String {
    let why = match notice.reason {
        UnreachableReason::Network => "there is no route",
        UnreachableReason::Host => "the host is not reached",
        UnreachableReason::Port => "nobody listens on that port",
        UnreachableReason::Prohibited => "a firewall forbids it",
    };
    format!("{} answered the SYN by ICMP: {why}", address::ip(notice.by))
}

fn describe_refusal(refusal: Option<TlsRefusal>, owner: &str) -> String {
    let how = match refusal {
        Some(TlsRefusal::Alert(alert)) => format!("alert {alert}"),
        Some(TlsRefusal::SealedAlert) | None => "an encrypted alert".to_owned(),
        Some(TlsRefusal::OtherProtocol) => {
            return "the server answered the hello of TLS in another protocol".to_owned();
        }
    };
    format!("the handshake of TLS ended with {how}: what the {owner} offered was not accepted")
}

fn describe_end(end: FailureEnd) -> &'static str {
    use crate::event::ConnectionSide::{Client, Server};
    match end {
        FailureEnd::Open => ", until the capture ended",
        FailureEnd::Closed(Client) => ", then the client closed the connection",
        FailureEnd::Reset(Client) => ", then the client reset the connection",
        FailureEnd::Closed(Server) => ", then the server closed the connection",
        FailureEnd::Reset(Server) => ", then the server reset the connection",
    }
}

/// What the reader should check to find the cause.
pub fn suggest_check(failure: &ConnectionFailure) -> String {
    let owner = failure.owner.name();
    match failure.code {
        FailureCode::ConnectRefused if failure.owner == TimeOwner::Network => {
            "Check the rules and routes of the router or firewall that answered, and that the server is up".to_owned()
        }
        FailureCode::ConnectRefused => {
            "Check that the program runs and listens on that address and port, and that no firewall rejects".to_owned()
        }
        FailureCode::ConnectUnanswered => {
            "Check that the server is up, the route to it, firewalls that drop, and the server's SYN queue".to_owned()
        }
        FailureCode::ConnectUnfinished => {
            "Check the way back to the client; many such clients at once are a SYN flood".to_owned()
        }
        FailureCode::AcceptQueueFull => {
            "The accept queue is full: check that the program accepts connections, and its backlog (net.core.somaxconn)"
                .to_owned()
        }
        FailureCode::TlsRefused if failure.refusal == Some(TlsRefusal::OtherProtocol) => {
            "Check the port, and that TLS is switched on for it at the server".to_owned()
        }
        FailureCode::TlsRefused => {
            "Check the certificate, its name and dates, and the versions that both sides allow".to_owned()
        }
        FailureCode::RequestUnanswered | FailureCode::AnswerStalled => {
            "Check what the server's program waits for: its own log, database and upstreams, and its time limits".to_owned()
        }
        FailureCode::RequestReset | FailureCode::RequestClosed => {
            "Check whether the server's program crashed or was restarted, and that its keep-alive time is longer than the client's".to_owned()
        }
        FailureCode::RequestCut => format!("Check why the {owner} gave up: a time limit, or a user who left"),
        FailureCode::AnswerCut => format!("Check the {owner}'s log at that time: a crash, a time limit or an abort"),
        FailureCode::ConnectionReset => {
            format!("Check the {owner}'s log and its time limits, and devices on the path that reset connections")
        }
        FailureCode::PeerGone | FailureCode::KeepaliveUnanswered => {
            format!("Check whether the {owner} is up, and whether a firewall or NAT on the path forgot the connection")
        }
        FailureCode::QuicUnanswered => {
            "Check that the server listens on that port of UDP, and firewalls that drop UDP: clients then fall back to TCP".to_owned()
        }
        FailureCode::QuicUnfinished => {
            format!("Check the way to the {owner}: packets of 1,200 bytes and more must pass, and answers must leave from the address that was asked")
        }
        FailureCode::QuicVersionRefused => {
            "Check which versions of QUIC both sides have".to_owned()
        }
        FailureCode::WindowClosed => format!("Check why the {owner}'s program no longer reads: blocked, or stopped"),
    }
}
