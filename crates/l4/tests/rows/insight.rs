//! Rows of flow samples: the datapath's samples of watched connections, in both directions and in one, against a pure
//! model. Also: a full table, a table without a reader, and a reload of the program.

use bpf::PinDirectory;
use l4::abi::{self, Method, Outcome};
use l4::flow_samples::{FlowSampler, SamplingCounters, sampling_counters, set_sampling, threshold};
use l4::{PacketDatapath, TableSizes};
use model::flow_samples::FlowWindowScale;
use proptest::prelude::*;

use super::conversation::{MS, SampledConversation, data, syn};
use super::flow_model::{FlowModel, PacketSample};
use super::packet::{ACK, FIN, RST, SYN, TestPacket, read_ip, tcp};
use super::plane_pool::PlaneLease;
use super::usual::{CLIENT4, VIP4};
use super::world::DatapathTestbed;

// Rows: D14
#[test]
fn a_handshake_has_its_parts_where_both_directions_pass() {
    let Some(mut talk) = SampledConversation::new(Method::Nat) else { return };
    let begin = talk.world.now;
    talk.open();
    talk.agrees();
    let seen = talk.seen();
    assert_eq!(
        (seen.bidirectional, seen.joined_late, seen.service, seen.server),
        (true, false, 0, 0)
    );
    assert_eq!((seen.client.to_string().as_str(), seen.port), ("192.0.2.7", 4_000));
    assert_eq!(seen.syn_ack[0] - begin, 20 * MS);
    assert_eq!(seen.ack - begin, 50 * MS);
    assert_eq!(seen.scale, [FlowWindowScale::Known(7); 2]);
}

#[test]
fn half_a_connection_shows_the_sum_and_a_bound_of_the_scale() {
    for method in [Method::Mac, Method::Tunnel] {
        let Some(mut talk) = SampledConversation::new(method) else { return };
        let begin = talk.world.now;
        talk.open();
        talk.agrees();
        let seen = talk.seen();
        assert!(!seen.bidirectional && seen.syn_ack == [0; 2] && seen.sides[1].packets == 0);
        assert_eq!(seen.ack - begin, 50 * MS);
        assert_eq!(seen.scale, [FlowWindowScale::AtMost(7), FlowWindowScale::Unknown]);
    }
}

#[test]
fn retransmissions_are_attributed_to_the_side_of_the_loss() {
    let Some(mut talk) = SampledConversation::new(Method::Nat) else { return };
    talk.open();
    // A loss behind us: the same bytes pass twice.
    talk.say(data(0, 1, 100));
    talk.after(200 * MS).say(data(0, 1, 100));
    // A loss before us: bytes are missing, and arrive later than a round trip takes.
    talk.after(MS).say(data(1, 1, 1_000));
    talk.after(MS).say(data(1, 2_001, 1_000));
    talk.after(60 * MS).say(data(1, 1_001, 1_000));
    // Reordering: the missing bytes arrive soon.
    talk.after(MS).say(data(1, 4_001, 1_000));
    talk.after(MS).say(data(1, 3_001, 1_000));
    // Keep-alive probes and acknowledgements do not count as losses.
    talk.after(500 * MS).say(data(0, 100, 1));
    talk.say(data(0, 101, 0));
    talk.say(data(0, 101, 0));
    talk.agrees();
    let [client, server] = talk.seen().sides;
    assert_eq!((client.retransmitted, client.filled, client.reordered), (1, 0, 0));
    assert_eq!((server.retransmitted, server.filled, server.reordered), (0, 1, 1));
    assert_eq!((client.loss_recovery_nanos, server.loss_recovery_nanos), (200 * MS, 60 * MS));
}

#[test]
fn an_unanswered_syn_is_a_loss_of_a_second() {
    let Some(mut talk) = SampledConversation::new(Method::Nat) else { return };
    talk.say(syn(0));
    talk.after(1_000 * MS).say(syn(0));
    talk.after(20 * MS).say(PacketSample { flags: SYN | ACK, ..syn(1) });
    talk.after(MS).say(data(0, 1, 0));
    talk.agrees();
    let seen = talk.seen();
    assert_eq!((seen.syns, seen.sides[0].retransmitted), ([2, 1], 1));
    assert_eq!((seen.sides[0].loss_recovery_nanos, seen.sides[1].retransmitted), (1_000 * MS, 0));
}

