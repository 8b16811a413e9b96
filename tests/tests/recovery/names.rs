//! Servers that are configured by name alone. The tests run in a namespace with a separate hosts file, and need root.

use model::snapshot::ServerState;
use rustix::process::geteuid;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::namespace::TestNamespace;
use tests::e2e::nginx::Nginx;
use tests::e2e::tools::program;
use tests::e2e::wait;
use tests::skip::skip;

/// The status and the page that curl receives inside the namespace.
fn curl(namespace: &TestNamespace, balancer: &TestBalancer) -> (String, String) {
    let mut command = namespace.command(&program("curl"));
    command.args(["-sS", "--max-time", "60", "-w", "\n%{http_code}", &balancer.url("/")]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (page, status) = text.rsplit_once('\n').unwrap_or_else(|| panic!("{output:?}"));
    (status.to_owned(), page.to_owned())
}

#[test]
fn a_name_that_does_not_resolve_is_down_with_the_reason_and_recovers() {
    if !geteuid().is_root() {
        return skip("a namespace of its own needs root");
    }
    let namespace = match TestNamespace::new() {
        Ok(namespace) => namespace,
        Err(reason) => return skip(&format!("no namespace can be made: {reason}")),
    };
    let at = "127.0.0.1:8080".parse().unwrap();
    let _nginx = Nginx::within(&namespace, "found", at);
    let setup = BalancerConfig::http(&[]).server("a", "origin.example:8080", "");
    let balancer = TestBalancer::start_in(&namespace, &setup);
    wait::until("down, with the reason", || {
        let server = balancer.server("a");
        assert_ne!(server.state, ServerState::Up, "{server:?}");
        server.state == ServerState::Down
            && server.reason.text.contains("origin.example")
            && server.reason.text.contains("resolve")
    });
    assert_eq!(balancer.server("a").resolved, None);
    let (status, page) = curl(&namespace, &balancer);
    assert_eq!(status, "503", "{page}");
    assert!(page.contains("no-server"), "{page}");
    namespace.set_hosts("127.0.0.1 origin.example\n");
    wait::until("up", || balancer.server("a").state == ServerState::Up);
    assert_eq!(balancer.server("a").resolved, Some(at));
    wait::until("nginx answers", || {
        curl(&namespace, &balancer) == ("200".into(), "found\n".into())
    });
    // A name that no longer resolves keeps its last address.
    namespace.set_hosts("");
    assert_eq!(curl(&namespace, &balancer).0, "200");
}
