//! The virtual router's MAC address: neighbours use the same one, regardless of the active member. Also with keepalived
//! as the peer.

use std::collections::BTreeSet;
use std::net::UdpSocket;

use lab::net::SysctlSetting;
use rustix::process::Signal;
use tests::e2e::process::ChildProcess;
use tests::e2e::{tools, wait};

use super::gated;
use super::keepalived::Keepalived;
use super::topology::{ClientFamily, First, MemberIndex, Second, V4, V6, VrrpTopology, rootless};

const GROUP: &str = "advertise = \"300ms\"\nlink-address = \"virtual\"";

fn link(version: ClientFamily) -> &'static str {
    match version {
        V4 => "00:00:5e:00:01:33",
        V6 => "00:00:5e:00:02:33",
    }
}

/// Waits until the bridge has the virtual router's MAC address at this member's port.
fn until_at(world: &VrrpTopology, version: ClientFamily, who: MemberIndex) {
    wait::until(&format!("the bridge has {} at {}", link(version), who.port()), || {
        let mut bridge = world.hub.command(tools::program("bridge"));
        let said = bridge.args(["fdb", "show", "br", "br0"]).output().unwrap().stdout;
        let at = format!("{} dev {} ", link(version), who.port());
        String::from_utf8_lossy(&said).contains(&at)
    });
}

/// Captures of the packets from each member.
struct ReceivedByMember([ChildProcess; 2]);

impl ReceivedByMember {
    fn open(world: &VrrpTopology) -> ReceivedByMember {
        ReceivedByMember([First, Second].map(|who| {
            let mut capture = world.hub.command(tools::program("tcpdump"));
            capture.args(["-l", "-e", "-n", "-Q", "in", "-i", &who.port()]);
            capture.arg("arp or ip6 or vrrp");
            let capture = ChildProcess::start(capture);
            wait::until("the capture begins", || capture.output().contains("listening on"));
            capture
        }))
    }

    /// The members that answer for the shared address. Panics if an answer has another MAC address than the virtual
    /// router's.
    fn answerers(&self, world: &VrrpTopology, version: ClientFamily) -> BTreeSet<MemberIndex> {
        let marks = [0, 1].map(|at: usize| self.0[at].output().len());
        let hosts = [First, Second].map(|who| version.host(who.host()));
        for ip in [version.shared()].into_iter().chain(hosts) {
            world.client.ip(&format!("neigh flush to {ip} dev eth0\n")).unwrap();
            world.ask(ip);
        }
        let answers = |who: MemberIndex, last: u8| -> Vec<String> {
            let at = usize::from(who == Second);
            let needle = match version {
                V4 => format!("Reply {} is-at", version.host(last)),
                V6 => format!("neighbor advertisement, tgt is {},", version.host(last)),
            };
            let said = self.0[at].output();
            let lines = said[marks[at]..].lines();
            let lines = lines.filter(|line| line.contains(&needle) && !line.contains("> 33:33:"));
            lines.map(str::to_owned).collect()
        };
        wait::until("both members answer for themselves", || {
            [First, Second].iter().all(|who| !answers(*who, who.host()).is_empty())
        });
        let shared = [First, Second].map(|who| (who, answers(who, super::members::SHARED)));
        for line in shared.iter().flat_map(|(_, lines)| lines) {
            assert!(line.contains(&format!(" {} > ", link(version))), "{line}");
        }
        shared.iter().filter(|(_, lines)| !lines.is_empty()).map(|(who, _)| *who).collect()
    }

    /// Waits until only this member answers, and checks several times that this does not change.
    fn until(&self, world: &VrrpTopology, version: ClientFamily, who: MemberIndex) {
        let alone = BTreeSet::from([who]);
        wait::until(&format!("{who:?} answers for {}", version.shared()), || {
            self.answerers(world, version) == alone
        });
        for _ in 0..5 {
            assert_eq!(self.answerers(world, version), alone, "{version:?}");
        }
    }
}

/// Whether any interface of a member has the address.
fn has(world: &VrrpTopology, who: MemberIndex, version: ClientFamily) -> bool {
    let shown = world.namespace(who).ip("addr show\n").unwrap();
    shown.contains(&format!(" {}/", version.shared()))
}

