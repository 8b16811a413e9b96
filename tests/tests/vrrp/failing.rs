//! Failures of a member: afterwards exactly one member answers.

use rustix::process::Signal;

use super::topology::{First, Second, V4, V6, VrrpTopology, rootless};

/// A group with a failover time of a second, which suits a busy machine.
const GROUP: &str = "advertise = \"300ms\"";

#[test]
fn a_killed_daemon_leaves_one_holder_although_its_machine_has_the_address_still() {
    if rootless() {
        return;
    }
    let mut world = VrrpTopology::open(GROUP);
    world.serves(V4);
    world.serves(V6);
    world.kill9(First);
    for version in [V4, V6] {
        world.until(Second, version, "active");
        assert!(world.has(First, version), "nobody took the address away");
        world.until_answers(version, &[Second]);
        world.serves(version);
    }
    // The restarted member removes the remains, and takes the address back by its higher priority.
    world.start(First);
    for version in [V4, V6] {
        world.until(First, version, "active");
        world.until(Second, version, "standby");
        world.until_answers(version, &[First]);
        assert!(!world.has(Second, version));
        world.serves(version);
    }
}

#[test]
fn without_the_dead_man_a_killed_daemon_leaves_two() {
    if rootless() {
        return;
    }
    let mut world = VrrpTopology::open(&format!("{GROUP}\ndead-man = \"off\""));
    world.kill9(First);
    world.until(Second, V4, "active");
    world.until_answers(V4, &[First, Second]);
    world.until_answers(V6, &[First, Second]);
}

#[test]
fn a_stopped_daemon_loses_the_address_and_knows_it_when_it_goes_on() {
    if rootless() {
        return;
    }
    let mut world = VrrpTopology::open(&format!("{GROUP}\npreempt = false"));
    world.signal(First, Signal::STOP);
    for version in [V4, V6] {
        world.until(Second, version, "active");
        world.until_answers(version, &[Second]);
        world.serves(version);
    }
    world.signal(First, Signal::CONT);
    for version in [V4, V6] {
        world.until(First, version, "standby");
        world.until_answers(version, &[Second]);
        assert!(!world.has(First, version));
        let stalled = world.status(First, version).unwrap().counts["stalled"];
        assert_eq!(stalled, 1);
    }
}

#[test]
fn a_pulled_link_and_a_machine_that_is_gone() {
    if rootless() {
        return;
    }
    let mut world = VrrpTopology::open(GROUP);
    world.hub.ip("link set p1 down\n").unwrap();
    for version in [V4, V6] {
        world.until(Second, version, "active");
        world.until(First, version, "idle");
        assert!(!world.has(First, version));
        world.until_answers(version, &[Second]);
        world.serves(version);
    }
    let why = world.status(First, V4).unwrap().reason;
    assert_eq!(why, "the link of eth0 is down");
    world.hub.ip("link set p1 up\n").unwrap();
    for version in [V4, V6] {
        world.until(First, version, "active");
        world.until_answers(version, &[First]);
    }
    world.unplug_power(First);
    for version in [V4, V6] {
        world.until(Second, version, "active");
        world.until_answers(version, &[Second]);
        world.serves(version);
    }
}

#[test]
fn a_clean_stop_says_so_and_leaves_no_trace() {
    if rootless() {
        return;
    }
    let mut world = VrrpTopology::open(GROUP);
    world.stop(First);
    for version in [V4, V6] {
        assert!(!world.has(First, version));
        world.until(Second, version, "active");
        world.until_answers(version, &[Second]);
        world.serves(version);
        let last = world.status(Second, version).unwrap().reason;
        assert_eq!(last, "the active member gave up");
    }
}

#[test]
fn a_quick_restart_keeps_the_address() {
    if rootless() {
        return;
    }
    // The dead-man timer of the killed member is ten seconds; the other member waits twelve.
    let mut world = VrrpTopology::open("advertise = \"4s\"");
    world.kill9(First);
    world.start(First);
    for version in [V4, V6] {
        world.until(First, version, "active");
        let status = world.status(First, version).unwrap();
        assert!(status.reason.starts_with("it held the address just now"), "{}", status.reason);
        assert_eq!(world.status(Second, version).unwrap().counts["became-active"], 0);
        world.until_answers(version, &[First]);
        world.serves(version);
    }
}

#[test]
fn an_upgrade_is_seen_by_nobody() {
    if rootless() {
        return;
    }
    let mut world = VrrpTopology::open("advertise = \"1s\"");
    world.upgrade(First);
    for version in [V4, V6] {
        world.until(First, version, "active");
        world.until_answers(version, &[First]);
        world.serves(version);
        assert_eq!(world.status(Second, version).unwrap().counts["became-active"], 0);
        assert_eq!(world.status(Second, version).unwrap().counts["resignations-received"], 0);
    }
}

// Rows: I35
#[test]
fn an_order_takes_over_and_back_and_status_says_why() {
    if rootless() {
        return;
    }
    let mut world = VrrpTopology::open(GROUP);
    let said = world.verb(Second, &["takeover"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "active: front4, front6\n"), "{said:?}");
    for version in [V4, V6] {
        world.until(First, version, "standby");
        world.until_answers(version, &[Second]);
        assert_eq!(world.status(Second, version).unwrap().priority, 151);
    }
    let said = world.verb(Second, &["takeover", "front4"]);
    assert_eq!(said.code, 1, "{said:?}");
    let said = world.verb(First, &["takeover", "front4"]);
    assert_eq!(said.code, 0, "{said:?}");
    world.until(Second, V4, "standby");
    world.until_answers(V4, &[First]);
    world.until_answers(V6, &[Second]);
    let shown = world.verb(First, &["status"]);
    assert!(shown.stdout.contains("it was ordered to"), "{shown:?}");
    world.wait_for_output(First, "member-active: group front4 is active, was standby");
    assert_eq!(world.verb(First, &["takeover", "none"]).code, 1);
}
