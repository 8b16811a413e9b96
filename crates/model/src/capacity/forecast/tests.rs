//! Forecasts follow from the stated quantities.

use super::*;
use crate::capacity::demand::ProcessingCost;
use crate::capacity::ports::{TRANSLATED_PORTS, TimeWaitPolicy};
use crate::config::load;

fn machine() -> MachineCapacity {
    MachineCapacity {
        processors: 2,
        descriptors: 1_024,
        ports: 28_232,
        time_wait: TimeWaitPolicy::WHOLE,
        link: Some(BitRate(1e9)),
        duplex: Duplex::Full,
        receive_buffer: ByteCount(6_291_456.0),
        send_buffer: ByteCount(4_194_304.0),
        cost: None,
    }
}

fn demand() -> TrafficDemand {
    TrafficDemand {
        request: ByteCount(200.0),
        response: ByteCount(1_024.0),
        per_connection: 1.0,
        per_server_connection: 1.0,
        life: Duration::from_millis(100),
        round_trip: None,
    }
}

fn of(text: &str, demand: &TrafficDemand, machine: &MachineCapacity) -> ServiceForecast {
    let checked = load(text, "test.toml").unwrap();
    forecast_services(&checked.config, demand, machine).remove(0)
}

fn limit(forecast: &ServiceForecast, kind: LimitKind) -> &ForecastLimit {
    forecast.limits.iter().find(|limit| limit.kind == kind).unwrap()
}

const WEB: &str = "[service.web]\nlisten = \"127.0.0.1:8080\"\nforward = \"FORWARD\"\npool = \"p\"\n\
                   [pool.p]\nprobe = { tcp = true }\n[[pool.p.servers]]\nname = \"a\"\naddress = \"127.0.0.1:9001\"\n";

#[test]
fn ports_are_first_without_connection_reuse() {
    let forecast = of(&WEB.replace("FORWARD", "http"), &demand(), &machine());
    assert_eq!(forecast.limits[0].kind, LimitKind::Ports, "{forecast:#?}");
    assert!((forecast.limits[0].requests_per_second.0 - 470.53).abs() < 0.01);
    let reused = TrafficDemand { per_server_connection: 1_000.0, ..demand() };
    let forecast = of(&WEB.replace("FORWARD", "http"), &reused, &machine());
    assert_eq!(forecast.limits[0].kind, LimitKind::Descriptors, "{forecast:#?}");
    assert!((forecast.limits[0].requests_per_second.0 - 5_120.0).abs() < 1e-6);
}

#[test]
fn a_planted_change_moves_the_forecast() {
    let text = WEB.replace("FORWARD", "tcp");
    let rate = |demand: &TrafficDemand, machine: &MachineCapacity| {
        limit(&of(&text, demand, machine), LimitKind::Ports).requests_per_second.0
    };
    let base = rate(&demand(), &machine());
    assert!((base - 28_232.0 / 60.1).abs() < 1e-6);
    let double = MachineCapacity { ports: 56_464, ..machine() };
    assert!((rate(&demand(), &double) / base - 2.0).abs() < 1e-9);
    let long = TrafficDemand { life: Duration::from_secs(60), ..demand() };
    assert!((rate(&long, &machine()) - 28_232.0 / 120.0).abs() < 1e-6);
    let server = format!("{text}[[pool.p.servers]]\nname = \"b\"\naddress = \"127.0.0.1:9002\"\n");
    let two = of(&server, &demand(), &machine());
    assert!((limit(&two, LimitKind::Ports).requests_per_second.0 / base - 2.0).abs() < 1e-9);
}

#[test]
fn processors_and_links() {
    let cost = ProcessingCost { request_us: 20.0, connection_us: 30.0, kibibyte_us: 1.0 };
    let machine = MachineCapacity { cost: Some(cost), ..machine() };
    let forecast = of(&WEB.replace("FORWARD", "http"), &demand(), &machine);
    let rate = limit(&forecast, LimitKind::Processors).requests_per_second.0;
    assert!((rate - 2e6 / 51.0).abs() < 1e-6, "{rate}");
    let full = limit(&forecast, LimitKind::Bandwidth).requests_per_second.0;
    let half = MachineCapacity { duplex: Duplex::Half, ..machine };
    let half = of(&WEB.replace("FORWARD", "http"), &demand(), &half);
    assert!((full / limit(&half, LimitKind::Bandwidth).requests_per_second.0 - 2.0).abs() < 1e-9);
}

