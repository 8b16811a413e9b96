//! Beside keepalived: either may be the better one, either may fail, over both versions of IP.

use std::path::PathBuf;

use rustix::process::Signal;
use tests::e2e::process::Process;
use tests::e2e::{tools, wait};
use tests::skip::skip;

use super::world::{First, Second, V4, V6, Version, Who, World};

/// A keepalived that shares the same addresses in the same groups.
struct Keepalived(Process);

impl Keepalived {
    fn start(world: &World, who: Who) -> Keepalived {
        let mut text = "global_defs {\n vrrp_version 3\n}\n".to_owned();
        for version in [V4, V6] {
            text.push_str(&format!(
                "vrrp_instance {} {{\n state BACKUP\n interface eth0\n virtual_router_id 51\n priority {}\n \
                 advert_int 0.3\n virtual_ipaddress {{\n  {}\n }}\n}}\n",
                version.group(),
                who.priority(),
                version.shared(),
            ));
        }
        let dir = world.dir(who);
        let file = dir.write("keepalived.conf", text);
        let pid = |name: &str| -> PathBuf { dir.join(name) };
        let mut command = world.namespace(who).command(tools::program("keepalived"));
        command.args(["--vrrp", "--dont-fork", "--log-console", "--log-detail", "-f"]).arg(file);
        command.arg("-p").arg(pid("k.pid")).arg("-r").arg(pid("v.pid"));
        Keepalived(Process::start(command))
    }

    fn stop(mut self) {
        self.0.signal(Signal::TERM);
        self.0.wait();
    }
}

/// Waits until keepalived has the address, or has not.
fn until_has(world: &World, who: Who, version: Version, has: bool) {
    wait::until(&format!("keepalived has {}: {has}", version.shared()), || {
        world.has(who, version) == has
    });
}

fn both_ways(ours: Who, theirs: Who) {
    if !rustix::process::geteuid().is_root() {
        return skip("namespaces need root");
    }
    let mut world = World::new("advertise = \"300ms\"");
    world.start(ours);
    let keepalived = Keepalived::start(&world, theirs);
    let (better, worse) = (First, Second);
    let state = |who: Who| if who == better { "active" } else { "standby" };
    for version in [V4, V6] {
        world.until(ours, version, state(ours));
        until_has(&world, theirs, version, theirs == better);
        world.until_answers(version, &[better]);
    }
    // The better one ends; the worse one takes over, and gives the address back.
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
        let keepalived = Keepalived::start(&world, theirs);
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
    both_ways(First, Second);
}

#[test]
fn keepalived_is_the_better_one() {
    both_ways(Second, First);
}
