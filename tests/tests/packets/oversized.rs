//! Datagrams of 4,000 bytes over links of 1,500 through every tunnel: they reach their server complete, and senders
//! receive no ICMP errors.

use std::net::SocketAddr;

use lab::net::{ChecksumMode, SERVICE_V4, SiteLayout};
use tests::e2e::datagrams::{DatagramServer, send_datagrams};
use tests::e2e::packet_balancer::{IpVersion, PacketBalancer, ready};
use tests::e2e::packet_config::PacketConfig;
use tests::e2e::wait;

use super::topology::{ForwardMethodCase, GRE, GUE, IPIP};

/// Datagrams of each kind, and their bytes.
const EACH: usize = 8;
const BYTES: usize = 4_000;
/// The port of a service whose server has the other IP version.
const CROSS: u16 = 81;

fn open(
    layout: &SiteLayout,
    method: ForwardMethodCase,
    packets: &str,
) -> (PacketBalancer, DatagramServer) {
    let ForwardMethodCase { forward, service } = method;
    let more = format!(
        "[service.cross]\nlisten = \"{SERVICE_V4}:{CROSS}\"\nprotocol = \"udp\"\nforward = \"{forward}\"\n{service}\
         pool = \"cross\"\n[pool.cross]\nservers = [\"[2001:db8:a::b]:{CROSS}\"]\n\
         probe = {{ tcp = true, port = 80, interval = \"300ms\", timeout = \"250ms\" }}\n"
    );
    let words =
        PacketConfig::new(forward, &[0, 1]).service(service).packets(packets).with_tables(&more);
    let mut plane = PacketBalancer::open_without_daemon(layout, words);
    plane.load_decapsulators();
    plane.serve();
    let cross = SocketAddr::new(SERVICE_V4.into(), CROSS);
    let cross = DatagramServer::start(&plane.site.servers[0], "cross", &[cross]);
    plane.start();
    plane.wait_until_all_up();
    (plane, cross)
}

fn outcome(plane: &PacketBalancer, name: &str) -> u64 {
    let found = plane.packets().outcomes.into_iter().find(|one| one.name == name);
    found.map_or(0, |one| one.count.total)
}

fn arrive_whole(layout: &SiteLayout, packets: &str) {
    for method in [IPIP, GRE, GUE] {
        let (plane, _cross) = open(layout, method, packets);
        let answers = plane.datagrams(IpVersion::V4, EACH, BYTES);
        assert_eq!(
            answers.len(),
            2,
            "both servers, {method:?}: {answers:?}\n{}",
            plane.daemon_output()
        );
        let cross = SocketAddr::new(SERVICE_V4.into(), CROSS);
        let cross = send_datagrams(&plane.site.client, cross, EACH, BYTES);
        assert_eq!(cross["cross"], EACH, "{method:?}");
        // With an outer header, two of three fragments exceed the MTU.
        wait::until("all are counted", || {
            outcome(&plane, "fragmented") >= 4 * EACH as u64 && plane.packets().unaccounted == 0
        });
        let asked = ["too-big", "oversize"].map(|name| outcome(&plane, name));
        assert_eq!(asked, [0, 0], "nobody was asked for anything, {method:?}");
        let routes = plane.site.client.ip(&format!("route get {SERVICE_V4}\n")).unwrap();
        assert!(!routes.contains("mtu"), "the client has learned of no narrow way: {routes}");
    }
}

#[test]
fn large_datagrams_reach_their_server_whole_through_every_tunnel() {
    if ready() {
        arrive_whole(&SiteLayout::default(), "");
    }
}

#[test]
fn large_datagrams_reach_their_server_whole_in_the_generic_hook() {
    if ready() {
        let layout = SiteLayout { checksums: ChecksumMode::Offloaded, ..SiteLayout::default() };
        arrive_whole(&layout, "mode = \"generic\"\n");
    }
}

/// Another process can take over fragmentation at any time.
#[test]
fn another_process_goes_on_making_fragments() {
    if !ready() {
        return;
    }
    let (mut plane, _cross) = open(&SiteLayout::default(), GUE, "");
    assert_eq!(plane.datagrams(IpVersion::V4, EACH, BYTES).len(), 2);
    plane.take_over();
    plane.wait_until_all_up();
    let before = outcome(&plane, "too-big");
    assert_eq!(plane.datagrams(IpVersion::V4, EACH, BYTES).len(), 2, "{}", plane.daemon_output());
    wait::until("fragments are counted", || outcome(&plane, "fragmented") >= 4 * EACH as u64);
    assert_eq!(outcome(&plane, "too-big"), before);
}

/// Without a running process senders receive ICMP errors, and smaller datagrams arrive.
#[test]
fn without_a_process_senders_are_notified_to_send_less() {
    if !ready() {
        return;
    }
    let (mut plane, _cross) = open(&SiteLayout::default(), IPIP, "");
    plane.kill9();
    let routes = || plane.site.client.ip(&format!("route get {SERVICE_V4}\n")).unwrap();
    wait::until("the client is told", || {
        plane.datagrams(IpVersion::V4, 1, BYTES);
        routes().contains("mtu")
    });
    assert_eq!(plane.datagrams(IpVersion::V4, EACH, BYTES).len(), 2);
}
