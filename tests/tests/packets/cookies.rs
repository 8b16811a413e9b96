//! A flood of SYNs without ACKs: clients of `nat` are still served by SYN cookies, completely and in both directions.

use lab::net::{ChecksumMode, SiteLayout};
use tests::e2e::packet_balancer::{BOTH, IpVersion, ready};
use tests::e2e::process::ChildProcess;
use tests::e2e::tools::program;
use tests::e2e::wait;

use super::topology::{ForwardMethodCase, PacketTopology};

/// Requests of each IP version.
const EACH: usize = 8;
/// The number of unreachable clients. From four half-open connections on, SYN cookies are sent.
const FLOOD: usize = 6;
const GUARDED: ForwardMethodCase = ForwardMethodCase {
    forward: "nat",
    service: "guard = { half-open = 4, syn-cookies = true }\n",
};

/// An address of the client to which no route exists.
fn nowhere(version: IpVersion) -> &'static str {
    match version {
        IpVersion::V4 => "198.18.0.9",
        IpVersion::V6 => "2001:db8:dead::9",
    }
}

/// Clients whose responses are lost, so that they retransmit their SYNs.
fn flood(world: &PacketTopology, version: IpVersion) -> Vec<ChildProcess> {
    let url = format!("http://{}/", version.service());
    let one = || {
        let mut curl = world.plane.site.client.command(program("curl"));
        curl.args(["-sS", "-g", "--max-time", "120", "--interface"]);
        curl.arg(format!("host!{}", nowhere(version))).arg(&url);
        ChildProcess::start(curl)
    };
    (0..FLOOD).map(|_| one()).collect()
}

fn count(world: &PacketTopology, name: &str) -> u64 {
    let outcomes = world.plane.packets().outcomes;
    outcomes.iter().find(|one| one.name == name).map_or(0, |one| one.count.total)
}

fn served_through_a_flood(layout: &SiteLayout, packets: &str) {
    let mut world = PacketTopology::open(layout, packets);
    world.forward_by(GUARDED);
    let site = &world.plane.site;
    let addresses = "addr add 198.18.0.9/32 dev lo\naddr add 2001:db8:dead::9/128 dev lo nodad\n";
    site.client.ip(addresses).unwrap();
    let lost = "route add blackhole 198.18.0.0/15\nroute add blackhole 2001:db8:dead::/64\n";
    site.router.ip(lost).unwrap();
    for version in BOTH {
        let name = if version == IpVersion::V4 { "shop4" } else { "shop6" };
        let before = count(&world, "cookie-sent");
        let flood = flood(&world, version);
        wait::until("the service is flooded", || {
            let packets = world.plane.packets();
            packets.services.iter().any(|one| one.name == name && one.half_open >= 4)
        });
        let answers = world.plane.curl(version, EACH);
        assert_eq!(
            answers.values().sum::<usize>(),
            EACH,
            "{answers:?}\n{}",
            world.failure_report()
        );
        world.downloads(version);
        world.uploads(version, &format!("{version:?}"));
        wait::until("cookies are counted", || {
            count(&world, "cookie-sent") >= before + EACH as u64 + 2
        });
        drop(flood);
    }
    world.is_balanced();
}

#[test]
fn clients_are_served_through_a_flood() {
    if ready() {
        served_through_a_flood(&SiteLayout { local_servers: 1, ..SiteLayout::default() }, "");
    }
}

#[test]
fn clients_are_served_through_a_flood_where_devices_finish_checksums() {
    if ready() {
        let layout = SiteLayout {
            local_servers: 1,
            checksums: ChecksumMode::Offloaded,
            ..SiteLayout::default()
        };
        served_through_a_flood(&layout, "mode = \"generic\"\n");
    }
}
