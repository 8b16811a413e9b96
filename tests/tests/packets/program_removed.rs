//! Another program detaches the packet plane's XDP program; the daemon attaches it once more.

use std::path::{Path, PathBuf};

use lab::net::SiteLayout;
use tests::e2e::packet_balancer::{IpVersion, PacketBalancer, ready};
use tests::e2e::packet_config::PacketConfig;
use tests::e2e::wait;

/// Pinned links to interfaces.
fn links(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(below).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(links(&path));
        } else if below.file_name().is_some_and(|name| name == "links") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn a_program_that_is_taken_off_its_interface_is_back_and_reported() {
    if !ready() {
        return;
    }
    let plane = PacketBalancer::open(
        &SiteLayout { local_servers: 1, ..SiteLayout::default() },
        PacketConfig::new("nat", &[0]),
    );
    plane.wait_until_all_up();
    assert_eq!(plane.curl(IpVersion::V4, 6).values().sum::<usize>(), 6);
    let before = links(plane.pins());
    assert!(!before.is_empty());
    for pin in &before {
        std::fs::remove_file(pin).unwrap();
    }
    wait::until("it is back", || links(plane.pins()) == before);
    wait::until("that is reported", || plane.count_events("kernel-restored") == before.len());
    assert_eq!(plane.curl(IpVersion::V4, 6).values().sum::<usize>(), 6);
}