#[test]
fn round_trips_ask_for_buffers() {
    let far = TrafficDemand { round_trip: Some(Duration::from_millis(130)), ..demand() };
    let small = MachineCapacity { send_buffer: ByteCount(262_144.0), ..machine() };
    let path = of(&WEB.replace("FORWARD", "http"), &far, &small).path.unwrap();
    assert!((path.allowed.megabits() - 8.066).abs() < 0.001);
    assert!((path.unscaled.megabits() - 4.033).abs() < 0.001);
    assert!((path.product.unwrap().0 - 16.25e6).abs() < 1.0);
}

#[test]
fn replication_follows_the_first_limit() {
    let text = "[packets]\ninterfaces = [\"eth0\"]\nreturn = [\"192.0.2.9\"]\n\
                [service.web]\nlisten = \"192.0.2.1:80\"\nforward = \"nat\"\npool = \"p\"\n\
                [pool.p]\nprobe = { tcp = true }\n[[pool.p.servers]]\nname = \"a\"\naddress = \"10.0.0.1:80\"\n";
    let slow = MachineCapacity { link: None, ..machine() };
    let forecast = of(text, &TrafficDemand { life: Duration::ZERO, ..demand() }, &slow);
    let first = forecast.limits[0].connections_per_second;
    assert_eq!(forecast.limits[0].kind, LimitKind::Ports, "{forecast:#?}");
    let replication = forecast.replication.unwrap();
    assert_eq!(replication.connections, first);
    // Records of 26 and 12 bytes, in packets with 106 bytes of overhead for some 1,322 of them; 50 rounds end with one
    // that is not full.
    let each = 38.0 * (1.0 + 106.0 / 1_322.0);
    assert!(
        (replication.changes.0 / 8.0 - first.0 * each - 50.0 * 106.0).abs() < 1e-3,
        "{replication:?}"
    );
    // A flow that is idle for 30 s is sent again once in that time.
    let refresh = 26.0 * (1.0 + 106.0 / 1_322.0);
    assert!((replication.anew.0 / 8.0 - first.0 * refresh).abs() < 1e-3, "{replication:?}");
    assert_eq!(of(&WEB.replace("FORWARD", "tcp"), &demand(), &slow).replication, None);
    let silent = text.replace("forward =", "replicate = \"none\"\nforward =");
    assert_eq!(of(&silent, &demand(), &slow).replication, None);
    let direct = text.replace("\"nat\"", "\"mac\"");
    let direct = of(&direct, &TrafficDemand { life: Duration::ZERO, ..demand() }, &slow);
    let replication = direct.replication.unwrap();
    let first = direct.limits[0].connections_per_second;
    let each = 32.0 * (1.0 + 106.0 / 1_322.0);
    assert!(
        (replication.changes.0 / 8.0 - first.0 * each - 50.0 * 106.0).abs() < 1e-3,
        "{replication:?}"
    );
}

/// A service that translates, with 4 return addresses and 8 servers that rest for a minute; `more` is appended to its
/// packet settings.
fn translating(more: &str, servers: &str) -> String {
    let returns: Vec<String> = (1..5).map(|n| format!("\"192.0.2.{n}\"")).collect();
    format!(
        "[packets]\ninterfaces = [\"eth0\"]\nreturn = [{}]\n{more}\n\
         [service.web]\nlisten = \"192.0.2.100:80\"\nforward = \"nat\"\npool = \"p\"\nfin-timeout = \"60s\"\n\
         [pool.p]\nservers = [{servers}]\n",
        returns.join(", ")
    )
}

fn eight() -> String {
    (1..9).map(|n| format!("\"10.0.0.{n}:80\"")).collect::<Vec<_>>().join(", ")
}

