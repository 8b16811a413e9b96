//! Agents: their reports are followed, exaggerated weights are clamped, and a lost agent has no effect.

use api::types::Source;
use model::snapshot::ServerState;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;

use super::fake_servers::{FakeBehaviour, FakeServer, count_events, wait_for_state};
use tests::e2e::wait;

fn balancer(agent: &FakeServer, kind: &str) -> (FakeServer, TestBalancer) {
    let origin = FakeServer::start(FakeBehaviour::Hang);
    let port = agent.address().port();
    let agent = format!(
        "agent = {{ kind = \"{kind}\", port = {port}, interval = \"100ms\", timeout = \"100ms\", age = \"500ms\" }}"
    );
    let setup = BalancerConfig::tcp(&[origin.address()]).pool(&agent);
    (origin, TestBalancer::start(&setup))
}

fn says(text: &str) -> FakeBehaviour {
    FakeBehaviour::Greet(text.as_bytes().into())
}

#[test]
fn an_agents_wishes_are_followed_and_end_with_it() {
    let agent = FakeServer::start(says("drain#backup runs\n"));
    let (_origin, balancer) = balancer(&agent, "text");
    let server = wait_for_state(&balancer, ServerState::Drain, "its agent says drain: backup runs");
    assert_eq!(server.reason.source, Source::Agent);
    agent.change(says("maint\n"));
    wait_for_state(&balancer, ServerState::Disabled, "maint");
    agent.change(says("down#disk\n"));
    wait_for_state(&balancer, ServerState::Down, "its agent says down: disk");
    agent.change(says("up ready 50%\n"));
    wait_for_state(&balancer, ServerState::Up, "");
    agent.change(says("stopped\n"));
    wait_for_state(&balancer, ServerState::Down, "down");
    // A lost agent makes the server neither down nor idle, as if the server had no agent.
    agent.change(FakeBehaviour::Hang);
    wait_for_state(&balancer, ServerState::Up, "");
    wait::until("its loss is told", || count_events(&balancer, "agent-lost") == 1);
    agent.change(says("up\n"));
    wait::until("its return is told", || count_events(&balancer, "agent-back") == 1);
}

#[test]
fn four_million_percent_and_nonsense_are_reported_and_do_no_harm() {
    let agent = FakeServer::start(says("4000000%\n"));
    let (_origin, balancer) = balancer(&agent, "text");
    wait::until("the clamping is told", || count_events(&balancer, "agent-out-of-range") >= 1);
    agent.change(says("#\n"));
    wait::until("the nonsense is told", || count_events(&balancer, "agent-nonsense") == 1);
    assert_eq!(balancer.server("a").state, ServerState::Up);
}

#[test]
fn a_load_report_over_http_is_read() {
    let body = "{\"cpu_utilization\": 40000.0}";
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let agent = FakeServer::start(FakeBehaviour::Reply(answer.into_bytes()));
    let (_origin, balancer) = balancer(&agent, "orca");
    wait::until("the report was read, and clamped", || {
        count_events(&balancer, "agent-out-of-range") >= 1
    });
}
