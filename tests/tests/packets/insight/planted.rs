//! Planted causes: each is attributed to the right side, with tshark's counts.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use api::types::{PacketSide, SlowPackets};
use lab::link_emulation::{CHAIN_CLIENT, CHAIN_RETURN, CHAIN_SERVER, LinkShape};
use rustix::net::sockopt::{set_socket_linger, set_socket_recv_buffer_size};
use tests::e2e::packet_balancer::ready;

use super::capture::{CableCapture, REPAIRS, count, fields, have_tools};
use super::topology::{InsightTopology, ask, far};

/// A link that loses every `every`-th large packet of one direction.
fn lossy(every: u64) -> LinkShape {
    LinkShape { drop_every: every, ..shape() }
}

fn shape() -> LinkShape {
    far(4)[0].clone()
}

/// The balancer's counts of some connections, and the captures of the clients' and the servers' link.
struct CapturedRun {
    told: SlowPackets,
    files: [PathBuf; 2],
}

/// Captures both links until the counts of `begun` connections are stable. tshark's counts must agree.
fn captured_run(world: &InsightTopology, begun: usize, run: impl FnOnce()) -> CapturedRun {
    let captures =
        ["front", "back"].map(|link| CableCapture::begin(&world.chain.between, link, world.dir()));
    run();
    // The last packets arrive after the last call, and belong to the captures too.
    let told = world.settled(begun);
    let files = captures.map(CableCapture::end);
    agree(&told, &files);
    CapturedRun { told, files }
}

/// Filters for the packets of each side. The daemon's own connections to the server have another source address.
fn client() -> String {
    format!("ip.src == {CHAIN_CLIENT}")
}

fn server() -> String {
    format!("ip.src == {CHAIN_SERVER} && ip.dst == {CHAIN_RETURN}")
}

fn repairs(side: &PacketSide) -> u64 {
    side.lost_before + side.lost_behind + side.reordered
}

/// Checks the reported counts against tshark's: clients at the front link, servers at the back link.
fn agree(told: &SlowPackets, [front, back]: &[PathBuf; 2]) {
    let side = |side: &PacketSide, file: &Path, who: &str| {
        let what = format!("{who}: {side:?}");
        // A capture may start or end one packet earlier or later.
        let packets = count(file, &format!("tcp && {who}"));
        assert!(side.packets.abs_diff(packets) <= 1, "{packets} packets of {what}");
        let again = count(file, &format!("{who} && {REPAIRS}"));
        assert_eq!(repairs(side), again, "repairs of {what}");
        let zero = count(file, &format!("{who} && tcp.analysis.zero_window"));
        assert_eq!(side.zero_windows, zero, "zero windows of {what}");
        let resets = count(file, &format!("{who} && tcp.flags.reset == 1"));
        assert_eq!(side.resets, resets, "resets of {what}");
    };
    side(&told.client, front, &client());
    if let Some(server) = &told.server {
        side(server, back, &self::server());
    }
}

fn of(told: &SlowPackets, owner: &str, limit: &str) -> f64 {
    let fits = |it: &&api::types::SlowReason| it.owner == owner && it.limit == limit;
    told.reasons.iter().find(fits).map_or(0.0, |reason| reason.seconds)
}

fn no_loss(side: &PacketSide) -> bool {
    repairs(side) == 0
}

