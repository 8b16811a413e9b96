//! Full links, towards the balancer and from it, beside senders that pause.

use super::*;

/// A transfer from the server of which all time was waited for it, in `arrivals` pieces, with a smallest round trip of a
/// millisecond.
fn arriving(arrivals: u32, bytes: u64, receive_rtt_us: u32) -> Limit {
    arriving_over(arrivals, bytes, [1_000, 1_100, receive_rtt_us])
}

/// As above, with the smallest round trip, the last one of what we sent, and the receiver's; microseconds.
fn arriving_over(arrivals: u32, bytes: u64, round_trips: [u32; 3]) -> Limit {
    let [min_rtt_us, rtt_us, receive_rtt_us] = round_trips;
    let mut exchange = waited(facts(2_000), WaitReason::ServerSend, 2_000);
    exchange.wait_times.set_arrivals([0, arrivals]);
    exchange.bytes[2] = bytes;
    exchange.server_tcp = Some(TcpInfoDelta {
        min_rtt_us,
        rtt_us,
        receive_rtt_us,
        mss: 1_448,
        own: true,
        ..TcpInfoDelta::default()
    });
    attribute_time(&exchange).largest().unwrap().limit
}

#[test]
fn a_full_link_towards_us_is_told_from_a_sender_that_pauses() {
    let rows = [
        ("4 Mbit/s behind a queue of 100 ms", 690, 1_000_000, 100_000, Limit::LinkRate),
        ("16 KiB every 20 ms", 100, 1_600_000, 20_000, Limit::AppSender),
        ("the same in two arrivals each", 200, 1_600_000, 22_000, Limit::AppSender),
        ("a hundred bytes every 3 ms, after a long pause", 690, 69_000, 250_000, Limit::AppSender),
        ("a long path without a queue", 690, 1_000_000, 1_300, Limit::AppSender),
        ("nothing known of the way here", 690, 1_000_000, 0, Limit::AppSender),
    ];
    for (case, arrivals, bytes, receive_rtt_us, want) in rows {
        assert_eq!(arriving(arrivals, bytes, receive_rtt_us), want, "{case}");
    }
}

#[test]
fn a_short_queue_towards_us_is_a_link_or_nobodys() {
    let segments = 2_700;
    let bytes = 4_000_000;
    let rows = [
        ("a queue", [20_300, 20_600, 40_000], Limit::LinkRate),
        ("HyStart ends before the queue is long", [20_300, 20_600, 24_000], Limit::Unknown),
        ("what we send shows the queue", [20_300, 33_000, 25_000], Limit::LinkRate),
        ("none: the sender's own pace", [20_300, 20_600, 22_000], Limit::AppSender),
    ];
    for (case, round_trips, want) in rows {
        assert_eq!(arriving_over(segments, bytes, round_trips), want, "{case}");
    }
}

#[test]
fn a_short_queue_of_what_we_send_is_a_full_link() {
    let rows = [
        ("an eighth longer", [80_000, 90_100], Limit::LinkRate),
        ("four milliseconds at least", [2_000, 5_900], Limit::Cwnd),
        ("and longer", [2_000, 6_100], Limit::LinkRate),
        ("sixteen milliseconds are enough", [300_000, 316_100], Limit::LinkRate),
        ("no queue", [80_000, 89_900], Limit::Cwnd),
    ];
    for (case, [min_rtt_us, rtt_us], want) in rows {
        let sent = TcpInfoDelta {
            min_rtt_us,
            rtt_us,
            mss: 1_448,
            bytes_acked: 1_000_000,
            cwnd: 100,
            ssthresh: 50,
            ..socket(2_000, 0, 0)
        };
        let mut exchange = waited(facts(2_000), WaitReason::ClientReceive, 2_000);
        exchange.client_tcp = Some(sent);
        assert_eq!(first(&exchange), (NETWORK, want), "{case}");
    }
}
