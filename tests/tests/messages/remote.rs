//! Daemons that cannot be called: none runs, another machine is not reached, files for TLS are no good.

use std::process::Command;

use tests::e2e::balancer::program;
use tests::e2e::cli_environment::run_command;
use tests::e2e::dir::TestDir;
use tests::e2e::servers::reserve_port;

use crate::raw_text::refuses;

#[test]
fn a_daemon_that_cannot_be_called_is_named_with_what_to_do() {
    let dir = TestDir::new();
    dir.write("garbage.pem", "garbage\n");
    dir.write("a-file", "");
    dir.write("client.toml", "[remote.a]\nhots = \"x\"\n");
    let port = reserve_port();
    let closed = port.address().to_string();
    let status = |arguments: &[&str], says: &[&str]| {
        let mut command = Command::new(program());
        command.arg("status").args(arguments).current_dir(dir.path());
        refuses(&arguments.join(" "), &run_command(command), says);
    };
    status(&["--socket", "absent"], &["no daemon at absent", "`steelyard run`"]);
    status(&["--socket", "a-file"], &["a-file", "start it with `steelyard run`"]);
    status(&["--remote", "http://x y"], &["'http://x y'", "expected HOST"]);
    status(&["--remote", &closed], &[&closed, "Connection refused", "global.control.listen"]);
    status(&["--remote", "none.invalid"], &["none.invalid", "resolv.conf"]);
    status(&["--remote", &closed, "--pin", "sha256:zz"], &["'sha256:zz'", "64 hexadecimal digits"]);
    status(&["--remote", &closed, "--ca", "absent.pem"], &["absent.pem", "check the path"]);
    status(&["--remote", &closed, "--ca", "garbage.pem"], &["garbage.pem", "no certificate"]);
    status(&["--remote", &closed, "--token-file", "absent"], &["absent", "check the path"]);
    let mut command = Command::new(program());
    command.args(["status", "--remote", "a"]).env("STEELYARD_CLIENT", dir.join("client.toml"));
    refuses(
        "client file",
        &run_command(command),
        &["client.toml: line 2, column 1", "`hots`", "`host`"],
    );
}
