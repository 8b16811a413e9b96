//! A shared address that another host of the link has too: the active member detects and reports the duplicate, and
//! announces the address once more.

use tests::e2e::wait;
use tests::skip::skip;

use super::topology::{First, Second, V4, V6, VrrpTopology};

#[test]
fn an_address_that_answers_elsewhere_is_reported_and_announced_again() {
    if !rustix::process::geteuid().is_root() {
        return skip("namespaces need root");
    }
    let mut world = VrrpTopology::open("advertise = \"300ms\"\nduplicate-check = \"1s\"");
    let count = |world: &VrrpTopology, who, version, what: &str| {
        world.status(who, version).map_or(0, |one| one.counts[what])
    };
    // The client's neighbour entry points to the other host. Four announcements of the failover have been sent; the
    // last one follows 25 s later.
    for version in [V4, V6] {
        wait::until("four announcements", || count(&world, First, version, "announcements") == 4);
        let believes = format!(
            "neigh replace {} lladdr 02:00:00:00:00:32 nud stale dev eth0\n",
            version.shared()
        );
        world.client.ip(&believes).unwrap();
    }
    world
        .server
        .ip("addr add 10.9.0.10/32 dev eth0\naddr add fd09::10/128 dev eth0 nodad\n")
        .unwrap();
    for version in [V4, V6] {
        wait::until("it is found", || count(&world, First, version, "doubled") == 1);
        assert_eq!(count(&world, First, version, "defended"), 1, "not at once once more");
        wait::until("it is announced again", || {
            world.known(version).as_deref() == Some("02:00:00:00:00:01")
        });
        let text =
            format!("group {}: {} is at 02:00:00:00:00:32 too", version.group(), version.shared());
        world.wait_for_output(First, &format!("duplicate-address: {text}"));
        let reason = world.status(First, version).unwrap().reason;
        assert!(reason.contains("is at 02:00:00:00:00:32 too"), "{reason}");
        assert_eq!(world.status(First, version).unwrap().state, "active");
        assert_eq!(
            count(&world, Second, version, "asked-elsewhere"),
            0,
            "it has nothing to ask for"
        );
    }
    world.server.ip("addr del 10.9.0.10/32 dev eth0\naddr del fd09::10/128 dev eth0\n").unwrap();
    for version in [V4, V6] {
        let sole = format!(
            "duplicate-address-gone: group {}: {} is here alone again",
            version.group(),
            version.shared()
        );
        world.wait_for_output(First, &sole);
    }
    // A planned move of the address does not count as a duplicate.
    assert_eq!(world.verb(Second, &["takeover"]).code, 0);
    for version in [V4, V6] {
        world.until(Second, version, "active");
        world.until_answers(version, &[Second]);
        wait::until("the new one has asked", || {
            count(&world, Second, version, "asked-elsewhere") > 0
        });
        assert_eq!(count(&world, Second, version, "doubled"), 0);
        assert_eq!(count(&world, First, version, "doubled"), 1);
    }
}