/// A member's macvlan interfaces.
fn seats(world: &VrrpTopology, who: MemberIndex) -> Vec<String> {
    let shown = world.namespace(who).ip("link show type macvlan\n").unwrap();
    shown.lines().filter(|line| line.contains("vrrp")).map(str::to_owned).collect()
}

/// Joins a multicast group on the virtual router's IPv6 interface, so that the kernel sends MLD reports from it until
/// the socket is dropped.
fn says_something(world: &VrrpTopology, who: MemberIndex) -> UdpSocket {
    let links = seats(world, who);
    let line = links.iter().find(|line| line.contains("vrrp6-")).unwrap();
    let index = line.split(':').next().unwrap().trim().parse().unwrap();
    let socket = || {
        let socket = UdpSocket::bind("[::]:0").unwrap();
        socket.join_multicast_v6(&"ff05::77".parse().unwrap(), index).unwrap();
        socket
    };
    world.namespace(who).run_inside(socket).unwrap()
}

/// After the holder's daemon has died, its kernel sends nothing with the virtual MAC address.
fn says_nothing(world: &VrrpTopology, heard: &ReceivedByMember, dead: MemberIndex) {
    let report = format!(" {} > 33:33:00:00:00:16", link(V6));
    let marks = heard.0.each_ref().map(|capture| capture.output().len());
    let says = |who: MemberIndex| {
        let at = usize::from(who == Second);
        heard.0[at].output()[marks[at]..].contains(&report)
    };
    let _listening = [dead, dead.other()].map(|who| says_something(world, who));
    wait::until("the holder's machine says whom it listens to", || says(dead.other()));
    heard.until(world, V6, dead.other());
    assert!(!says(dead), "{}", heard.0[usize::from(dead == Second)].output());
}

fn open(group: &str) -> VrrpTopology {
    let mut world = VrrpTopology::new(group);
    world.start(First);
    world.start(Second);
    for version in [V4, V6] {
        world.until(First, version, "active");
        world.until(Second, version, "standby");
        world.serves(version);
        assert_eq!(world.known(version).as_deref(), Some(link(version)));
        until_at(&world, version, First);
    }
    world
}

/// The other member is active, and the client's neighbour entry is still valid.
fn moved(world: &VrrpTopology, heard: &ReceivedByMember, who: MemberIndex) {
    for version in [V4, V6] {
        world.until(who, version, "active");
        until_at(world, version, who);
        assert_eq!(world.known(version).as_deref(), Some(link(version)), "nobody was told");
        world.serves(version);
    }
    for version in [V4, V6] {
        heard.until(world, version, who);
        world.serves(version);
    }
}

#[test]
fn neighbours_keep_what_they_know_and_a_killed_daemon_leaves_one_holder() {
    if rootless() {
        return;
    }
    let mut world = open(GROUP);
    let heard = ReceivedByMember::open(&world);
    heard.until(&world, V4, First);
    heard.until(&world, V6, First);
    world.kill9(First);
    moved(&world, &heard, Second);
    for version in [V4, V6] {
        assert!(has(&world, First, version), "nobody took the address away");
    }
    says_nothing(&world, &heard, First);
    // The restarted member removes the remains, and takes the address back by its higher priority.
    world.start(First);
    moved(&world, &heard, First);
    for version in [V4, V6] {
        world.until(Second, version, "standby");
        assert!(!has(&world, Second, version));
    }
    let idle = seats(&world, Second);
    assert!(idle.len() == 2 && idle.iter().all(|link| link.contains("state DOWN")), "{idle:?}");
    // All advertisements have the virtual router's MAC address as their source.
    let said = heard.0[0].output();
    let adverts = |line: &&str| line.contains("VRRPv3");
    let others = said.lines().filter(adverts).filter(|line| !line.contains(" 00:00:5e:00:0"));
    assert_eq!(others.collect::<Vec<_>>(), Vec::<&str>::new());
    // A graceful stop removes everything.
    world.stop(First);
    moved(&world, &heard, Second);
    assert_eq!(seats(&world, First), Vec::<String>::new());
    assert!(!has(&world, First, V4) && !has(&world, First, V6));
}

