//! The limits of a transfer, and the side that owns the time: a closed list, shared by captures and live connections.
//!
//! Each limit names the side of the transfer that owns the time. How a limit is recognized depends on the source,
//! packets or kernel counters, and is decided there.

use serde::Serialize;

/// The owner of a stretch of time, seen from the transfer of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The sender of the message.
    Sender,
    Receiver,
    Network,
}

/// The owner of a stretch of time, as reports name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeOwner {
    Client,
    Network,
    Server,
    /// The balancer: live, and in captures of both of its sides.
    Balancer,
}

impl TimeOwner {
    /// Every owner, in the order of its discriminant.
    pub const ALL: [TimeOwner; 4] =
        [TimeOwner::Client, TimeOwner::Network, TimeOwner::Server, TimeOwner::Balancer];

    pub const fn name(self) -> &'static str {
        match self {
            TimeOwner::Client => "client",
            TimeOwner::Network => "network",
            TimeOwner::Server => "server",
            TimeOwner::Balancer => "balancer",
        }
    }
}

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $part:ident, $title:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Limit { $($(#[$doc])* $name,)* }

        impl Limit {
            /// Every limit, in the order of its discriminant.
            pub const ALL: &'static [Limit] = &[$(Limit::$name,)*];
            pub const COUNT: usize = Self::ALL.len();

            /// The code in reports.
            pub const fn code(self) -> &'static str {
                match self { $(Limit::$name => $text,)* }
            }

            /// A few words for people.
            pub const fn title(self) -> &'static str {
                match self { $(Limit::$name => $title,)* }
            }

            /// The part of a transfer that owns the time.
            pub const fn part(self) -> Part {
                match self { $(Limit::$name => Part::$part,)* }
            }
        }
    };
}

limits! {
    /// A small segment waited for a delayed acknowledgement.
    DelayedAck = "DELAYED_ACK", Receiver, "delayed acknowledgements";
    /// As above, and the next segment was small too: Nagle's algorithm delayed it (RFC 9293, 3.7.4).
    NagleDelayedAck = "NAGLE_DELAYED_ACK", Receiver, "Nagle's algorithm against delayed acknowledgements";
    /// The receiver advertised a window of zero.
    ZeroWindow = "ZERO_WINDOW", Receiver, "a closed receive window";
    /// The receiver advertised a window smaller than one segment (RFC 9293, 3.8.6.2).
    SillyWindow = "SILLY_WINDOW", Receiver, "a receive window smaller than a segment";
    /// The link was full, with a queue in front of it.
    LinkRate = "LINK_RATE", Network, "the link's rate";
    /// The receiver's window was full.
    Rwnd = "RWND", Receiver, "the receive window";
    /// Packets were lost; the sender noticed and recovered.
    Loss = "LOSS", Network, "packet loss";
    /// A silence typical for a lost packet, without an observed loss.
    LossSuspected = "LOSS_SUSPECTED", Network, "probably packet loss";
    /// The sending program had nothing to send.
    AppSender = "APP_SENDER", Sender, "the sending program";
    /// The sender's buffer was full of unacknowledged data.
    SendBuffer = "SEND_BUFFER", Sender, "the send buffer";
    /// The sender was still probing how much the path carries.
    SlowStart = "SLOW_START", Network, "slow start";
    /// The congestion window, after loss or while it grows slowly.
    Cwnd = "CWND", Network, "the congestion window";
    /// Packets were sent one after the other, with no other limit visible.
    Send = "SEND", Network, "sending";
    /// The path's length: one round trip for a turn.
    Latency = "LATENCY", Network, "the path's round trip";
    Connect = "CONNECT", Network, "opening the connection";
    /// The server worked on the response.
    ServerThink = "SERVER_THINK", Sender, "the server's work";
    /// The client worked, or waited for its user.
    ClientThink = "CLIENT_THINK", Sender, "the client's pause";
    /// The balancer delayed the request or its response.
    BalancerHold = "BALANCER_HOLD", Sender, "the balancer";
    /// The request waited for a server below its connection limit.
    Queue = "QUEUE", Sender, "the queue before the servers";
    /// The handshake of TLS.
    Tls = "TLS", Network, "the handshake of TLS";
    /// The receiver's window for a stream of HTTP/2 was full (RFC 9113, 5.2).
    StreamWindow = "STREAM_WINDOW", Receiver, "the window of a stream";
    /// A small segment waited for the acknowledgement of the one before: Nagle's algorithm alone (RFC 9293, 3.7.4).
    Nagle = "NAGLE", Sender, "Nagle's algorithm";
    /// The balancer was ready to run and did not: others had the processor, or a quota was used up.
    BalancerCpu = "BALANCER_CPU", Sender, "the balancer's share of the processor";
    /// A service of `[auth]` was asked whether the request may pass.
    AuthAnswer = "AUTH_ANSWER", Sender, "the service that says who may come in";
    /// The limit cannot be seen from the balancer.
    Unknown = "UNKNOWN", Network, "nothing that can be told";
}

impl Serialize for Limit {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_the_discriminant_and_codes_are_unique() {
        for (at, limit) in Limit::ALL.iter().enumerate() {
            assert_eq!(*limit as usize, at);
        }
        let codes: std::collections::BTreeSet<_> = Limit::ALL.iter().map(|l| l.code()).collect();
        assert_eq!(codes.len(), Limit::COUNT);
    }
}
