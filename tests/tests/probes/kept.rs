//! Health verdicts and their evidence survive reloads and restarts, flapping servers are held back, and no server is
//! shown as up before it was checked.

use api::types::{ServerStatus, Source};
use model::snapshot::ServerState;
use rustix::process::Signal;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

use super::fake_servers::{FakeBehaviour, FakeServer, count_events, wait_until_up};

fn server(place: &CliEnvironment) -> ServerStatus {
    place.status().pools[0].servers[0].clone()
}

#[test]
fn what_was_found_out_survives_a_reload_and_a_kill() {
    let fake = FakeServer::start(FakeBehaviour::Reply(b"-LOADING\r\n".into()));
    let setup = |times: &str, retries: &str| {
        let probe = format!(", probe = {{ redis = true, {times} }}");
        BalancerConfig::tcp(&[]).server("a", fake.address(), &probe).pool(retries)
    };
    let quick =
        "interval = \"100ms\", fast-interval = \"50ms\", timeout = \"50ms\", fall = 1, rise = 1";
    let place = CliEnvironment::new(&setup(quick, ""));
    let mut process = place.start();
    wait::until("down", || server(&place).state == ServerState::Down);
    let since = server(&place).since_unix_ms;
    let kept = place.dir().join("state/servers.json");
    wait::until("it is kept", || {
        std::fs::read_to_string(&kept).is_ok_and(|text| text.contains("LOADING"))
    });
    let generation = place.status().generation;
    place.write(&setup(quick, "retries = 1"));
    process.signal(Signal::HUP);
    wait::until("reloaded", || place.status().generation > generation);
    assert_eq!((server(&place).state, server(&place).since_unix_ms), (ServerState::Down, since));
    // From now on the server is healthy, but the next check is only due in an hour.
    fake.change(FakeBehaviour::Reply(b"+PONG\r\n".into()));
    process.signal(Signal::KILL);
    wait::until("it is gone", || process.try_wait().is_some());
    let slow = "interval = \"1h\", fast-interval = \"1h\", timeout = \"50ms\", rise = 9";
    place.write(&setup(slow, "retries = 1"));
    let _again = place.start();
    let after = server(&place);
    assert_eq!((after.state, after.since_unix_ms), (ServerState::Down, since), "{after:?}");
    let seen = after.reason.check.unwrap();
    assert!(!seen.passed && seen.probe.unwrap().starts_with("redis at 127.0.0.1:"));
    assert_eq!(after.reason.source, Source::Probe);
}

#[test]
fn a_server_that_flaps_does_not_flap_its_pool() {
    let manner = FakeBehaviour::Alternate(b"+PONG\r\n".to_vec(), b"-LOADING\r\n".to_vec());
    let fake = FakeServer::start(FakeBehaviour::Reply(b"+PONG\r\n".into()));
    let times = "interval = \"1s\", fast-interval = \"50ms\", timeout = \"1s\", rise = 2, fall = 3";
    let probe = format!(", probe = {{ redis = true, {times} }}");
    let balancer =
        TestBalancer::start(&BalancerConfig::tcp(&[]).server("a", fake.address(), &probe));
    wait_until_up(&balancer, "PONG");
    fake.change(manner);
    let changes = || {
        ["server-down", "server-unknown", "pool-empty"].map(|what| count_events(&balancer, what))
    };
    let before = changes();
    let mut bad = 0;
    let mut last = 0;
    wait::until("five bad probes", || {
        let reason = balancer.server("a").reason;
        let seen = reason.check.unwrap();
        assert!(seen.passed || seen.consecutive < 3, "good and bad take turns");
        bad += usize::from(!seen.passed && reason.at_unix_ms != last);
        last = reason.at_unix_ms;
        bad >= 5
    });
    assert_eq!((balancer.server("a").state, changes()), (ServerState::Up, before));
}

#[test]
fn nothing_is_shown_as_good_that_nobody_has_seen() {
    let origins = [origin("a")];
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)));
    let server = balancer.server("a");
    assert!(server.assumed && server.reason.check.is_none(), "{server:?}");
    assert_eq!(server.reason.source, Source::Configuration);
    assert_eq!(balancer.client().get("/").status(), 200);
    wait::until("clients' connections are evidence", || {
        let server = balancer.server("a");
        !server.assumed && server.reason.source == Source::Traffic
    });
}
