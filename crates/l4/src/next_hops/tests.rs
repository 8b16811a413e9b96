//! How a link address is learnt, confirmed, updated and discarded.

use super::*;

const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
const OLD: [u8; 6] = [2, 0, 0, 0, 0, 1];
const NEW: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn at(millis: u64) -> MonotonicTime {
    MonotonicTime::default() + Duration::from_millis(millis)
}

fn hops() -> NextHopTable {
    let mut hops = NextHopTable::default();
    let link = NextHopLink { name: "eth0".into(), address: Some([2; 6]), mtu: 1500, up: true };
    hops.set_links(HashMap::from([(7, link)]));
    hops.set_servers(&[NextHopServer { server: SERVER, index: 3 }], &BTreeMap::new());
    assert_eq!(hops.tick(at(0)), [NextHopRequest::Route(SERVER)]);
    hops.set_route(SERVER, ServerRoute::Via { ifindex: 7, next: SERVER, source: None });
    hops
}

#[test]
fn a_server_is_resolved_and_its_way_written_once() {
    let mut hops = hops();
    assert_eq!(hops.tick(at(0)), [NextHopRequest::Use(7, SERVER)]);
    assert_eq!(hops.state(SERVER), Some(NextHopState::Trying));
    hops.update_neighbour(7, SERVER, NeighbourUpdate::Confirmed(OLD), at(10));
    let [IndexedNextHop { index: 3, next_hop: way }] = hops.take_changes()[..] else {
        panic!("one way")
    };
    assert_eq!((way.to, way.from, way.mtu, way.state), (OLD, [2; 6], 1500, abi::NEXT_HOP_OK));
    assert!(hops.take_changes().is_empty());
    assert_eq!(hops.state(SERVER), Some(NextHopState::Ok));
}

#[test]
fn a_changed_link_address_is_followed_within_two_seconds() {
    let mut hops = hops();
    hops.update_neighbour(7, SERVER, NeighbourUpdate::Confirmed(OLD), at(0));
    hops.take_changes();
    assert_eq!(hops.tick(at(1_000)), [NextHopRequest::Confirm(7, SERVER)]);
    assert!(hops.tick(at(1_500)).is_empty());
    assert_eq!(hops.tick(at(1_800)), [NextHopRequest::Renew(7, SERVER)]);
    // The kernel removes the entry; the old address stays until the reply arrives.
    hops.update_neighbour(7, SERVER, NeighbourUpdate::Unresolved, at(1_801));
    assert!(hops.take_changes().is_empty());
    hops.update_neighbour(7, SERVER, NeighbourUpdate::Confirmed(NEW), at(1_810));
    assert_eq!(hops.take_changes()[0].next_hop.to, NEW);
}

// Rows: I48
#[test]
fn a_silent_neighbour_has_no_next_hop_but_is_still_asked() {
    let mut hops = hops();
    hops.update_neighbour(7, SERVER, NeighbourUpdate::Confirmed(OLD), at(0));
    hops.take_changes();
    let requests: usize = (1..=10).map(|step| hops.tick(at(1_000 * step)).len()).sum();
    assert_eq!(requests, 10);
    assert_eq!(hops.state(SERVER), Some(NextHopState::Error));
    assert_eq!(hops.take_changes()[0].next_hop.state, abi::NEXT_HOP_UNKNOWN);
    hops.update_neighbour(7, SERVER, NeighbourUpdate::Confirmed(NEW), at(11_000));
    assert_eq!(hops.state(SERVER), Some(NextHopState::Ok));
}

#[test]
fn an_adopted_way_stands_until_something_else_is_heard() {
    let mut hops = NextHopTable::default();
    let link = NextHopLink { name: "eth0".into(), address: Some([2; 6]), mtu: 1500, up: true };
    hops.set_links(HashMap::from([(7, link)]));
    let way =
        abi::NextHop { to: OLD, from: [2; 6], ifindex: 7, mtu: 1500, state: abi::NEXT_HOP_OK };
    hops.set_servers(
        &[NextHopServer { server: SERVER, index: 3 }],
        &BTreeMap::from([(SERVER, way)]),
    );
    assert!(hops.take_changes().is_empty());
    hops.set_route(SERVER, ServerRoute::Via { ifindex: 7, next: SERVER, source: None });
    assert!(hops.take_changes().is_empty());
    assert_eq!(hops.tick(at(0)), [NextHopRequest::Confirm(7, SERVER)]);
}
