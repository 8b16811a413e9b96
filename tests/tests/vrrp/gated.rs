//! XDP forwarding for a shared address stops when a silent holder's time is over. Packets still reach its link, its
//! programs are attached and its tables are full.

use std::process::Command;

use lab::net::SysctlSetting;
use rustix::process::Signal;
use tests::e2e::process::ChildProcess;
use tests::e2e::{tools, wait};

use super::topology::{First, MemberIndex, Second, V4, V6, VrrpTopology, rootless};

const GROUP: &str = "advertise = \"300ms\"";
/// The ports of the packet-forwarding services: `nat` and `mac`.
const NAT: u16 = 81;
const MAC: u16 = 8080;

/// Starts both members with a service of `nat` and one of `mac` at the shared address.
pub fn open(group: &str) -> VrrpTopology {
    let mut world = VrrpTopology::new(group);
    // With `mac`, the server has the address too, and does not answer ARP for it.
    world
        .server
        .write_sysctls(&[
            SysctlSetting { path: "net/ipv4/conf/all/arp_ignore", value: "1" },
            SysctlSetting { path: "net/ipv4/conf/all/arp_announce", value: "2" },
            SysctlSetting { path: "net/ipv4/conf/eth0/arp_ignore", value: "1" },
        ])
        .unwrap();
    world.server.ip(&format!("addr add {}/32 dev lo\n", V4.shared())).unwrap();
    for who in [First, Second] {
        let at = usize::from(who == Second);
        let server = V4.host(50);
        world.plane[at] = "interfaces = [\"eth0\"]\nmode = \"generic\"".to_owned();
        world.tail[at] = format!(
            "[service.nat]\nlisten = \"{0}:{NAT}\"\nforward = \"nat\"\npool = \"nat\"\n\
             [pool.nat]\nservers = [\"{server}:8080\"]\nsource = \"{1}\"\n\
             [service.mac]\nlisten = \"{0}:{MAC}\"\nforward = \"mac\"\npool = \"mac\"\n\
             [pool.mac]\nservers = [\"{server}:8080\"]\n",
            V4.shared(),
            V4.host(who.host()),
        );
    }
    world.start(First);
    world.start(Second);
    for version in [V4, V6] {
        world.until(First, version, "active");
        world.until(Second, version, "standby");
    }
    world
}

/// Makes the client send packets for the shared address to this member's link, regardless of announcements.
fn send_to(world: &VrrpTopology, who: MemberIndex) {
    let last = who.host();
    world
        .client
        .ip(&format!(
            "neigh replace {} lladdr 02:00:00:00:00:{last:02x} nud permanent dev eth0\n",
            V4.shared()
        ))
        .unwrap();
}

/// Deletes the client's neighbour entry, so that the client resolves the address anew.
fn send_as_told(world: &VrrpTopology) {
    world.client.ip(&format!("neigh del {} dev eth0\n", V4.shared())).unwrap();
}

fn answers(world: &VrrpTopology, port: u16) -> bool {
    let mut curl = world.client.command(tools::program("curl"));
    let url = format!("http://{}:{port}/", V4.shared());
    curl.args(["-sS", "-o", "/dev/null", "--max-time", "1", "-w", "%{http_code}", &url]);
    curl.output().unwrap().stdout == b"200"
}

/// Waits until both services answer.
pub fn until_answers(world: &VrrpTopology, what: &str) {
    for port in [NAT, MAC] {
        wait::until(&format!("{what}: port {port} answers"), || answers(world, port));
    }
}

/// Captures the packets of a member's link to the server.
fn listen(world: &VrrpTopology, who: MemberIndex) -> ChildProcess {
    let mut capture: Command = world.server.command(tools::program("tcpdump"));
    let last = who.host();
    capture.args(["-l", "-e", "-n", "-i", "eth0"]);
    capture.arg(format!("ether src 02:00:00:00:00:{last:02x} and tcp dst port 8080"));
    let capture = ChildProcess::start(capture);
    wait::until("the capture begins", || capture.output().contains("listening on"));
    capture
}

/// The first member was silenced. It forwards no more packets, and the second one does.
fn forwards_no_more(world: &VrrpTopology) {
    world.until(Second, V4, "active");
    send_to(world, First);
    let capture = listen(world, First);
    for port in [NAT, MAC] {
        for _ in 0..2 {
            assert!(!answers(world, port), "the old holder forwards port {port}");
        }
    }
    send_to(world, Second);
    until_answers(world, "the new holder");
    send_as_told(world);
    until_answers(world, "whoever says that it has the address");
    let forwarded: Vec<String> =
        capture.output().lines().filter(|line| line.contains(" > ")).map(str::to_owned).collect();
    assert_eq!(forwarded, Vec::<String>::new());
}

#[test]
fn a_killed_daemon_forwards_no_packet_after_its_time() {
    if rootless() {
        return;
    }
    let mut world = open(GROUP);
    send_to(&world, First);
    until_answers(&world, "the holder");
    world.kill9(First);
    forwards_no_more(&world);
    // The first member restarts, and takes its address back.
    world.start(First);
    world.until(First, V4, "active");
    world.until(Second, V4, "standby");
    send_to(&world, First);
    until_answers(&world, "the old holder is the new one");
    // A standby member does not forward either.
    send_to(&world, Second);
    for port in [NAT, MAC] {
        assert!(!answers(&world, port), "who stands by forwards port {port}");
    }
    let metrics = world.verb(Second, &["report", "--json"]).stdout;
    assert!(metrics.contains("gate-shut"), "{metrics}");
}

#[test]
fn a_stopped_daemon_forwards_no_packet_after_its_time() {
    if rootless() {
        return;
    }
    let mut world = open(&format!("{GROUP}\npreempt = false"));
    send_to(&world, First);
    until_answers(&world, "the holder");
    world.signal(First, Signal::STOP);
    forwards_no_more(&world);
    world.signal(First, Signal::CONT);
    world.until(First, V4, "standby");
    forwards_no_more(&world);
}

#[test]
fn a_restart_and_an_upgrade_within_the_time_forward_on() {
    if rootless() {
        return;
    }
    // The dead-man timer of the killed member is ten seconds; the other member waits twelve.
    let mut world = open("advertise = \"4s\"");
    send_to(&world, First);
    until_answers(&world, "the holder");
    world.kill9(First);
    until_answers(&world, "no daemon, within the time");
    world.start(First);
    world.until(First, V4, "active");
    until_answers(&world, "begun again");
    world.upgrade(First);
    world.until(First, V4, "active");
    until_answers(&world, "the next process");
    assert_eq!(world.status(Second, V4).unwrap().counts["became-active"], 0);
}

#[test]
fn without_the_dead_man_the_old_holder_forwards_on() {
    if rootless() {
        return;
    }
    let mut world = open(&format!("{GROUP}\ndead-man = \"off\""));
    send_to(&world, First);
    until_answers(&world, "the holder");
    world.kill9(First);
    world.until(Second, V4, "active");
    until_answers(&world, "the old holder, which nobody stops");
}
