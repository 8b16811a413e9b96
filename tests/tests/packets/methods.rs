//! Every method with both IP versions, in four kinds of networks: pages of a real nginx, bulk transfers both ways, and
//! datagrams.
//!
//! In each network, one service changes from method to method. The servers' side checks the addresses that a method
//! promises.

use std::net::IpAddr;

use lab::net::{ChecksumMode, SiteLayout};
use tests::e2e::balancer::is_long;
use tests::e2e::packet_balancer::{BOTH, IpVersion, PacketBalancer, ready};
use tests::e2e::packet_config::PacketConfig;
use tests::e2e::wait;

use super::topology::{ForwardMethodCase, GRE, GUE, IPIP, METHODS, NAT, PacketTopology};

/// Requests and datagrams of each kind.
const EACH: usize = 8;

/// Checks that every server answers completely, and that every packet is accounted for.
fn everything_arrives(world: &PacketTopology, method: ForwardMethodCase) {
    let plane = &world.plane;
    let largest = usize::try_from(plane.site.layout().mtu).unwrap() - 200;
    for version in BOTH {
        // Only the sender fragments IPv6, and a narrow link has no room for the encapsulation.
        let whole = method.forward == "tunnel" && version == IpVersion::V6;
        let cut = if whole { largest } else { 3 * largest };
        let answers = plane.curl(version, EACH);
        let told = || format!("{method:?} {version:?}: {answers:?}\n{}", world.failure_report());
        assert_eq!(answers.values().sum::<usize>(), EACH, "{}", told());
        assert_eq!(answers.len(), plane.site.servers.len(), "{}", told());
        for bytes in [1, largest, cut] {
            let datagrams = plane.datagrams(version, EACH, bytes);
            assert_eq!(datagrams.len(), plane.site.servers.len(), "{version:?}: {datagrams:?}");
        }
        for bytes in world.bulk(version) {
            assert!(
                bytes >= 1e6,
                "{method:?} {version:?}: {bytes} bytes of iperf3\n{}",
                world.failure_report()
            );
        }
    }
    world.is_balanced();
}

/// Servers see the client's address or a return address, as the method promises.
fn addresses_are_as_promised(world: &PacketTopology, method: ForwardMethodCase) {
    let plane = &world.plane;
    for version in BOTH {
        let expected: IpAddr = match method {
            NAT => plane.site.return_addresses()[0].address_like(version.service().ip()),
            _ => version.host_address(&plane.site.client),
        };
        assert_eq!(world.seen(version), expected, "{method:?}");
    }
}

fn everywhere(layout: &SiteLayout, packets: &str) {
    let mut world = PacketTopology::open(layout, packets);
    for method in METHODS {
        world.forward_by(method);
        everything_arrives(&world, method);
        addresses_are_as_promised(&world, method);
    }
}

#[test]
fn every_method_in_the_driver() {
    if ready() {
        everywhere(&SiteLayout { local_servers: 2, ..SiteLayout::default() }, "");
    }
}

// Rows: I06
#[test]
fn every_method_in_the_generic_hook_with_checksums_left_to_devices() {
    if ready() {
        let layout = SiteLayout {
            local_servers: 2,
            checksums: ChecksumMode::Offloaded,
            ..SiteLayout::default()
        };
        everywhere(&layout, "mode = \"generic\"\n");
    }
}

/// Virtual Ethernet pairs as with containers: the peers run no XDP program, and nothing is configured.
#[test]
fn every_method_where_drivers_lose_what_programs_send() {
    if !ready() {
        return;
    }
    let layout = SiteLayout {
        local_servers: 2,
        checksums: ChecksumMode::Offloaded,
        ..SiteLayout::default()
    };
    let mut world = PacketTopology::open(&layout, "");
    for method in METHODS {
        world.forward_by(method);
        everything_arrives(&world, method);
    }
    let interfaces = |world: &PacketTopology| world.plane.status().packets.unwrap().interfaces;
    let told = interfaces(&world);
    assert!(told.iter().all(|one| one.mode.as_deref() == Some("generic")), "{told:?}");
    let why = told[0].problem.clone().unwrap_or_default();
    assert!(why.contains("loses what programs send"), "{told:?}");
    assert!(world.plane.count_events("packets-interface") >= 1);
    // With `mode = "native"` the loss is reported.
    world.plane.change(|words| words.packets = "mode = \"native\"\n".to_owned());
    wait::until("native is active and told of", || {
        interfaces(&world).iter().all(|one| {
            let why = one.problem.as_deref().unwrap_or_default();
            one.mode.as_deref() == Some("native") && why.contains("loses what programs send")
        })
    });
    lost_packets_are_dropped_by_name(&world);
}

/// Packets that the driver drops do not count as forwarded.
fn lost_packets_are_dropped_by_name(world: &PacketTopology) {
    let plane = &world.plane;
    let of = |name: &str| {
        let found = plane.packets().outcomes.into_iter().find(|one| one.name == name);
        found.map_or(0, |one| one.count.total)
    };
    let send = || {
        let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
        for _ in 0..EACH {
            socket.send_to(b"lost", IpVersion::V4.service()).unwrap();
        }
    };
    let lost = |times: u64| {
        plane.site.client.run_inside(send).unwrap();
        wait::until("they are counted", || of("driver-refuses") >= times * EACH as u64);
        world.is_balanced();
    };
    // The first round waits until earlier packets are accounted for.
    lost(1);
    let forwarded = of("forwarded");
    let returned = of("returned");
    lost(2);
    assert_eq!(
        (of("forwarded"), of("returned")),
        (forwarded, returned),
        "{}",
        world.failure_report()
    );
}

