//! The history of packet-forwarding services is stored, and is available after a SIGKILL.

use lab::net::SiteLayout;
use serde_json::Value;
use tests::e2e::packet_balancer::{IpVersion, PacketBalancer, ready};
use tests::e2e::packet_config::PacketConfig;
use tests::e2e::wait;

/// A value of a service's row in the history.
fn history_value(plane: &PacketBalancer, row: &str, what: &str) -> u64 {
    let said = plane.run_verb(&["report", "--since", "1h", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    let history: Value = serde_json::from_str(&said.stdout).unwrap();
    let rows = history["rows"].as_array().unwrap();
    let found = rows.iter().find(|one| one["name"] == row);
    found.and_then(|one| one["values"][what].as_u64()).unwrap_or(0)
}

#[test]
fn what_packets_did_before_a_kill_is_reported_after_it() {
    if !ready() {
        return;
    }
    let words = PacketConfig::new("nat", &[0]).with_tables("[global.history]\nstep = \"1s\"\n");
    let mut plane =
        PacketBalancer::open(&SiteLayout { local_servers: 1, ..SiteLayout::default() }, words);
    wait::until("a record is kept", || history_value(&plane, "process", "descriptors") > 0);
    assert_eq!(plane.curl(IpVersion::V4, 12).values().sum::<usize>(), 12);
    wait::until("connections are kept", || {
        history_value(&plane, "packets/shop4", "connections") >= 12
    });
    wait::until("bytes of both ways are kept", || {
        ["packets", "received-bytes", "sent-bytes", "open"]
            .iter()
            .all(|what| history_value(&plane, "packets/shop4", what) >= 12)
    });
    assert_eq!(history_value(&plane, "packets/shop6", "connections"), 0, "nobody asked");
    plane.kill9();
    let connections = {
        plane.start();
        history_value(&plane, "packets/shop4", "connections")
    };
    assert!(connections >= 12, "{connections}");
    let text = plane.run_verb(&["report", "--since", "1h"]).stdout;
    assert!(text.contains("PACKETS OF") && text.contains("shop4"), "{text}");
}
