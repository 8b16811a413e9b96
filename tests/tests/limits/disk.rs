//! A full disk under the access log.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Command;

use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::client::HttpClient;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::tools::program;
use tests::e2e::wait;
use tests::skip::skip;

/// The size of the disk, in the format of mount(8).
const DISK: &str = "64k";
/// Mounts a disk of that size at $0 and runs the rest there.
const MOUNT: &str = r#"mount -t tmpfs -o size="$1" none "$0" && shift && exec "$@""#;

#[test]
fn a_full_disk_for_the_log_stops_no_traffic_and_every_lost_line_is_counted() {
    if !rustix::process::geteuid().is_root() {
        return skip("a disk of its own needs root");
    }
    let origins = [origin("a")];
    let setup = BalancerConfig::http(&addresses(&origins)).log_to("DIR/log/access.log");
    let place = CliEnvironment::new(&setup);
    let at = place.dir().join("log");
    fs::create_dir(&at).unwrap();
    let process = place.start_command(on_small_disk(&at, &place.command()));
    // The log's path as seen from the daemon's mount namespace.
    let log = PathBuf::from(format!("/proc/{}/root", process.pid()))
        .join(at.strip_prefix("/").unwrap())
        .join("access.log");

    let mut asked = 0;
    let mut client = HttpClient::connect(setup.fronts()[0]);
    let mut dropped = || {
        for _ in 0..50 {
            assert_eq!(client.get("/").status(), 200);
            asked += 1;
        }
        place.report().process.log_lines_dropped.total
    };
    wait::until("lines are lost", || dropped() > 0);
    wait::until("more lines are lost", || dropped() > 100);
    wait::until("it is told", || place.count_events("access-log") > 0);
    let full = lines(&log);
    assert!(full > 0, "those before are there");

    // The disk has room, so logging resumes.
    OpenOptions::new().write(true).open(&log).unwrap().set_len(0).unwrap();
    wait::until("new lines are written", || {
        dropped();
        lines(&log) > 10
    });
    wait::until("every line is written or counted as lost", || {
        let written = full + lines(&log);
        let lost = place.report().process.log_lines_dropped.total as usize;
        written + lost == asked
    });
    assert!(place.run_verb_ok(&["report"]).stdout.contains("log"), "shown to people");
}

/// The number of complete lines. A line that was truncated by the full disk counts as lost.
fn lines(log: &Path) -> usize {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()).count()
}

fn on_small_disk(at: &Path, command: &Command) -> Command {
    let mut mounted = Command::new(program("unshare"));
    mounted.args(["--mount", "--propagation", "private", "sh", "-c", MOUNT]).arg(at).arg(DISK);
    mounted.arg(command.get_program()).args(command.get_args());
    mounted
}
