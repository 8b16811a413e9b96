//! Two members with a heartbeat over a dedicated link and over the service network, and the effect of a failure of
//! either.

use std::os::unix::fs::PermissionsExt;

use api::types::{HeartbeatPathStatus, HeartbeatStatus};
use tests::e2e::{tools, wait};

use super::topology::{First, MemberIndex, Second, V4, V6, VrrpTopology, rootless};

const GROUP: &str = "advertise = \"300ms\"";
const SECRET: &str = "5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e";
const OTHER: &str = "0ddba11d0ddba11d0ddba11d0ddba11d";

fn name(who: MemberIndex) -> (&'static str, &'static str) {
    if who == First { ("first", "second") } else { ("second", "first") }
}

/// Writes a member's key file.
fn keys(world: &VrrpTopology, who: MemberIndex, text: &str, mode: u32) {
    let file = world.dir(who).join("keys");
    let _ = std::fs::remove_file(&file);
    world.dir(who).write("keys.new", text);
    let new = world.dir(who).join("keys.new");
    std::fs::set_permissions(&new, std::fs::Permissions::from_mode(mode)).unwrap();
    std::fs::rename(new, file).unwrap();
}

/// Adds a second bridge with a link for each member, and configures the heartbeats without starting the members. The
/// first path is over the service network.
pub fn wire(group: &str, more: &str) -> VrrpTopology {
    let mut world = VrrpTopology::new(group);
    world.hub.ip("link add br1 type bridge mcast_snooping 0\nlink set br1 up\n").unwrap();
    for who in [First, Second] {
        let (ours, theirs) = if who == First { (1, 2) } else { (2, 1) };
        let mut ip = std::process::Command::new(tools::program("ip"));
        ip.args(["link", "add", "eth1", "netns", world.namespace(who).name(), "type", "veth"]);
        ip.args(["peer", "name", &format!("q{ours}"), "netns", world.hub.name()]);
        lab::net::run_command(&mut ip).unwrap();
        world.hub.ip(&format!("link set q{ours} master br1 up\n")).unwrap();
        let addresses = format!(
            "link set eth1 up\naddr add 10.10.0.{ours}/24 dev eth1\naddr add fd10::{ours}/64 dev eth1 nodad\n"
        );
        world.namespace(who).ip(&addresses).unwrap();
        keys(&world, who, &format!("1 {SECRET}\n"), 0o600);
        let (name, peer) = name(who);
        let file = world.dir(who).join("keys");
        world.tail[usize::from(who == Second)] = format!(
            "[heartbeat.{peer}]\nname = \"{name}\"\nsecret = \"{}\"\npaths = [\n\
             {{ local = \"10.9.0.{ours}\", peer = \"10.9.0.{theirs}\" }},\n\
             {{ local = \"10.10.0.{ours}\", peer = \"10.10.0.{theirs}\", interface = \"eth1\" }},\n\
             {{ local = \"fd10::{ours}\", peer = \"fd10::{theirs}\" }},\n]\n{more}\n",
            file.display()
        );
    }
    world
}

/// Starts both daemons, and waits until the first is active and all paths are up.
fn open(group: &str, more: &str) -> VrrpTopology {
    let mut world = wire(group, more);
    world.start(First);
    world.start(Second);
    settled(&world);
    world
}

fn settled(world: &VrrpTopology) {
    for who in [First, Second] {
        until_beats(world, who, "up", |beat| beat.state == "up");
    }
    for version in [V4, V6] {
        world.until(First, version, "active");
        world.until(Second, version, "standby");
        world.until_answers(version, &[First]);
    }
}

fn beats(world: &VrrpTopology, who: MemberIndex) -> Option<HeartbeatStatus> {
    world.whole_status(who)?.heartbeats.into_iter().next()
}

/// Waits until a member's heartbeat satisfies a condition.
pub fn until_beats(
    world: &VrrpTopology,
    who: MemberIndex,
    what: &str,
    so: impl Fn(&HeartbeatStatus) -> bool,
) {
    let mut last = None;
    wait::until(&format!("the heartbeat of {who:?}: {what}"), || {
        last = beats(world, who);
        last.as_ref().is_some_and(&so)
    });
}

fn path(beat: &HeartbeatStatus, at: usize) -> &HeartbeatPathStatus {
    &beat.paths[at]
}

/// Cuts or restores the path between the members on the service network. Other hosts still reach both.
fn split(world: &VrrpTopology, is: bool) {
    let word = if is { "on" } else { "off" };
    for port in ["p1", "p2"] {
        world.hub.ip(&format!("link set {port} type bridge_slave isolated {word}\n")).unwrap();
    }
}

fn beat_links(world: &VrrpTopology, word: &str) {
    world.hub.ip(&format!("link set q1 {word}\nlink set q2 {word}\n")).unwrap();
}

#[test]
fn a_split_service_network_leaves_two_without_a_heartbeat() {
    if rootless() {
        return;
    }
    let world = VrrpTopology::open(GROUP);
    split(&world, true);
    world.until(Second, V4, "active");
    world.until_answers(V4, &[First, Second]);
    world.until_answers(V6, &[First, Second]);
}

