//! Converted configurations of IPVS and the dispatcher forward real connections as the original files describe. Each
//! server gets the share of its weight, and persistence or address hashing keeps clients on their servers. Servers that
//! answer through the director see the client's address.
//!
//! The originals cannot run for comparison: the kernel may lack IPVS, and the dispatcher is not available.

use std::collections::BTreeMap;
use std::process::Command;

use lab::net::SiteLayout;
use tests::e2e::balancer::figure;
use tests::e2e::cli_environment::run_command;
use tests::e2e::packet_balancer::{IpVersion, PacketBalancer, ready};
use tests::e2e::packet_config::PacketConfig;
use tests::e2e::tools::program;

/// The number of connections: several rounds of all weights.
const MANY: usize = 40;

/// A keepalived virtual server with the site's two servers.
fn keepalived(balance: &str, kind: &str, more: &str) -> String {
    let real = |ip: &str, weight: u32| {
        format!(
            "  real_server {ip} 80 {{\n weight {weight}\n TCP_CHECK {{\n connect_timeout 1\n }}\n }}\n"
        )
    };
    format!(
        "virtual_server 198.51.100.10 80 {{\n delay_loop 1\n lb_algo {balance}\n lb_kind {kind}\n protocol TCP\n\
         {more}\n{}{}}}\n",
        real("10.10.0.11", 3),
        real("10.10.0.12", 1)
    )
}

/// The same configuration as commands of the dispatcher.
fn dispatcher(port: &str) -> String {
    format!(
        "dscontrol executor start\ndscontrol cluster add shop address 198.51.100.10\ndscontrol port add shop:80 {port}\n\
         dscontrol server add shop:80:first address 10.10.0.11 weight 3\n\
         dscontrol server add shop:80:second address 10.10.0.12 weight 1\n"
    )
}

/// Converts a file, applies the result to the plane's daemon, and counts the responses by server.
fn converted(plane: &PacketBalancer, dialect: &str, text: &str) -> BTreeMap<String, usize> {
    let file = plane.dir().write("original", text);
    if dialect == "keepalived" {
        // A file that keepalived itself rejects proves nothing.
        let mut original = Command::new(program("keepalived"));
        original.args(["--config-test", "--use-file"]).arg(&file);
        let taken = run_command(original);
        assert_eq!(taken.code, 0, "{taken:?}\n{text}");
    }
    let said = plane.run_verb(&["convert", file.to_str().unwrap(), "--from", dialect]);
    assert_eq!(said.code, 0, "{said:?}\n{text}");
    let ours = std::fs::read_to_string(plane.dir().join("steelyard.toml")).unwrap();
    // The machine's settings from the plane's own configuration: interfaces and control socket.
    let (machine, _) = ours.split_once("[service.").unwrap();
    let whole = plane.dir().write("converted.toml", format!("{machine}{}", said.stdout));
    let applied = plane.run_verb(&["apply", whole.to_str().unwrap()]);
    assert_eq!(applied.code, 0, "{applied:?}\n{}", said.stdout);
    plane.wait_until_all_up();
    let found = plane.curl(IpVersion::V4, MANY);
    figure(format!("convert {dialect}: {MANY} connections, {found:?}"));
    found
}

/// Checks for three quarters and one quarter, with a tolerance of one connection for each CPU's round robin.
fn by_weight(found: &BTreeMap<String, usize>) {
    let [first, second] = ["server0", "server1"].map(|name| found.get(name).copied().unwrap_or(0));
    assert!(first + second == MANY && (28..=32).contains(&first), "{found:?}");
}

fn one_alone(found: &BTreeMap<String, usize>) {
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn what_was_made_of_keepalived_and_of_the_dispatcher_forwards_as_they_say() {
    if !ready() {
        return;
    }
    let layout = SiteLayout { local_servers: 2, ..SiteLayout::default() };
    let plane = PacketBalancer::open(&layout, PacketConfig::new("mac", &[0, 1]));
    by_weight(&converted(&plane, "keepalived", &keepalived("wrr", "DR", "")));
    one_alone(&converted(&plane, "keepalived", &keepalived("sh", "DR", "")));
    one_alone(&converted(&plane, "keepalived", &keepalived("wrr", "DR", "persistence_timeout 50")));
    by_weight(&converted(&plane, "dispatcher", &dispatcher("")));
    one_alone(&converted(&plane, "dispatcher", &dispatcher("stickytime 60")));
    let told = plane.packets();
    assert_eq!(told.unaccounted, 0, "{told:?}");

    // With NAT, servers respond through the director, which therefore can preserve the client's address.
    let balancer = plane.site.balancer.host;
    for server in &plane.site.servers {
        plane.site.assign_service_addresses(server, false).unwrap();
        server.ip(&format!("route change default via {}\n", balancer.v4)).unwrap();
    }
    by_weight(&converted(&plane, "keepalived", &keepalived("wrr", "NAT", "")));
}
