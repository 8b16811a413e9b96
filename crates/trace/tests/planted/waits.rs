//! Waits that belong to a side, and silences that belong to nobody: greetings, tunnels, subscriptions, captures that end.

use trace::analysis::AnalysisSettings;

use crate::capture::{
    ACK, FIN, MS, PlantedPacket, SYN, analyse, append_cut_frame, first_cause, report_of_file,
    write_pcap,
};
use crate::script::{ONE_WAY_MS, ScriptedConnection};

#[test]
fn a_late_greeting_is_the_server_s_time() {
    let mut mysql = b"\x4a\0\0\0\x0a8.0.36\0".to_vec();
    mysql.resize(0x4a + 4, 1);
    for greeting in [&mysql[..], b"220 mail.example ESMTP\r\n", b"* OK ready\r\n", b"SSH-2.0-x\r\n"]
    {
        let mut one = ScriptedConnection::open(1, 0);
        one.wait(2_000).server(ACK, greeting).client(ACK, b"hello\r\n");
        one.wait(2 * ONE_WAY_MS).server(ACK, b"250 ok\r\n").client(ACK, b"").close();
        let report = analyse(&one.packets);
        assert_eq!(first_cause(&report), "SERVER_THINK server", "{}", greeting.escape_ascii());
        let seconds = report["verdict"]["most_significant"]["seconds"].as_f64().unwrap();
        assert!((seconds - 1.98).abs() < 0.01, "{seconds}");
    }
    // What no client waits for is no wait.
    let mut one = ScriptedConnection::open(1, 0);
    one.wait(2_000).server(ACK, b"\x01\x02news").client(ACK, b"").close();
    assert_eq!(first_cause(&analyse(&one.packets)), "");
}

#[test]
fn nobody_waits_for_what_a_server_says_on_its_own_account() {
    let mut tunnel = ScriptedConnection::open(1, 0);
    tunnel.upgrade();
    let mut subscriber = ScriptedConnection::open(1, 0);
    subscriber.client(ACK, b"*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nq\r\n").wait(2 * ONE_WAY_MS);
    for mut one in [tunnel, subscriber] {
        for _ in 0..6 {
            one.server(ACK, b"\x81\x04news").client(ACK, b"").wait(900);
        }
        let report = analyse(&one.packets);
        assert_eq!(first_cause(&report), "");
        assert!(
            report["verdict"]["total_seconds"].as_f64().unwrap() < 0.3,
            "{}",
            report["verdict"]
        );
    }
    // Also where the client confirms each message, as with pings.
    let mut one = ScriptedConnection::open(1, 0);
    one.upgrade();
    for _ in 0..6 {
        one.server(ACK, b"\x89\0").client(ACK, b"\x8a\x80abcd").wait(700);
    }
    assert_eq!(first_cause(&analyse(&one.packets)), "");
    // Where each message has its answer, the tunnel's client waits for it.
    let mut one = ScriptedConnection::open(1, 0);
    one.upgrade();
    for _ in 0..4 {
        one.client(ACK, b"\x81\x84abcdtell").wait(2 * ONE_WAY_MS + 500);
        one.server(ACK, b"\x81\x04told").client(ACK, b"").wait(300);
    }
    assert_eq!(first_cause(&analyse(&one.packets)), "SERVER_THINK server");
}

#[test]
fn a_capture_that_ends_within_a_transfer_blames_nobody() {
    let mut one = ScriptedConnection::open(1, 0);
    one.ask().wait(2 * ONE_WAY_MS).answer(1_000_000, 40_000).client(ACK, b"");
    let report = analyse(&one.packets);
    assert_eq!(report["verdict"]["failures"], serde_json::json!([]));
    let mut log = ScriptedConnection::open(1, 0);
    for _ in 0..5 {
        log.client(ACK, b"<14> a line\n").wait(20).server(ACK, b"").wait(700);
    }
    log.client(FIN | ACK, b"").wait(20).server(ACK, b"");
    let report = analyse(&log.packets);
    assert_eq!(report["verdict"]["failures"], serde_json::json!([]));
    assert_eq!(first_cause(&report), "", "pauses of a log are no wait");
}

#[test]
fn a_farewell_of_tls_is_no_part_of_an_answer() {
    for is_server_first in [true, false] {
        let mut one = ScriptedConnection::open(1, 0);
        one.sealed_hello().records(true, 200, 205).wait(2 * ONE_WAY_MS);
        one.records(false, 3_000, 3_005).client(ACK, b"").wait(5_000);
        if !is_server_first {
            one.client(FIN | ACK, b"").wait(2 * ONE_WAY_MS);
        }
        one.records(false, 19, 24).server(FIN | ACK, b"");
        one.client(FIN | ACK, b"").wait(2 * ONE_WAY_MS).server(ACK, b"");
        let report = analyse(&one.packets);
        assert!(
            report["verdict"]["total_seconds"].as_f64().unwrap() < 0.3,
            "{}",
            report["verdict"]
        );
    }
}

