//! Planned hand-overs, return to priorities, and the other addresses that move with a group.

use std::net::IpAddr;

use tests::e2e::{tools, wait};

use super::topology::{ClientFamily, First, MemberIndex, Second, V4, V6, VrrpTopology, rootless};

const GROUP: &str = "advertise = \"300ms\"";

#[test]
fn what_is_handed_over_is_not_taken_back_until_the_order_is_released() {
    if rootless() {
        return;
    }
    let mut world = VrrpTopology::open(GROUP);
    let refused = world.verb(Second, &["takeover", "front4", "--give"]);
    assert!(refused.code == 1 && refused.stderr.contains("it is not active"), "{refused:?}");
    let said = world.verb(First, &["takeover", "--give"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "handed over: front4, front6\n"), "{said:?}");
    for version in [V4, V6] {
        world.until(Second, version, "active");
        world.until_answers(version, &[Second]);
        let first = world.status(First, version).unwrap();
        assert_eq!(first.state, "standby", "it takes nothing back");
        assert!(first.reason.contains("takeover --release"), "{}", first.reason);
    }
    let said = world.verb(First, &["takeover", "--release"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "released: front4, front6\n"), "{said:?}");
    for version in [V4, V6] {
        world.until(First, version, "active");
        world.until_answers(version, &[First]);
    }
    let said = world.verb(First, &["takeover", "--release"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "no command stands\n"), "{said:?}");
}

#[test]
fn nobody_takes_what_is_handed_over_and_it_comes_back() {
    if rootless() {
        return;
    }
    let mut world = VrrpTopology::open(GROUP);
    world.stop(Second);
    assert_eq!(world.verb(First, &["takeover", "front4", "--give"]).code, 0);
    world.until(First, V4, "active");
    world.until_answers(V4, &[First]);
    let changes = world.status(First, V4).unwrap().changes;
    assert!(changes.iter().any(|one| one.reason == "it was ordered to hand over"), "{changes:?}");
}

/// A second bridge with the server, and a link to it for each member.
fn behind(world: &VrrpTopology) {
    world.hub.ip("link add br1 type bridge mcast_snooping 0\nlink set br1 up\n").unwrap();
    let hosts = [(world.namespace(First), 1), (world.namespace(Second), 2), (&world.server, 50)];
    for (host, last) in hosts {
        let mut ip = std::process::Command::new(tools::program("ip"));
        ip.args(["link", "add", "eth1", "netns", host.name(), "type", "veth"]);
        ip.args(["peer", "name", &format!("q{last}"), "netns", world.hub.name()]);
        lab::net::run_command(&mut ip).unwrap();
        world.hub.ip(&format!("link set q{last} master br1 up\n")).unwrap();
        host.ip(&format!("link set eth1 up\naddr add 10.10.0.{last}/24 dev eth1\n")).unwrap();
    }
}

fn has(world: &VrrpTopology, who: MemberIndex, device: &str, ip: IpAddr) -> bool {
    let shown = world.namespace(who).ip(&format!("addr show dev {device}\n")).unwrap();
    shown.contains(&format!(" {ip}/"))
}

fn answers(world: &VrrpTopology, port: u16) -> bool {
    let mut curl = world.client.command(tools::program("curl"));
    let url = format!("http://{}:{port}/", V4.shared());
    curl.args(["-sS", "-o", "/dev/null", "--max-time", "1", "-w", "%{http_code}", &url]);
    curl.output().unwrap().stdout == b"200"
}

#[test]
fn return_addresses_move_with_the_group_to_the_other_side() {
    if rootless() {
        return;
    }
    let mut world = VrrpTopology::new(GROUP);
    behind(&world);
    let back: IpAddr = [10, 10, 0, 9].into();
    for at in [0, 1] {
        let also = format!("unadvertised = [{{ addresses = \"{back}\", interface = \"eth1\" }}]");
        world.only[at].push((V4, also));
        world.plane[at] = "interfaces = [\"eth0\", \"eth1\"]\nmode = \"generic\"".to_owned();
        world.tail[at] = format!(
            "[service.nat]\nlisten = \"{}:81\"\nforward = \"nat\"\npool = \"nat\"\n\
             [pool.nat]\nservers = [\"10.10.0.50:8080\"]\nsource = \"{back}\"\n",
            V4.shared(),
        );
    }
    world.start(First);
    world.start(Second);
    for version in [V4, V6] {
        world.until(First, version, "active");
        world.until(Second, version, "standby");
    }
    wait::until("the first forwards", || answers(&world, 81));
    assert!(has(&world, First, "eth1", back) && !has(&world, Second, "eth1", back));
    // The standby member is ready before it has the address, so it is not unfit and needs no new plan.
    let second = world.status(Second, V4).unwrap();
    assert!(!second.reason.contains("cannot do all"), "{}", second.reason);
    world.kill9(First);
    world.until(Second, V4, "active");
    wait::until("the second forwards, though the server knew the first one's link", || {
        answers(&world, 81)
    });
    assert!(has(&world, Second, "eth1", back), "it moved");
    assert!(has(&world, First, "eth1", back), "nobody took it away there");
    // The group also depends on the link to the servers.
    world.hub.ip("link set q2 down\n").unwrap();
    world.until(Second, V4, "idle");
    assert_eq!(world.status(Second, V4).unwrap().reason, "the link of eth1 is down");
    assert!(!has(&world, Second, "eth1", back) && !world.has(Second, V4));
    let other = |version: ClientFamily| world.status(Second, version).unwrap().state;
    assert_eq!(other(V6), "active", "a group without it stays");
}
