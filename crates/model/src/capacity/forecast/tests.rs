//! Forecasts follow what is stated.

use super::*;
use crate::capacity::demand::Cost;
use crate::config::load;

fn machine() -> Machine {
    Machine {
        processors: 2,
        descriptors: 1_024,
        ports: 28_232,
        time_wait: ports::LINUX_TIME_WAIT,
        link: Some(BitRate(1e9)),
        duplex: Duplex::Full,
        receive_buffer: Bytes(6_291_456.0),
        send_buffer: Bytes(4_194_304.0),
        cost: None,
    }
}

fn demand() -> Demand {
    Demand {
        request: Bytes(200.0),
        response: Bytes(1_024.0),
        per_connection: 1.0,
        per_server_connection: 1.0,
        life: Duration::from_millis(100),
        round_trip: None,
    }
}

fn of(text: &str, demand: &Demand, machine: &Machine) -> Forecast {
    let checked = load(text, "test.toml").unwrap();
    forecast(&checked.config, demand, machine).remove(0)
}

fn limit(forecast: &Forecast, kind: Kind) -> &Limit {
    forecast.limits.iter().find(|limit| limit.kind == kind).unwrap()
}

const WEB: &str = "[service.web]\nlisten = \"127.0.0.1:8080\"\nforward = \"FORWARD\"\npool = \"p\"\n\
                   [pool.p]\nprobe = { tcp = true }\n[[pool.p.servers]]\nname = \"a\"\naddress = \"127.0.0.1:9001\"\n";

#[test]
fn ports_are_first_without_kept_connections() {
    let found = of(&WEB.replace("FORWARD", "http"), &demand(), &machine());
    assert_eq!(found.limits[0].kind, Kind::Ports, "{found:#?}");
    assert!((found.limits[0].requests_per_second.0 - 470.53).abs() < 0.01);
    let kept = Demand { per_server_connection: 1_000.0, ..demand() };
    let found = of(&WEB.replace("FORWARD", "http"), &kept, &machine());
    assert_eq!(found.limits[0].kind, Kind::Descriptors, "{found:#?}");
    assert!((found.limits[0].requests_per_second.0 - 5_120.0).abs() < 1e-6);
}

#[test]
fn a_planted_change_moves_the_forecast() {
    let text = WEB.replace("FORWARD", "tcp");
    let rate = |demand: &Demand, machine: &Machine| {
        limit(&of(&text, demand, machine), Kind::Ports).requests_per_second.0
    };
    let base = rate(&demand(), &machine());
    assert!((base - 28_232.0 / 60.1).abs() < 1e-6);
    let double = Machine { ports: 56_464, ..machine() };
    assert!((rate(&demand(), &double) / base - 2.0).abs() < 1e-9);
    let long = Demand { life: Duration::from_secs(60), ..demand() };
    assert!((rate(&long, &machine()) - 28_232.0 / 120.0).abs() < 1e-6);
    let server = format!("{text}[[pool.p.servers]]\nname = \"b\"\naddress = \"127.0.0.1:9002\"\n");
    let two = of(&server, &demand(), &machine());
    assert!((limit(&two, Kind::Ports).requests_per_second.0 / base - 2.0).abs() < 1e-9);
}

#[test]
fn processors_and_links() {
    let cost = Cost { request_us: 20.0, connection_us: 30.0, kibibyte_us: 1.0 };
    let machine = Machine { cost: Some(cost), ..machine() };
    let found = of(&WEB.replace("FORWARD", "http"), &demand(), &machine);
    let rate = limit(&found, Kind::Processors).requests_per_second.0;
    assert!((rate - 2e6 / 51.0).abs() < 1e-6, "{rate}");
    let full = limit(&found, Kind::Bandwidth).requests_per_second.0;
    let half = Machine { duplex: Duplex::Half, ..machine };
    let half = of(&WEB.replace("FORWARD", "http"), &demand(), &half);
    assert!((full / limit(&half, Kind::Bandwidth).requests_per_second.0 - 2.0).abs() < 1e-9);
}

#[test]
fn round_trips_ask_for_buffers() {
    let far = Demand { round_trip: Some(Duration::from_millis(130)), ..demand() };
    let small = Machine { send_buffer: Bytes(262_144.0), ..machine() };
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
    let slow = Machine { link: None, ..machine() };
    let found = of(text, &Demand { life: Duration::ZERO, ..demand() }, &slow);
    let first = found.limits[0].connections_per_second;
    assert_eq!(found.limits[0].kind, Kind::Ports, "{found:#?}");
    let told = found.replication.unwrap();
    assert_eq!(told.connections, first);
    assert!((told.opened_and_closed.0 / told.opened.0 - 2.0).abs() < 0.01);
    // Alone in its packet an update of 43 bytes takes 97.
    assert!((told.at_once.0 / (first.0.ceil() * 2.0 * 97.0 * 8.0) - 1.0).abs() < 0.01);
    assert_eq!(of(&WEB.replace("FORWARD", "tcp"), &demand(), &slow).replication, None);
}
