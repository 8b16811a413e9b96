//! Failures of a bundle's links, interfaces and daemons, and their effects.

use std::time::Duration;

use tests::e2e::wait;

use super::topology::{Client, LinkTopology, Server, long, mtu};
use super::traffic::stream;

const NEAR: Duration = Duration::from_millis(1);
const KERNEL_GIVES_UP: Duration = Duration::from_secs(3);

fn time() -> Duration {
    if long() { Duration::from_secs(6) } else { Duration::from_millis(1_500) }
}

/// Both ends lose the carrier of a pulled link. What is reported is what an end learned first: from its own kernel, or
/// over the other link from its peer.
fn is_lost_carrier(reason: &str) -> bool {
    reason == "eth1 has no carrier" || reason.ends_with(" says that it has no carrier there")
}

#[test]
fn a_link_that_is_pulled_leaves_the_stream_to_the_other() {
    for policy in ["round-robin", "failover"] {
        let bundle = format!("policy = \"{policy}\"");
        let Some(mut world) = LinkTopology::open(&[NEAR, NEAR], &bundle) else { return };
        let seen = stream(&world, "cubic", time(), || world.lines.set_carrier(1, false).unwrap());
        println!(
            "proof: {policy}: a link is pulled under load: {} ms without a byte, then on, {:.0} Mbit/s",
            seen.gap.as_millis(),
            seen.mbit
        );
        if long() {
            assert!(seen.gap <= Duration::from_millis(50), "{seen:?}");
        }
        // The kernel declares an unresponsive next hop unreachable after three seconds. Failover must be faster than
        // that.
        assert!(seen.gap < KERNEL_GIVES_UP, "{seen:?}");
        for who in [Client, Server] {
            wait::until("the bundle is degraded", || world.status(who).state == "degraded");
            let status = world.status(who);
            let reason = &status.links[0].reason;
            assert!(is_lost_carrier(reason), "{reason}");
            assert_eq!((&*status.links[0].state, &*status.links[1].state), ("dead", "alive"));
        }
        wait::until("an event tells why", || {
            let told = world.daemon_output(Client);
            let events =
                told.lines().filter_map(|line| line.split("link-down: bundle up: ").nth(1));
            let mut reasons = events.filter_map(|event| event.strip_suffix("; 1 of 2 links live"));
            reasons.any(is_lost_carrier)
        });
        world.lines.set_carrier(1, true).unwrap();
        wait::until("both links live again", || world.status(Client).state == "up");
        stream(&world, "cubic", Duration::from_millis(100), || ());
    }
}

#[test]
fn a_carrier_that_the_far_end_alone_has_lost_is_reported_over_the_other_link() {
    for policy in ["round-robin", "failover"] {
        let bundle = format!("policy = \"{policy}\"");
        let Some(mut world) = LinkTopology::open(&[NEAR, NEAR], &bundle) else { return };
        let seen =
            stream(&world, "cubic", time(), || world.lines.set_server_carrier(1, false).unwrap());
        println!(
            "proof: {policy}: a link is pulled at the receiver's end alone: {} ms without a byte, then on, {:.0} Mbit/s",
            seen.gap.as_millis(),
            seen.mbit
        );
        assert!(seen.gap < KERNEL_GIVES_UP, "{seen:?}");
        wait::until("the bundle is degraded", || world.status(Client).state == "degraded");
        let lost = "10.41.1.2 says that it has no carrier there; 1 of 2 links live";
        world.wait_for_output(Client, lost);
        let told = world.daemon_output(Client);
        assert!(!told.contains("does not answer"), "before its own questions told it: {told}");
        assert_eq!(world.status(Server).links[0].reason, "eth1 has no carrier");
        world.lines.set_server_carrier(1, true).unwrap();
        for who in [Client, Server] {
            wait::until("both links live again", || world.status(who).state == "up");
        }
        stream(&world, "cubic", Duration::from_millis(100), || ());
    }
}

