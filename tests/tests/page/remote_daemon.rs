//! The program and the daemon on different machines: over TLS, authenticated by a token or a certificate, each with its
//! role.

use std::path::Path;
use std::process::Command;

use api::types::Role;
use tests::e2e::balancer::{TestBalancer, program};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::cli_environment::{CommandOutput, run_command};
use tests::e2e::servers::{addresses, origin};

use crate::client::{ApiListener, token};

/// A daemon with a server certificate; client certificates come from another authority.
struct TlsDaemon {
    door: ApiListener,
    balancer: TestBalancer,
    clients: CertificateAuthority,
}

impl TlsDaemon {
    fn new() -> TlsDaemon {
        let origins = Box::leak(Box::new([origin("a"), origin("b")]));
        let door = ApiListener::new();
        let more = ", certificate = \"DIR/control.pem\", client-authorities = \"DIR/clients.pem\"";
        let balancer =
            TestBalancer::start(&door.on(BalancerConfig::http(&addresses(origins)), more));
        let dir = balancer.dir();
        let servers = CertificateAuthority::new("servers");
        let clients = CertificateAuthority::new("clients");
        servers.write(dir.join("ca.pem"));
        clients.write(dir.join("clients.pem"));
        servers.pair(dir.join("control.pem"), &certificate_for(&["127.0.0.1"]));
        door.open();
        TlsDaemon { door, balancer, clients }
    }

    /// Runs a command with `--remote` and these arguments. `DIR` is replaced by the test's directory.
    fn verb(&self, arguments: &str) -> CommandOutput {
        let remote = format!("{arguments} --remote https://{}", self.door.address());
        self.plain(&remote)
    }

    fn plain(&self, arguments: &str) -> CommandOutput {
        run_command(self.command(arguments))
    }

    fn command(&self, arguments: &str) -> Command {
        let dir = self.balancer.dir().path().display().to_string();
        let mut command = Command::new(program());
        command.args(arguments.replace("DIR", &dir).split(' '));
        // Settings of the user who runs the tests must not apply.
        command.env("STEELYARD_CLIENT", "/nowhere").env("STEELYARD_SOCKET", "/nowhere");
        command
    }

    fn certificate(&self, file: &str, names: &[&str]) {
        let client = certificate_for(names).client(names[0]);
        self.clients.pair(self.balancer.dir().join(file), &client);
    }
}

fn no(said: &CommandOutput, code: i32, words: &[&str]) {
    assert_eq!(said.code, code, "{said:?}");
    for word in words {
        assert!(said.stderr.contains(word), "'{word}' is not in {said:?}");
    }
}

#[test]
fn a_daemon_elsewhere_is_known_by_who_signed_it_or_by_its_fingerprint() {
    let it = TlsDaemon::new();
    let stranger = it.verb("status");
    no(&stranger, 2, &["not trusted", "--ca FILE", "--pin sha256:"]);
    let print = stranger.stderr.split("--pin ").nth(1).unwrap().trim().to_owned();
    for good in ["--ca DIR/ca.pem".to_owned(), format!("--pin {print}")] {
        for verb in
            ["status", "report", "audit", "explain server web/a", "top --once", "names servers"]
        {
            let said = it.verb(&format!("{verb} {good}"));
            assert_eq!(said.code, 0, "{verb}: {said:?}");
        }
    }
    let wrong = format!("--pin sha256:{}", "0".repeat(64));
    no(&it.verb(&format!("status {wrong}")), 2, &["another fingerprint", &print]);
    no(&it.verb("status --ca DIR/clients.pem"), 2, &["not trusted"]);
    no(&it.plain("status --remote http://192.0.2.1:1"), 2, &["https://"]);
    let port = tests::e2e::servers::reserve_port();
    no(
        &it.plain(&format!("status --remote {}", port.address())),
        2,
        &["cannot reach", "control.listen"],
    );
    // The daemon is selected by the environment, and by a name in the client's configuration.
    let mut command = it.command("status --json");
    command.env("STEELYARD_REMOTE", it.door.address().to_string()).env("STEELYARD_PIN", &print);
    assert_eq!(run_command(command).code, 0);
    let text = format!("[remote.lb]\nhost = \"{}\"\nca = \"ca.pem\"\n", it.door.address());
    let file = it.balancer.dir().write("client.toml", text);
    let named = |file: &Path| {
        let mut command = it.command("status --remote lb");
        command.env("STEELYARD_CLIENT", file);
        run_command(command)
    };
    assert_eq!(named(&file).code, 0);
    it.balancer.dir().write("client.toml", "[remote.lb]\nhots = 1\n");
    no(&named(&file), 2, &["client.toml", "hots"]);
}

// Rows: I45
#[test]
fn who_comes_from_elsewhere_has_the_role_of_a_token_or_a_certificate() {
    let it = TlsDaemon::new();
    let dir = it.balancer.dir();
    let drain = "server drain web/a --ca DIR/ca.pem";
    no(&it.verb(drain), 1, &["token"]);
    let operate = token(dir, Role::Operate);
    let file = dir.write("mine", format!("{operate}\n"));
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    no(&it.verb(&format!("{drain} --token-file DIR/mine")), 2, &["chmod"]);
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(it.verb(&format!("{drain} --token-file DIR/mine")).code, 0);
    assert_eq!(it.balancer.server("a").state.name(), "drain");
    it.certificate("alice.pem", &["alice.example"]);
    let enable = "server enable */a --ca DIR/ca.pem --certificate DIR/alice.pem";
    no(&it.verb(enable), 1, &["no role is known", "dns:alice.example", "--certificate"]);
    let made = it.plain("token operate alice --certificate dns:alice.example --into DIR/tokens");
    assert_eq!(made.code, 0, "{made:?}");
    assert_eq!(it.verb(enable).code, 0);
    assert_eq!(it.balancer.server("a").state.name(), "up");
    let audit = it.verb("audit --ca DIR/ca.pem").stdout;
    for who in ["token the-operate from 127.0.0.1", "certificate alice from 127.0.0.1"] {
        assert!(audit.contains(who), "{audit}");
    }
    // An insufficient role, an unknown authority, and an expired certificate.
    let more = "generations --ca DIR/ca.pem --certificate DIR/alice.pem";
    assert_eq!(it.verb(more).code, 0);
    let apply = "rollback --ca DIR/ca.pem --certificate DIR/alice.pem";
    no(&it.verb(apply), 1, &["the certificate's role is operate", "configure"]);
    let other = CertificateAuthority::new("clients");
    other.pair(dir.join("eve.pem"), &certificate_for(&["alice.example"]).client("alice.example"));
    it.clients
        .pair(dir.join("old.pem"), &certificate_for(&["alice.example"]).client("alice").expired());
    for file in ["eve.pem", "old.pem"] {
        let refused = it.verb(&format!("status --ca DIR/ca.pem --certificate DIR/{file}"));
        assert_eq!(refused.code, 2, "{file}: {refused:?}");
    }
    // The role of the certificate is removed.
    dir.write("tokens", "");
    no(&it.verb(enable), 1, &["no role is known"]);
}
