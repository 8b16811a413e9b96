//! SIGTERM under load: all work in progress is finished.

use rustix::process::Signal;
use tests::e2e::balancer::{figure, is_long};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

use crate::workload::{LeaveOutcome, LeaveWorkload};

#[test]
fn a_stop_under_load_breaks_nothing() {
    let origins = [origin("a"), origin("b")];
    for _ in 0..if is_long() { 20 } else { 2 } {
        let setup = BalancerConfig::http(&addresses(&origins)).quiet();
        let place = CliEnvironment::new(&setup);
        let mut process = place.start();
        let under = LeaveWorkload::start(setup.fronts()[0]);
        process.signal(Signal::TERM);
        let outcome = under.end();
        let LeaveOutcome { answered, broken, cut_downloads: cut, downloads, .. } = outcome;
        assert_eq!((broken, cut), (0, 0), "{outcome:?}\n{}", process.output());
        assert!(process.wait().success(), "{}", process.output());
        wait::until("its last words", || process.output().contains("info left: nothing was cut"));
        figure(format!(
            "a stop under load: {answered} requests answered, {broken} broken, {cut} of {downloads} downloads cut"
        ));
    }
}