#[test]
fn windows_that_stand_closed_or_small_are_timed() {
    let Some(mut talk) = SampledConversation::new(Method::Nat) else { return };
    talk.open();
    let says = |talk: &mut SampledConversation, window: u32| {
        talk.say(PacketSample { window, ..data(0, 1, 0) })
    };
    says(&mut talk, 0);
    // The server probes a closed window with one byte, and with an old byte. Neither counts as a loss.
    talk.after(100 * MS).say(data(1, 1, 1));
    talk.say(data(1, 0, 1));
    says(&mut talk, 0);
    talk.after(200 * MS);
    // 2 << 7 is less than a segment.
    says(&mut talk, 2);
    talk.after(50 * MS);
    says(&mut talk, 12);
    talk.agrees();
    let [client, server] = talk.seen().sides;
    assert_eq!((client.zero_window, client.silly_window), (2, 1));
    assert_eq!((client.zero_window_nanos, client.silly_window_nanos), (300 * MS, 50 * MS));
    assert_eq!((server.retransmitted, server.loss_recovery_nanos), (0, 0));
}

#[test]
fn small_windows_count_only_with_a_known_scale() {
    let none = |side| PacketSample { shift: None, ..syn(side) };
    let rows: [(&str, Method, Vec<PacketSample>, u64); 6] = [
        ("both known", Method::Nat, vec![syn(0), PacketSample { flags: SYN | ACK, ..syn(1) }], 1),
        ("no scale", Method::Nat, vec![none(0), PacketSample { flags: SYN | ACK, ..syn(1) }], 2),
        ("not agreed", Method::Nat, vec![syn(0), PacketSample { flags: SYN | ACK, ..none(1) }], 2),
        ("no answer seen", Method::Mac, vec![syn(0)], 1),
        ("half, none offered", Method::Mac, vec![none(0)], 2),
        ("half, no beginning seen", Method::Mac, vec![], 0),
    ];
    for (text, method, begin, silly) in rows {
        let Some(mut talk) = SampledConversation::new(method) else { return };
        begin.into_iter().for_each(|one| talk.say(one));
        talk.say(PacketSample { window: 5, ..data(0, 1, 0) });
        // Small only without scaling.
        talk.say(PacketSample { window: 1_000, ..data(0, 1, 0) });
        talk.say(PacketSample { window: 0, ..data(0, 1, 0) });
        talk.agrees();
        let sampled_side = talk.seen().sides[0];
        assert_eq!((sampled_side.silly_window, sampled_side.zero_window), (silly, 1), "{text}");
    }
}

#[test]
fn resets_are_attributed_to_who_sent_them() {
    let Some(mut talk) = SampledConversation::new(Method::Nat) else { return };
    talk.say(syn(0));
    talk.after(MS).say(PacketSample { flags: RST | ACK, ..data(1, 0, 0) });
    talk.agrees();
    assert!(talk.seen().refused);
    for (side, want) in [(0, [1, 0]), (1, [0, 1])] {
        let Some(mut talk) = SampledConversation::new(Method::Nat) else { return };
        talk.open();
        talk.say(PacketSample { flags: RST | ACK, ..data(side, 1, 0) });
        talk.agrees();
        let seen = talk.seen();
        assert_eq!(seen.sides.map(|side| side.resets), want);
        assert!(seen.ended && !seen.refused);
    }
}

#[test]
fn a_reset_ends_the_time_of_a_closed_window() {
    let Some(mut talk) = SampledConversation::new(Method::Nat) else { return };
    talk.open();
    talk.say(PacketSample { window: 0, ..data(0, 1, 0) });
    talk.after(400 * MS).say(PacketSample { flags: RST | ACK, ..data(1, 1, 0) });
    talk.after(900 * MS).say(PacketSample { window: 9, ..data(0, 1, 0) });
    talk.agrees();
    assert_eq!(talk.seen().sides[0].zero_window_nanos, 400 * MS);
}

/// A client's packet of connection `n`.
fn of(n: u32, flags: u8) -> TestPacket {
    let client = format!("192.0.{}.{}:{}", n >> 20 & 255, n >> 12 & 255, 1_024 + (n & 0xfff));
    tcp(&client, VIP4, flags)
}