// Rows: I33
#[test]
fn a_split_service_network_leaves_one_with_a_heartbeat_until_all_paths_are_cut() {
    if rootless() {
        return;
    }
    let mut world = open(GROUP, "");
    split(&world, true);
    for version in [V4, V6] {
        wait::until("the second is withheld", || {
            world.status(Second, version).is_some_and(|one| one.counts["withheld"] > 0)
        });
        world.until_answers(version, &[First]);
        let status = world.status(Second, version).unwrap();
        assert!(status.reason.contains("first says by the heartbeat"), "{}", status.reason);
        assert_eq!(status.counts["became-active"], 0);
        assert!(!world.has(Second, version));
    }
    until_beats(&world, Second, "one path down", |beat| {
        beat.state == "degraded" && path(beat, 0).state == "down" && path(beat, 1).state == "up"
    });
    world.wait_for_output(Second, "takeover-blocked: group front4");
    world.wait_for_output(Second, "path-down: heartbeat first");

    // Without any path both members become active, because neither can know about the other.
    beat_links(&world, "down");
    for version in [V4, V6] {
        world.until(Second, version, "active");
        world.until_answers(version, &[First, Second]);
    }
    until_beats(&world, Second, "down", |beat| beat.state == "down");
    // One path returns, and the member with the lower priority gives up although it receives no advertisement.
    beat_links(&world, "up");
    for version in [V4, V6] {
        world.until(Second, version, "standby");
        world.until_answers(version, &[First]);
        assert!(!world.has(Second, version));
    }
    split(&world, false);
    settled(&world);
    let shown = world.verb(Second, &["status"]);
    assert!(
        shown.stdout.contains("10.9.0.2 to 10.9.0.1") && shown.stdout.contains("all 3 paths"),
        "{shown:?}"
    );
}

#[test]
fn what_takes_the_active_one_away_is_followed_as_without_a_heartbeat() {
    if rootless() {
        return;
    }
    let mut world = open(GROUP, "");
    // The active member's service link fails. The member gives up, and reports that over the other link.
    world.hub.ip("link set p1 down\n").unwrap();
    for version in [V4, V6] {
        world.until(Second, version, "active");
        world.until(First, version, "idle");
        world.until_answers(version, &[Second]);
        world.serves(version);
        assert_eq!(world.status(Second, version).unwrap().reason, "the active member gave up");
    }
    until_beats(&world, Second, "the other one is idle", |beat| {
        beat.state == "degraded" && beat.groups.iter().all(|group| group.state == "idle")
    });
    world.hub.ip("link set p1 up\n").unwrap();
    settled(&world);
    world.kill9(First);
    for version in [V4, V6] {
        world.until(Second, version, "active");
        world.until_answers(version, &[Second]);
        world.serves(version);
    }
    world.start(First);
    settled(&world);
    world.stop(First);
    for version in [V4, V6] {
        world.until(Second, version, "active");
        world.until_answers(version, &[Second]);
    }
}

#[test]
fn an_order_moves_the_address_over_a_split() {
    if rootless() {
        return;
    }
    let mut world = open(GROUP, "");
    split(&world, true);
    until_beats(&world, Second, "one path down", |beat| path(beat, 0).state == "down");
    let said = world.verb(Second, &["takeover"]);
    assert_eq!(said.code, 0, "{said:?}");
    for version in [V4, V6] {
        world.until(First, version, "standby");
        world.until(Second, version, "active");
        world.until_answers(version, &[Second]);
        assert_eq!(world.status(Second, version).unwrap().priority, 151);
    }
}

#[test]
fn another_key_is_counted_and_said_and_keys_are_exchanged_without_silence() {
    if rootless() {
        return;
    }
    let mut world = wire(GROUP, "");
    keys(&world, Second, &format!("1 {OTHER}\n"), 0o600);
    world.start(First);
    world.start(Second);
    until_beats(&world, First, "another secret", |beat| {
        let path = path(beat, 1);
        beat.state == "down"
            && path.refused.get("wrong-signature").is_some_and(|count| *count > 2)
            && path.reason == "what comes by it is refused: wrong-signature"
    });
    // Without a heartbeat, advertisements decide.
    for version in [V4, V6] {
        world.until(First, version, "active");
        world.until(Second, version, "standby");
    }
    world.wait_for_output(First, "heartbeat-refused: heartbeat second: a packet by the path");
    let shown = world.verb(First, &["status"]);
    assert!(shown.stdout.contains("wrong-signature"), "{shown:?}");

    keys(&world, Second, &format!("1 {SECRET}\n"), 0o600);
    settled(&world);
    // A key rotation: the new key is second on both members, then first, then the only one.
    let rounds = [
        (format!("1 {SECRET}\n2 {OTHER}\n"), vec![1, 2]),
        (format!("2 {OTHER}\n1 {SECRET}\n"), vec![2, 1]),
        (format!("2 {OTHER}\n"), vec![2]),
    ];
    for (text, ids) in rounds {
        for who in [Second, First] {
            keys(&world, who, &text, 0o600);
            until_beats(&world, who, "the new file", |beat| beat.keys == ids);
        }
    }
    settled(&world);
    for who in [First, Second] {
        let beat = beats(&world, who).unwrap();
        assert!(
            beat.paths.iter().all(|path| !path.refused.contains_key("unknown-key")),
            "{beat:?}"
        );
        assert!(!world.daemon_output(who).contains("peer-lost"), "{}", world.daemon_output(who));
    }
    // A key file that other users can read is rejected and reported.
    keys(&world, First, &format!("3 {OTHER}\n"), 0o644);
    until_beats(&world, First, "a file for everybody", |beat| {
        beat.reason.contains("0644") && beat.reason.contains("stay active") && beat.keys == [2]
    });
}

