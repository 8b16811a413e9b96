//! An address of a service on the balancer's interface, which its own connections may come from.

use lab::net::Layout;
use tests::e2e::plane::{Plane, Version, ready};
use tests::e2e::wait;
use tests::e2e::words::Words;

#[test]
fn an_address_of_ipv6_that_probes_may_come_from_is_named_with_what_mends_it() {
    if !ready() {
        return;
    }
    let plane = Plane::open(&Layout { near: 2, ..Layout::default() }, Words::new("mac", &[0, 1]));
    let ip = Version::V6.service().ip();
    let named = |plane: &Plane| {
        let warnings = plane.status().warnings;
        warnings.into_iter().find(|text| text.contains(&format!("may come from {ip}")))
    };
    assert_eq!(named(&plane), None);
    plane.site.balancer.namespace.ip(&format!("addr add {ip}/64 dev eth0 nodad\n")).unwrap();
    let text = wait::some("it is named", || named(&plane));
    assert_eq!(plane.events_of("address-preferred"), 1);
    let mends = text.split_once("ip address ").unwrap().1;
    assert_eq!(mends, format!("change {ip}/64 dev eth0 preferred_lft 0"));
    plane.site.balancer.namespace.ip(&format!("address {mends}\n")).unwrap();
    wait::until("it is mended", || named(&plane).is_none());
    plane.all_up();
}
