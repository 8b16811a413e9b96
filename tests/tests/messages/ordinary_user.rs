//! What an ordinary user may not: ports that need a privilege, and files of others.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

use tests::e2e::balancer::program;
use tests::e2e::cli_environment::{CommandOutput, run_command};
use tests::e2e::dir::TestDir;
use tests::skip::skip;

use crate::raw_text::refuses;

/// The user `nobody` of every distribution.
const NOBODY: u32 = 65_534;

/// A directory in which the program runs as an ordinary user, who has `own` below it.
struct UserDirectory {
    dir: TestDir,
    is_root: bool,
}

impl UserDirectory {
    fn new() -> UserDirectory {
        let dir = TestDir::new();
        let is_root = rustix::process::geteuid().is_root();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(dir.join("own")).unwrap();
        if is_root {
            chown(dir.join("own"), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        UserDirectory { dir, is_root }
    }

    /// A file that this user may not read: of root, or without a mode.
    fn unreadable(&self, name: &str) -> String {
        let file = self.dir.write(name, "x = 1\n");
        let mode = if self.is_root { 0o600 } else { 0o000 };
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        file.display().to_string()
    }

    fn run(&self, arguments: &[&str]) -> CommandOutput {
        let mut command = match self.is_root {
            true => Command::new("setpriv"),
            false => Command::new(program()),
        };
        if self.is_root {
            let user = NOBODY.to_string();
            command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
            command.args(["--inh-caps=-all", "--bounding-set=-all"]).arg(program());
        }
        command.args(arguments).current_dir(self.dir.path());
        command.env("HOME", self.dir.join("own"));
        for name in ["XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"] {
            command.env_remove(name);
        }
        run_command(command)
    }
}

/// A configuration that listens at this port.
fn listening_at(place: &UserDirectory, port: u16, keys: &str) -> String {
    let dir = place.dir.join("own");
    let dir = dir.display();
    format!(
        "[global]\ncontrol = {{ socket = \"{dir}/sock\", state = \"{dir}/state\" }}\n[service.web]\n\
         listen = \"127.0.0.1:{port}\"\nforward = \"http\"\npool = \"p\"\n{keys}[pool.p]\nservers = [\"127.0.0.1:1\"]\n"
    )
}

#[test]
fn a_port_that_needs_a_privilege_is_named_with_the_ways_to_get_it() {
    let first_free = fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start").unwrap();
    let first_free: u16 = first_free.trim().parse().unwrap();
    if first_free < 2 {
        return skip("every port is free for ordinary users on this machine");
    }
    let place = UserDirectory::new();
    let port = first_free - 1;
    let file = place.dir.write("run.toml", listening_at(&place, port, ""));
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let says = [
        &format!("127.0.0.1:{port}"),
        &format!("ports below {first_free} need a privilege"),
        "setcap cap_net_bind_service=+ep",
        "ip_unprivileged_port_start",
        "listen on a higher port",
    ];
    let file = file.display().to_string();
    refuses("a low port", &place.run(&["run", "-c", &file]), &says);
}

#[test]
fn a_file_that_may_not_be_read_is_named_with_the_user_to_run_as() {
    let place = UserDirectory::new();
    let secret = place.unreadable("secret.toml");
    let says = [&secret, "Permission denied", "run as a user who may"];
    for verb in [&["check"][..], &["plan-change"], &["run", "-c"], &["capacity"]] {
        refuses(verb[0], &place.run(&[verb, &[&secret]].concat()), &says);
    }
    let pem = place.unreadable("key.pem");
    let config = listening_at(&place, 8443, &format!("tls = \"{pem}\"\n"));
    let config = place.dir.write("c.toml", config);
    fs::set_permissions(&config, Permissions::from_mode(0o644)).unwrap();
    let config = config.display().to_string();
    let says = [&pem, "Permission denied", "run as a user who may"];
    refuses("a key", &place.run(&["check", &config]), &says);
    let token = place.unreadable("token");
    let arguments = ["status", "--remote", "127.0.0.1:9", "--token-file", &token];
    refuses("a token", &place.run(&arguments), &[&token, "Permission denied", "run as"]);
}
