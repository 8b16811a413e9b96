//! Load from several machines: two agents in separate namespaces, controlled from a third. One agent is killed during a
//! run.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use lab::result::{AgentPart, BenchResult, parse_result};
use rustix::process::Signal;
use tests::e2e::balancer::program;
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::wait::{until, until_some};
use tests::skip::skip;

use crate::measured::{figure, said};

const HOSTS: &str = r#"
[host.lead]
[host.one]
[host.two]
[host.server]
[bridge.lan]

[[link]]
ends = ["lead", "lan"]
addresses = ["10.67.1.1/24", []]

[[link]]
ends = ["one", "lan"]
addresses = ["10.67.1.2/24", []]

[[link]]
ends = ["two", "lan"]
addresses = ["10.67.1.3/24", []]

[[link]]
ends = ["server", "lan"]
addresses = ["10.67.1.4/24", []]
"#;

/// A network that is removed on drop.
struct AgentNetwork(TestDir);

impl AgentNetwork {
    fn up() -> Option<AgentNetwork> {
        if !rustix::process::geteuid().is_root() {
            skip("namespaces need root");
            return None;
        }
        let net = AgentNetwork(TestDir::new());
        let file = net.0.write("hosts.toml", HOSTS).display().to_string();
        let done = net.command(&["up", &file]).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        Some(net)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.arg("lab").args(words).env("STEELYARD_LAB", self.0.join("records"));
        command
    }

    /// Runs this program on a host.
    fn on(&self, host: &str, words: &[&str]) -> Command {
        let own = program().display().to_string();
        self.command(&[&["exec", host, "--", &own, "bench"], words].concat())
    }
}

impl Drop for AgentNetwork {
    fn drop(&mut self) {
        let _ = self.command(&["down"]).output();
    }
}

fn token(dir: &TestDir, name: &str, text: &str) -> String {
    let file = dir.write(name, text);
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    file.display().to_string()
}

fn agent(net: &AgentNetwork, host: &str, listen: &str, token: &str) -> ChildProcess {
    let agent = ChildProcess::start(net.on(host, &["agent", listen, "--token-file", token]));
    until("the agent listens", || agent.output().contains("agent on"));
    agent
}

fn result(file: &Path) -> BenchResult {
    parse_result(&fs::read_to_string(file).unwrap()).unwrap()
}

// Rows: L14
#[test]
fn agents_in_namespaces_make_one_result_and_one_that_is_killed_leaves_what_it_had() {
    let Some(net) = AgentNetwork::up() else { return };
    let key = token(&net.0, "token", "a token that both know");
    let serve = ChildProcess::start(net.on("server", &["serve", "10.67.1.4:7007"]));
    until("the server listens", || serve.output().contains("echoing on"));
    let one = agent(&net, "one", "10.67.1.2:7009", &key);
    let mut two = agent(&net, "two", "10.67.1.3:7009", &key);
    let agents = ["--agents", "10.67.1.2:7009,10.67.1.3:7009", "--token-file", &key];
    let bench = |more: &[&str], file: &Path| {
        let file = file.display().to_string();
        let words = ["connect", "10.67.1.4:7007", "--bytes", "64", "-o", &file];
        net.on("lead", &[&words[..], &agents[..], more].concat())
    };

    let file = net.0.join("whole.json");
    let done = bench(&["-n", "601", "-c", "4"], &file).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let whole = result(&file);
    let run = &whole.runs[0];
    assert_eq!((figure(run, "answered"), figure(run, "connections")), (601.0, 4.0));
    let each: Vec<u64> = run.parts.iter().map(|part| part.answered).collect();
    assert_eq!(each, [301, 300]);
    let counted: u64 = run.histogram.iter().map(|bucket| bucket.count).sum();
    assert_eq!(counted, 601, "histograms are merged");
    assert!(whole.provenance.settings["agents"].contains("10.67.1.3:7009"));

    // Each agent uses those source addresses that it has.
    let file = net.0.join("from.json");
    let from = ["--from", "10.67.1.2,10.67.1.3", "--close", "reset"];
    let done = bench(&[&["-n", "40", "-c", "4"], &from[..]].concat(), &file).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert_eq!(figure(&result(&file).runs[0], "answered"), 40.0);
    let done = bench(&["-n", "40", "--from", "10.67.1.2"], &file).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(
        done.status.code() == Some(2) && said.contains("none of the 1 source addresses"),
        "{said}"
    );

    let file = net.0.join("killed.json");
    let mut led = ChildProcess::start(bench(&["--rate", "400", "-d", "6s"], &file));
    until("a line of progress, and both make load", || two.output().contains("10.67.1.1"));
    until("requests go out", || {
        let text = fs::read_to_string(format!("/proc/{}/net/snmp", serve.pid())).unwrap();
        // After some hundred segments, the second run is in progress.
        let line = text.lines().filter(|line| line.starts_with("Tcp:")).nth(1).unwrap();
        line.split_whitespace().nth(10).unwrap().parse::<u64>().unwrap() > 1_900
    });
    two.signal(Signal::KILL);
    assert_eq!(two.wait().code(), None);
    assert_eq!(led.wait().code(), Some(3), "{}", led.output());
    let partial = result(&file);
    assert!(!partial.complete && !partial.runs[0].complete);
    let [stayed, lost]: &[AgentPart] = partial.runs[0].parts.as_slice() else {
        panic!("{partial:?}")
    };
    assert!(stayed.complete && stayed.answered > 1_000, "{stayed:?}");
    assert!(!lost.complete && lost.requests < stayed.requests, "{lost:?}");
    assert_eq!(figure(&partial.runs[0], "answered"), (stayed.answered + lost.answered) as f64);
    let told = |text: &str| partial.notes.iter().any(|note| note.text.contains(text));
    assert!(told("agent 10.67.1.3:7009: lost after"), "{:?}", partial.notes);
    drop(one);
}

#[test]
fn who_does_not_know_the_token_or_is_not_there_is_reported() {
    let dir = TestDir::new();
    let ours = token(&dir, "ours", "sixteen letters!");
    let theirs = token(&dir, "theirs", "sixteen others !");
    let mut command = Command::new(program());
    command.args(["bench", "agent", "127.0.0.1:0", "--token-file", &theirs]);
    let agent = ChildProcess::start(command);
    let end = until_some("the agent listens", || {
        let said = agent.output();
        said.lines().find_map(|line| line.strip_prefix("agent on ").map(str::to_owned))
    });
    let order = |agents: &str, token: &str| {
        said(&["http://127.0.0.1:9/", "-n", "10", "--agents", agents, "--token-file", token])
    };
    let (code, text) = order(&end, &ours);
    assert!(code == 2 && text.contains("does not know the token"), "{code} {text}");
    until("the agent says so too", || agent.output().contains("does not know the token"));
    let (code, text) = order("127.0.0.1:1", &ours);
    assert!(code == 2 && text.contains("agent 127.0.0.1:1"), "{code} {text}");
    let open = dir.write("open", "sixteen letters!").display().to_string();
    fs::set_permissions(&open, Permissions::from_mode(0o644)).unwrap();
    let (code, text) = order(&end, &open);
    assert!(code == 2 && text.contains("chmod"), "{code} {text}");
    let (code, text) = order(&end, &token(&dir, "short", "short"));
    assert!(code == 2 && text.contains("at least 16"), "{code} {text}");
    // Agents report a refused connection in the same way as a local run.
    let (code, text) = order(&end, &theirs);
    assert!(code == 3 && text.contains("connect-refused"), "{code} {text}");
}