#[test]
fn an_interface_that_vanishes_is_an_event_and_no_crash() {
    let Some(mut world) = LinkTopology::open(&[NEAR, NEAR], "policy = \"hash\"") else { return };
    world.lines.client.ip("link del eth2\n").unwrap();
    wait::until("the link is dead", || {
        let status = world.status(Client);
        status.state == "degraded" && status.links[1].state == "dead"
    });
    world.wait_for_output(Client, "link-down: bundle up: ");
    // The far end's link has no carrier either, so both ends agree.
    wait::until("the far end sees it", || world.status(Server).state == "degraded");
    stream(&world, "cubic", Duration::from_millis(100), || ());
    world.lines.client.ip("link del dev up\n").unwrap();
    wait::until("the device is made again", || {
        world.lines.client.ip("addr show dev up\n").is_ok_and(|shown| shown.contains("10.50.0.1"))
    });
    stream(&world, "cubic", Duration::from_millis(100), || ());
}

#[test]
fn links_are_found_by_their_next_hops_and_measured_by_the_doctor() {
    let delays = [NEAR, Duration::from_millis(6)];
    let Some(mut world) = LinkTopology::by_hops(&delays, "policy = \"hash\"") else { return };
    let named = |world: &LinkTopology| -> Vec<String> {
        world.status(Client).links.into_iter().map(|link| link.interface).collect()
    };
    assert_eq!(named(&world), ["eth1", "eth2"]);
    stream(&world, "cubic", Duration::from_millis(100), || ());
    let doctor = world.verb(Client, &["doctor", "links", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&doctor.stdout).unwrap();
    let measured = &told["measured"][0];
    let links = measured["links"].as_array().unwrap();
    assert!(links.iter().all(|link| link["bits-per-second"].as_u64() > Some(0)), "{told}");
    assert_eq!(measured["policies"].as_array().map(Vec::len), Some(4), "{told}");
    // One link is five milliseconds longer, so packets are reordered by round robin.
    assert!(measured["turns"][1].as_u64() > Some(0), "{told}");
    let text = world.verb(Client, &["doctor", "links"]).stdout;
    assert!(text.contains("round-robin would give one stream"), "{text}");
    assert!(world.verb(Client, &["doctor", "links", "--passive"]).stdout.contains("order is kept"));
    // A link is dead while its interface does not exist. An interface that reaches the next hop brings the link back.
    world.lines.client.ip("link del eth2\n").unwrap();
    wait::until("the link is dead, and why is said", || {
        world.status(Client).links[1].reason == "no interface leads to 10.41.2.2"
    });
    assert_eq!(world.status(Client).state, "degraded");
    assert_eq!(named(&world)[1], "to 10.41.2.2");
}

#[test]
fn links_that_differ_too_much_keep_flows_together_and_say_so() {
    let far = ", delay = \"900ms\"";
    let world = LinkTopology::with_last(&[NEAR, NEAR], "policy = \"round-robin\"", far);
    let Some(mut world) = world else { return };
    let why = "its links differ by more than 500 ms, too much to be held: it works as `flowlet`";
    wait::until("it is said", || world.status(Client).reason == why);
    world.wait_for_output(Client, why);
    let before = world.status(Client).counts.get("flowlets").copied().unwrap_or_default();
    stream(&world, "cubic", Duration::from_millis(100), || ());
    wait::until("flows are counted", || {
        world.status(Client).counts.get("flowlets").copied().unwrap_or_default() > before
    });
}

#[test]
fn links_of_different_mtu_are_reported_and_the_device_takes_the_smallest() {
    let Some(mut world) = LinkTopology::open(&[NEAR, NEAR], "policy = \"hash\"") else { return };
    world.lines.client.ip("link set dev eth2 mtu 1400\n").unwrap();
    wait::until("the device takes what both take", || world.status(Client).mtu == 1_400);
    let most = mtu();
    let why = format!(
        "link-mtu: bundle up: its links take packets of 1400 to {most} bytes; its device takes 1400: give all links one MTU"
    );
    world.wait_for_output(Client, &why);
    stream(&world, "cubic", Duration::from_millis(100), || ());
    world.lines.client.ip(&format!("link set dev eth2 mtu {most}\n")).unwrap();
    wait::until("it takes whole ones again", || world.status(Client).mtu == most);
}

#[test]
fn a_far_end_that_falls_silent_is_dead_although_there_is_a_carrier() {
    let Some(world) = LinkTopology::open(&[NEAR, NEAR], "policy = \"hash\"") else { return };
    world.lines.server.ip("addr del 10.41.1.2/24 dev eth1\n").unwrap();
    wait::until("the link is dead", || world.status(Client).links[0].state == "dead");
    let status = world.status(Client);
    assert_eq!(status.links[0].reason, "10.41.1.2 does not answer");
    world.lines.server.ip("addr add 10.41.1.2/24 dev eth1\n").unwrap();
    wait::until("it lives again", || world.status(Client).state == "up");
    assert_eq!(world.status(Client).links[0].reason, "10.41.1.2 answers");
}

#[test]
fn packets_flow_without_a_daemon_and_a_stop_leaves_no_trace() {
    // The daemon holds the shorter link's packets; without a daemon they are sent at once.
    let delays = [NEAR, Duration::from_millis(6)];
    let Some(mut world) = LinkTopology::open(&delays, "policy = \"round-robin\"") else { return };
    wait::until("packets are held", || world.status(Client).links[0].added_delay_us > 0);
    world.kill9(Client);
    stream(&world, "cubic", Duration::from_millis(200), || ());
    world.start(Client);
    wait::until("it took its bundle over", || world.status(Client).state == "up");
    stream(&world, "cubic", Duration::from_millis(200), || ());
    world.stop(Client);
    stream(&world, "cubic", Duration::from_millis(200), || ());
    world.start(Client);
    wait::until("it took its bundle over", || world.status(Client).state == "up");
    let doctor = world.verb(Client, &["doctor", "links", "--json", "--passive"]);
    let rows: serde_json::Value = serde_json::from_str(&doctor.stdout).unwrap();
    assert_eq!((doctor.code, &rows["wrong"]), (0, &serde_json::json!(0)), "{doctor:?}");
    let shown = world.verb(Client, &["status"]).stdout;
    assert!(shown.contains("BUNDLE") && shown.contains("eth2 has a carrier"), "{shown}");
    assert_eq!(world.verb(Client, &["stop"]).code, 0);
    world.ended(Client);
    let shown = world.lines.client.ip("link show\n").unwrap();
    assert!(!shown.contains(" up@") && !shown.contains(" up~"), "{shown}");
}

#[test]
fn what_another_program_takes_from_a_bundles_device_is_set_again() {
    let Some(mut world) = LinkTopology::open(&[NEAR, NEAR], "policy = \"hash\"") else { return };
    let state = |world: &LinkTopology| {
        let show = ["-4 addr show dev up\n", "-6 addr show dev up\n"];
        let show = show.map(|words| {
            let (family, words) = words.split_at(3);
            let mut ip = world.lines.client.command(tests::e2e::tools::program("ip"));
            let words = words.split_whitespace();
            let said = ip.arg(family.trim()).args(words).output().unwrap().stdout;
            let text = String::from_utf8_lossy(&said).into_owned();
            let global = text.lines().filter(|line| line.contains("scope global"));
            let mut global: Vec<String> = global.map(|line| line.trim().to_owned()).collect();
            global.sort();
            global
        });
        let routes = world.lines.client.ip("route show dev up\n").unwrap();
        (show, routes)
    };
    let whole = state(&world);
    assert!(whole.0.iter().all(|family| !family.is_empty()) && !whole.1.is_empty(), "{whole:?}");
    for gone in
        ["addr flush dev up scope global\n", "route flush dev up\n", "link set dev up down\n"]
    {
        // The daemon may restore flushed entries before `ip` has verified the flush.
        if let Err(error) = world.lines.client.ip(gone) {
            assert!(format!("{error:?}").contains("Flush remains incomplete"), "{error:?}");
        }
        wait::until(&format!("all is there again after {gone}"), || state(&world) == whole);
    }
    world.wait_for_output(Client, "kernel-restored: bundle up: another program took");
    wait::until("the bundle is up", || world.status(Client).state == "up");
    stream(&world, "cubic", Duration::from_millis(100), || ());
}
