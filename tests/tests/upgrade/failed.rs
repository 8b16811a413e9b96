//! Failed upgrades: the old process keeps working.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::process::Signal;
use tests::e2e::balancer::program;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::{CliEnvironment, run_command};
use tests::e2e::listening_sockets::listening_at;
use tests::e2e::process::with_descriptors;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::steady_traffic::SteadyTraffic;
use tests::e2e::wait;

#[test]
fn a_new_binary_that_fails_leaves_the_old_process_as_it_was() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::http(&addresses(&origins)).quiet();
    let place = CliEnvironment::new(&setup);
    let binary = place.dir().join("steelyard");
    fs::copy(program(), &binary).unwrap();
    let mut old = place.start_command(place.command_of(binary.clone()));
    let front = setup.fronts()[0];
    let sockets = listening_at(old.pid(), front);
    let steady = SteadyTraffic::start(front);

    // A program that exits at once, a file that is not a program, and a missing file.
    for (number, replacement) in
        (1..).zip([Some("#!/bin/sh\nexit 3\n"), Some("no program\n"), None])
    {
        replace(&binary, replacement);
        old.signal(Signal::USR2);
        wait::until("the failure is told", || place.count_events("upgrade-failed") == number);
        steady.wait_for_progress();
        assert_eq!(place.pid(), Some(old.pid()));
        assert_eq!(listening_at(old.pid(), front), sockets);
    }

    // A valid program, but the configuration file contains a mistake by now.
    fs::copy(program(), &binary).unwrap();
    place.write(&setup.clone().pool("balance = \"fairest\""));
    old.signal(Signal::USR2);
    wait::until("the failure is told", || place.count_events("upgrade-failed") == 4);
    wait::until("the new one told why", || old.output().contains("fairest"));
    steady.wait_for_progress();
    assert_eq!(place.pid(), Some(old.pid()));

    // Afterwards reloads and a real upgrade succeed.
    place.write(&setup.clone().pool("balance = \"random\""));
    old.signal(Signal::HUP);
    wait::until("reloaded", || place.status().generation == 2);
    old.signal(Signal::USR2);
    let new = place.wait_for_other_pid(old.pid());
    steady.wait_for_progress();
    assert_eq!(place.status().generation, 2);
    let felt = steady.stop();
    assert_eq!(felt.failures, Vec::<String>::new());
    assert!(old.wait().success(), "{}", old.output());
    new.end();
}

#[test]
fn a_takeover_that_ends_before_it_is_ready_is_taken_back() {
    let origins = [origin("a")];
    let setup = BalancerConfig::http(&addresses(&origins)).global("workers = 2").quiet();
    let place = CliEnvironment::new(&setup);
    let mut old = place.start();
    let steady = SteadyTraffic::start(setup.fronts()[0]);
    // Enough descriptors to receive the sockets, but not enough to run.
    for (number, descriptors) in (1..).zip([12, 15, 18]) {
        let mut command = with_descriptors(descriptors, &place.command());
        command.arg("--takeover");
        let refused = run_command(command);
        assert_eq!(refused.code, 1, "{refused:?}");
        wait::until("it is told", || place.count_events("takeover-failed") == number);
        steady.wait_for_progress();
        assert_eq!(place.pid(), Some(old.pid()));
    }
    place.run_verb_ok(&["server", "weight", "web/a", "2"]);
    assert_eq!(steady.stop().failures, Vec::<String>::new());
    assert_eq!(old.try_wait(), None);
}

#[test]
fn there_must_be_somebody_to_take_over_from() {
    let place = CliEnvironment::new(&BalancerConfig::tcp(&[]).server("a", "127.0.0.1:9", ""));
    let mut command = place.command();
    command.arg("--takeover");
    let refused = run_command(command);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("no daemon to take over from"), "{refused:?}");
}

fn replace(binary: &Path, with: Option<&str>) {
    let aside = binary.with_extension("new");
    match with {
        Some(text) => {
            fs::write(&aside, text).unwrap();
            fs::set_permissions(&aside, fs::Permissions::from_mode(0o755)).unwrap();
            fs::rename(&aside, binary).unwrap();
        }
        None => fs::remove_file(binary).unwrap(),
    }
}
