//! Neighbour entries after a network split between the members: a router's entry stays stale until an announcement
//! corrects it.

use tests::e2e::process::ChildProcess;
use tests::e2e::{tools, wait};

use super::keepalived::{Keepalived, until_has};
use super::topology::{ClientFamily, First, MemberIndex, Second, V4, V6, VrrpTopology, rootless};

/// Members only announce at the end of a split.
const GROUP: &str = "advertise = \"300ms\"\nduplicate-check = \"off\"\nannounce-interval = \"off\"";
/// Each split ends at another point of the members' intervals.
const SPLITS: u64 = 4;

fn link(who: MemberIndex) -> String {
    format!("02:00:00:00:00:{:02x}", who.number())
}

/// Isolates the members' ports from each other, or connects them. Other hosts still reach both.
fn apart(world: &VrrpTopology, apart: bool) {
    for who in [First, Second] {
        let word = if apart { "on" } else { "off" };
        world
            .hub
            .ip(&format!("link set {} type bridge_slave isolated {word}\n", who.port()))
            .unwrap();
    }
}

/// Gives the client a neighbour entry with this link address, which the client does not revalidate by itself.
fn believe(world: &VrrpTopology, version: ClientFamily, link: &str) {
    let shared = version.shared();
    world.client.ip(&format!("neigh replace {shared} lladdr {link} nud stale dev eth0\n")).unwrap();
}

fn until_believed(world: &VrrpTopology, version: ClientFamily, who: MemberIndex) {
    wait::until(&format!("the client believes {who:?} of {version:?}"), || {
        world.known(version).as_deref() == Some(&link(who))
    });
}

fn count(world: &VrrpTopology, who: MemberIndex, version: ClientFamily, what: &str) -> u64 {
    world.status(who, version).map_or(0, |one| one.counts[what])
}

#[test]
fn after_each_split_neighbours_that_learned_the_loser_believe_the_active_member() {
    if rootless() {
        return;
    }
    let world = VrrpTopology::open(GROUP);
    for split in 1..=SPLITS {
        apart(&world, true);
        for version in [V4, V6] {
            world.until(Second, version, "active");
            believe(&world, version, &link(Second));
        }
        let before = [V4, V6].map(|version| count(&world, First, version, "announcements"));
        apart(&world, false);
        for (version, before) in [V4, V6].into_iter().zip(before) {
            world.until(Second, version, "standby");
            until_believed(&world, version, First);
            wait::until("the loser has said that it was active", || {
                count(&world, Second, version, "notices") == split
            });
            wait::until("it was announced", || {
                count(&world, First, version, "announcements") > before
            });
            assert_eq!(world.status(First, version).unwrap().state, "active");
        }
    }
}

#[test]
fn keepalived_announces_the_addresses_when_ours_gave_up() {
    if rootless() {
        return;
    }
    let mut world = VrrpTopology::new(GROUP);
    let theirs = Keepalived::with(&world, First, |_| " version 3\n advert_int 0.3\n".to_owned());
    world.start(Second);
    for version in [V4, V6] {
        until_has(&world, First, version, true);
        world.until(Second, version, "standby");
    }
    for _ in 0..SPLITS {
        apart(&world, true);
        for version in [V4, V6] {
            world.until(Second, version, "active");
            believe(&world, version, &link(Second));
        }
        apart(&world, false);
        for version in [V4, V6] {
            world.until(Second, version, "standby");
            until_believed(&world, version, First);
        }
    }
    theirs.stop();
}

#[test]
fn an_active_member_announces_at_an_interval_although_nothing_changed() {
    if rootless() {
        return;
    }
    let world = VrrpTopology::open(
        "advertise = \"300ms\"\nduplicate-check = \"off\"\nannounce-interval = \"1s\"",
    );
    for version in [V4, V6] {
        // The announcements of the failover, of which one is still to come.
        wait::until("its taking was announced", || {
            count(&world, First, version, "announcements") > 6
        });
        for _ in 0..2 {
            believe(&world, version, "02:00:00:00:00:77");
            until_believed(&world, version, First);
        }
    }
}

#[test]
fn another_group_with_the_same_id_takes_nothing_away() {
    if rootless() {
        return;
    }
    let mut world = VrrpTopology::open(GROUP);
    // With the interval of the members, whose advertisements it hears, keepalived was seen to send hardly any.
    let mut text = "global_defs {\n vrrp_version 3\n}\n".to_owned();
    let other = |version: ClientFamily| version.host(77);
    for version in [V4, V6] {
        text.push_str(&format!(
            "vrrp_instance {} {{\n state BACKUP\n interface eth0\n virtual_router_id 51\n priority 200\n version 3\n \
             advert_int 0.1\n virtual_ipaddress {{\n  {}\n }}\n}}\n",
            version.group(),
            other(version),
        ));
    }
    let dir = world.dir(First);
    let file = dir.write("other.conf", text);
    let mut command = world.server.command(tools::program("keepalived"));
    command.args(["--vrrp", "--dont-fork", "--log-console", "-f"]).arg(file);
    command.arg("-p").arg(dir.join("o.pid")).arg("-r").arg(dir.join("o.v.pid"));
    let mut theirs = ChildProcess::start(command);
    for version in [V4, V6] {
        wait::until("the other group is heard by both", || {
            [First, Second].iter().all(|who| count(&world, *who, version, "foreign-addresses") > 3)
        });
        assert_eq!(world.status(First, version).unwrap().state, "active");
        assert_eq!(world.status(Second, version).unwrap().state, "standby");
        world.until_answers(version, &[First]);
        for who in [First, Second] {
            let needle = format!(
                "member-conflict: group {}: {} advertises id 51 with other addresses ({})",
                version.group(),
                if version == V4 { "10.9.0.50" } else { "fe80::ff:fe00:32" },
                other(version)
            );
            world.wait_for_output(who, &needle);
            let told = world.daemon_output(who);
            assert_eq!(told.matches(&needle).count(), 1, "{needle}: {told}");
        }
    }
    theirs.signal(rustix::process::Signal::TERM);
    theirs.wait();
}
