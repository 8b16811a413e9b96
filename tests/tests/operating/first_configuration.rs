//! `steelyard init`: what it writes is accepted and runs, what exists stays, and a program is told which options it needs.

use std::process::Command;

use rustix::process::Signal;
use tests::e2e::balancer::program;
use tests::e2e::cli_environment::{CommandOutput, run_command};
use tests::e2e::client::HttpClient;
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::servers::{addresses, origin, reserve_port};
use tests::e2e::wait;

fn steelyard(arguments: &[&str]) -> CommandOutput {
    let mut command = Command::new(program());
    command.args(arguments);
    run_command(command)
}

// Rows: I01
#[test]
fn what_init_writes_is_accepted_and_runs() {
    let dir = TestDir::new();
    let origins = [origin("a"), origin("b")];
    let servers = addresses(&origins).iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let front = reserve_port();
    let listen = front.address().to_string();
    let file = dir.join("new/shop.toml").display().to_string();
    let said = steelyard(&["init", &file, "--listen", &listen, "--servers", &servers]);
    assert!(said.code == 0 && said.stdout.contains("steelyard run"), "{said:?}");
    let checked = steelyard(&["check", &file]);
    assert!(
        checked.code == 0 && checked.stdout.contains("1 service, 1 pool, 2 servers"),
        "{checked:?}"
    );
    let mut command = Command::new(program());
    command.args(["run", &file]).env("XDG_RUNTIME_DIR", dir.path());
    // The state of a daemon of root is not to be touched.
    let text = std::fs::read_to_string(&file).unwrap();
    let paths = format!(
        "control = {{ socket = \"{0}/sock\", state = \"{0}/state\" }}\n",
        dir.path().display()
    );
    std::fs::write(&file, text.replacen("[global]\n", &format!("[global]\n{paths}"), 1)).unwrap();
    let mut process = ChildProcess::start(command);
    wait::until("it answers", || {
        assert!(process.try_wait().is_none(), "{}", process.output());
        HttpClient::try_connect(front.address()).is_ok()
    });
    assert_eq!(HttpClient::connect(front.address()).get("/").status(), 200);
    process.signal(Signal::TERM);
    assert!(process.wait().success(), "{}", process.output());
}

#[test]
fn init_overwrites_nothing_unless_it_is_told_to() {
    let dir = TestDir::new();
    let file = dir.write("shop.toml", "mine").display().to_string();
    let init = |more: &[&str]| {
        let base = ["init", &file, "--listen", ":8080", "--servers", "a:1"];
        steelyard(&[&base, more].concat())
    };
    let refused = init(&[]);
    assert!(refused.code == 1 && refused.stderr.contains("--force"), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    let forced = init(&["--force", "--json"]);
    assert_eq!(forced.code, 0, "{forced:?}");
    let answer: serde_json::Value = serde_json::from_str(&forced.stdout).unwrap();
    assert_eq!(
        (answer["listen"].as_str(), answer["forward"].as_str()),
        (Some(":8080"), Some("http"))
    );
    assert_eq!(answer["text"].as_str().unwrap(), std::fs::read_to_string(&file).unwrap());
}

#[test]
fn without_a_terminal_init_names_the_options_that_are_missing() {
    let dir = TestDir::new();
    let file = dir.join("shop.toml").display().to_string();
    let nothing = steelyard(&["init", &file]);
    assert_eq!(nothing.code, 2, "{nothing:?}");
    for option in ["--listen ADDRESS", "--servers HOST:PORT,HOST:PORT"] {
        assert!(nothing.stderr.contains(option), "{nothing:?}");
    }
    let half = steelyard(&["init", &file, "--listen", ":8080"]);
    assert!(half.stderr.contains("--servers") && !half.stderr.contains("--listen"), "{half:?}");
    let wrong = steelyard(&["init", &file, "--listen", "here", "--servers", "a:1"]);
    assert!(wrong.code == 1 && wrong.stderr.contains("here"), "{wrong:?}");
    assert!(!dir.join("shop.toml").exists(), "nothing was written");
    let shown =
        steelyard(&["init", "-", "--listen", ":5432", "--forward", "tcp", "--servers", "db:5432"]);
    assert!(shown.stdout.contains("forward = \"tcp\""), "{shown:?}");
}
