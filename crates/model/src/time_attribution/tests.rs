//! Rows from constructed and measured exchanges, and properties of the attribution and of the sample.

use std::net::IpAddr;

use super::*;
use crate::limit::{Limit, TimeOwner};
use crate::load_balancing::Rng;

mod full_links;

const MS: u64 = 1_000_000;

fn facts(total: u64) -> ExchangeMeasurement {
    ExchangeMeasurement::from_total(IpAddr::from([192, 0, 2, 7]), total * MS)
}

fn waited(mut facts: ExchangeMeasurement, whom: WaitReason, millis: u64) -> ExchangeMeasurement {
    facts.wait_times.set(whom, millis * MS);
    facts
}

/// A socket that was busy for this many milliseconds, partly limited by the window and by the balancer's buffer.
fn socket(busy: u64, window: u64, buffer: u64) -> TcpInfoDelta {
    TcpInfoDelta {
        busy_us: busy * 1000,
        rwnd_limited_us: window * 1000,
        sndbuf_limited_us: buffer * 1000,
        rtt_us: 200,
        min_rtt_us: 100,
        window: 65_535,
        cwnd: 40,
        ssthresh: 20,
        mss: 1448,
        own: true,
        ..TcpInfoDelta::default()
    }
}

fn first(facts: &ExchangeMeasurement) -> (Option<TimeOwner>, Limit) {
    let bar = attribute_time(facts).largest().unwrap();
    (bar.owner, bar.limit)
}

/// Busy with a megabyte for 980 ms.
fn socket0() -> TcpInfoDelta {
    TcpInfoDelta { bytes_acked: 1_000_000, ..socket(980, 0, 0) }
}

const CLIENT: Option<TimeOwner> = Some(TimeOwner::Client);
const NETWORK: Option<TimeOwner> = Some(TimeOwner::Network);
const SERVER: Option<TimeOwner> = Some(TimeOwner::Server);
const US: Option<TimeOwner> = Some(TimeOwner::Balancer);

/// An exchange that waited for nearly all of its second.
fn with(
    whom: WaitReason,
    client: Option<TcpInfoDelta>,
    server: Option<TcpInfoDelta>,
) -> ExchangeMeasurement {
    let mut facts = waited(facts(1_000), whom, 990);
    facts.client_tcp = client;
    facts.server_tcp = server;
    facts
}

