//! `hash-on` of packets: by both ends of a connection, and by the source MAC address of frames.

use lab::net::SiteLayout;
use tests::e2e::packet_balancer::{BOTH, PacketBalancer, ready};
use tests::e2e::packet_config::PacketConfig;

/// Requests of each kind, each on its own connection.
const EACH: usize = 24;

fn hashing(on: &str) -> String {
    format!(
        "balance = \"maglev\"\nhash-on = \"{on}\"\n\
         probe = {{ tcp = true, interval = \"300ms\", timeout = \"250ms\" }}\n"
    )
}

// Rows: Z02
#[test]
fn connections_are_spread_by_both_ends_and_kept_together_by_their_last_hop() {
    if !ready() {
        return;
    }
    let words = PacketConfig::new("mac", &[0, 1]);
    let layout = SiteLayout { local_servers: 2, ..SiteLayout::default() };
    let mut plane = PacketBalancer::open_without_daemon(&layout, words);
    plane.serve();
    plane.start();
    plane.wait_until_all_up();
    for forward in ["mac", "nat"] {
        plane.change(|words| {
            words.forward = forward;
            words.pool = hashing("symmetric");
        });
        plane.wait_until_all_up();
        for version in BOTH {
            let answers = plane.curl(version, EACH);
            assert_eq!(answers.values().sum::<usize>(), EACH, "{forward}: {answers:?}");
            assert_eq!(answers.len(), 2, "{forward}: ports of clients differ: {answers:?}");
        }
        // All clients are behind one router.
        plane.change(|words| words.pool = hashing("source-mac"));
        plane.wait_until_all_up();
        for version in BOTH {
            let answers = plane.curl(version, EACH);
            assert_eq!(answers.values().copied().collect::<Vec<_>>(), [EACH], "{forward}");
        }
    }
}
