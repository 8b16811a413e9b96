//! Descriptors exhausted by idle clients.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::client::HttpClient;
use tests::e2e::flood::{self, SourceAddresses};
use tests::e2e::process::{ChildProcess, descriptors_for, with_descriptors};
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

/// The limit of the daemon's process.
const DESCRIPTORS: u64 = 400;
/// How long to wait for a refusal. An accepted client receives no data, so the next client is tried.
const SOON: Duration = Duration::from_millis(300);
/// The descriptors that workers reserve for the control socket.
const KEPT: u64 = 8;
/// Clients that send requests throughout the test.
const BUSY: usize = 8;
/// Long timeouts, so that idle clients stay connected.
const PATIENT: &str = "timeout.header = \"5m\"\ntimeout.idle = \"5m\"";
/// More clients than descriptors allow.
const ENDLESS: &str = "connections = 100000";

#[test]
fn idle_clients_that_take_half_the_descriptors_hurt_nobody_who_is_served() {
    // With two workers, one may have only active clients and the other only silent ones.
    let mut run = DescriptorRun::new(BalancerConfig::http, &two_workers(""), PATIENT);
    let sources = SourceAddresses::Many(DESCRIPTORS as usize);
    let idle = |number| {
        HttpClient::from_stream(flood::connect_from(sources.address_of(number), run.front).unwrap())
    };
    let idle: Vec<HttpClient> = (0..DESCRIPTORS as usize).map(idle).collect();
    let open = run.process.descriptors();
    let limit = DESCRIPTORS as usize;
    assert!(open * 2 < limit * 3, "{open} of {limit}: some are left for servers and for us");
    run.busy_are_served();
    let report = run.place.report();
    assert_eq!(report.total.connections.refused.total, 0, "{:?}", report.total.connections);
    assert!(report.total.limits.iter().any(|limit| limit.name == "evicted-silent"), "{report:?}");
    run.recovers(idle);
}

#[test]
fn without_any_descriptor_new_clients_are_reported_and_the_others_served() {
    let mut run = DescriptorRun::new(BalancerConfig::http, &two_workers(ENDLESS), PATIENT);
    let idle = run.idle(2 * DESCRIPTORS as usize, "no-descriptor");
    run.control_answers();
    run.busy_are_served();
    run.recovers(idle);
    assert!(run.place.count_of("no-descriptor") > 0);
    assert_eq!(run.place.count_events("no-descriptor"), 1, "{}", run.process.output());
}

#[test]
fn without_any_descriptor_new_tcp_connections_are_reset_and_the_others_served() {
    let mut run = DescriptorRun::new(BalancerConfig::tcp, &two_workers(ENDLESS), "");
    let mut idle = Vec::new();
    let mut reset = 0;
    wait::until("a connection is refused", || {
        for _ in 0..20 {
            match HttpClient::try_connect(run.front) {
                Ok(client) => idle.push(client),
                // The reset arrived before `connect` returned.
                Err(error) if error.kind() == ErrorKind::ConnectionReset => reset += 1,
                Err(error) => panic!("{error}"),
            }
        }
        run.place.count_of("no-descriptor") > 0
    });
    wait::until("its client knows", || reset > 0 || idle.iter().any(HttpClient::has_ended));
    run.control_answers();
    run.busy_are_served();
    run.recovers(idle);
    assert_eq!(run.place.count_events("no-descriptor"), 1, "{}", run.process.output());
}

fn two_workers(global: &str) -> String {
    format!("workers = 2\n{global}")
}

struct DescriptorRun {
    place: CliEnvironment,
    process: ChildProcess,
    front: SocketAddr,
    busy: Vec<HttpClient>,
    _origins: [lab::origin::TestOrigin; 1],
}

impl DescriptorRun {
    /// Starts the daemon, with clients that are served.
    fn new(
        setup: fn(&[SocketAddr]) -> BalancerConfig,
        global: &str,
        service: &str,
    ) -> DescriptorRun {
        descriptors_for(4 * DESCRIPTORS);
        let origins = [origin("a")];
        let setup = setup(&addresses(&origins)).global(global).service(service).quiet();
        let place = CliEnvironment::new(&setup);
        let process = place.start_command(with_descriptors(DESCRIPTORS, &place.command()));
        let front = setup.fronts()[0];
        let busy = (0..BUSY).map(|_| HttpClient::connect(front)).collect();
        let mut run = DescriptorRun { place, process, front, busy, _origins: origins };
        run.busy_are_served();
        run
    }

    fn busy_are_served(&mut self) {
        for _ in 0..20 {
            for client in &mut self.busy {
                assert_eq!(client.get("/").status(), 200);
            }
        }
    }

    /// The control socket answers while clients hold all but the reserved descriptors, and other clients are connected
    /// to it.
    fn control_answers(&self) {
        let socket = self.place.dir().join("sock");
        let open = self.process.descriptors() as u64;
        assert!(open + 2 * KEPT > DESCRIPTORS, "{open} of {DESCRIPTORS}: enough are left anyway");
        let _others: Vec<_> = (0..4).map(|_| UnixStream::connect(&socket).unwrap()).collect();
        for _ in 0..5 {
            let shown = self.place.run_verb_ok(&["status"]).stdout;
            assert!(shown.contains("shop"), "{shown}");
        }
    }

    /// Opens `count` clients that send nothing, and returns the accepted ones. The others received this cause.
    fn idle(&self, count: usize, cause: &str) -> Vec<HttpClient> {
        let mut idle: Vec<HttpClient> =
            (0..count).map(|_| HttpClient::connect(self.front)).collect();
        // A new client receives the cause. While one worker is busy with earlier clients, the other may still accept
        // some.
        wait::until("a new client is told", || {
            let mut client = HttpClient::connect(self.front);
            client.stream().set_read_timeout(Some(SOON)).unwrap();
            let Some(answer) = client.answer_or_end() else {
                idle.push(client);
                return false;
            };
            assert_eq!(answer.status(), 503, "{answer:?}");
            assert_eq!(answer.field("x-steelyard-cause").as_deref(), Some(cause));
            true
        });
        idle.retain(|client| !client.has_ended());
        idle
    }

    /// Checks that new clients are served once the idle ones have left.
    fn recovers(&mut self, idle: Vec<HttpClient>) {
        let (ended, idle): (Vec<_>, Vec<_>) = idle.into_iter().partition(HttpClient::has_ended);
        assert!(idle.len() > 50, "{} were let in, {} of them ended", idle.len(), ended.len());
        drop((ended, idle));
        wait::until("new clients are served", || {
            // From another address: the served clients have used up their share, so one more of theirs would evict one
            // of them.
            let stream = flood::connect_from(SourceAddresses::One.address_of(0), self.front);
            let Ok(mut client) = stream.map(HttpClient::from_stream) else { return false };
            let sent = client.try_send(b"GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n").is_ok();
            sent && client.answer_or_end().is_some_and(|answer| answer.status() == 200)
        });
        self.busy_are_served();
        self.busy.clear();
        wait::until("nothing is left", || {
            let total = self.place.report().total;
            total.connections.open == 0 && total.connections.unaccounted == 0
        });
    }
}
