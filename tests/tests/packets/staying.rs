//! Sticky clients of a quiesced server: their new connections still reach it, with and without a daemon, until the
//! limit.

use api::types::ServerStatus;
use lab::net::SiteLayout;
use tests::e2e::packet_balancer::{IpVersion, PacketBalancer, ready};
use tests::e2e::packet_config::PacketConfig;
use tests::e2e::wait;

fn server(plane: &PacketBalancer, name: &str) -> ServerStatus {
    let pools = plane.status().pools;
    let pool = pools.into_iter().find(|pool| pool.name == "web4").unwrap();
    pool.servers.into_iter().find(|server| server.name == name).unwrap()
}

#[test]
fn a_client_that_sticks_stays_over_a_kill_until_the_limit() {
    if !ready() {
        return;
    }
    let layout = SiteLayout { local_servers: 2, ..SiteLayout::default() };
    let words = PacketConfig::new("nat", &[0, 1]).service("sticky = \"1h\"\n");
    let mut plane = PacketBalancer::open(&layout, words);
    let (own, _) = plane.curl(IpVersion::V4, 4).pop_first().unwrap();
    let other = if own == "server0" { "server1" } else { "server0" };
    let who = format!("web4/{own}");
    let order = |plane: &PacketBalancer, limit: &str| {
        let said = plane.run_verb(&["server", "quiesce", &who, "--for", limit]);
        assert_eq!(said.code, 0, "{said:?}");
    };
    let only = |name: &str| [(name.to_owned(), 4)].into();
    order(&plane, "1h");
    wait::until("its client is counted", || {
        assert_eq!(plane.curl(IpVersion::V4, 4), only(&own), "{}", plane.daemon_output());
        let server = server(&plane, &own);
        server.sticky_clients.is_some_and(|keeps| keeps.clients == Some(1) && !keeps.uncounted)
    });
    plane.kill9();
    assert_eq!(plane.curl(IpVersion::V4, 4), only(&own), "while no daemon lives");
    plane.start();
    assert!(server(&plane, &own).sticky_clients.is_some(), "{:?}", server(&plane, &own));
    wait::until("it is counted again", || {
        assert_eq!(plane.curl(IpVersion::V4, 4), only(&own), "{}", plane.daemon_output());
        server(&plane, &own).sticky_clients.is_some_and(|keeps| keeps.clients == Some(1))
    });
    order(&plane, "1s");
    wait::until("the limit", || server(&plane, &own).reason.text.starts_with("drained by"));
    wait::until("it goes elsewhere", || plane.curl(IpVersion::V4, 4) == only(other));
}
