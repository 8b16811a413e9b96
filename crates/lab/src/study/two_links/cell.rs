//! What was measured of two hosts and the links between them: the layout, how packets were spread, and what a stream got.

use std::time::Duration;

use model::config::unit::Size;

use crate::stream::ask::{Ask, Carrier};
use crate::stream::client::Run;
use crate::study::parameter::Parameters;

/// How the hosts are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One short link.
    One,
    /// One long link.
    Far,
    /// Two short links.
    Equal,
    /// A short and a long link.
    Unequal,
}

/// How packets are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Nothing is spread: there is one link.
    Alone,
    /// The first link that lives.
    Failover,
    /// By addresses and ports.
    Hash,
    /// Likewise, until a flow pauses.
    Flowlet,
    /// The next link for each packet.
    Naive,
    /// Likewise, with packets of the shorter link held.
    Equalised,
}

/// One stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Over what.
    pub layout: Layout,
    /// Spread how.
    pub policy: Policy,
    /// Carried by what.
    pub carrier: Carrier,
    /// The socket buffer as asked for.
    pub buffer: Option<u32>,
    /// Bytes of a message.
    pub message: u32,
    /// Received, Mbit/s.
    pub mbit: f64,
    /// Sent, Mbit/s.
    pub sent: f64,
    /// Datagrams lost, per cent.
    pub loss: f64,
    /// Datagrams that came late.
    pub reordered: u64,
    /// What the kernel made of the sender's buffer, bytes.
    pub kernel_buffer: u64,
}

impl Layout {
    /// All of them.
    pub const ALL: [Layout; 4] = [Layout::One, Layout::Far, Layout::Equal, Layout::Unequal];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Layout::One => "one link",
            Layout::Far => "one long link",
            Layout::Equal => "two equal links",
            Layout::Unequal => "two unequal links",
        }
    }

    /// How long each link is, one way.
    pub fn lengths(self, parameters: &Parameters) -> Vec<Duration> {
        let near = parameters.time("delay");
        let far = near + parameters.time("longer") / 2;
        match self {
            Layout::One => vec![near],
            Layout::Far => vec![far],
            Layout::Equal => vec![near, near],
            Layout::Unequal => vec![near, far],
        }
    }

    /// The policies that make sense.
    pub fn policies(self) -> &'static [Policy] {
        match self {
            Layout::One | Layout::Far => &[Policy::Alone],
            Layout::Equal | Layout::Unequal => {
                &[Policy::Failover, Policy::Hash, Policy::Flowlet, Policy::Naive, Policy::Equalised]
            }
        }
    }
}

impl Policy {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Alone => "alone",
            Policy::Failover => "failover",
            Policy::Hash => "hash",
            Policy::Flowlet => "flowlet",
            Policy::Naive => "round-robin, not equalised",
            Policy::Equalised => "round-robin, equalised",
        }
    }

    /// Bits a second that one stream's links carry together: as fast as cards of their rate would take datagrams. A little less,
    /// so that what waits before a link comes to its end.
    pub fn carries(self, layout: Layout, parameters: &Parameters) -> u64 {
        let links = match self {
            Policy::Naive | Policy::Equalised => layout.lengths(parameters).len() as u64,
            Policy::Alone | Policy::Failover | Policy::Hash | Policy::Flowlet => 1,
        };
        parameters.rate("rate") * links / 100 * 98
    }

    /// In a bundle's configuration.
    pub fn lines(self) -> &'static str {
        match self {
            Policy::Alone | Policy::Failover => "policy = \"failover\"",
            Policy::Hash => "policy = \"hash\"",
            Policy::Flowlet => "policy = \"flowlet\"",
            Policy::Naive => "policy = \"round-robin\"\nequalise = false",
            Policy::Equalised => "policy = \"round-robin\"",
        }
    }
}

impl Cell {
    /// Of a run.
    pub fn new(layout: Layout, policy: Policy, ask: &Ask, run: &Run) -> Cell {
        let mbit = |bytes: u64, nanos: u64| bytes as f64 * 8e3 / nanos.max(1) as f64;
        let (sent, got) = (&run.sent, &run.received);
        let lost = sent.messages.saturating_sub(got.messages) as f64;
        let datagrams = ask.carrier == Carrier::Udp;
        Cell {
            layout,
            policy,
            carrier: ask.carrier,
            buffer: ask.buffer,
            message: ask.message,
            mbit: mbit(got.bytes, if got.nanos > 0 { got.nanos } else { sent.nanos }),
            sent: mbit(sent.bytes, sent.nanos),
            loss: if datagrams { lost / sent.messages.max(1) as f64 * 100.0 } else { 0.0 },
            reordered: got.reordered,
            kernel_buffer: sent.send_buffer,
        }
    }

    /// In words.
    pub fn name(&self) -> String {
        let carrier = if self.carrier == Carrier::Tcp { "TCP" } else { "UDP" };
        let buffer =
            self.buffer.map_or_else(|| "auto".to_owned(), |bytes| Size(bytes.into()).to_string());
        format!(
            "{}, {}, {carrier}, buffer {buffer}, {} B",
            self.layout.name(),
            self.policy.name(),
            self.message
        )
    }
}
