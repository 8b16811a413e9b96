//! A connection in reports.

use serde::Serialize;

use super::finding::TimeDiagnosis;
use super::number::seconds;
use super::transaction::TransactionReport;
use crate::address;
use crate::attribution::scale::{ScaleProvenance, WindowScale};
use crate::attribution::transaction::TracedTransaction;
use crate::attribution::window_flag::WindowFlag;
use crate::conversation::{ConnectionEnd, Conversation};
use crate::direction::WindowScaleOption;
use crate::event::ConnectionSide;
use crate::ledger::ConnectionLedger;
use crate::payload::PayloadProtocol;

#[derive(Clone, Debug, Serialize)]
pub struct ConnectionReport {
    /// Its number, in the order of first packets.
    pub number: u32,
    pub client: EndReport,
    pub server: EndReport,
    /// Whether that is a guess.
    pub roles_guessed: bool,
    /// When its first packet passed.
    pub start_seconds: f64,
    /// From its first to its last packet.
    pub seconds: f64,
    /// The protocol: `silent`, `http`, `tls`, `mysql`, `postgresql`, `redis`, `dns`, `smtp`, `multiplexed` or `opaque`.
    pub protocol: &'static str,
    /// `open`, `closed`, `reset-by-client` or `reset-by-server`.
    pub ended: &'static str,
    /// Whether the handshake was captured.
    pub handshake: bool,
    /// From SYN to its answer.
    pub handshake_server_seconds: Option<f64>,
    /// From the answer to its acknowledgement.
    pub handshake_client_seconds: Option<f64>,
    /// SYNs of the client.
    pub syns: u32,
    /// The whole round trip; absent when unknown.
    pub rtt_s: Option<f64>,
    /// Round trip between capture and client.
    pub rtt_client_s: Option<f64>,
    /// Round trip between capture and server.
    pub rtt_server_s: Option<f64>,
    /// Whether the round trip may be shorter, because only delayed acknowledgements were seen.
    pub rtt_upper_bound: bool,
    /// Windows that contradict the announced scale.
    pub flags: Vec<FlagReport>,
    pub transactions_total: u64,
    /// How many are not in `transactions`: the fastest are left out.
    pub transactions_left_out: u64,
    pub verdict: TimeDiagnosis,
    /// Requests with their answers.
    pub transactions: Vec<TransactionReport>,
}

/// One end, and the counters of its packets.
#[derive(Clone, Debug, Serialize)]
pub struct EndReport {
    pub address: String,
    pub port: u16,
    pub sent: DirectionReport,
    /// The windows that it advertises.
    pub window: WindowReport,
}

/// Counters of one end's packets. Copies that only the capture made are in `duplicates` and nowhere else.
#[derive(Clone, Debug, Serialize)]
pub struct DirectionReport {
    pub packets: u64,
    pub data_packets: u64,
    pub bytes: u64,
    /// Payload bytes, each counted once.
    pub unique_bytes: u64,
    /// Packets with bytes that were seen before.
    pub retransmitted_packets: u64,
    pub retransmitted_bytes: u64,
    /// Packets that filled a hole.
    pub out_of_order_packets: u64,
    /// Copies that only the capture made.
    pub duplicates: u64,
    /// Packets with an acknowledgement only.
    pub pure_acks: u64,
    /// Probes of closed windows and quiet connections.
    pub probes: u64,
    /// Packets that close the window.
    pub zero_windows: u64,
    pub syns: u64,
    pub fins: u64,
    pub resets: u64,
    /// The largest segment that it accepts, as announced.
    pub mss: Option<u16>,
    /// The largest segment that it sends.
    pub segment: u32,
    /// Whether it announced selective acknowledgements.
    pub sack_permitted: bool,
    /// Most bytes in flight, as packets passed the capture.
    pub max_in_flight_captured: i64,
    /// The most bytes in flight in the side's own view.
    pub max_in_flight: i64,
}

/// The windows that one end advertises.
#[derive(Clone, Debug, Serialize)]
pub struct WindowReport {
    /// Of its SYN, bytes.
    pub syn: Option<u16>,
    pub raw_min: Option<u16>,
    pub raw_max: Option<u16>,
    /// The smallest window in bytes, where the scale is known.
    pub min: Option<i64>,
    pub max: Option<i64>,
    /// How fields are read.
    pub scale: ScalingReport,
}

#[derive(Clone, Debug, Serialize)]
pub struct ScalingReport {
    /// The shift in its SYN; absent without the option or the SYN.
    pub option: Option<u8>,
    /// The effective shift; with `lower-bound` the smallest possible; absent when unknown.
    pub shift: Option<u8>,
    /// The source of the shift: `syn`, `proven-zero`, `lower-bound`, `unknown` or `user`.
    pub provenance: &'static str,
}

/// A window that contradicts the announced scale.
#[derive(Clone, Debug, Serialize)]
pub struct FlagReport {
    pub code: &'static str,
    /// The end that sent: `client` or `server`.
    pub side: &'static str,
    /// Number of the first such packet.
    pub packet: u32,
    pub window_before: u16,
    pub window_after: u16,
    /// The shift that was announced.
    pub announced_shift: u8,
    /// The shift that explains it.
    pub explained_by_shift: u8,
    pub hint: String,
}

