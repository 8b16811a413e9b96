//! A daemon without root: paths of its user, a user that the system does not know, a machine where nothing can be
//! written, and ports that need a privilege.

use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::Command;

use lab::origin::TestOrigin;
use rustix::process::{Signal, geteuid};
use tests::e2e::balancer::program;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::cli_environment::{CommandOutput, run_command};
use tests::e2e::client::HttpClient;
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;
use tests::skip::skip;

/// A number without an entry in the user database.
const USER: u32 = 61_184;

/// A directory that the user can read, with the program and a configuration without paths in it.
struct UserPlace {
    dir: TestDir,
    program: PathBuf,
    setup: BalancerConfig,
    _origin: TestOrigin,
}

impl UserPlace {
    /// `None`: the test cannot become another user.
    fn new() -> Option<UserPlace> {
        if !geteuid().is_root() {
            skip("another user is needed");
            return None;
        }
        let dir = TestDir::new();
        // The build directory may be below one that the user cannot enter.
        let copy = dir.join("steelyard");
        if std::fs::hard_link(program(), &copy).is_err() {
            std::fs::copy(program(), &copy).unwrap();
        }
        let origins = [origin("a")];
        let setup = BalancerConfig::http(&addresses(&origins)).quiet();
        let [origin] = origins;
        let place = UserPlace { dir, program: copy, setup, _origin: origin };
        place.write("steelyard.toml", &place.text());
        Some(place)
    }

    /// The configuration without its socket and its state directory.
    fn text(&self) -> String {
        let text = self.setup.text(self.dir.path());
        let own = text.lines().filter(|line| !line.starts_with("control = "));
        let text: String = own.map(|line| format!("{line}\n")).collect();
        assert!(!text.contains("socket"), "{text}");
        text
    }

    /// Writes a file of the user.
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.write(name, text);
        chown(&path, Some(USER), Some(USER)).unwrap();
        path
    }

    fn make_dir(&self, name: &str) -> PathBuf {
        let path = self.dir.join(name);
        std::fs::create_dir_all(&path).unwrap();
        chown(&path, Some(USER), Some(USER)).unwrap();
        path
    }

    /// The program as the user, with no other variables than these.
    fn command(&self, before: &[&str], variables: &[String]) -> Command {
        let user = USER.to_string();
        let become_user = ["setpriv", "--reuid", &user, "--regid", &user, "--clear-groups", "--"];
        let clear = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"];
        let mut words = before.iter().copied().chain(become_user).chain(clear);
        let mut command = Command::new(words.next().unwrap());
        command.args(words).args(variables);
        command
    }

    /// The same with the program itself.
    fn program(&self, before: &[&str], variables: &[String]) -> Command {
        let mut command = self.command(before, variables);
        command.arg(&self.program);
        command
    }
}

/// Runs the daemon until it is ready.
fn start(command: Command) -> ChildProcess {
    let mut process = ChildProcess::start(command);
    wait::until("it is ready", || {
        let ended = process.try_wait();
        assert!(ended.is_none(), "{}", process.output());
        process.output().contains("ready: ")
    });
    process
}

fn end(mut process: ChildProcess) {
    process.signal(Signal::TERM);
    assert!(process.wait().success(), "{}", process.output());
}

fn succeed(command: Command) -> CommandOutput {
    let said = run_command(command);
    assert_eq!(said.code, 0, "{said:?}");
    said
}

#[test]
fn a_user_has_own_paths_and_every_verb_finds_them() {
    let Some(place) = UserPlace::new() else { return };
    let [home, runtime] = ["home", "runtime"].map(|name| place.make_dir(name));
    place.make_dir("home/.config");
    place.make_dir("home/.config/steelyard");
    place.write("home/.config/steelyard/steelyard.toml", &place.text());
    let variables = [("HOME", &home), ("XDG_RUNTIME_DIR", &runtime)];
    let variables = variables.map(|(name, path)| format!("{name}={}", path.display()));
    let command = |arguments: &[&str]| {
        let mut command = place.program(&[], &variables);
        command.args(arguments);
        command
    };
    // The configuration is found as well.
    let process = start(command(&["run"]));
    assert!(runtime.join("steelyard/control.sock").exists());
    let good = succeed(command(&["check"])).stdout;
    assert!(good.contains("home/.config/steelyard/steelyard.toml: good"), "{good}");
    assert!(succeed(command(&["status"])).stdout.contains("web"));
    succeed(command(&["server", "drain", "web/a"]));
    let report = succeed(command(&["audit", "--json"])).stdout;
    assert!(report.contains("drain"), "{report}");
    let state = home.join(".local/state/steelyard");
    assert!(std::fs::read_dir(&state).unwrap().count() > 0, "{state:?}");
    end(process);
    let none = run_command(command(&["status"]));
    assert!(none.code == 2 && none.stderr.contains("no daemon at "), "{none:?}");
}

#[test]
fn a_user_that_the_system_does_not_know_runs_and_asks_without_a_home() {
    let Some(place) = UserPlace::new() else { return };
    let folder = place.dir.path().display().to_string();
    // An own `/tmp`, as a container has, and no `/run` that anybody may write.
    let script = format!(
        "mount --bind {folder} /mnt && mount -t tmpfs -o mode=1777 none /tmp && \
         mount -t tmpfs -o ro none /run && exec \"$@\""
    );
    let mut command = place.command(&["unshare", "-m", "--", "sh", "-c", &script, "sh"], &[]);
    command.args(["/mnt/steelyard", "run", "-c", "/mnt/steelyard.toml"]);
    let process = start(command);
    let inside = process.pid().to_string();
    let ask = |arguments: &[&str]| {
        let mut command = place.command(&["nsenter", "-t", &inside, "-m", "--"], &[]);
        command.arg("/mnt/steelyard").args(arguments);
        succeed(command).stdout
    };
    assert!(ask(&["status"]).contains("web"));
    ask(&["server", "drain", "web/a"]);
    assert_eq!(std::fs::read_dir("/tmp").unwrap().filter(is_own_folder).count(), 0, "not outside");
    end(process);
}

