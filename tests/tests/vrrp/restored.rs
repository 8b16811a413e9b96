//! Addresses and links that another program removes from an active member are restored.

use lab::net::SysctlSetting;
use tests::e2e::wait;

use super::topology::{ClientFamily, First, MemberIndex, Second, V4, V6, VrrpTopology, rootless};

const GROUP: &str = "advertise = \"300ms\"\nduplicate-check = \"off\"\nannounce-interval = \"off\"";

fn count(world: &VrrpTopology, who: MemberIndex, version: ClientFamily, what: &str) -> u64 {
    world.status(who, version).map_or(0, |one| one.counts[what])
}

fn shown(world: &VrrpTopology) -> String {
    world.namespace(First).ip("addr show\n").unwrap()
}

/// A pair with macvlan interfaces for the shared addresses; the first member is active.
fn on_links_of_their_own() -> VrrpTopology {
    let mut world = VrrpTopology::new(&format!("{GROUP}\nlink-address = \"virtual\""));
    for who in [First, Second] {
        world.start(who);
        for version in [V4, V6] {
            world.until(who, version, if who == First { "active" } else { "standby" });
        }
    }
    world
}

#[test]
fn an_address_that_is_taken_off_its_interface_is_set_again_and_announced() {
    if rootless() {
        return;
    }
    let mut world = VrrpTopology::open(GROUP);
    for version in [V4, V6] {
        let bits = if version == V4 { 32 } else { 128 };
        for times in 1..=3 {
            let before = count(&world, First, version, "announcements");
            let gone = format!("addr del {}/{bits} dev eth0\n", version.shared());
            world.namespace(First).ip(&gone).unwrap();
            wait::until("it is set again", || world.has(First, version));
            wait::until("that is counted", || count(&world, First, version, "restored") == times);
            wait::until("it is announced", || {
                count(&world, First, version, "announcements") > before
            });
        }
        assert_eq!(world.status(First, version).unwrap().state, "active");
        assert_eq!(count(&world, Second, version, "became-active"), 0);
        world.until_answers(version, &[First]);
        world.serves(version);
        let restored = format!(
            "kernel-restored: group {}: another program had taken {} away",
            version.group(),
            version.shared()
        );
        world.wait_for_output(First, &restored);
    }
}

#[test]
fn all_addresses_of_an_interface_flushed_at_once_come_back_or_move() {
    if rootless() {
        return;
    }
    let world = VrrpTopology::open(GROUP);
    // As `netplan apply` does: every address is removed, and the configured ones return.
    world.namespace(First).ip("addr flush dev eth0\n").unwrap();
    for version in [V4, V6] {
        wait::until("one answers", || {
            let states = [First, Second].map(|who| world.status(who, version).unwrap().state);
            states.iter().filter(|state| *state == "active").count() == 1
                && [First, Second].iter().any(|who| world.has(*who, version))
        });
    }
    let own = "link set eth0 down\nlink set eth0 up\n\
               addr add 10.9.0.1/24 dev eth0\naddr add fd09::1/64 dev eth0 nodad\n";
    world.namespace(First).ip(own).unwrap();
    for version in [V4, V6] {
        world.until(First, version, "active");
        world.until(Second, version, "standby");
        world.until_answers(version, &[First]);
        world.serves(version);
    }
}

#[test]
fn a_link_of_its_own_that_is_set_down_or_removed_comes_back() {
    if rootless() {
        return;
    }
    let world = on_links_of_their_own();
    let names = || -> Vec<String> {
        let shown = world.namespace(First).ip("link show type macvlan\n").unwrap();
        let names = shown.lines().filter_map(|line| line.split(": ").nth(1));
        names.filter_map(|name| name.split('@').next()).map(str::to_owned).collect()
    };
    let whole = || {
        let shown = shown(&world);
        [V4, V6].iter().all(|version| shown.contains(&format!(" {}/", version.shared())))
    };
    assert!(whole() && names().len() == 2, "{:?}", names());
    for how in ["link set {} down\n", "link del {}\n"] {
        for name in names() {
            world.namespace(First).ip(&how.replace("{}", &name)).unwrap();
        }
        wait::until("the addresses are back, on links that run", || {
            let shown = world.namespace(First).ip("link show up type macvlan\n").unwrap();
            whole() && shown.matches("vrrp").count() >= 2
        });
        for version in [V4, V6] {
            wait::until("one is active", || {
                let states = [First, Second].map(|who| world.status(who, version).unwrap().state);
                states.iter().filter(|state| *state == "active").count() == 1
            });
            world.until(First, version, "active");
            world.serves(version);
        }
    }
}

#[test]
fn a_member_whose_kernel_refuses_every_address_leaves_them_to_the_other_one() {
    if rootless() {
        return;
    }
    let mut world = on_links_of_their_own();
    let shown = world.namespace(First).ip("link show type macvlan\n").unwrap();
    let name = shown.lines().filter_map(|line| line.split(": ").nth(1));
    let name =
        name.filter_map(|name| name.split('@').next()).find(|name| name.starts_with("vrrp6"));
    let key = format!("net/ipv6/conf/{}/disable_ipv6", name.unwrap());
    world.namespace(First).write_sysctls(&[SysctlSetting { path: &key, value: "1" }]).unwrap();
    world.until(Second, V6, "active");
    world.until(First, V6, "idle");
    let reason = world.status(First, V6).unwrap().reason;
    assert!(reason.contains("fd09::10 cannot be set on eth0"), "{reason}");
    world.wait_for_output(First, "member-refused: group front6");
    assert_eq!(world.status(First, V4).unwrap().state, "active", "the other family stays");
    world.serves(V6);
    world.namespace(First).write_sysctls(&[SysctlSetting { path: &key, value: "0" }]).unwrap();
    world.until(First, V6, "active");
    world.until(Second, V6, "standby");
    world.serves(V6);
}

#[test]
fn the_gates_programs_and_settings_that_somebody_changes_are_as_they_were() {
    if rootless() {
        return;
    }
    let mut world = on_links_of_their_own();
    let links = world.pins(First).join("plane-vrrp/gate-links");
    let pinned = || {
        let all = std::fs::read_dir(&links).unwrap();
        let mut all: Vec<_> = all.map(|one| one.unwrap().file_name()).collect();
        all.sort();
        all
    };
    let whole = pinned();
    assert_eq!(whole.len(), 2, "{whole:?}");
    for name in &whole {
        std::fs::remove_file(links.join(name)).unwrap();
    }
    wait::until("both programs are back", || pinned() == whole);
    world.wait_for_output(First, "kernel-restored: the fencing program was removed from eth0");
    world
        .namespace(First)
        .write_sysctls(&[SysctlSetting { path: "net/ipv4/conf/eth0/arp_ignore", value: "0" }])
        .unwrap();
    let changed = "answer to ARP (arp_ignore, arp_announce, rp_filter) was changed";
    world.wait_for_output(First, changed);
    let mut cat = world.namespace(First).command("cat");
    let said = cat.arg("/proc/sys/net/ipv4/conf/eth0/arp_ignore").output().unwrap().stdout;
    assert_eq!(said, b"1\n");
}
