//! Daemons that cannot be called: none runs, another machine is not reached, files for TLS are no good.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use tests::e2e::balancer::{TestBalancer, program};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::cli_environment::run_command;
use tests::e2e::client::HttpClient;
use tests::e2e::dir::TestDir;
use tests::e2e::servers::{addresses, origin, reserve_port};
use tests::e2e::unix_server::UnixOrigin;
use tests::e2e::wait;

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
    status(&["--socket", "a-file"], &["a-file: this is no socket", "--socket PATH"]);
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

#[test]
fn a_wrong_token_is_named_with_the_file_that_has_the_right_ones() {
    let origins = [origin("a")];
    let port = reserve_port();
    let address = port.address().to_string();
    let keys = format!(
        ", listen = \"{address}\", tokens = \"DIR/tokens\", certificate = \"DIR/control.pem\""
    );
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)).control(&keys));
    let dir = balancer.dir();
    let authority = CertificateAuthority::new("own");
    authority.write(dir.join("ca.pem"));
    authority.pair(dir.join("control.pem"), &certificate_for(&["127.0.0.1"]));
    wait::until("the API listens on TCP", || HttpClient::try_connect(port.address()).is_ok());
    let token = dir.write("wrong", "not-a-token\n");
    fs::set_permissions(&token, Permissions::from_mode(0o600)).unwrap();
    let mut command = Command::new(program());
    command.args(["status", "--remote", &address, "--ca", "ca.pem", "--token-file", "wrong"]);
    command.current_dir(dir.path());
    let says = ["this token is not known", "global.control.tokens", "`steelyard token ROLE NAME"];
    refuses("a wrong token", &run_command(command), &says);
}

#[test]
fn a_daemon_of_another_version_is_named_with_the_program_to_use() {
    let dir = TestDir::new();
    for (name, body, says) in [
        ("newer", "{\"version\": \"99.1.0\"}", "use the program of that version"),
        ("older", "{}", "use the program of the daemon's version"),
    ] {
        let socket = dir.join(name);
        let _daemon = UnixOrigin::start(socket.clone(), move |mut stream| {
            let _ = stream.read(&mut [0; 4096]);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
            let _ = write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        });
        let mut command = Command::new(program());
        command.arg("status").arg("--socket").arg(&socket);
        let place = socket.display().to_string();
        let says = [&*place, "/v1/status", "another form than steelyard", says];
        refuses(name, &run_command(command), &says);
    }
}