#[test]
fn one_connection_in_so_many_is_watched_in_both_directions_or_none() {
    for method in [Method::Mac, Method::Nat] {
        let Some(talk) = SampledConversation::new(method) else { return };
        let watched = |sample: Option<u32>, from: u32| {
            set_sampling(&talk.world.plane, &talk.watcher, sample).unwrap();
            for n in from..from + 480 {
                let (_, out) = talk.world.send(&of(n, SYN));
                if method == Method::Nat {
                    let seen = read_ip(&out[14..]);
                    let end = |ip, port| std::net::SocketAddr::new(ip, port).to_string();
                    let server = end(seen.dst, seen.dport);
                    let us = end(seen.src, seen.sport);
                    talk.world.send(&tcp(&server, &us, SYN | ACK));
                }
            }
            let all = talk.watcher.read_samples();
            assert!(method == Method::Mac || all.iter().all(|one| one.syns == [1, 1]), "{all:?}");
            all.len()
        };
        assert_eq!(watched(None, 0), 0, "{method:?}");
        assert_eq!(watched(Some(1), 1_024), 480, "{method:?}");
        let drawn = watched(Some(8), 2_048);
        assert!((25..=100).contains(&drawn), "{method:?}: {drawn}, and 60 are expected");
    }
}

#[test]
fn switching_forgets_what_was_watched_before() {
    let Some(mut talk) = SampledConversation::new(Method::Mac) else { return };
    talk.open();
    assert_eq!(talk.watcher.read_samples().len(), 1);
    assert!(!set_sampling(&talk.world.plane, &talk.watcher, Some(1)).unwrap(), "nothing changed");
    assert_eq!(talk.watcher.read_samples().len(), 1);
    assert!(set_sampling(&talk.world.plane, &talk.watcher, None).unwrap());
    talk.say(data(0, 1, 100));
    assert_eq!(talk.watcher.read_samples(), []);
    assert!(set_sampling(&talk.world.plane, &talk.watcher, Some(1)).unwrap());
    talk.say(data(0, 5_000_000, 100));
    let seen = talk.seen();
    assert!(seen.joined_late && seen.sides[0].packets == 1 && seen.sides[0].retransmitted == 0);
    assert_eq!(seen.scale[0], FlowWindowScale::Unknown);
}

#[test]
fn datagrams_and_fragments_are_not_watched() {
    let Some(talk) = SampledConversation::new(Method::Mac) else { return };
    talk.world.listen("203.0.113.10", 80, super::packet::UDP, 0);
    talk.world.send(&super::packet::udp(CLIENT4, VIP4));
    let first =
        TestPacket { fragment: Some((0, true)), keep_whole: false, ..tcp(CLIENT4, VIP4, ACK) };
    talk.world.send(&TestPacket { payload: vec![0; 12], ..first });
    assert_eq!(talk.watcher.read_samples(), []);
}

/// A full set, its counters, and the eviction.
#[test]
fn a_full_table_is_counted_and_gives_way_to_others_only_when_it_was_read() {
    let Some(mut talk) = SampledConversation::new(Method::Mac) else { return };
    let plane = |talk: &SampledConversation| sampling_counters(&talk.world.plane).unwrap();
    let mut n = 0;
    // Fills the four entries of one set, and sends one more connection.
    while plane(&talk).full == 0 {
        talk.world.send(&of(n, SYN));
        n += 1;
        assert!(n < 60_000, "no set became full");
    }
    let last = of(n - 1, SYN);
    let all = u64::from(n) - 1;
    assert_eq!(plane(&talk), SamplingCounters { started: all, full: 1, evicted: 0, unread: 0 });
    assert_eq!(talk.watcher.read_samples().len() as u64, all);
    assert_eq!(talk.world.count(Outcome::Forwarded), u64::from(n), "all are forwarded the same");
    // An entry that was idle for long is evicted, and counted, because it did not end.
    talk.world.pass_ticks(240);
    talk.world.send(&last);
    assert_eq!(plane(&talk), SamplingCounters { started: all + 1, full: 1, evicted: 1, unread: 0 });
    // Without a reader no entry is evicted, regardless of its age.
    let mut config = talk.world.plane.config.get(&0).unwrap().unwrap();
    config.clock_ns += 1_000 << abi::TICK_SHIFT;
    config.swept -= 2_000;
    talk.world.plane.config.set(&0, &config).unwrap();
    talk.world.send(&TestPacket { seq: 77, ..last.clone() });
    assert_eq!(plane(&talk).unread, 1, "the same ends begin anew, though nobody had read them");
    let evicted = plane(&talk).evicted;
    let full = plane(&talk).full;
    for more in n..n + 6_000 {
        talk.world.send(&of(more, SYN));
    }
    assert_eq!(plane(&talk).evicted, evicted);
    assert!(plane(&talk).full > full);
}

