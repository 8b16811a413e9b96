//! Ports of return addresses: shares are made as the model's forecasts reckon with them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use l4::layout::{IndexedShare, MapCapacity, ShareKey};
use l4::plan::MapPlanner;
use model::capacity::port_shares::{PortAllocation, TCP, UDP};
use model::config::{Config, ServerHost};

use super::pictures::{CAPACITY, PlannerFixture, pool, service};

/// The forecast for each server: shares, all their ports, ports of the smallest one.
fn forecast(config: &Config) -> BTreeMap<(IpAddr, u16, u8), (u32, u64, u32)> {
    let made = PortAllocation::allocate(config);
    let mut out = BTreeMap::new();
    for service in config.services.values() {
        let packets = service.packets.as_ref().unwrap();
        let pool = &config.pools[&service.pool];
        for server in &pool.servers {
            let ServerHost::Ip(ip) = server.address.host else { panic!("{server:?}") };
            for protocol in [TCP, UDP] {
                let found = made.server_shares(packets, pool, server, protocol).unwrap();
                if found.ports > 0 {
                    let of = (found.shares, found.ports, found.fewest_ports);
                    out.insert((ip, server.address.port, protocol), of);
                }
            }
        }
    }
    out
}

/// The shares that the planner made.
fn made(planner: &MapPlanner) -> BTreeMap<(IpAddr, u16, u8), (u32, u64, u32)> {
    let mut out = BTreeMap::new();
    for IndexedShare { key, region, .. } in planner.all_shares() {
        let ShareKey { server, port, protocol, .. } = key;
        let (shares, ports, fewest) =
            out.entry((server, port, protocol)).or_insert((0, 0, u32::MAX));
        *shares += 1;
        *ports += u64::from(region.length);
        *fewest = region.length.min(*fewest);
    }
    out
}

#[test]
fn shares_are_made_as_forecasts_reckon_with_them() {
    let plane = |flows: u32| {
        format!(
            "[packets]\nflows = {flows}\nreturn = [\"10.0.0.254\", \"10.0.0.253\", \"fd00::fe\"]\n"
        )
    };
    let servers: Vec<String> = (1..9).map(|n| format!("10.0.0.{n}:80")).collect();
    let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
    let many = service("many", "nat", "203.0.113.10:80", "") + &pool("many", &servers, "");
    let later = service("more", "nat", "203.0.113.11:80", "protocol = [\"tcp\", \"udp\"]")
        + &pool("more", &["10.0.0.1:80"], "")
        + &service("six", "nat", "[fd00::100]:80", "protocol = [\"tcp\", \"udp\"]")
        + &pool("six", &["[fd00::1]:80"], "");
    let own = service("own", "nat", "203.0.113.12:80", "")
        + &pool("own", &["10.0.1.1:80"], "source = \"10.0.0.253\"");
    let unchanged_service = service("stay", "nat", "203.0.113.13:80", "")
        + &pool("stay", &["10.0.2.1:80"], "source = \"client\"");
    for flows in [1 << 20, 65_536, 16_384] {
        let text = format!("{}{many}{later}{own}{unchanged_service}", plane(flows));
        let config = model::config::load(&text, "x").unwrap().config;
        let mut bench =
            PlannerFixture::with(MapPlanner::new(&MapCapacity { records: flows, ..CAPACITY }));
        let change = bench.change(&text);
        assert!(change.obstacles.is_empty(), "{:?}", change.obstacles);
        let found = made(&bench.planner);
        assert_eq!(found, forecast(&config), "{flows}");
        // All shares of a service have the same size, and half of the ports is left for the next service.
        let first = found[&("10.0.0.1".parse().unwrap(), 80, TCP)];
        assert_eq!(first, (2, u64::from(first.2) * 2, (flows / 32).min(64_510)));
        assert_eq!(found[&("10.0.0.8".parse().unwrap(), 80, TCP)], first);
    }
}

#[test]
fn forecast_and_plan_both_report_missing_ports() {
    let servers: Vec<String> = (1..20).map(|n| format!("10.0.0.{n}:80")).collect();
    let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
    let text = format!(
        "[packets]\nflows = 4096\nreturn = \"10.0.0.254\"\n{}{}",
        service("web", "nat", "203.0.113.10:80", ""),
        pool("web", &servers, "")
    );
    let config = model::config::load(&text, "x").unwrap().config;
    let mut bench =
        PlannerFixture::with(MapPlanner::new(&MapCapacity { records: 4_096, ..CAPACITY }));
    let obstacles = bench.change(&text).obstacles;
    assert!(obstacles["web"].contains("translated connections"), "{obstacles:?}");
    assert!(forecast(&config).is_empty());
}