/// A server that paces, captured beside it; its client reads in portions, and says so in two packets each.
fn read_in_portions() -> Vec<PlantedPacket> {
    let mut one = ScriptedConnection::begin(1, 0);
    one.client(SYN, b"").server(SYN | ACK, b"").wait(2 * ONE_WAY_MS).client(ACK, b"").ask();
    let mut since: Vec<usize> = Vec::new();
    let segment = [b'x'; 1_460];
    one.server(ACK, b"HTTP/1.1 200 OK\r\nContent-Length: 876000\r\n\r\n");
    for burst in 0..300 {
        since.push(one.packets.len());
        one.server(ACK, &segment).server(ACK, &segment).wait(4);
        // Half a round trip without a word, then the acknowledgement of all that came before.
        if burst % 8 == 7 {
            one.window(true, 60).client(ACK, b"").window(true, 220).client(ACK, b"");
        }
    }
    one.packets.sort_by_key(|packet| packet.time_ns);
    assert!(one.packets.last().unwrap().time_ns > 1_000 * MS);
    one.packets
}

#[test]
fn a_reader_in_portions_is_no_idle_program() {
    assert_eq!(first_cause(&analyse(&read_in_portions())), "RWND client");
}

#[test]
fn an_answer_that_was_lost_before_the_capture_is_no_work_of_the_server() {
    for (is_lost, cause) in [(true, "LOSS_SUSPECTED network"), (false, "SERVER_THINK server")] {
        let mut one = ScriptedConnection::open(1, 0);
        for at in 0..14 {
            one.ask().wait(2 * ONE_WAY_MS);
            if at == 6 {
                one.wait(500);
            }
            if at == 6 && is_lost {
                one.lose(false);
            }
            one.answer(200, 200).client(ACK, b"").wait(10);
        }
        one.close();
        let report = analyse(&one.packets);
        assert_eq!(first_cause(&report), cause);
        let owners = &report["verdict"]["owners"];
        let sum: f64 = ["client", "network", "server", "balancer", "unknown"]
            .iter()
            .map(|owner| owners[owner].as_f64().unwrap())
            .sum();
        assert!((sum - report["verdict"]["total_seconds"].as_f64().unwrap()).abs() < 1e-6);
    }
}

#[test]
fn the_evidence_of_an_unanswered_connection_begins_with_its_first_packet() {
    let mut one = ScriptedConnection::begin(1, 0);
    one.client(SYN, b"").wait(1_000).repeat(true).wait(2_000).repeat(true);
    let report = analyse(&one.packets);
    let evidence = &report["verdict"]["failures"][0]["evidence"];
    assert_eq!((&evidence["from_packet"], &evidence["to_packet"]), (&1.into(), &3.into()));
}

#[test]
fn one_direction_of_a_capture_blames_nobody_and_is_not_healthy() {
    let mut one = ScriptedConnection::open(1, 0);
    for _ in 0..6 {
        one.exchange(300).wait(40);
    }
    for is_client in [true, false] {
        let half: Vec<PlantedPacket> = one
            .packets
            .iter()
            .filter(|packet| packet.is_from_client == is_client)
            .cloned()
            .collect();
        let report = analyse(&half);
        assert_eq!(first_cause(&report), "");
        assert_eq!(report["verdict"]["healthy"], false, "{}", report["verdict"]);
        assert_eq!(report["capture"]["one_way_connections"], 1);
    }
}

#[test]
fn a_receiver_s_capture_without_the_beginning_does_not_blame_the_sender() {
    // Beside the client, each packet is acknowledged at once; how far the server is nothing shows.
    let mut one = ScriptedConnection::open(1, 0);
    one.ask();
    let begun = one.packets.len();
    one.wait(2 * ONE_WAY_MS);
    for _ in 0..200 {
        one.server(ACK, &[b'x'; 1_460]).client(ACK, b"").wait(7);
    }
    let report = analyse(&one.packets[begun..]);
    assert_eq!(first_cause(&report), "");
    assert_eq!(report["verdict"]["healthy"], false);
}

#[test]
fn heads_and_options_that_were_cut_are_not_taken_for_whole() {
    // 68 bytes of each frame: of a SYN's options the last are missing, the window scale among them.
    let mut one = ScriptedConnection::begin(1, 0);
    one.window(true, 512).window(false, 512).handshake().ask().wait(20).server(FIN | ACK, b"");
    one.client(FIN | ACK, b"").wait(20).server(ACK, b"");
    let report = report_of_file(&cut_frames(&one.packets, 76), AnalysisSettings::default());
    let report = serde_json::to_value(report).unwrap();
    assert_eq!(first_cause(&report), "REQUEST_CLOSED server", "{}", report["verdict"]);
    let mut one = ScriptedConnection::open(1, 0);
    for _ in 0..4 {
        one.ask().wait(2 * ONE_WAY_MS).answer(6_000, 6_000).client(ACK, b"").wait(10);
    }
    let report = report_of_file(&cut_frames(&one.packets, 58), AnalysisSettings::default());
    let report = serde_json::to_value(report).unwrap();
    let scale = &report["connections"][0]["client"]["window"]["scale"];
    assert!(["unknown", "lower-bound"].contains(&scale["provenance"].as_str().unwrap()), "{scale}");
    assert_ne!(first_cause(&report), "SILLY_WINDOW client");
}

/// A capture with so many bytes of each frame.
fn cut_frames(packets: &[PlantedPacket], bytes: usize) -> Vec<u8> {
    let mut out = write_pcap(&packets[..0]);
    for packet in packets {
        let frame = packet.frame();
        append_cut_frame(&mut out, packet.time_ns, &frame, bytes);
    }
    out
}

#[test]
fn overlapping_requests_are_not_called_healthy() {
    let mut one = ScriptedConnection::open(1, 0);
    one.client(ACK, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").wait(2_000);
    one.server(ACK, &[0; 9]).client(ACK, b"").close();
    assert_eq!(analyse(&one.packets)["verdict"]["healthy"], false);
}
