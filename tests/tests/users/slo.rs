//! Error budgets with slow, broken and recovered servers and with clients that disconnect: which budget is spent, and
//! what is reported.

use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::client::HttpClient;
use tests::e2e::servers::reserve_port;
use tests::e2e::wait;

use super::setup::{ask, event_text, explained, promise, server_at, when};

const OBJECTIVE: &str = "objective = { availability = \"99%\", latency = \"1500ms\", latency-target = \"95%\", min-bad = 5 }";

/// With `all-down = "spread"` requests are sent to a dead server too, so that each of them fails there.
const POOL: &str = "retries = 0\nall-down = \"spread\"\n";

// Rows: D10
#[test]
fn servers_burn_budgets_and_clients_that_leave_do_not() {
    let port = reserve_port();
    let address = port.address();
    let origin = server_at(address);
    let setup =
        BalancerConfig::http(&[address]).service(OBJECTIVE).pool(&format!("{POOL}limit.idle = 0"));
    let place = CliEnvironment::new(&setup);
    let _process = place.start();
    let front = setup.fronts()[0];
    ask(&place, 20, "/200", 200);
    leave(&place);
    // The server responds later than the objective's `fast`.
    let mut slow: Vec<HttpClient> = (0..16).map(|_| HttpClient::connect(front)).collect();
    for client in &mut slow {
        client.send_get("/200/2000");
    }
    slow.iter_mut().for_each(|client| assert_eq!(client.read_answer().status(), 200));
    wait::until("the alarm of speed", || {
        event_text(&place, "budget-burning", "latency", "6h").is_some()
    });
    let users = explained(&place);
    assert!(users.hour.slow >= 16, "{users:?}");
    assert_eq!(
        (promise(&users, "availability").bad, users.hour.failed),
        (0, 0),
        "slow is not failed"
    );
    // The server is gone.
    drop(origin);
    wait::until("nobody listens there", || std::net::TcpStream::connect(address).is_err());
    ask(&place, 30, "/200", 502);
    let text = wait::until_some("the alarm of failures", || {
        event_text(&place, "budget-burning", "availability", "1h")
    });
    assert!(text.contains("service.shop.objective: `availability`, target 99 %"), "{text}");
    assert!(text.contains("mostly server-refused (30 within the hour)"), "{text}");
    shown(&place);
    // The server is back, and good requests lower the error rate.
    let _origin = server_at(address);
    ask(&place, 300, "/200", 200);
    let text = wait::until_some("its end", || {
        event_text(&place, "budget-burn-ended", "availability", "1h")
    });
    assert!(text.contains("(alarm at 14.4)"), "{text}");
    let users =
        when(&place, "all is counted", |users| promise(users, "availability").operations == 366);
    let available = promise(&users, "availability");
    assert_eq!((available.bad, available.alarms[0].since_unix_ms), (30, None));
    assert!(available.budget_remaining_percent < 0.0, "of 366 three may fail: {available:?}");
}

/// Clients that reset the connection while they wait for a response, and one that sends a malformed request.
fn leave(place: &CliEnvironment) {
    let front = place.setup().fronts()[0];
    when(place, "those that stayed", |users| promise(users, "availability").operations == 20);
    let mut leaving: Vec<HttpClient> = (0..12).map(|_| HttpClient::connect(front)).collect();
    for client in &mut leaving {
        client.send_get("/200/8000");
    }
    wait::until("they are under way", || place.report().total.requests.in_flight == 12);
    leaving.into_iter().for_each(HttpClient::reset);
    let mut mad = HttpClient::connect(front);
    mad.send("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
    assert_eq!(mad.read_answer().status(), 400);
    let users = when(place, "those that left", |users| users.hour.aborted == 13);
    assert_eq!(users.hour.tcp_errors.get("aborted-by-client"), Some(&12), "{users:?}");
    let available = promise(&users, "availability");
    assert_eq!((available.operations, available.bad), (20, 0), "they count neither way");
    assert_eq!(available.budget_remaining_percent, 100.0);
    assert_eq!((place.count_events("budget-burning"), users.causes.len()), (0, 0));
}

/// Checks the figures in every report that shows them.
fn shown(place: &CliEnvironment) {
    let users = explained(place);
    assert_eq!((users.causes[0].cause.as_str(), users.causes[0].count), ("server-refused", 30));
    assert_eq!(users.hour.tcp_errors.get("refused-by-server"), Some(&30), "{users:?}");
    let network = &users.networks[0];
    assert_eq!((network.network.as_str(), network.counts.failed), ("127.0.0.0/24", 30));
    let text = place.run_verb_ok(&["explain", "users"]).stdout;
    for part in ["availability: ", "alarm at 14.4: raised ", "127.0.0.0/24", "refused-by-server 30"]
    {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let status = place.run_verb_ok(&["status"]).stdout;
    let alarm = |line: &str| {
        line.starts_with("error: service shop for ") && line.contains("`availability` over 1h: ")
    };
    assert!(status.lines().any(alarm), "{status}");
    assert!(status.contains("shop: availability"), "{status}");
    let report = place.report();
    let users = report.services[0].slo.as_ref().unwrap();
    assert_eq!((users.failed.total, users.aborted.total), (30, 13));
    assert!(place.run_verb_ok(&["report"]).stdout.contains("SLO OF"));
    let scrape = place.run_verb_ok(&["report", "--json"]).stdout;
    assert!(scrape.contains("refused-by-server"), "{scrape}");
    let said = place.run_verb(&["explain", "users", "nobody"]);
    assert!(said.code == 1 && said.stderr.contains("there are shop"), "{said:?}");
}

#[test]
fn a_connection_of_bytes_is_an_operation() {
    let nowhere = reserve_port();
    let setup =
        BalancerConfig::tcp(&[nowhere.address()]).service("objective = \"99.9%\"").pool(POOL);
    let place = CliEnvironment::new(&setup);
    let _process = place.start();
    for _ in 0..12 {
        // The reset may arrive before `connect` has returned.
        let said =
            HttpClient::try_connect(setup.fronts()[0]).and_then(|mut it| it.read_to_end_or_reset());
        assert!(!said.is_ok_and(|bytes| !bytes.is_empty()));
    }
    let users = when(&place, "refused connections", |users| users.hour.failed == 12);
    assert_eq!(users.hour.tcp_errors.get("refused-by-server"), Some(&12), "{users:?}");
    assert_eq!((users.objectives.len(), users.latency_ms), (1, None), "speed is not promised");
    wait::until("the alarm", || {
        event_text(&place, "budget-burning", "availability", "6h").is_some()
    });
}
