//! A pair with keepalived: either may have the higher priority and either may fail. Covers both IP versions, VRRP
//! version 2, and unicast advertisements.

use rustix::process::{Pid, Signal};
use tests::e2e::balancer::is_long;
use tests::e2e::process::ChildProcess;
use tests::e2e::{tools, wait};
use tests::skip::skip;

use super::topology::{ClientFamily, First, MemberIndex, Second, V4, V6, VrrpTopology};

/// How the members exchange advertisements.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum AdvertisementMode {
    /// Multicast, VRRP version 3.
    Group,
    /// Unicast between the members.
    Unicast,
    /// VRRP version 2, which only supports IPv4 and whole seconds. IPv6 uses version 3.
    Old,
    OldUnicast,
}

use AdvertisementMode::{Group, Old, OldUnicast, Unicast};

impl AdvertisementMode {
    fn is_old(self, version: ClientFamily) -> bool {
        version == V4 && matches!(self, Old | OldUnicast)
    }

    fn is_unicast(self) -> bool {
        matches!(self, Unicast | OldUnicast)
    }

    /// The advertisement interval, in keepalived's format.
    fn every(self, version: ClientFamily) -> &'static str {
        if self.is_old(version) { "1" } else { "0.3" }
    }

    /// Lines of a Steelyard group.
    fn ours(self, who: MemberIndex, version: ClientFamily) -> String {
        let old = self.is_old(version);
        let mut lines = if old { "version = 2\n" } else { "advertise = \"300ms\"\n" }.to_owned();
        if self.is_unicast() {
            let [source, peer] = [who, who.other()].map(|who| version.host(who.host()));
            lines.push_str(&format!("source = \"{source}\"\npeers = \"{peer}\"\n"));
        }
        lines
    }

    /// Lines of a keepalived instance.
    fn theirs(self, who: MemberIndex, version: ClientFamily) -> String {
        let number = if self.is_old(version) { 2 } else { 3 };
        let mut lines = format!(" version {number}\n advert_int {}\n", self.every(version));
        if self.is_unicast() {
            let [source, peer] = [who, who.other()].map(|who| version.host(who.host()));
            lines.push_str(&format!(" unicast_src_ip {source}\n unicast_peer {{\n  {peer}\n }}\n"));
        }
        lines
    }
}

/// A keepalived with the same addresses and groups.
pub struct Keepalived(ChildProcess);

impl Keepalived {
    fn start(world: &VrrpTopology, who: MemberIndex, speech: AdvertisementMode) -> Keepalived {
        Keepalived::with(world, who, |version| speech.theirs(who, version))
    }

    /// Starts keepalived with these lines in each instance.
    pub fn with(
        world: &VrrpTopology,
        who: MemberIndex,
        lines: impl Fn(ClientFamily) -> String,
    ) -> Keepalived {
        let mut text = "global_defs {\n vrrp_version 3\n}\n".to_owned();
        for version in [V4, V6] {
            text.push_str(&format!(
                "vrrp_instance {} {{\n state BACKUP\n interface eth0\n virtual_router_id 51\n priority {}\n{} \
                 virtual_ipaddress {{\n  {}\n }}\n}}\n",
                version.group(),
                who.priority(),
                lines(version),
                version.shared(),
            ));
        }
        let dir = world.dir(who);
        let file = dir.write("keepalived.conf", text);
        let mut command = world.namespace(who).command(tools::program("keepalived"));
        command.args(["--vrrp", "--dont-fork", "--log-console", "--log-detail", "-f"]).arg(file);
        command.arg("-p").arg(dir.join("k.pid")).arg("-r").arg(dir.join("v.pid"));
        Keepalived(ChildProcess::start(command))
    }

    pub fn stop(mut self) {
        self.0.signal(Signal::TERM);
        self.0.wait();
    }
}

