//! A measured cell: the layout of the links, the policy that spread the packets, and the throughput of a stream.

use std::time::Duration;

use model::config::unit::ByteSize;

use crate::stream::client::StreamRun;
use crate::stream::request::{StreamRequest, StreamTransport};
use crate::study::parameter::Parameters;

/// How the links connect the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkLayout {
    SingleLink,
    LongLink,
    Equal,
    /// A short and a long link.
    Unequal,
}

/// The policy that spreads packets over links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpreadPolicy {
    /// There is only one link.
    SingleLink,
    /// All packets use the first working link.
    Failover,
    /// A hash of addresses and ports selects the link.
    Hash,
    /// A hash selects the link, and a flow may change links after a pause.
    Flowlet,
    /// Each packet uses the next link.
    Naive,
    /// Each packet uses the next link, and packets on the shorter link are delayed.
    Equalised,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StreamCell {
    pub layout: LinkLayout,
    pub policy: SpreadPolicy,
    pub carrier: StreamTransport,
    /// The requested socket buffer.
    pub buffer: Option<u32>,
    /// Bytes of a message.
    pub message: u32,
    pub mbit: f64,
    pub sent: f64,
    /// Datagrams lost, per cent.
    pub loss: f64,
    /// Datagrams that arrived out of order.
    pub reordered: u64,
    /// The sender's buffer size as the kernel set it, bytes.
    pub kernel_buffer: u64,
}

impl LinkLayout {
    pub const ALL: [LinkLayout; 4] =
        [LinkLayout::SingleLink, LinkLayout::LongLink, LinkLayout::Equal, LinkLayout::Unequal];

    pub fn name(self) -> &'static str {
        match self {
            LinkLayout::SingleLink => "one link",
            LinkLayout::LongLink => "one long link",
            LinkLayout::Equal => "two equal links",
            LinkLayout::Unequal => "two unequal links",
        }
    }

    /// One-way delay of each link.
    pub fn link_delays(self, parameters: &Parameters) -> Vec<Duration> {
        let near = parameters.time("delay");
        let far = near + parameters.time("longer") / 2;
        match self {
            LinkLayout::SingleLink => vec![near],
            LinkLayout::LongLink => vec![far],
            LinkLayout::Equal => vec![near, near],
            LinkLayout::Unequal => vec![near, far],
        }
    }

    /// The policies that suit this layout.
    pub fn policies(self) -> &'static [SpreadPolicy] {
        match self {
            LinkLayout::SingleLink | LinkLayout::LongLink => &[SpreadPolicy::SingleLink],
            LinkLayout::Equal | LinkLayout::Unequal => &[
                SpreadPolicy::Failover,
                SpreadPolicy::Hash,
                SpreadPolicy::Flowlet,
                SpreadPolicy::Naive,
                SpreadPolicy::Equalised,
            ],
        }
    }
}

impl SpreadPolicy {
    pub fn name(self) -> &'static str {
        match self {
            SpreadPolicy::SingleLink => "alone",
            SpreadPolicy::Failover => "failover",
            SpreadPolicy::Hash => "hash",
            SpreadPolicy::Flowlet => "flowlet",
            SpreadPolicy::Naive => "round-robin, not equalised",
            SpreadPolicy::Equalised => "round-robin, equalised",
        }
    }

    /// The bit rate at which a stream of datagrams is sent: the rate of the links that it uses together. It is 2 %
    /// lower, so that the queues before the links drain.
    pub fn usable_rate(self, layout: LinkLayout, parameters: &Parameters) -> u64 {
        let links = match self {
            SpreadPolicy::Naive | SpreadPolicy::Equalised => {
                layout.link_delays(parameters).len() as u64
            }
            SpreadPolicy::SingleLink
            | SpreadPolicy::Failover
            | SpreadPolicy::Hash
            | SpreadPolicy::Flowlet => 1,
        };
        parameters.rate("rate") * links / 100 * 98
    }

    /// The configuration lines of a bundle with this policy.
    pub fn lines(self) -> &'static str {
        match self {
            SpreadPolicy::SingleLink | SpreadPolicy::Failover => "policy = \"failover\"",
            SpreadPolicy::Hash => "policy = \"hash\"",
            SpreadPolicy::Flowlet => "policy = \"flowlet\"",
            SpreadPolicy::Naive => "policy = \"round-robin\"\nequalise = false",
            SpreadPolicy::Equalised => "policy = \"round-robin\"",
        }
    }
}

impl StreamCell {
    pub fn new(
        layout: LinkLayout,
        policy: SpreadPolicy,
        ask: &StreamRequest,
        run: &StreamRun,
    ) -> StreamCell {
        let mbit = |bytes: u64, nanos: u64| bytes as f64 * 8e3 / nanos.max(1) as f64;
        let sent = &run.sent;
        let got = &run.received;
        let lost = sent.messages.saturating_sub(got.messages) as f64;
        let datagrams = ask.carrier == StreamTransport::Udp;
        StreamCell {
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

    pub fn name(&self) -> String {
        let carrier = if self.carrier == StreamTransport::Tcp { "TCP" } else { "UDP" };
        let buffer = self
            .buffer
            .map_or_else(|| "auto".to_owned(), |bytes| ByteSize(bytes.into()).to_string());
        format!(
            "{}, {}, {carrier}, buffer {buffer}, {} B",
            self.layout.name(),
            self.policy.name(),
            self.message
        )
    }
}
