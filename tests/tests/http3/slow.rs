//! Slow clients: stalled heads and bodies, and responses that the client does not read.

use api::types::Report;
use serde_json::json;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::servers::{self, addresses};

use crate::authority::Http3Authority;

fn patient(ours: &Http3Authority, origins: &[lab::origin::TestOrigin]) -> BalancerConfig {
    let timeouts = "timeout = { header = \"400ms\", between-bytes = \"400ms\" }\n";
    ours.setup_with(&addresses(origins), "", timeouts)
}

fn ended_by(report: &Report, cause: &str) -> u64 {
    let causes = &report.total.causes;
    causes.iter().find(|count| count.cause == cause).map_or(0, |count| count.count.total)
}

#[test]
fn a_head_that_stops_is_answered_and_the_connection_goes_on() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let balancer = TestBalancer::start(&patient(&ours, &origins));
    let mut client = ours.client(balancer.front());
    // A HEADERS frame of 40 bytes, of which only five arrive.
    let stream = client.raw("both", &[1, 40, 0, 0, 0xd1, 0xd7, 0xc1], false);
    let answer = client.does(json!({ "do": "wait-answer", "stream": stream }));
    assert_eq!(answer["status"], 408, "{answer}");
    assert_eq!(client.get("/")["status"], 200, "the connection goes on");
    balancer.report_when("counted", |report| ended_by(report, "client-header-timeout") == 1);
    drop(client);
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
}

#[test]
fn a_body_that_stops_is_cut_and_its_server_released() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let balancer = TestBalancer::start(&patient(&ours, &origins));
    let mut client = ours.client(balancer.front());
    let stream = client.does(json!({ "do": "begin", "path": "/echo" }));
    let answer = client.does(json!({ "do": "wait-answer", "stream": stream }));
    assert_eq!(answer["status"], 408, "{answer}");
    assert_eq!(answer["head"]["x-steelyard-cause"], "client-body-timeout", "{answer}");
    assert_eq!(client.get("/")["status"], 200, "the connection goes on");
    balancer.report_when("counted", |report| ended_by(report, "client-body-timeout") == 1);
    assert_eq!(balancer.server("a").in_flight, 0);
}

#[test]
fn an_answer_that_nobody_takes_is_cut_and_its_server_released() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let balancer = TestBalancer::start(&patient(&ours, &origins));
    let mut client = ours.client(balancer.front());
    client.does(json!({ "do": "deaf" }));
    let answer = client.does(json!({ "do": "ask", "path": "/bytes/4000000000" }));
    assert!(answer["reset"].is_u64(), "{answer}");
    balancer.report_when("counted", |report| ended_by(report, "client-read-timeout") == 1);
    assert_eq!(balancer.server("a").in_flight, 0);
}