#[test]
fn a_healthy_connection_is_blamed_for_nothing_but_opening() {
    if !ready() || !have_tools() {
        return;
    }
    let world = InsightTopology::open("nat", far(15), far(10));
    let CapturedRun { told, files } =
        captured_run(&world, 5, || (0..5).for_each(|_| world.fetch(20_000)));
    assert!(told.both_directions && told.handshakes.done == 5 && told.unscaled == 0, "{told:?}");
    assert!(told.reasons.iter().all(|it| it.limit == "CONNECT"), "{told:?}");
    let [server, client, whole] =
        [told.handshakes.server_part, told.handshakes.client_part, told.handshakes.total]
            .map(|part| part.unwrap());
    // Both links have a delay in each direction; any excess is the machine's.
    for (part, least) in [(server, 20.0), (client, 30.0), (whole, 50.0)] {
        assert!(part.count == 5 && part.median_ms >= least - 1.0, "{part:?}");
    }
    // The same times from tshark's view: SYN to SYN-ACK at the servers' side.
    let at = |flags: &str| -> Vec<f64> {
        let filter = format!(
            "(ip.src == {CHAIN_RETURN} || ip.dst == {CHAIN_RETURN}) && tcp.flags & 0x12 == {flags}"
        );
        fields(&files[1], &filter, "frame.time_epoch")
            .iter()
            .map(|it| it.parse().unwrap())
            .collect()
    };
    let asked = at("0x02");
    let answered = at("0x12");
    let mut theirs: Vec<f64> = asked.iter().zip(&answered).map(|(a, b)| (b - a) * 1e3).collect();
    theirs.sort_by(f64::total_cmp);
    assert!((theirs[2] - server.median_ms).abs() < 5.0, "{theirs:?} {server:?}");
    let text = world.verb(&["explain", "slow", "shop", "--since", "1h"]).stdout;
    for part in
        ["shop: connections by nat", "every one is watched", "to the server and back", "web/a"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn losses_are_attributed_to_the_side_that_they_are_on() {
    if !ready() || !have_tools() {
        return;
    }
    // The server's data is lost before the balancer if the server's link is lossy, and behind the balancer if the
    // client's link is lossy.
    let rows = [([shape(), lossy(40)], far(4), false), (far(4), [shape(), lossy(40)], true)];
    for (near, beyond, before) in rows {
        let world = InsightTopology::open("nat", near, beyond);
        let CapturedRun { told, .. } =
            captured_run(&world, 4, || (0..4).for_each(|_| world.fetch(400_000)));
        let server = told.server.unwrap();
        let lost = [server.lost_before, server.lost_behind];
        let (there, elsewhere) = if before { (lost[0], lost[1]) } else { (lost[1], lost[0]) };
        assert!(there >= 4, "{server:?}");
        // A tail that was not lost may be retransmitted unnecessarily.
        assert!(elsewhere * 4 <= there, "{server:?}");
        assert!(
            of(&told, "network", "LOSS") > 0.0
                && told.reasons.iter().all(|it| it.owner == "network"),
            "{told:?}"
        );
        assert!(no_loss(&told.client), "{told:?}");
    }
}

#[test]
fn what_clients_send_is_reported_with_every_method() {
    if !ready() || !have_tools() {
        return;
    }
    for forward in ["nat", "mac", "tunnel"] {
        let world = InsightTopology::open(forward, [lossy(30), shape()], far(4));
        let CapturedRun { told, .. } =
            captured_run(&world, 3, || (0..3).for_each(|_| world.push(300_000)));
        assert!(told.client.lost_before >= 3, "{forward}: {told:?}");
        assert!(told.client.lost_behind * 4 <= told.client.lost_before, "{forward}: {told:?}");
        assert_eq!(told.server.is_some(), forward == "nat");
        assert_eq!(told.handshakes.server_part.is_some(), forward == "nat");
        let whole = told.handshakes.total.unwrap();
        assert!(whole.count == 3 && whole.median_ms >= 15.0, "{forward}: {whole:?}");
        assert_eq!(
            told.limitations.iter().any(|it| it.contains("server's half")),
            forward != "nat"
        );
    }
}

/// A client with a small buffer that does not read.
fn small(socket: &OwnedFd) {
    set_socket_recv_buffer_size(socket, 8 * 1024).unwrap();
}

#[test]
fn a_client_that_does_not_read_is_known_by_its_closed_window() {
    if !ready() || !have_tools() {
        return;
    }
    for forward in ["nat", "mac", "tunnel"] {
        let world = InsightTopology::open(forward, far(4), far(4));
        let CapturedRun { told, .. } = captured_run(&world, 1, || {
            let mut stream = world.connect_with(small);
            ask(&mut stream, "get 300000");
            world.until("the window stands closed", |it| it.client.zero_window_ms >= 1_500.0);
            let mut all = Vec::new();
            stream.read_to_end(&mut all).unwrap();
            assert_eq!(all.len(), 300_000);
        });
        let owner = told.owners.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds)).unwrap();
        assert_eq!(owner.owner, "client", "{forward}: {told:?}");
        assert!(of(&told, "client", "ZERO_WINDOW") >= 1.5, "{forward}: {told:?}");
        assert!(of(&told, "network", "LOSS") < 0.5, "{forward}: {told:?}");
    }
}

#[test]
fn resets_are_attributed_to_who_sent_them() {
    if !ready() || !have_tools() {
        return;
    }
    for forward in ["nat", "mac"] {
        let world = InsightTopology::open(forward, far(4), far(4));
        let CapturedRun { told, .. } = captured_run(&world, 5, || {
            for _ in 0..3 {
                let mut stream = world.connect();
                ask(&mut stream, "reset");
                let _ = stream.read_to_end(&mut Vec::new());
            }
            for _ in 0..2 {
                let mut stream = world.connect();
                ask(&mut stream, "hold");
                set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
            }
        });
        // A socket that was closed with a reset answers later packets with another reset.
        assert!(told.client.resets >= 2, "{forward}: {told:?}");
        assert_eq!(told.server.map(|it| it.resets), (forward == "nat").then_some(3), "{forward}");
        assert_eq!(told.balancer_resets, 0);
        let notes: Vec<_> = told.examples.iter().flat_map(|it| &it.notes).collect();
        assert!(notes.iter().any(|note| *note == "reset-by-client"), "{notes:?}");
    }
}
