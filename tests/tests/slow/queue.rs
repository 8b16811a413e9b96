//! A full queue before a server at its connection limit.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::wait;

use super::exchange_route::{ExchangeRoute, ExchangeTransport, PacedRequest};
use super::loopback::CLIENTS;
use super::plant::PlantedCause;
use super::setup::{logged, times};
use super::upstream::{ReadingPace, UpstreamRoute, UpstreamTransport};

const QUEUE: PlantedCause = PlantedCause {
    what: "a queue before a server at its limit",
    owner: "balancer",
    limits: &["QUEUE"],
};

fn queue(client: ExchangeTransport, server: UpstreamTransport) {
    let client = ExchangeRoute::new(client);
    let route = UpstreamRoute::new(server);
    let at = "127.0.0.1:0".parse().unwrap();
    let origin = route.start(at, ReadingPace::default(), |_| ());
    let setup = BalancerConfig::http(&[]).server("a", origin.address(), ", connections = 1");
    let pool = format!("timeout.queue = \"20s\"\nprobe = \"off\"\n{}", route.pool());
    let setup = setup.global("workers = 1").pool(&pool);
    let balancer = TestBalancer::start(&setup.service(&client.service("")));
    let front = balancer.front();
    let get = |target| PacedRequest { target, ..PacedRequest::default() };
    for _ in 0..times() {
        std::thread::scope(|scope| {
            let holder = scope.spawn(|| client.ask(front, &get("/10/600")));
            wait::until("the server at its cap", || balancer.server("a").in_flight == 1);
            client.ask(front, &get("/77"));
            holder.join().unwrap();
        });
    }
    let names = [client.name(), route.name()];
    let form = names.into_iter().filter(|name| !name.is_empty()).collect::<String>();
    QUEUE.check_lines(&form, &logged(&balancer, "/77", times()));
}

#[test]
fn a_queue_before_a_server_at_its_limit() {
    std::thread::scope(|scope| {
        for client in CLIENTS {
            scope.spawn(move || queue(client, UpstreamTransport::Clear));
        }
    });
}

#[test]
fn a_queue_before_a_server_over_tls_at_its_limit() {
    queue(ExchangeTransport::Clear, UpstreamTransport::Tls);
}
