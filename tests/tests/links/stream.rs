//! One stream over two links: its throughput with equal links and with a longer second link.

use std::time::Duration;

use lab::net::{SysctlSetting, find};

use super::topology::{Client, LinkTopology, long, mtu, rate};
use super::traffic::{StreamFigures, stream, stream_six};

/// The one-way delay of both links.
pub const NEAR: Duration = Duration::from_millis(2);
/// A round trip that is 17 ms longer.
pub const FAR: Duration = Duration::from_micros(2_000 + 8_500);

pub const ONE: &str = "policy = \"failover\"";
pub const BOTH: &str = "policy = \"round-robin\"";
/// Round robin with a selection for each packet.
const EACH: &str = "policy = \"round-robin\"\nburst = 1";
pub const NAIVE: &str = "policy = \"round-robin\"\nburst = 1\nequalise = false";

pub fn time() -> Duration {
    if long() { Duration::from_secs(5) } else { Duration::from_millis(1_200) }
}

/// The best of several runs: a busy machine makes streams slower, never faster.
fn best(delays: &[Duration], bundle: &str, how: &str) -> Option<StreamFigures> {
    Some(best_in(&LinkTopology::open(delays, bundle)?, how))
}

fn best_in(world: &LinkTopology, how: &str) -> StreamFigures {
    let all = (0..2).map(|_| stream(world, how, time(), || ()));
    let best = all.max_by(|a, b| a.mbit.total_cmp(&b.mbit)).unwrap();
    let status = world.status(Client);
    // The kernel's own IPv6 traffic on a link is not the bundle's.
    let own = |why: &str| ["multicast", "not-ours"].contains(&why);
    assert!(status.dropped.keys().all(|why| own(why)), "{:?}", status.dropped);
    best
}

/// The congestion controls to test.
pub fn hows() -> &'static [&'static str] {
    if long() { &["cubic", "bbr"] } else { &["cubic"] }
}

/// Prints a stream's figures and returns its throughput relative to one link.
fn print_throughput(what: &str, seen: &StreamFigures, one: &StreamFigures) -> f64 {
    let times = seen.mbit / one.mbit;
    println!("proof:   {what}: {:.0} Mbit/s, {times:.2} times; {}", seen.mbit, seen.kernel);
    times
}

/// Prints the throughput of per-packet selection, which processors limit. Only in the long run.
fn each(delays: &[Duration], how: &str, one: &StreamFigures) {
    if let Some(seen) = long().then(|| best(delays, EACH, how)).flatten() {
        print_throughput("packet by packet", &seen, one);
    }
}

#[test]
fn equal_links_carry_one_stream_together() {
    for how in hows() {
        let Some(one) = best(&[NEAR, NEAR], ONE, how) else { return };
        println!("proof: {how}, equal delays, packets of {}, lines of {} Mbit/s:", mtu(), rate());
        print_throughput("one link", &one, &one);
        let Some(both) = best(&[NEAR, NEAR], BOTH, how) else { return };
        let times = print_throughput("round robin", &both, &one);
        each(&[NEAR, NEAR], how, &one);
        assert!(times >= if long() { 1.9 } else { 1.6 }, "{times}");
    }
}

/// As `best`, with a TCP that does not adapt to reordering: a packet that is overtaken by more than a quarter of the
/// round trip counts as lost, and nothing tells the sender that it was not.
fn best_unadapting(bundle: &str, how: &str) -> Option<StreamFigures> {
    let world = LinkTopology::open(&[NEAR, FAR], bundle)?;
    for host in [&world.lines.client, &world.lines.server] {
        let fixed_window = [
            SysctlSetting { path: "net/ipv4/tcp_recovery", value: "3" },
            SysctlSetting { path: "net/ipv4/tcp_dsack", value: "0" },
            SysctlSetting { path: "net/ipv4/tcp_timestamps", value: "0" },
        ];
        host.write_sysctls(&fixed_window).unwrap();
    }
    Some(best_in(&world, how))
}

// Rows: L05
#[test]
fn a_longer_link_ruins_a_naive_stream_and_not_one_that_is_equalised() {
    let least = if long() { 1.6 } else { 1.3 };
    for how in hows() {
        let Some(one) = best(&[NEAR, FAR], ONE, how) else { return };
        println!("proof: {how}, 17 ms longer, packets of {}, lines of {} Mbit/s:", mtu(), rate());
        print_throughput("one link", &one, &one);
        let Some(naive) = best(&[NEAR, FAR], NAIVE, how) else { return };
        print_throughput("naive", &naive, &one);
        let Some(equal) = best(&[NEAR, FAR], BOTH, how) else { return };
        let times = print_throughput("equalised", &equal, &one);
        each(&[NEAR, FAR], how, &one);
        assert!(times >= least, "{times}");
        // A TCP that adapts to reordering recovers its throughput sooner or later. One that does not stays ruined.
        let Some(naive) = best_unadapting(NAIVE, how) else { return };
        let ruined = print_throughput("naive, without adapting", &naive, &one);
        let Some(equal) = best_unadapting(BOTH, how) else { return };
        let times = print_throughput("equalised, without adapting", &equal, &one);
        assert!(ruined < 0.5 && ruined * 2.0 < times, "naive {ruined}, equalised {times}");
    }
}

#[test]
fn one_stream_of_ipv6_takes_both_links_too() {
    let Some(world) = LinkTopology::open(&[NEAR, NEAR], BOTH) else { return };
    for how in hows() {
        let four = stream(&world, how, time(), || ());
        let six = stream_six(&world, how, time());
        println!(
            "proof: {how}, round robin: IPv4 {:.0} Mbit/s, IPv6 {:.0} Mbit/s",
            four.mbit, six.mbit
        );
        // The rate exceeds that of one link.
        assert!(six.mbit > rate() as f64, "{six:?}");
    }
}

#[test]
fn how_much_longer_a_link_is_was_measured_and_is_held() {
    let Some(world) = LinkTopology::open(&[NEAR, FAR], BOTH) else { return };
    let mut show = world.namespace(Client).command(find("ip"));
    let shown = show.args(["-d", "link", "show", "dev", "up"]).output().unwrap().stdout;
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.contains("gso_max_segs 16"), "{shown}");
    tests::e2e::wait::until("packets of the shorter link are held", || {
        let status = world.status(Client);
        let held: Vec<u64> = status.links.iter().map(|link| link.added_delay_us).collect();
        (7_500..9_500).contains(&held[0])
            && held[1] == 0
            && (7_500..9_500).contains(&status.skew_us)
    });
    stream(&world, "cubic", Duration::from_millis(200), || ());
    let status = world.status(Client);
    assert!(status.counts["held"] > 10, "{status:?}");
}
