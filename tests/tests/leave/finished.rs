//! SIGTERM under load: everything that was under way is finished.

use rustix::process::Signal;
use tests::e2e::balancer::{figure, is_long};
use tests::e2e::place::Place;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::setup::Setup;
use tests::e2e::wait;

use crate::under::{Outcome, Under};

#[test]
fn a_stop_under_load_breaks_nothing() {
    let origins = [origin("a"), origin("b")];
    for _ in 0..if is_long() { 20 } else { 2 } {
        let setup = Setup::http(&addresses(&origins)).quiet();
        let place = Place::new(&setup);
        let mut process = place.start();
        let under = Under::start(setup.fronts()[0]);
        process.signal(Signal::TERM);
        let outcome = under.end();
        let Outcome { answered, broken, cut, downloads, .. } = outcome;
        assert_eq!((broken, cut), (0, 0), "{outcome:?}\n{}", process.said());
        assert!(process.wait().success(), "{}", process.said());
        wait::until("its last words", || process.said().contains("info left: nothing was cut"));
        figure(format!(
            "a stop under load: {answered} requests answered, {broken} broken, {cut} of {downloads} downloads cut"
        ));
    }
}