#[test]
fn ports_of_return_addresses_are_those_that_the_plane_makes() {
    let quick = TrafficDemand { life: Duration::ZERO, ..demand() };
    let rate =
        |text: &str, kind| limit(&of(text, &quick, &machine()), kind).connections_per_second.0;
    // 4 x 8 shares of 16,384 ports: half of the usual table, not 64,510 each.
    let usual = translating("", &eight());
    assert!((rate(&usual, LimitKind::Ports) - 32.0 * 16_384.0 / 60.0).abs() < 1e-6);
    assert!((rate(&usual, LimitKind::Flows) - 1_048_576.0 / 60.0).abs() < 1e-6);
    let forecast = of(&usual, &quick, &machine());
    assert!(limit(&forecast, LimitKind::Ports).change.contains("`flows`"), "{forecast:#?}");
    // With ports for all shares, the addresses are the limit.
    let roomy = translating("flows = 8388608", &eight());
    let full = f64::from(TRANSLATED_PORTS);
    assert!((rate(&roomy, LimitKind::Ports) - 32.0 * full / 60.0).abs() < 1e-6);
    let forecast = of(&roomy, &quick, &machine());
    assert!(limit(&forecast, LimitKind::Ports).change.contains("`nat-source`"), "{forecast:#?}");
    // Without ports for any share, nothing is carried.
    let servers: Vec<String> = (1..30).map(|n| format!("\"10.0.0.{n}:80\"")).collect();
    let full = translating("flows = 4096", &servers.join(", "));
    assert!(rate(&full, LimitKind::Ports).abs() < 1e-9);
}

#[test]
fn a_server_has_the_return_addresses_of_its_family_and_its_pool() {
    let quick = TrafficDemand { life: Duration::ZERO, ..demand() };
    let rate = |text: &str| {
        limit(&of(text, &quick, &machine()), LimitKind::Ports).connections_per_second.0 * 60.0
    };
    let full = f64::from(TRANSLATED_PORTS);
    let ipv4 = translating("", "\"10.0.0.1:80\"");
    let both = ipv4.replace("return = [", "return = [\"2001:db8::8\", \"2001:db8::9\", ");
    assert!((rate(&both) - 4.0 * full).abs() < 1e-3, "{}", rate(&both));
    let own = format!("{both}source = [\"192.0.2.50\"]\n");
    assert!((rate(&own) - full).abs() < 1e-3);
    let client_source = format!("{both}source = \"client\"\n");
    assert!(
        (rate(&client_source) - full).abs() < 1e-3,
        "places of connections are made the same way"
    );
    let weighted = "{ address = \"10.0.0.1:80\", weight = 3 }, \"10.0.0.2:80\"";
    let weighted = translating("", weighted);
    assert!((rate(&weighted) - 4.0 * full / 0.75).abs() < 1e-3, "three in four go to one");
}

#[test]
fn a_proxys_source_addresses_count_for_servers_of_their_family() {
    let text = WEB.replace("FORWARD", "tcp");
    let rate = |source: &str, more: &str| {
        let text = text.replace("probe =", &format!("source = [{source}]\nprobe =")) + more;
        limit(&of(&text, &demand(), &machine()), LimitKind::Ports).requests_per_second.0 * 60.1
    };
    let two = "\"127.0.0.2\", \"127.0.0.3\"";
    assert!((rate(two, "") - 2.0 * 28_232.0).abs() < 1e-3);
    // The second server has half of the connections and one source address, or the kernel's choice where none is
    // configured.
    let six = "[[pool.p.servers]]\nname = \"b\"\naddress = \"[::1]:9001\"\n";
    for sources in [format!("{two}, \"::1\""), two.to_owned()] {
        assert!((rate(&sources, six) - 2.0 * 28_232.0).abs() < 1e-3, "{sources}");
    }
}

#[test]
fn reused_ports_carry_more() {
    let text = WEB.replace("FORWARD", "tcp");
    let rate = |address: &str, reuse| {
        let text = text.replace("127.0.0.1:9001", address);
        let time_wait = TimeWaitPolicy::from_sysctls(Some(reuse), Some(1), Some(1_000));
        let forecast = of(&text, &demand(), &MachineCapacity { time_wait, ..machine() });
        let ports = limit(&forecast, LimitKind::Ports);
        assert_eq!(ports.change.contains("tcp_tw_reuse"), ports.because.contains("60.1 s"));
        28_232.0 / ports.requests_per_second.0
    };
    for (address, reuse, held) in [
        ("127.0.0.1:9001", 0, 60.1),
        ("127.0.0.1:9001", 1, 1.1),
        ("127.0.0.1:9001", 2, 1.1),
        ("10.0.0.1:9001", 2, 60.1),
        ("10.0.0.1:9001", 1, 1.1),
        ("server.example:9001", 2, 60.1),
    ] {
        assert!((rate(address, reuse) - held).abs() < 1e-9, "{address} {reuse}");
    }
}
