//! A balancer without its processor: a quota is used up, or other programs have it.

use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::wait::{self, DEADLINE};
use tests::skip::skip;

use super::plant::PlantedCause;
use super::setup::{logged, server, times};
use super::upstream::{ReadingPace, UpstreamRoute, UpstreamTransport};

/// A quota of the processor for a process, by a cgroup of its own.
struct ProcessorQuota {
    directory: String,
}

/// Two percent of a processor, in periods longer than what counts as slow.
const QUOTA: &str = r#"
for base in /sys/fs/cgroup/cpu /sys/fs/cgroup; do
    directory=$base/steelyard-test-$0
    mkdir "$directory" 2>/dev/null || continue
    if [ -e "$directory/cpu.cfs_quota_us" ]; then
        echo 300000 >"$directory/cpu.cfs_period_us" && echo 6000 >"$directory/cpu.cfs_quota_us"
    elif [ -e "$directory/cpu.max" ]; then
        echo '6000 300000' >"$directory/cpu.max"
    else
        false
    fi && echo "$0" >"$directory/cgroup.procs" && echo "$directory" && exit 0
    rmdir "$directory"
done
exit 1
"#;

/// Gives the process back to the group above, whose own quota is none.
const NO_QUOTA: &str = r#"
echo "$1" >"${0%/*}/cgroup.procs"
rmdir "$0"
"#;

impl ProcessorQuota {
    /// `None`: no such group can be made here.
    fn limit(process: u32) -> Option<ProcessorQuota> {
        let output = Command::new("sh").args(["-c", QUOTA, &process.to_string()]).output().unwrap();
        let directory = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(ProcessorQuota { directory })
    }

    fn lift(self, process: u32) {
        let process = process.to_string();
        let arguments = ["-c", NO_QUOTA, &self.directory, &process];
        assert!(Command::new("sh").args(arguments).status().unwrap().success());
    }
}

/// Programs that never wait, at the only processor of a process that ranks behind them.
struct BusyNeighbours(Vec<Child>);

/// All threads of the process stay at the first processor that it may use.
const BEHIND: &str = r#"
list=$(taskset -cp "$0") || exit 1
first=$(echo "${list##*: }" | sed 's/[^0-9].*//')
for task in /proc/"$0"/task/*; do
    taskset -cp "$first" "${task##*/}" >/dev/null && renice -n 19 -p "${task##*/}" >/dev/null || exit 1
done
echo "$first"
"#;

/// How many there are, and their nice value: three turns of theirs take longer than what counts as slow.
const NEIGHBOURS: usize = 2;
const NICE: &str = "0";

impl BusyNeighbours {
    /// `None`: their processor cannot be chosen here.
    fn start(process: u32) -> Option<BusyNeighbours> {
        let output =
            Command::new("sh").args(["-c", BEHIND, &process.to_string()]).output().unwrap();
        if !output.status.success() {
            return None;
        }
        let processor = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let script = "renice -n \"$0\" -p $$ >/dev/null && while :; do :; done";
        let start = || {
            let mut command = Command::new("taskset");
            command.args(["-c", &processor, "sh", "-c", script, NICE]).spawn().unwrap()
        };
        Some(BusyNeighbours((0..NEIGHBOURS).map(|_| start()).collect()))
    }
}

impl Drop for BusyNeighbours {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn cause(what: &'static str) -> PlantedCause {
    PlantedCause { what, owner: "balancer", limits: &["BALANCER_CPU", "BALANCER_HOLD"] }
}

/// The lines of slow requests to a balancer that `deprive` takes the processor from. `None`: that cannot be done here.
fn deprived<T>(
    kind: UpstreamTransport,
    what: &'static str,
    deprive: impl Fn(u32) -> Option<T>,
    restore: impl Fn(T, u32),
) {
    let route = UpstreamRoute::new(kind);
    let at = "127.0.0.1:0".parse().unwrap();
    let origin = route.start(at, ReadingPace::default(), |_| ());
    let setup = BalancerConfig::http(&[origin.address()]).global("workers = 1");
    let balancer = TestBalancer::start(&setup.pool(&route.pool()));
    let process = balancer.process().pid();
    let Some(hold) = deprive(process) else {
        return skip(&format!("{what} cannot be made here"));
    };
    let mut client = balancer.client();
    // Many requests are quick. A pause between the requests, such as to read a long log, would leave a fast machine within
    // its quota: the log is read after slow ones alone.
    for number in 1..=times() {
        wait::until("one more exchange that was slow", || {
            until_slow(&mut client);
            slow_lines(&balancer).len() >= number
        });
    }
    restore(hold, process);
    let lines = slow_lines(&balancer);
    cause(what).check_lines(route.name(), &lines);
    let cpu = lines.iter().filter(|line| line["limit"] == "BALANCER_CPU").count();
    assert!(cpu * 2 > lines.len(), "{lines:#?}");
}

/// Requests without a pause, up to one that took long.
fn until_slow(client: &mut HttpClient) {
    let begun = Instant::now();
    while begun.elapsed() < DEADLINE {
        let sent = Instant::now();
        assert_eq!(client.get("/").status(), 200);
        if sent.elapsed() >= SLOW {
            return;
        }
    }
    panic!("within {:?} no request waited for the processor", DEADLINE);
}

/// What counts as slow here: less than the period of the quota.
const SLOW: Duration = Duration::from_millis(100);

fn is_slow(line: &Value) -> bool {
    line["total-ms"]
        .as_f64()
        .is_some_and(|milliseconds| milliseconds >= SLOW.as_secs_f64() * 1000.0)
}

fn slow_lines(balancer: &TestBalancer) -> Vec<Value> {
    let mut lines = balancer.log();
    lines.retain(|line| line["owner"].is_string() && is_slow(line));
    lines
}

fn without_processor(kind: UpstreamTransport) {
    let what = "a balancer whose quota of the processor is used up";
    deprived(kind, what, ProcessorQuota::limit, ProcessorQuota::lift);
}

#[test]
fn a_balancer_without_its_processor() {
    without_processor(UpstreamTransport::Clear);
}

#[test]
fn a_balancer_without_its_processor_over_tls() {
    without_processor(UpstreamTransport::Tls);
}

#[test]
fn a_balancer_without_its_processor_over_http_2() {
    without_processor(UpstreamTransport::Http2);
}

fn behind_others(kind: UpstreamTransport) {
    let what = "a balancer whose processor other programs have";
    deprived(kind, what, BusyNeighbours::start, |neighbours, _| drop(neighbours));
}

#[test]
fn a_balancer_behind_other_programs() {
    behind_others(UpstreamTransport::Clear);
}

#[test]
fn a_balancer_behind_other_programs_over_http_2() {
    behind_others(UpstreamTransport::Http2);
}

#[test]
fn a_server_that_thinks_keeps_its_time_on_a_busy_machine() {
    let origin = server();
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[origin.address()]).global("workers = 1"));
    let front = balancer.front();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = HttpClient::connect(front);
            while !is_done.load(Ordering::Relaxed) {
                assert_eq!(client.get("/100").status(), 200);
            }
        });
        let mut client = HttpClient::connect(front);
        for _ in 0..times() {
            assert_eq!(client.get("/100/250").status(), 200);
        }
        is_done.store(true, Ordering::Relaxed);
    });
    let what = "a server that thinks beside other requests";
    let cause = PlantedCause { what, owner: "server", limits: &["SERVER_THINK"] };
    cause.check_lines("", &logged(&balancer, "/100/250", times()));
}
