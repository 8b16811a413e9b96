//! Alarms of the packet plane: each is reported once when it starts and once when it ends. Weights follow the number of
//! connections.

use std::net::TcpStream;
use std::time::Duration;

use lab::load::{ConnectionReuse, HttpPlan, LoadModel, LoadPlan, LoadProtocol, LoadRun};
use lab::net::SiteLayout;
use tests::e2e::cli_environment::run_command;
use tests::e2e::packet_balancer::{IpVersion, PacketBalancer, ready};
use tests::e2e::packet_config::PacketConfig;
use tests::e2e::steady_traffic::stop_load;
use tests::e2e::tools::program;
use tests::e2e::wait;

/// Configures metrics and a hook that records the events it receives.
fn told_to(plane: &PacketBalancer) -> String {
    let hook = plane.dir().join("hook");
    let heard = plane.dir().join("heard");
    let script = format!(
        "#!/bin/sh\necho \"$STEELYARD_EVENT $STEELYARD_SERVICE ${{STEELYARD_CLIENTS%%=*}}\" >> {}\n",
        heard.display()
    );
    plane.dir().write("hook", script);
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, executable).unwrap();
    format!(
        "[global.metrics]\nlisten = \"127.0.0.1:9100\"\n\
         [[global.hook]]\nname = \"tell\"\nrun = \"{}\"\non = [\"half-open-alarm\", \"half-open-clear\"]\n",
        hook.display()
    )
}

fn scraped(plane: &PacketBalancer) -> String {
    let mut curl = plane.site.balancer.command(program("curl"));
    curl.args(["-sS", "--max-time", "20", "http://127.0.0.1:9100/metrics"]);
    run_command(curl).stdout
}

// Rows: I30, I48
#[test]
fn half_open_connections_raise_the_alarm_once_and_it_is_cleared_once() {
    if !ready() {
        return;
    }
    let service = "timeout = { half-open = \"8s\" }\nguard = { half-open = 5 }\n";
    let words = PacketConfig::new("mac", &[0]).service(service);
    let mut plane = PacketBalancer::open_without_daemon(
        &SiteLayout { local_servers: 1, ..SiteLayout::default() },
        words,
    );
    plane.serve();
    plane.start();
    let more = told_to(&plane);
    plane.change(|words| words.extra_tables = more);
    plane.wait_until_all_up();
    // The server lacks the service's address, so it answers no SYN of a client.
    plane.site.assign_service_addresses(&plane.site.servers[0], false).unwrap();
    let flood = || {
        let at = IpVersion::V4.service();
        let ask = move || TcpStream::connect_timeout(&at, Duration::from_millis(1_500)).is_ok();
        let all: Vec<_> = (0..12).map(|_| std::thread::spawn(ask)).collect();
        all.into_iter().any(|one| one.join().unwrap())
    };
    assert!(!plane.site.client.run_inside(flood).unwrap(), "nobody answers");
    wait::until("the alarm is told", || plane.count_events("half-open-alarm") == 1);
    let alarmed = plane.packets();
    let shop = alarmed.services.iter().find(|one| one.name == "shop4").unwrap();
    assert!(shop.half_open >= 5, "{shop:?}");
    // The client is alone, so that its network is not named beside it.
    let client = IpVersion::V4.host_address(&plane.site.client).to_string();
    assert_eq!(shop.flood_clients[0].address, client, "{shop:?}");
    assert!(shop.flood_clients[0].syns >= 2 && shop.flood_networks.is_empty(), "{shop:?}");
    let report = plane.run_verb(&["report"]).stdout;
    assert!(report.contains("SYN FLOOD OF") && report.contains(&client), "{report}");
    let named = format!("of them from {client}");
    let standing = plane.status().alarms;
    let alarm = standing.iter().find(|alarm| alarm.name == "half-open");
    let alarm = alarm.unwrap_or_else(|| panic!("{standing:?}"));
    assert_eq!(alarm.subject, "service shop4");
    assert!(alarm.reason.contains(&named), "{alarm:?}");
    let status = plane.run_verb(&["status"]).stdout;
    assert!(status.contains(&named), "{status}");
    assert!(plane.daemon_output().contains(&named), "{}", plane.daemon_output());
    wait::until("it stands in the metrics", || {
        scraped(&plane).contains("steelyard_service_half_open_alarm{service=\"shop4\"} 1")
    });
    wait::until("it is cleared", || plane.count_events("half-open-clear") == 1);
    assert!(plane.status().alarms.iter().all(|alarm| alarm.name != "half-open"));
    assert!(scraped(&plane).contains("steelyard_service_half_open_alarm{service=\"shop4\"} 0"));
    let heard = || std::fs::read_to_string(plane.dir().join("heard")).unwrap_or_default();
    wait::until("the hook was told of both", || heard().lines().count() == 2);
    let expected = format!("half-open-alarm shop4 {client}\nhalf-open-clear shop4 {client}\n");
    assert_eq!(heard(), expected);
    assert_eq!(plane.count_events("half-open-alarm"), 1, "{}", plane.daemon_output());
}