#[test]
fn every_method_on_the_narrowest_links() {
    if ready() {
        everywhere(&SiteLayout { local_servers: 2, mtu: 1280, ..SiteLayout::default() }, "");
    }
}

#[test]
fn every_method_on_links_of_jumbo_frames() {
    if ready() {
        everywhere(&SiteLayout { local_servers: 2, mtu: 9000, ..SiteLayout::default() }, "");
    }
}

/// Servers that route back through the balancer see the client's address and port.
#[test]
fn nat_can_keep_the_clients_address() {
    if !ready() {
        return;
    }
    let mut world =
        PacketTopology::open(&SiteLayout { local_servers: 2, ..SiteLayout::default() }, "");
    let balancer = world.plane.site.balancer.host;
    for server in &world.plane.site.servers {
        world.plane.site.assign_service_addresses(server, false).unwrap();
        let back = format!(
            "route change default via {}\nroute change ::/0 via {}\n",
            balancer.v4, balancer.v6
        );
        server.ip(&back).unwrap();
    }
    world.plane.change(|words| {
        words.forward = "nat";
        words.pool.push_str("source = \"client\"\n");
        words.extra_tables.clear();
    });
    world.plane.wait_until_all_up();
    for version in BOTH {
        assert_eq!(world.plane.curl(version, EACH).len(), 2, "{}", world.failure_report());
        assert_eq!(world.seen(version), version.host_address(&world.plane.site.client));
        assert_eq!(world.plane.datagrams(version, EACH, 900).len(), 2);
        world.downloads(version);
    }
    world.is_balanced();
}

/// Narrows a link in the middle of the path.
fn narrowed(world: &PacketTopology, port: &str) {
    world.plane.site.router.ip(&format!("link set {port} mtu 1300\n")).unwrap();
}

fn errors(world: &PacketTopology, name: &str) -> u64 {
    let packets = world.plane.packets();
    packets.outcomes.iter().find(|one| one.name == name).map_or(0, |one| one.count.total)
}

#[test]
fn too_big_on_the_way_to_a_client_reaches_the_server_of_every_method() {
    if !ready() {
        return;
    }
    for method in METHODS {
        // Hosts cache a path MTU for ten minutes, so each method gets a new network.
        let mut world =
            PacketTopology::open(&SiteLayout { local_servers: 1, ..SiteLayout::default() }, "");
        world.forward_by(method);
        narrowed(&world, "client");
        BOTH.into_iter().for_each(|version| world.downloads(version));
        wait::until("errors are counted", || errors(&world, "error-forwarded") >= 2);
        world.is_balanced();
    }
}

// Rows: I46
#[test]
fn too_big_on_the_way_to_a_server_reaches_the_client_of_nat() {
    if !ready() {
        return;
    }
    let mut world = PacketTopology::open(
        &SiteLayout { local_servers: 0, remote_servers: 1, ..SiteLayout::default() },
        "",
    );
    world.forward_by(NAT);
    // The server's own link keeps its MTU, so the server announces an MSS that is too large for the path.
    for server in &world.plane.site.servers {
        world.plane.site.limit_segment_size(server, 1_460).unwrap();
    }
    narrowed(&world, "server0");
    for version in BOTH {
        world.uploads(version, &format!("{version:?}"));
    }
    wait::until("errors are counted", || errors(&world, "error-returned") >= 2);
    world.is_balanced();
}

/// An ICMP error about a tunnel packet is translated into one about the inner packet.
#[test]
fn too_big_on_the_way_to_a_server_reaches_the_client_of_tunnels() {
    if !ready() {
        return;
    }
    let methods = if is_long() { &[IPIP, GRE, GUE][..] } else { &[GUE] };
    for method in methods {
        let mut world = PacketTopology::open(
            &SiteLayout { local_servers: 0, remote_servers: 1, ..SiteLayout::default() },
            "",
        );
        world.forward_by(*method);
        // The remaining room is at least IPv6's minimum of 1,280 bytes, and less than the client's MTU.
        world.plane.site.router.ip("link set server0 mtu 1400\n").unwrap();
        for version in BOTH {
            world.uploads(version, &format!("{version:?}"));
        }
        wait::until("errors are counted", || errors(&world, "error-returned") >= 2);
        world.is_balanced();
    }
}

// Rows: I49
/// A server on the balancer's host, beside a remote one.
#[test]
fn a_server_on_the_balancer_itself_has_its_share() {
    if !ready() {
        return;
    }
    for forward in ["mac", "tunnel", "nat"] {
        let layout = SiteLayout { local_servers: 1, ..SiteLayout::default() };
        let mut plane =
            PacketBalancer::open_without_daemon(&layout, PacketConfig::new(forward, &[0, 1]));
        plane.serve();
        let here = plane.serve_here();
        plane.load_decapsulators();
        plane.start();
        plane.wait_until_all_up();
        for version in [IpVersion::V4, IpVersion::V6] {
            let answers = plane.curl(version, EACH);
            let each = |name: &str| answers.get(name).copied().unwrap_or(0);
            assert_eq!(
                (each("here"), each("server0")),
                (EACH / 2, EACH / 2),
                "{}",
                plane.daemon_output()
            );
        }
        drop(here);
    }
}
