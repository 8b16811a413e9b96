//! What limited a transfer, or whose time it was: a closed list, the same for captures and for live connections.
//!
//! Each limit names the side of the transfer that owns the time. It says how a limit is recognized nowhere: that differs
//! by what can be seen, packets or the kernel's counters.

use serde::Serialize;

/// Who owns a stretch of time, seen from the transfer of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// Who sends the message.
    Sender,
    Receiver,
    Network,
}

/// Who owns a stretch of time, as users say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeOwner {
    /// The client.
    Client,
    /// The path.
    Network,
    /// The server.
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
        /// What limited.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Limit { $($(#[$doc])* $name,)* }

        impl Limit {
            /// Every limit, in the order of its discriminant.
            pub const ALL: &'static [Limit] = &[$(Limit::$name,)*];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// Its code in reports.
            pub const fn code(self) -> &'static str {
                match self { $(Limit::$name => $text,)* }
            }

            /// A few words for people.
            pub const fn title(self) -> &'static str {
                match self { $(Limit::$name => $title,)* }
            }

            /// Which part of a transfer owns the time.
            pub const fn part(self) -> Part {
                match self { $(Limit::$name => Part::$part,)* }
            }
        }
    };
}

limits! {
    /// A small segment waited for a delayed acknowledgement.
    DelayedAck = "DELAYED_ACK", Receiver, "delayed acknowledgements";
    /// The same, and the next segment was small too: Nagle's algorithm held it back (RFC 9293, 3.7.4).
    NagleDelayedAck = "NAGLE_DELAYED_ACK", Receiver, "Nagle's algorithm against delayed acknowledgements";
    /// The receiver advertised no room at all.
    ZeroWindow = "ZERO_WINDOW", Receiver, "a closed receive window";
    /// The receiver advertised less room than one segment (RFC 9293, 3.8.6.2).
    SillyWindow = "SILLY_WINDOW", Receiver, "a receive window smaller than a segment";
    /// The link was full: a queue stood before it.
    LinkRate = "LINK_RATE", Network, "the link's rate";
    /// The receiver's window was full.
    Rwnd = "RWND", Receiver, "the receive window";
    /// Packets were lost, and the sender found out and recovered.
    Loss = "LOSS", Network, "packet loss";
    /// A silence such as a lost packet leaves, without the packet's being seen.
    LossSuspected = "LOSS_SUSPECTED", Network, "probably packet loss";
    /// The sender's program had nothing to send.
    AppSender = "APP_SENDER", Sender, "the sending program";
    /// The sender's buffer was full of what was not acknowledged yet.
    SendBuffer = "SEND_BUFFER", Sender, "the send buffer";
    /// The sender was still finding out how much the path carries.
    SlowStart = "SLOW_START", Network, "slow start";
    /// The congestion window, after loss or growing slowly.
    Cwnd = "CWND", Network, "the congestion window";
    /// Packets left one after the other and nothing else was to be seen.
    Send = "SEND", Network, "sending";
    /// The path's length: one round trip for a turn.
    Latency = "LATENCY", Network, "the path's round trip";
    /// Opening the connection.
    Connect = "CONNECT", Network, "opening the connection";
    /// The server worked on the answer.
    ServerThink = "SERVER_THINK", Sender, "the server's work";
    /// The client worked, or had no wish.
    ClientThink = "CLIENT_THINK", Sender, "the client's pause";
    /// The balancer held the request or its answer.
    BalancerHold = "BALANCER_HOLD", Sender, "the balancer";
    /// The balancer waited for a server below its cap.
    Queue = "QUEUE", Sender, "the queue before the servers";
    /// The handshake of TLS.
    Tls = "TLS", Network, "the handshake of TLS";
    /// The receiver's window for a stream of HTTP/2 was full (RFC 9113, 5.2).
    StreamWindow = "STREAM_WINDOW", Receiver, "the window of a stream";
    /// What cannot be told apart from where we stand.
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
