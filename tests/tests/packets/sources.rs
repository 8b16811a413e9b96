//! A service's address on the balancer's interface, which the balancer's own connections may use as their source.

use lab::net::SiteLayout;
use tests::e2e::packet_balancer::{IpVersion, PacketBalancer, ready};
use tests::e2e::packet_config::PacketConfig;
use tests::e2e::wait;

#[test]
fn an_address_of_ipv6_that_probes_may_come_from_is_named_with_what_mends_it() {
    if !ready() {
        return;
    }
    let plane = PacketBalancer::open(
        &SiteLayout { local_servers: 2, ..SiteLayout::default() },
        PacketConfig::new("mac", &[0, 1]),
    );
    let ip = IpVersion::V6.service().ip();
    let named = |plane: &PacketBalancer| {
        let warnings = plane.status().warnings;
        warnings.into_iter().find(|text| text.contains(&format!("may come from {ip}")))
    };
    assert_eq!(named(&plane), None);
    plane.site.balancer.namespace.ip(&format!("addr add {ip}/64 dev eth0 nodad\n")).unwrap();
    let text = wait::until_some("it is named", || named(&plane));
    assert_eq!(plane.count_events("address-preferred"), 1);
    let mends = text.split_once("ip address ").unwrap().1;
    assert_eq!(mends, format!("change {ip}/64 dev eth0 preferred_lft 0"));
    plane.site.balancer.namespace.ip(&format!("address {mends}\n")).unwrap();
    wait::until("it is mended", || named(&plane).is_none());
    plane.wait_until_all_up();
}