#[test]
fn a_connection_that_ended_gives_way_soon() {
    let Some(mut talk) = SampledConversation::new(Method::Nat) else { return };
    talk.open();
    let first = talk.seen().first_packet_at;
    talk.say(PacketSample { flags: FIN | ACK, ..data(0, 1, 0) });
    talk.after(MS).say(PacketSample { flags: FIN | ACK, ..data(1, 1, 0) });
    talk.agrees();
    assert!(talk.seen().ended);
    talk.world.pass_ticks(101);
    talk.model = FlowModel { both: true, ..FlowModel::default() };
    talk.ends = None;
    talk.open();
    talk.agrees();
    let seen = talk.seen();
    assert!(
        seen.first_packet_at > first && !seen.ended && !seen.joined_late,
        "another connection of the same ends"
    );
    let drawn = sampling_counters(&talk.world.plane).unwrap();
    assert_eq!((drawn.started, drawn.unread, drawn.evicted), (2, 0, 0));
}

#[test]
fn what_is_watched_outlives_the_process_and_a_program_that_is_loaded_anew() {
    let Some(world) = DatapathTestbed::pinned() else { return };
    let mut talk = SampledConversation::in_world(world, Method::Nat);
    talk.open();
    let before = talk.seen();
    let home = PinDirectory::open(&talk.world.place().join("home")).unwrap();
    let reopened = PacketDatapath::open(&home, &TableSizes::default(), false).unwrap();
    assert!(reopened.is_adopted());
    let watcher = FlowSampler::new(&reopened).unwrap();
    assert!(!set_sampling(&reopened, &watcher, Some(1)).unwrap(), "it is on, and stays so");
    assert_eq!(watcher.read_samples(), [before]);
    talk.world.plane = PlaneLease::alone(reopened);
    talk.say(data(0, 1, 100));
    talk.after(MS).say(data(0, 1, 100));
    talk.agrees();
    assert_eq!(talk.seen().sides[0].retransmitted, 1);
    assert_eq!(talk.world.plane.config.get(&0).unwrap().unwrap().insight, threshold(Some(1)));
}

fn anything() -> impl Strategy<Value = (u64, PacketSample)> {
    let flags = prop_oneof![
        20 => Just(ACK),
        1 => Just(FIN | ACK),
        1 => Just(SYN),
        1 => Just(RST),
    ];
    let window = prop_oneof![6 => Just(501u32), 1 => Just(0), 2 => 1u32..20, 1 => 0u32..65_536];
    let bytes = prop_oneof![2 => Just(0i64), 1 => Just(1), 5 => 1i64..1_500];
    let pause = prop_oneof![4 => 0u64..5 * MS, 1 => 0u64..300 * MS];
    (0usize..2, flags, 0i64..6_000, bytes, window, pause).prop_map(
        |(side, flags, seq, bytes, window, pause)| {
            let flags = if flags == SYN && side == 1 { SYN | ACK } else { flags };
            // The client's SYN belongs to the same connection.
            let (seq, bytes) = if flags & SYN != 0 { (0, 0) } else { (seq, bytes) };
            (pause, PacketSample { flags, seq, bytes, window, ..syn(side) })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]
    #[test]
    fn the_datapath_and_the_model_agree_on_any_packets(
        half in any::<bool>(),
        shakes in any::<bool>(),
        packets in proptest::collection::vec(anything(), 1..50),
    ) {
        let Some(mut talk) = SampledConversation::new(if half { Method::Mac } else { Method::Nat }) else { return Ok(()) };
        if shakes || !half {
            talk.open();
        }
        for (pause, glance) in packets {
            let over = (talk.model.ended || talk.model.fins != [false; 2]) && glance.flags & SYN != 0;
            let late = talk.model.syn.is_none() && glance.flags & SYN != 0;
            // A new connection begins here, and has a separate row.
            if over || late || glance.side == 0 && talk.model.halves[0].packets == 0 && glance.flags & RST != 0 {
                continue;
            }
            talk.after(pause).say(glance);
            if !half && talk.world.count(Outcome::NoFlow) > 0 {
                break;
            }
        }
        if talk.model.halves[0].packets > 0 {
            talk.agrees();
        }
    }
}