/// A name, the measurement, and its attribution.
type AttributionCase = (&'static str, ExchangeMeasurement, (Option<TimeOwner>, Limit));

fn all(rows: &[AttributionCase]) {
    for (case, facts, want) in rows {
        assert_eq!(first(facts), *want, "{case}: {:?}", attribute_time(facts));
    }
}

// Rows: D15
#[test]
fn a_slow_receiver_is_recognized_by_the_kernels_clocks() {
    let socket = |busy, window, buffer| Some(socket(busy, window, buffer));
    let change = |of: fn(TcpInfoDelta) -> TcpInfoDelta| socket(980, 0, 0).map(of);
    let takes = |client| with(WaitReason::ClientReceive, client, None);
    let lossy = change(|sample| TcpInfoDelta { retransmits: 31, bytes_acked: 1_000_000, ..sample });
    // 1 MB within 980 ms over a round trip of 40 ms are 41 kB in flight.
    let far =
        |send_buffer| TcpInfoDelta { rtt_us: 40_000, min_rtt_us: 39_000, send_buffer, ..socket0() };
    let small = Some(far(32_768));
    let large = Some(far(1_000_000));
    let seldom = Some(TcpInfoDelta { retransmits: 1, ..far(32_768) });
    let queued = change(|sample| TcpInfoDelta { rtt_us: 80_000, min_rtt_us: 20_000, ..sample });
    let young = change(|sample| TcpInfoDelta { cwnd: 10, ssthresh: u32::MAX, ..sample });
    let closed = socket(980, 970, 0).map(|sample| TcpInfoDelta { window: 0, ..sample });
    let deaf = with(WaitReason::ServerReceive, None, socket(980, 970, 0));
    all(&[
        ("reads slowly", takes(socket(980, 950, 0)), (CLIENT, Limit::Rwnd)),
        ("stopped reading", takes(closed), (CLIENT, Limit::ZeroWindow)),
        ("our buffer", takes(socket(980, 0, 900)), (US, Limit::SendBuffer)),
        ("our buffer, full of what is on its way", takes(small), (US, Limit::SendBuffer)),
        ("the same with one loss", takes(seldom), (US, Limit::SendBuffer)),
        ("a buffer with room", takes(large), (NETWORK, Limit::Cwnd)),
        ("losses", takes(lossy), (NETWORK, Limit::Loss)),
        ("a full link", takes(queued), (NETWORK, Limit::LinkRate)),
        ("a young connection", takes(young), (NETWORK, Limit::SlowStart)),
        ("a known path", takes(socket(980, 0, 0)), (NETWORK, Limit::Cwnd)),
        ("nothing was read", takes(None), (None, Limit::Unknown)),
        ("an idle socket", takes(socket(0, 0, 0)), (None, Limit::Unknown)),
        (
            "a stream's window",
            with(WaitReason::StreamWindow, None, None),
            (CLIENT, Limit::StreamWindow),
        ),
        ("a deaf server", deaf, (SERVER, Limit::Rwnd)),
    ]);
}

#[test]
fn a_slow_sender_owns_the_time_unless_the_path_explains_it() {
    let idle = Some(socket(1, 0, 0));
    let change = |of: fn(TcpInfoDelta) -> TcpInfoDelta| idle.map(of);
    let gaps = change(|sample| TcpInfoDelta {
        out_of_order: 400,
        rtt_us: 40_000,
        min_rtt_us: 40_000,
        ..sample
    });
    let before = gaps.map(|sample| TcpInfoDelta { own: false, ..sample });
    let long = change(|sample| TcpInfoDelta { rtt_us: 800_000, min_rtt_us: 700_000, ..sample });
    let far = change(|sample| TcpInfoDelta { rtt_us: 150_000, min_rtt_us: 150_000, ..sample });
    // 1.5 MB take six more round trips when the window doubles from ten segments.
    let mut upload = with(WaitReason::ClientSend, far, None);
    upload.bytes[0] = 1_500_000;
    let sends = WaitReason::ServerSend;
    let answer = WaitReason::ServerResponse;
    all(&[
        ("thinks", with(answer, None, idle), (SERVER, Limit::ServerThink)),
        ("thinks, not read", with(answer, None, None), (SERVER, Limit::ServerThink)),
        ("a long path", with(answer, None, long), (NETWORK, Limit::Latency)),
        ("a slow answer", with(sends, None, idle), (SERVER, Limit::AppSender)),
        ("a lossy answer", with(sends, None, gaps), (NETWORK, Limit::Loss)),
        ("losses of others", with(sends, None, before), (SERVER, Limit::AppSender)),
        ("a slow upload", with(WaitReason::ClientSend, idle, None), (CLIENT, Limit::AppSender)),
        ("a young upload", upload, (NETWORK, Limit::SlowStart)),
        ("says nothing", with(WaitReason::ClientThink, None, None), (CLIENT, Limit::ClientThink)),
        ("nobody spoke", with(WaitReason::Either, None, None), (None, Limit::Unknown)),
        ("busy with others", with(WaitReason::Balancer, None, None), (US, Limit::BalancerHold)),
    ]);
}

#[test]
fn phases_have_owners() {
    let path = TcpInfoDelta { min_rtt_us: 40_000, rtt_us: 41_000, ..socket(1, 0, 0) };
    let mut exchange = facts(1_000);
    exchange.phases = ExchangePhases {
        accept: MS,
        tls: 100 * MS,
        queue: 300 * MS,
        connect: 500 * MS,
        ..exchange.phases
    };
    exchange.phases.head = 90 * MS;
    exchange.client_tcp = Some(path);
    exchange.server_tcp = Some(path);
    let bars = attribute_time(&exchange);
    let of = |owner, limit| {
        let bar = bars.all().iter().find(|bar| bar.owner == Some(owner) && bar.limit == limit);
        bar.map_or(0, |bar| bar.nanos / MS)
    };
    assert_eq!(of(TimeOwner::Network, Limit::Tls), 80, "two round trips");
    assert_eq!(of(TimeOwner::Client, Limit::Tls), 20);
    assert_eq!(of(TimeOwner::Client, Limit::AppSender), 90);
    assert_eq!(of(TimeOwner::Balancer, Limit::Queue), 300);
    assert_eq!(of(TimeOwner::Network, Limit::Connect), 500);
    assert_eq!(of(TimeOwner::Balancer, Limit::BalancerHold), 10);
    exchange.flags.server_tls = true;
    assert_eq!(
        attribute_time(&exchange).owner_total(Some(TimeOwner::Server)) / MS,
        380,
        "all but three round trips"
    );
    exchange.client_tcp = None;
    assert_eq!(attribute_time(&exchange).owner_total(None) / MS, 100, "nobody saw the handshake");
    let mut retried = facts(700);
    retried.attempts = 2;
    assert_eq!(first(&retried), (Some(TimeOwner::Network), Limit::Connect));
}

fn random(rng: &mut Rng) -> ExchangeMeasurement {
    let mut word = |most: u64| rng.next() % most.max(1);
    let most = [10, 1_000, 1 << 40, u64::MAX >> 4][word(4) as usize];
    let mut facts = ExchangeMeasurement::from_total(
        IpAddr::from([10, 0, word(9) as u8, word(9) as u8]),
        word(most),
    );
    facts.id = word(u64::MAX);
    facts.ended_at = word(1 << 50);
    facts.service = word(4) as u32;
    facts.server = Some(word(5) as u32).filter(|id| *id > 0);
    facts.attempts = word(3) as u16;
    facts.status = word(600) as u16;
    facts.cause = Some(word(40) as u8).filter(|cause| *cause > 9);
    facts.flags =
        ExchangeFlags { slow: word(2) == 0, sampled: word(2) == 0, ..ExchangeFlags::default() };
    facts.flags.server_tls = word(2) == 0;
    facts.flags.client_quic = word(2) == 0;
    facts.flags.error_replaced = word(2) == 0;
    facts.phases = ExchangePhases::from_array(std::array::from_fn(|_| word(most)));
    WaitReason::ALL.into_iter().for_each(|whom| facts.wait_times.set(whom, word(most)));
    facts.bytes = std::array::from_fn(|_| word(most));
    let mut change = || {
        (word(3) > 0).then(|| TcpInfoDelta {
            busy_us: word(most),
            rwnd_limited_us: word(most),
            sndbuf_limited_us: word(most),
            bytes_acked: word(most),
            bytes_received: word(most),
            delivery_rate: word(most),
            retransmits: word(1 << 32) as u32,
            out_of_order: word(3) as u32,
            rtt_us: word(1 << 32) as u32,
            min_rtt_us: word(1 << 32) as u32,
            not_sent: word(1 << 32) as u32,
            window: word(2) as u32,
            cwnd: word(1 << 32) as u32,
            ssthresh: word(1 << 32) as u32,
            mss: word(2_000) as u32,
            own: word(2) == 0,
            send_buffer: word(1 << 32) as u32,
            receive_rtt_us: word(1 << 32) as u32,
        })
    };
    facts.client_tcp = change();
    facts.server_tcp = change();
    facts.request_drain = RequestDrain { busy_us: facts.total / 7, rwnd_limited_us: 5 };
    facts.wait_times.set_arrivals([3, facts.id as u32]);
    facts
}

#[test]
fn the_parts_sum_to_the_whole_also_after_encoding() {
    let mut rng = Rng::new(5);
    for round in 0..20_000 {
        let facts = random(&mut rng);
        let bars = attribute_time(&facts);
        assert_eq!(bars.total(), facts.total, "{round}: {facts:?}");
        assert!(bars.all().iter().all(|bar| bar.nanos > 0));
        assert_eq!(ExchangeMeasurement::from_words(&facts.to_words()), facts, "{round}");
    }
}

#[test]
fn what_the_words_hold_is_never_trusted() {
    let mut rng = Rng::new(6);
    for _ in 0..20_000 {
        let words = std::array::from_fn(|_| rng.next() >> (rng.next() % 64));
        let facts = ExchangeMeasurement::from_words(&words);
        assert_eq!(attribute_time(&facts).total(), facts.total);
        let _ = (facts.end_cause(), facts.slowness());
    }
}

/// An upload of so many bytes by a client of QUIC, of which all of two seconds was waited for it, over 40 ms there and back.
fn uploading_over_quic(bytes: u64, rtt_us: u32) -> (Option<TimeOwner>, Limit) {
    uploading_over_path(bytes, 40_000, rtt_us)
}

/// As above, over a path of another length.
fn uploading_over_path(bytes: u64, min_rtt_us: u32, rtt_us: u32) -> (Option<TimeOwner>, Limit) {
    let mut exchange = waited(facts(2_000), WaitReason::ClientSend, 2_000);
    exchange.flags.client_quic = true;
    exchange.wait_times.set_arrivals([(bytes / 1_200) as u32, 0]);
    exchange.bytes[0] = bytes;
    exchange.client_tcp = Some(TcpInfoDelta {
        min_rtt_us,
        rtt_us,
        receive_rtt_us: rtt_us,
        mss: 1_200,
        own: true,
        ..TcpInfoDelta::default()
    });
    first(&exchange)
}

#[test]
fn losses_that_quic_hides_are_nobodys() {
    assert_eq!(uploading_over_quic(600_000, 41_000), (None, Limit::Unknown), "perhaps losses");
    assert_eq!(uploading_over_quic(100_000, 41_000), (CLIENT, Limit::AppSender), "no path");
    assert_eq!(uploading_over_quic(600_000, 140_000), (NETWORK, Limit::LinkRate), "a queue");
    let busy = uploading_over_path(6_000_000, 300, 12_000);
    assert_eq!(busy, (None, Limit::Unknown), "a queue, or a client's program that is busy");
}

#[test]
fn idle_time_is_no_part_of_what_was_slow() {
    let mut exchange = waited(facts(10_000), WaitReason::ServerResponse, 300);
    exchange = waited(exchange, WaitReason::ClientThink, 9_000);
    exchange = waited(exchange, WaitReason::Either, 600);
    assert_eq!(first(&exchange), (CLIENT, Limit::ClientThink));
    let busy = exchange.without_idle_time();
    assert_eq!((first(&busy), busy.total / MS), ((SERVER, Limit::ServerThink), 400));
}

#[test]
fn a_tunnels_server_that_reads_what_our_buffer_holds_is_no_thinker() {
    let mut exchange = waited(facts(2_000), WaitReason::ServerResponse, 1_500);
    exchange = waited(exchange, WaitReason::ServerReceive, 400);
    exchange.server_tcp = Some(socket(1_900, 1_850, 0));
    assert_eq!(first(&exchange), (SERVER, Limit::ServerThink), "counted from the request's end");
    exchange.flags.tunnel = true;
    assert_eq!(first(&exchange), (SERVER, Limit::Rwnd));
}

#[test]
fn a_request_that_stays_in_our_buffer_is_not_the_servers_work() {
    let waiting = |busy_ms: u64, window_ms: u64| {
        let mut exchange = waited(facts(2_000), WaitReason::ServerResponse, 2_000);
        exchange.server_tcp = Some(TcpInfoDelta { min_rtt_us: 1_000, ..TcpInfoDelta::default() });
        exchange.request_drain =
            RequestDrain { busy_us: busy_ms * 1000, rwnd_limited_us: window_ms * 1000 };
        attribute_time(&exchange)
    };
    let reads_slowly = waiting(1_900, 1_900);
    assert_eq!(reads_slowly.largest().unwrap().limit, Limit::Rwnd);
    assert_eq!(reads_slowly.owner_total(Some(TimeOwner::Server)), 1_999 * MS);
    let full_link = waiting(1_900, 0);
    assert_eq!(full_link.largest().unwrap().owner, Some(TimeOwner::Network));
    let thinks = waiting(40, 0);
    assert_eq!(thinks.largest().unwrap().limit, Limit::ServerThink);
}

#[test]
fn the_processor_and_the_servers_stream_have_their_time() {
    let mut exchange = waited(facts(120), WaitReason::Processor, 60);
    exchange = waited(exchange, WaitReason::ServerStreamWindow, 40);
    exchange = waited(exchange, WaitReason::AuthAnswer, 20);
    let bars = attribute_time(&exchange);
    let parts: Vec<_> = bars.all().iter().map(|bar| (bar.owner, bar.limit)).collect();
    assert_eq!(
        parts,
        [
            (Some(TimeOwner::Balancer), Limit::BalancerCpu),
            (Some(TimeOwner::Server), Limit::StreamWindow),
            (Some(TimeOwner::Balancer), Limit::AuthAnswer)
        ]
    );
}
