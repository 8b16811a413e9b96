//! State files owned by another user: the daemon reads none of them, reports the owner, and works.

use std::os::unix::fs::chown;

use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;
use tests::skip::skip;

const OTHER: u32 = 12_345;
/// Files of the state directory that every start reads.
const FILES: [&str; 4] = ["audit.jsonl", "servers.json", "mptcp.json", "generations/00000007.json"];

#[test]
fn state_that_another_user_planted_is_set_aside_by_name() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root gives files away");
    }
    let origins = [origin("a")];
    let place = CliEnvironment::new(&BalancerConfig::http(&addresses(&origins)));
    let state = place.dir().join("state");
    std::fs::create_dir_all(state.join("generations")).unwrap();
    for file in FILES.map(|name| state.join(name)) {
        std::fs::write(&file, "{}").unwrap();
        chown(&file, Some(OTHER), None).unwrap();
    }
    let process = place.start();
    for file in FILES.map(|name| state.join(name)) {
        wait::until("it is told of", || {
            let said = process.output();
            let mut lines = said.lines().filter(|line| line.contains("state-set-aside"));
            lines.any(|line| {
                line.contains(file.to_str().unwrap())
                    && line.contains("uid 12345: expected root or uid 0")
            })
        });
    }
    assert!(!state.join("mptcp.json").exists(), "renamed");
}
