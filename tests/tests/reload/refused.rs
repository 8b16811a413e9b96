//! Configurations that cannot be applied: the error, and that nothing changed.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use tests::e2e::balancer::program;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::{CliEnvironment, CommandOutput, run_command};
use tests::e2e::client::HttpClient;
use tests::e2e::dir::TestDir;
use tests::e2e::listening_sockets::listening;
use tests::e2e::servers::{addresses, origin, reserve_port};
use tests::e2e::wait;

/// Each marked line contains one mistake.
const TEN_MISTAKES: &str = r#"
[global]
drain = "30"                                 # mistake: no unit
workrs = 2                                   # mistake: no such key

[service.shop]
listen = "127.0.0.1"                         # mistake: no port
forward = "htp"                              # mistake: no such way
pool = "wep"                                 # mistake: no such pool

[service.mail]
listen = "127.0.0.1:2525"
forward = "tcp"
pool = "web"
timeout.header = "1s"                        # mistake: not with tcp
limit.connections = -1                       # mistake: too few

[pool.web]
balance = "least-request"
servers = [
  { name = "a", address = "10.0.0.1:80" },
  { name = "a", address = "10.0.0.2:80" },   # mistake: the name twice
  { name = "b", address = "10.0.0.3:99999" },# mistake: no such port
  { name = "c", address = "10.0.0.4:80", weight = 300 }, # mistake: too much
]
"#;

#[test]
fn ten_mistakes_are_listed_all_ten_by_check_and_by_run() {
    let dir = TestDir::new();
    let file = dir.write("ten.toml", TEN_MISTAKES);
    let marked = TEN_MISTAKES.lines().enumerate().filter(|(_, line)| line.contains("# mistake"));
    let lines: Vec<usize> = marked.map(|(index, _)| index + 1).collect();
    assert_eq!(lines.len(), 10);
    for verb in ["check", "run"] {
        let CommandOutput { code, stderr: err, .. } = alone(verb, &file);
        assert_eq!(code, 1, "{verb}: {err}");
        assert_eq!(
            err.lines().filter(|line| line.starts_with("error")).count(),
            10,
            "{verb}: {err}"
        );
        for line in &lines {
            let place = format!("{}:{line}:", file.display());
            assert!(err.contains(&place), "{verb} does not name {place}\n{err}");
        }
    }
    let missing = dir.join("missing.toml");
    for verb in ["check", "run"] {
        assert_eq!(alone(verb, &missing).code, 2, "{verb}: a file that is not there");
    }
}

#[test]
fn check_warns_of_what_this_machine_does_not_have() {
    let dir = TestDir::new();
    let file = dir.write(
        "absent.toml",
        "global.access-log = \"/nowhere/access.log\"\n\
         [service.shop]\nlisten = \"127.0.0.1:80\"\nforward = \"http\"\npool = \"web\"\n\
         [pool.web]\nservers = [\"10.0.0.1:80\"]\nsource = \"192.0.2.77\"\n\
         [pool.web.socket]\ninterface = \"none7\"\ncongestion = \"none8\"\n",
    );
    let CommandOutput { code, stderr: err, .. } = alone("check", &file);
    assert_eq!(code, 0, "{err}");
    for says in [
        "global.access-log.target: there is no directory /nowhere",
        "pool.web.source: 192.0.2.77 is no address of this machine now",
        "pool.web.socket.interface: this machine has no interface `none7` now",
        "pool.web.socket.congestion: this machine's kernel offers no congestion control `none8`",
    ] {
        assert!(err.contains(says), "{says}\n{err}");
    }
    assert_eq!(err.matches("warning: ").count(), 4, "{err}");
    let program = tests::e2e::balancer::program();
    let words = ["check", "--without-files", "-c"];
    let output = std::process::Command::new(program).args(words).arg(&file).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_taken_port_names_the_process_that_has_it() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let dir = TestDir::new();
    let at = dir.path().display();
    let file = dir.write(
        "taken.toml",
        format!(
            "[global]\ncontrol = {{ socket = \"{at}/sock\", state = \"{at}/state\" }}\n\
             [service.shop]\nlisten = \"{address}\"\nforward = \"tcp\"\npool = \"web\"\n\
             [pool.web]\nservers = [\"127.0.0.1:9\"]\n"
        ),
    );
    let CommandOutput { code, stderr: err, .. } = alone("run", &file);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains(&address.to_string()), "{err}");
    assert!(err.contains(&format!("{}", std::process::id())), "whose it is: {err}");
    assert!(!dir.join("sock").exists(), "nothing is left behind");
}

#[test]
fn a_reload_that_cannot_be_done_changes_nothing_and_says_so() {
    let origins = [origin("a")];
    let setup = BalancerConfig::http(&addresses(&origins));
    let place = CliEnvironment::new(&setup);
    let mut process = place.start();
    let front = setup.fronts()[0];
    let sockets = listening(process.pid());
    let before = place.status();
    let mut client = HttpClient::connect(front);
    assert_eq!(client.get("/").status(), 200);

    // First a file with mistakes, then one with two new ports of which one is in use, then an empty one.
    let free = reserve_port();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let two = format!(
        "[service.more]\nlisten = [\"{}\", \"{}\"]\nforward = \"tcp\"\npool = \"web\"\n",
        free.address(),
        taken.local_addr().unwrap()
    );
    let text = |setup: BalancerConfig| setup.text(place.dir().path());
    let rows = [
        (text(setup.clone().pool("balance = \"fairest\"")), "fairest".to_owned()),
        (text(setup.clone().with_tables(&two)), taken.local_addr().unwrap().to_string()),
        ("# our shop\n\n".to_owned(), "is empty".to_owned()),
    ];
    for (number, (broken, word)) in (1..).zip(rows) {
        std::fs::write(place.file(), broken).unwrap();
        process.signal(Signal::HUP);
        wait::until("the refusal is told", || place.count_events("reload-failed") == number);
        let events = place.events().events;
        let told = events.iter().rfind(|event| event.kind == "reload-failed").unwrap();
        assert!(told.text.contains(&word), "{told:?}");
        let applied = place.run_verb(&["apply", &place.file().display().to_string()]);
        assert_eq!(applied.code, 1, "{applied:?}");
        assert!(applied.stderr.contains(&word), "{applied:?}");

        let now = place.status();
        assert_eq!(now.generation, before.generation);
        assert_eq!(now.services.len(), before.services.len());
        assert_eq!(listening(process.pid()), sockets);
        assert_eq!(client.get("/").status(), 200, "on the same connection");
        assert_eq!(HttpClient::connect(front).get("/").status(), 200, "on another");
    }
    assert_eq!(process.try_wait(), None);
}

fn alone(verb: &str, file: &Path) -> CommandOutput {
    let mut command = Command::new(program());
    command.arg(verb).arg("-c").arg(file).env("NO_COLOR", "1");
    run_command(command)
}