/// Whether an entry is the directory of the user without a home.
fn is_own_folder(entry: &std::io::Result<std::fs::DirEntry>) -> bool {
    entry.as_ref().is_ok_and(|entry| *entry.file_name() == *format!("steelyard-{USER}"))
}

#[test]
fn where_nothing_can_be_written_it_serves_and_says_what_to_do() {
    let Some(place) = UserPlace::new() else { return };
    let folder = place.dir.path().display().to_string();
    let script = format!(
        "mount --bind {folder} /mnt && mount -t tmpfs -o ro none /tmp && mount -t tmpfs -o ro none /run && exec \"$@\""
    );
    let mut command = place.command(&["unshare", "-m", "--", "sh", "-c", &script, "sh"], &[]);
    command.args(["/mnt/steelyard", "run", "-c", "/mnt/steelyard.toml"]);
    let process = start(command);
    let told = process.output();
    let line =
        told.lines().find(|line| line.contains("api-socket: ")).unwrap_or_else(|| panic!("{told}"));
    for part in [
        "/tmp/steelyard-61184",
        "set `socket` in `global.control` to a path that can be written",
        "\"off\"",
    ] {
        assert!(line.contains(part), "{part}: {told}");
    }
    assert_eq!(HttpClient::connect(place.setup.fronts()[0]).get("/").status(), 200);
    end(process);
}

#[test]
fn a_port_that_needs_a_privilege_is_refused_with_the_remedies() {
    let Some(place) = UserPlace::new() else { return };
    let text = place.text().replace(&format!("\"{}\"", place.setup.fronts()[0]), "\":80\"");
    let file = place.write("low.toml", &text);
    // A network of its own, in which ports below 1024 are what they are by default.
    let own = place.make_dir("own");
    let variables = ["XDG_RUNTIME_DIR", "XDG_STATE_HOME"];
    let variables = variables.map(|name| format!("{name}={}", own.display()));
    let mut command = place.program(&["unshare", "-n", "--"], &variables);
    command.arg("run").arg("-c").arg(file);
    let said = run_command(command);
    assert_eq!(said.code, 1, "{said:?}");
    let program = format!("setcap cap_net_bind_service=+ep {}", place.program.display());
    for part in
        [&program, "sysctl net.ipv4.ip_unprivileged_port_start=80", "--dport 80 -j REDIRECT"]
    {
        assert!(said.stderr.contains(part), "{part}: {said:?}");
    }
}

#[test]
fn without_a_socket_it_serves_and_signals_still_command_it() {
    let dir = TestDir::new();
    let origins = [origin("a")];
    let setup = BalancerConfig::http(&addresses(&origins)).quiet();
    let text = setup.text(dir.path());
    let own = text.lines().find(|line| line.starts_with("control = ")).unwrap();
    for off in ["control = \"off\"", "control = { socket = \"off\", state = \"DIR/state\" }"] {
        let off = off.replace("DIR", &dir.path().display().to_string());
        let file = dir.write("steelyard.toml", text.replace(own, &off));
        let run = |more: &[&str]| {
            let mut command = Command::new(program());
            command.arg("run").arg("-c").arg(&file).args(more);
            command.env("XDG_STATE_HOME", dir.path());
            command
        };
        let process = start(run(&[]));
        assert_eq!(HttpClient::connect(setup.fronts()[0]).get("/").status(), 200);
        assert!(!dir.join("off").exists() && !process.output().contains("api-socket"));
        let more = text.replace(own, &off) + "[pool.more]\nservers = [\"127.0.0.1:1\"]\n";
        dir.write("steelyard.toml", more);
        process.signal(Signal::HUP);
        wait::until("it has read its file again", || {
            process.output().matches("applied: ").count() > 1
        });
        let said = run_command(run(&["--takeover"]));
        assert!(said.code == 1 && said.stderr.contains("global.control.socket is off"), "{said:?}");
        end(process);
    }
}

#[test]
fn check_as_a_user_opens_what_that_user_could_open() {
    let Some(place) = UserPlace::new() else { return };
    let pair = place.dir.join("pair.pem");
    let names = ["shop.example"];
    CertificateAuthority::new("own").pair(pair.clone(), &certificate_for(&names));
    let tls = format!("tls = \"{}\"\n[pool.web]", pair.display());
    let file = place.write("tls.toml", &place.text().replace("[pool.web]", &tls));
    let check = |more: &[&str]| {
        let mut command = Command::new(program());
        command.arg("check").args(more).arg(&file);
        run_command(command)
    };
    let user = USER.to_string();
    let as_root = check(&[]);
    assert_eq!(as_root.code, 0, "root can read it: {as_root:?}");
    let refused = check(&["--as", &user]);
    assert!(refused.code == 1 && refused.stderr.contains("pair.pem"), "{refused:?}");
    chown(&pair, Some(USER), Some(USER)).unwrap();
    let good = check(&["--as", &user]);
    assert_eq!(good.code, 0, "{good:?}");
    chown(&file, Some(0), Some(0)).unwrap();
    let unread = check(&["--as", &user]);
    assert!(unread.code == 2 && unread.stderr.contains("Permission denied"), "{unread:?}");
    let unknown = check(&["--as", "nobody-has-this-name"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("/etc/passwd has no user"), "{unknown:?}");
}