impl Keepalived {
    /// Sends SIGKILL to both processes of keepalived, which leaves the addresses.
    fn kill9(mut self, world: &VrrpTopology, who: MemberIndex) {
        let child = std::fs::read_to_string(world.dir(who).join("v.pid")).unwrap();
        let child = child.trim().parse().ok().and_then(Pid::from_raw).unwrap();
        // The parent is stopped first, so that it neither restarts the child nor shuts down cleanly.
        self.0.signal(Signal::STOP);
        rustix::process::kill_process(child, Signal::KILL).unwrap();
        self.0.signal(Signal::KILL);
        self.0.wait();
    }
}

/// Waits until keepalived has the address, or has released it.
pub fn until_has(world: &VrrpTopology, who: MemberIndex, version: ClientFamily, has: bool) {
    wait::until(&format!("keepalived has {}: {has}", version.shared()), || {
        world.has(who, version) == has
    });
}

fn both_ways(ours: MemberIndex, speech: AdvertisementMode) {
    if !rustix::process::geteuid().is_root() {
        return skip("namespaces need root");
    }
    let theirs = ours.other();
    let mut world = VrrpTopology::new("");
    for version in [V4, V6] {
        world.only[usize::from(ours == Second)].push((version, speech.ours(ours, version)));
    }
    world.start(ours);
    let keepalived = Keepalived::start(&world, theirs, speech);
    let better = First;
    let worse = Second;
    let state = |who: MemberIndex| if who == better { "active" } else { "standby" };
    for version in [V4, V6] {
        world.until(ours, version, state(ours));
        until_has(&world, theirs, version, theirs == better);
        world.until_answers(version, &[better]);
    }
    // The member with the higher priority ends, and the other takes over and later gives the address back.
    if ours == better {
        world.stop(ours);
        for version in [V4, V6] {
            until_has(&world, worse, version, true);
            world.until_answers(version, &[worse]);
        }
        world.start(ours);
    } else {
        keepalived.stop();
        for version in [V4, V6] {
            world.until(ours, version, "active");
            world.until_answers(version, &[worse]);
            world.serves(version);
        }
        let keepalived = Keepalived::start(&world, theirs, speech);
        for version in [V4, V6] {
            world.until(ours, version, "standby");
            world.until_answers(version, &[better]);
        }
        return keepalived.stop();
    }
    for version in [V4, V6] {
        world.until(ours, version, "active");
        until_has(&world, theirs, version, false);
        world.until_answers(version, &[better]);
        world.serves(version);
        let status = world.status(ours, version).unwrap();
        assert_eq!(status.counts["other-addresses"], 0, "{status:?}");
        assert_eq!(status.dropped.get("checksum"), None, "{status:?}");
    }
    keepalived.stop();
}

#[test]
fn ours_is_the_better_one() {
    both_ways(First, Group);
}

#[test]
fn keepalived_is_the_better_one() {
    both_ways(Second, Group);
}

#[test]
fn ours_is_the_better_one_of_two_that_speak_to_each_other_alone() {
    both_ways(First, Unicast);
}

#[test]
fn keepalived_is_the_better_one_of_two_that_speak_to_each_other_alone() {
    both_ways(Second, Unicast);
}

#[test]
fn ours_is_the_better_one_with_the_older_version() {
    both_ways(First, Old);
}

#[test]
fn keepalived_is_the_better_one_with_the_older_version() {
    both_ways(Second, Old);
}

#[test]
fn either_is_the_better_one_with_the_older_version_and_to_each_other_alone() {
    if is_long() {
        both_ways(First, OldUnicast);
        both_ways(Second, OldUnicast);
    }
}

#[test]
fn a_killed_keepalived_leaves_two_holders_as_ours_does_not() {
    if !rustix::process::geteuid().is_root() {
        return skip("namespaces need root");
    }
    let mut world = VrrpTopology::new("advertise = \"300ms\"");
    let keepalived = Keepalived::start(&world, First, Group);
    for version in [V4, V6] {
        until_has(&world, First, version, true);
    }
    world.start(Second);
    world.until(Second, V4, "standby");
    keepalived.kill9(&world, First);
    for version in [V4, V6] {
        world.until(Second, version, "active");
        world.until_answers(version, &[First, Second]);
    }
}