/// Clients that connect repeatedly, with a short timeout.
fn hasty(plane: &PacketBalancer, connections: usize, think: u64) -> LoadRun {
    let target = IpVersion::V4.service();
    let get = LoadProtocol::Http(HttpPlan::get("shop.example", "/"));
    let plan = LoadPlan {
        persist: ConnectionReuse::PerRequest,
        pace: LoadModel::Closed { connections, think: Duration::from_millis(think) },
        timeout: Duration::from_secs(2),
        grace: wait::DEADLINE,
        ..LoadPlan::new(target, get, connections)
    };
    plane.site.client.run_inside(|| LoadRun::start(plan)).unwrap().unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn ports_that_run_out_are_reported_once_and_free_ones_once() {
    if !ready() {
        return;
    }
    let words = PacketConfig::new("nat", &[0]).packets("flows = 4096\n");
    let plane = PacketBalancer::open(
        &SiteLayout { local_servers: 1, ..SiteLayout::default() },
        words.service("fin-timeout = \"5s\"\n"),
    );
    let load = hasty(&plane, 8, 0);
    // The first alarm counts failed allocations, the second counts used ports. 4,096 entries are far fewer than 64,510
    // ports.
    let alarms = ["no port is free towards 10.10.0.11", "return ports of web4/server0 are in use"];
    for alarm in alarms {
        wait::until("ports have run out", || plane.daemon_output().contains(alarm));
    }
    let _ = stop_load(load);
    let packets = plane.packets();
    assert!(packets.outcomes.iter().any(|one| one.name == "no-port"), "{packets:?}");
    wait::until("ports suffice again", || plane.count_events("alarm-off") == 2);
    assert_eq!(plane.count_events("alarm-on"), 2, "{}", plane.daemon_output());
}

#[test]
fn weights_of_packet_services_follow_their_connections() {
    if !ready() {
        return;
    }
    let judged = "probe = { tcp = true, interval = \"300ms\", timeout = \"250ms\" }\n\
                  dynamic-weights = { active = 100, new = 0, interval = \"300ms\" }\n";
    let words = PacketConfig::new("mac", &[0, 1]).pool(judged);
    let plane =
        PacketBalancer::open(&SiteLayout { local_servers: 2, ..SiteLayout::default() }, words);
    let order = |verb: &str| {
        let said = plane.run_verb(&["server", verb, "web4/server1"]);
        assert_eq!(said.code, 0, "{said:?}");
    };
    order("drain");
    wait::until("server1 drains", || {
        plane.curl(IpVersion::V4, 4) == [("server0".to_owned(), 4)].into()
    });
    let kept = plane.load(IpVersion::V4, ConnectionReuse::KeepAlive, 24);
    wait::until("the plane counts them", || {
        let packets = plane.packets();
        let shop = packets.services.iter().find(|one| one.name == "shop4").unwrap();
        shop.servers[0].flows >= 24
    });
    order("enable");
    let weights = || {
        let pools = plane.status().pools;
        let pool = pools.iter().find(|pool| pool.name == "web4").unwrap();
        [pool.servers[0].weight, pool.servers[1].weight]
    };
    wait::until("the busy server gets less", || weights()[0] * 2 <= weights()[1]);
    wait::until("new connections follow", || {
        let answers = plane.curl(IpVersion::V4, 20);
        let of = |name: &str| answers.get(name).copied().unwrap_or(0);
        of("server0") * 2 <= of("server1")
    });
    let report = stop_load(kept);
    assert_eq!(report.failed, 0, "{:?}", report.failed_by_cause);
}
