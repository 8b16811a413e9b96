//! Planned changes of a pair: notification programs, one active group each, upgrades of both members, a member that
//! cannot do all of its work, and mixed VRRP versions.

use std::os::unix::fs::PermissionsExt;

use tests::e2e::balancer::program;
use tests::e2e::process::ChildProcess;
use tests::e2e::{tools, wait};

use super::heartbeat::{until_beats, wire};
use super::topology::{First, Second, V4, V6, VrrpTopology, rootless};

const GROUP: &str = "advertise = \"300ms\"";

// Rows: I37
#[test]
fn a_program_is_started_for_each_change_in_order() {
    if rootless() {
        return;
    }
    let mut world = VrrpTopology::new(GROUP);
    let dir = world.dir(First);
    let told = dir.join("told");
    let lines = "#!/bin/sh\necho \"$STEELYARD_WAS $STEELYARD_EVENT $STEELYARD_ADDRESSES\" >> ";
    let hook = dir.write("hook", format!("{lines}{}-$STEELYARD_GROUP\n", told.display()));
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    world.tail[0] = format!(
        "[[global.hook]]\nname = \"moved\"\nrun = \"{}\"\non = [\"member-active\", \"member-standby\", \
         \"member-idle\"]\nmax-concurrent = 1\n",
        hook.display()
    );
    world.start(Second);
    world.until(Second, V4, "active");
    world.start(First);
    world.until(First, V4, "active");
    let said = world.verb(Second, &["takeover", "front4"]);
    assert_eq!(said.code, 0, "{said:?}");
    world.until(First, V4, "standby");
    world.hub.ip("link set p1 down\n").unwrap();
    world.until(First, V4, "idle");
    let file = format!("{}-front4", told.display());
    let ip = V4.shared();
    let expected = [
        "idle member-standby",
        "standby member-active",
        "active member-standby",
        "standby member-idle",
    ];
    let expected: String = expected.map(|line| format!("{line} {ip}\n")).concat();
    let said = || std::fs::read_to_string(&file).unwrap_or_default();
    wait::until("the program was told", || said().len() >= expected.len());
    assert_eq!(said(), expected);
}

// Rows: I38
#[test]
fn each_is_active_for_some_and_either_carries_both_when_the_other_one_is_gone() {
    if rootless() {
        return;
    }
    let mut world = VrrpTopology::new(GROUP);
    world.crossed = true;
    world.start(First);
    world.start(Second);
    for (who, version) in [(First, V4), (Second, V6)] {
        world.until(who, version, "active");
        world.until(who.other(), version, "standby");
        world.until_answers(version, &[who]);
        world.serves(version);
    }
    world.kill9(First);
    for version in [V4, V6] {
        world.until(Second, version, "active");
        world.until_answers(version, &[Second]);
        world.serves(version);
    }
    world.start(First);
    for (who, version) in [(First, V4), (Second, V6)] {
        world.until(who, version, "active");
        world.until(who.other(), version, "standby");
        world.until_answers(version, &[who]);
    }
}

#[test]
fn both_are_upgraded_one_after_the_other_and_no_request_is_lost() {
    if rootless() {
        return;
    }
    let mut world = VrrpTopology::open("advertise = \"1s\"");
    world.serves(V4);
    let dir = world.dir(First);
    let answers = dir.join("answers");
    let end = dir.join("end");
    let mut asking = world.client.command(tools::program("sh"));
    // curl's status of each request, or 000 without a response.
    asking.arg("-c").arg(format!(
        "while [ ! -e {} ]; do curl -s -o /dev/null --max-time 5 -w '%{{http_code}}\\n' http://{}/; done >> {}",
        end.display(),
        V4.shared(),
        answers.display(),
    ));
    let mut asking = ChildProcess::start(asking);
    let answered = || std::fs::read_to_string(&answers).unwrap_or_default().lines().count();
    let mut mark = 0;
    let mut some = |what: &str| {
        wait::until(what, || answered() >= mark + 5);
        mark = answered();
    };
    some("requests are answered");
    world.upgrade(Second);
    some("and after the standby's upgrade");
    world.upgrade(First);
    some("and after the active one's");
    std::fs::write(&end, "").unwrap();
    asking.wait();
    let said = std::fs::read_to_string(&answers).unwrap();
    let lost: Vec<&str> = said.lines().filter(|status| *status != "200").collect();
    println!("proof: a rolling upgrade: {} of {} requests lost", lost.len(), said.lines().count());
    assert!(lost.is_empty(), "{lost:?}");
    for version in [V4, V6] {
        world.until(First, version, "active");
        world.until_answers(version, &[First]);
        let second = world.status(Second, version).unwrap();
        assert_eq!((second.state.as_str(), second.counts["became-active"]), ("standby", 0));
    }
}

#[test]
fn a_member_with_more_to_do_than_it_can_keeps_its_addresses() {
    if rootless() {
        return;
    }
    let world = VrrpTopology::open(GROUP);
    world.serves(V4);
    let sent = || world.status(First, V4).unwrap().counts["advertisements-sent"];
    let before = sent();
    let mut load = world.client.command(program());
    load.args(["bench", "http", "-c", "300", "-d", "3s", "--json"]);
    load.arg(format!("http://{}/", V4.shared()));
    let mut load = ChildProcess::start(load);
    load.wait();
    let said = load.output();
    assert!(said.contains("\"requests"), "{said}");
    assert!(sent() >= before + 5, "it advertised meanwhile");
    for version in [V4, V6] {
        let first = world.status(First, version);
        let second = world.status(Second, version);
        let first = first.unwrap();
        let second = second.unwrap();
        assert_eq!((first.state.as_str(), first.counts["stalled"]), ("active", 0), "{first:?}");
        assert_eq!((second.state.as_str(), second.counts["became-active"]), ("standby", 0));
        world.until_answers(version, &[First]);
    }
}

#[test]
fn members_that_do_not_understand_each_others_advertisements_are_not_both_active() {
    if rootless() {
        return;
    }
    let mut world = wire("advertise = \"1s\"", "");
    world.only[0].push((V4, "version = 2".to_owned()));
    world.start(First);
    world.until(First, V4, "active");
    world.start(Second);
    until_beats(&world, Second, "up", |beat| beat.state == "up");
    wait::until("the second one knows by the heartbeat alone", || {
        let status = world.status(Second, V4).unwrap();
        status.reason.contains("says by the heartbeat that it is active")
            && status.counts["other-version"] > 0
    });
    world.until_answers(V4, &[First]);
    until_beats(&world, First, "drift", |beat| beat.drift.as_deref() == Some("shared addresses"));
    let first = world.status(First, V4).unwrap();
    let second = world.status(Second, V4).unwrap();
    assert_eq!((first.state.as_str(), second.state.as_str()), ("active", "standby"));
    assert_eq!(second.counts["became-active"], 0);
}