impl ConnectionReport {
    /// From an analysed connection and its reported transactions.
    pub fn from_conversation(
        conversation: &Conversation,
        ledger: &ConnectionLedger,
        verdict: TimeDiagnosis,
        transactions: &[TracedTransaction],
    ) -> ConnectionReport {
        let path = &ledger.path;
        let shake = &conversation.handshake;
        let near = |side| path.is_known(side).then(|| seconds(path.near_ns(side)));
        let client = near(ConnectionSide::Client);
        let server = near(ConnectionSide::Server);
        let known = client.is_some() || server.is_some();
        ConnectionReport {
            number: ledger.number,
            client: end(conversation, ledger, ConnectionSide::Client),
            server: end(conversation, ledger, ConnectionSide::Server),
            roles_guessed: conversation.guessed,
            start_seconds: seconds(conversation.first_ns),
            seconds: seconds(conversation.last_ns - conversation.first_ns),
            protocol: protocol(conversation, ledger),
            ended: match conversation.ended {
                ConnectionEnd::Open => "open",
                ConnectionEnd::Closed => "closed",
                ConnectionEnd::Reset(ConnectionSide::Client) => "reset-by-client",
                ConnectionEnd::Reset(ConnectionSide::Server) => "reset-by-server",
            },
            handshake: shake.syn_ns.is_some() && shake.syn_ack_ns.is_some(),
            handshake_server_seconds: path.handshake_ns[1].map(seconds),
            handshake_client_seconds: path.handshake_ns[0].map(seconds),
            syns: shake.syns,
            rtt_s: known.then(|| seconds(path.round_trip_ns())),
            rtt_client_s: client,
            rtt_server_s: server,
            rtt_upper_bound: path.is_bound(),
            flags: ledger.flags.iter().map(FlagReport::from_flag).collect(),
            transactions_total: ledger.tally.transactions,
            transactions_left_out: ledger.left_out,
            verdict,
            transactions: transactions.iter().map(TransactionReport::from_transaction).collect(),
        }
    }
}

fn protocol(conversation: &Conversation, ledger: &ConnectionLedger) -> &'static str {
    match conversation.talk.protocol {
        _ if ledger.multiplexed => "multiplexed",
        PayloadProtocol::Silent => "silent",
        PayloadProtocol::Http => "http",
        PayloadProtocol::Tls => "tls",
        PayloadProtocol::Multiplexed => "multiplexed",
        PayloadProtocol::Spoken(spoken) => spoken.name(),
        PayloadProtocol::Opaque => "opaque",
    }
}

fn end(conversation: &Conversation, ledger: &ConnectionLedger, side: ConnectionSide) -> EndReport {
    let at = conversation.ends[side.index()];
    let direction = &conversation.directions[side.index()];
    let counts = &direction.counts;
    let scale = ledger.scales.map(|scales| scales[side.index()]);
    let sent = DirectionReport {
        packets: counts.packets,
        data_packets: counts.data_packets,
        bytes: counts.bytes,
        unique_bytes: direction.unique_bytes(),
        retransmitted_packets: counts.retransmitted_packets,
        retransmitted_bytes: counts.retransmitted_bytes,
        out_of_order_packets: counts.out_of_order_packets,
        duplicates: direction.recent.copies,
        pure_acks: counts.pure_acks,
        probes: counts.probes,
        zero_windows: counts.zero_windows,
        syns: counts.syns,
        fins: counts.fins,
        resets: counts.resets,
        mss: Some(direction.mss).filter(|mss| *mss > 0),
        segment: ledger.segments[side.index()],
        sack_permitted: direction.sack_permitted,
        max_in_flight_captured: direction.max_in_flight,
        max_in_flight: ledger.max_in_flight[side.index()],
    };
    let known = scale.filter(|scale| scale.is_known());
    let raw_min = direction.raw_window.map(|window| window.smallest);
    let raw_max = direction.raw_window.map(|window| window.largest);
    let scaled = |raw: Option<u16>| Some(i64::from(raw?) << known?.shift);
    let window = WindowReport {
        syn: direction.syn_window,
        raw_min,
        raw_max,
        min: scaled(raw_min),
        max: scaled(raw_max),
        scale: scaling(direction.scale, scale),
    };
    EndReport { address: address::ip(at.address).to_string(), port: at.port, sent, window }
}

fn scaling(option: WindowScaleOption, scale: Option<WindowScale>) -> ScalingReport {
    let provenance = scale.map_or(ScaleProvenance::Unknown, |scale| scale.provenance);
    let known_scale = scale.filter(|_| provenance != ScaleProvenance::Unknown);
    ScalingReport {
        option: match option {
            WindowScaleOption::Shift(shift) => Some(shift),
            WindowScaleOption::Absent | WindowScaleOption::NotSeen => None,
        },
        shift: known_scale.map(|scale| scale.shift),
        provenance: match provenance {
            ScaleProvenance::Syn => "syn",
            ScaleProvenance::ProvenZero => "proven-zero",
            ScaleProvenance::LowerBound => "lower-bound",
            ScaleProvenance::Unknown => "unknown",
            ScaleProvenance::User => "user",
        },
    }
}

impl FlagReport {
    fn from_flag(flag: &WindowFlag) -> FlagReport {
        FlagReport {
            code: WindowFlag::CODE,
            side: if flag.side == ConnectionSide::Client { "client" } else { "server" },
            packet: flag.number,
            window_before: flag.before,
            window_after: flag.after,
            announced_shift: flag.announced,
            explained_by_shift: flag.shift,
            hint: flag.hint(),
        }
    }
}