// Rows: I34
#[test]
fn who_reaches_more_has_the_addresses_and_a_tie_moves_nothing() {
    if rootless() {
        return;
    }
    let reach = "reach = { echo = [\"10.9.0.50\"], connect = \"10.9.0.50:8080\", interval = \"200ms\", timeout = \
                 \"200ms\", hold-time = \"500ms\" }";
    let mut world = open(GROUP, reach);
    let away = |world: &VrrpTopology, who: MemberIndex, word: &str| {
        world.namespace(who).ip(&format!("route {word} blackhole 10.9.0.50/32\n")).unwrap();
    };
    let reached = |world: &VrrpTopology, who: MemberIndex, count: u16| {
        until_beats(world, who, "targets", |beat| beat.reached == Some(count));
    };
    reached(&world, First, 2);
    away(&world, Second, "add");
    reached(&world, Second, 0);
    until_beats(&world, Second, "behind", |beat| beat.behind && beat.peer_reached == Some(2));
    // When neither member reaches the targets, the addresses stay.
    away(&world, First, "add");
    reached(&world, First, 0);
    until_beats(&world, Second, "level", |beat| !beat.behind && beat.peer_reached == Some(0));
    for version in [V4, V6] {
        world.until_answers(version, &[First]);
        assert_eq!(world.status(Second, version).unwrap().counts["became-active"], 0);
    }
    // When the second member reaches both targets, it takes over, and keeps the addresses despite its lower priority.
    away(&world, Second, "del");
    for version in [V4, V6] {
        world.until(Second, version, "active");
        world.until(First, version, "standby");
        world.until_answers(version, &[Second]);
        let why = world.status(First, version).unwrap().changes.pop().unwrap().reason;
        assert_eq!(why, "second reaches 2 of 2 targets, this member 0 of 2 targets");
    }
    world.wait_for_output(First, "reach-lost: heartbeat second: 10.9.0.50 does not answer");
    world.wait_for_output(First, "reach-behind: heartbeat second:");
    away(&world, First, "del");
    settled(&world);
}

#[test]
fn who_cannot_forward_gives_up_to_the_one_that_can() {
    if rootless() {
        return;
    }
    let mut world = wire(GROUP, "");
    for (at, interface) in ["eth9", "eth0"].into_iter().enumerate() {
        world.plane[at] = format!("interfaces = [\"{interface}\"]\n");
        world.tail[at].push_str(
            "[service.fast]\nlisten = \"10.9.0.10:81\"\nforward = \"mac\"\npool = \"direct\"\n\
             [pool.direct]\nservers = [\"10.9.0.50:81\"]\n",
        );
    }
    world.start(First);
    // Without another member, a partly served address is better than none.
    world.until(First, V4, "active");
    wait::until("it is said", || {
        let why = world.status(First, V4).unwrap().reason;
        why.contains("it cannot do all of its work: service fast is not forwarded")
    });
    world.start(Second);
    world.until(Second, V4, "active");
    world.until(First, V4, "standby");
    world.until_answers(V4, &[Second]);
    world.serves(V4);
    world.wait_for_output(First, "member-unhealthy: group front4");
    let standby = "member-standby: group front4 is standby, was active: this member cannot";
    world.wait_for_output(First, standby);
    // The other group is independent of this service.
    world.until(First, V6, "active");
    world.until(Second, V6, "standby");
}

#[test]
fn configurations_that_differ_are_reported_and_agree_again() {
    if rootless() {
        return;
    }
    let mut world = wire(GROUP, "");
    let same = world.tail[1].clone();
    world.tail[1].push_str("[pool.other]\nservers = [\"10.9.0.51:80\"]\n");
    world.start(First);
    world.start(Second);
    settled(&world);
    until_beats(&world, First, "drift", |beat| {
        beat.drift.as_deref() == Some("pools") && beat.peer_version.is_some()
    });
    world.tail[1] = same;
    let file = world.write(Second);
    let said = world.verb(Second, &["apply", &file.display().to_string()]);
    assert_eq!(said.code, 0, "{said:?}");
    until_beats(&world, First, "no drift", |beat| {
        beat.drift.is_none() && beat.peer_generation == Some(2)
    });
    let drift = "config-drift: heartbeat second: first and second do not have the same pools";
    world.wait_for_output(First, drift);
    world.wait_for_output(First, "config-agrees: heartbeat second");
}