#[test]
fn a_daemon_that_was_stopped_and_one_that_is_upgraded() {
    if rootless() {
        return;
    }
    let mut world = open(&format!("{GROUP}\npreempt = false"));
    let heard = ReceivedByMember::open(&world);
    world.upgrade(First);
    for version in [V4, V6] {
        world.until(First, version, "active");
        world.serves(version);
        assert_eq!(world.status(Second, version).unwrap().counts["became-active"], 0);
    }
    world.signal(First, Signal::STOP);
    moved(&world, &heard, Second);
    world.signal(First, Signal::CONT);
    for version in [V4, V6] {
        world.until(First, version, "standby");
        assert!(!has(&world, First, version));
        heard.until(&world, version, Second);
    }
}

#[test]
fn what_xdp_forwards_comes_to_the_virtual_router_too() {
    if rootless() {
        return;
    }
    let mut world = gated::open(GROUP);
    gated::until_answers(&world, "the first one");
    assert_eq!(world.known(V4).as_deref(), Some(link(V4)));
    world.kill9(First);
    world.until(Second, V4, "active");
    until_at(&world, V4, Second);
    gated::until_answers(&world, "the second one");
    assert_eq!(world.known(V4).as_deref(), Some(link(V4)));
}

#[test]
fn the_link_address_is_changed_under_way() {
    if rootless() {
        return;
    }
    let mut world = open(GROUP);
    world.stop(Second);
    let own = world.text(First).replace("link-address = \"virtual\"", "link-address = \"own\"");
    for (text, of, seats_left) in [(own, "02:00:00:00:00:01", 0), (world.text(First), "", 2)] {
        let file = world.dir(First).write("other.toml", text).display().to_string();
        let said = world.verb(First, &["apply", &file]);
        assert_eq!(said.code, 0, "{said:?}");
        for version in [V4, V6] {
            let of = if of.is_empty() { link(version) } else { of };
            wait::until(&format!("the client knows {of} for {version:?}"), || {
                world.ask(version.shared());
                world.known(version).as_deref() == Some(of)
            });
            world.until(First, version, "active");
            world.serves(version);
        }
        assert_eq!(seats(&world, First).len(), seats_left);
    }
}

fn beside_keepalived(ours: MemberIndex) {
    if rootless() {
        return;
    }
    let theirs = ours.other();
    let mut world = VrrpTopology::new(GROUP);
    // Without `arp_ignore`, the interfaces of keepalived's two instances answer for each other's addresses and for the
    // interface's.
    world
        .namespace(theirs)
        .write_sysctls(&[SysctlSetting { path: "net/ipv4/conf/all/arp_ignore", value: "1" }])
        .unwrap();
    let start = |world: &VrrpTopology| {
        let lines = |_| " version 3\n advert_int 0.3\n use_vmac\n".to_owned();
        Keepalived::with(world, theirs, lines)
    };
    world.start(ours);
    let keepalived = start(&world);
    let heard = ReceivedByMember::open(&world);
    let state = if ours == First { "active" } else { "standby" };
    for version in [V4, V6] {
        world.until(ours, version, state);
        until_at(&world, version, First);
        heard.until(&world, version, First);
        assert_eq!(world.known(version).as_deref(), Some(link(version)));
    }
    let keepalived = if ours == First {
        world.stop(First);
        keepalived
    } else {
        keepalived.stop();
        for version in [V4, V6] {
            world.until(Second, version, "active");
        }
        start(&world)
    };
    if ours == First {
        for version in [V4, V6] {
            until_at(&world, version, Second);
            assert_eq!(world.known(version).as_deref(), Some(link(version)), "nobody was told");
            heard.until(&world, version, Second);
        }
        world.start(First);
    }
    for version in [V4, V6] {
        world.until(ours, version, state);
        until_at(&world, version, First);
        heard.until(&world, version, First);
    }
    if ours == Second {
        keepalived.stop();
        moved(&world, &heard, Second);
    } else {
        world.serves(V4);
        world.serves(V6);
        keepalived.stop();
    }
}

#[test]
fn ours_is_the_better_one_beside_keepalived_with_the_virtual_routers_link_address() {
    beside_keepalived(First);
}

#[test]
fn keepalived_is_the_better_one_with_the_virtual_routers_link_address() {
    beside_keepalived(Second);
}
