//! What a running daemon refuses, and why one does not start.

use std::net::TcpListener;
use std::process::Command;

use model::snapshot::ServerState;
use tests::e2e::balancer::program;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::cli_environment::{CliEnvironment, run_command};
use tests::e2e::dir::TestDir;
use tests::e2e::servers::{addresses, origin, reserve_port};
use tests::e2e::wait;

use crate::raw_text::{is_plain, refuses};

#[test]
fn a_running_daemon_names_what_it_does_not_know() {
    let origins = [origin("a")];
    let place = CliEnvironment::new(&BalancerConfig::http(&addresses(&origins)));
    let process = place.start();
    for (line, says) in [
        ("server drain web/zz", &["'web/zz'", "there are web/a"][..]),
        ("server drain nope/a", &["'nope/a'", "web"]),
        ("report nope", &["'nope'", "web"]),
        ("status nope", &["'nope'", "web"]),
        ("explain server web/zz", &["'web/zz'", "there are"]),
        ("undo 99", &["no record 99", "`steelyard audit`"]),
        ("rollback 99", &["generation 99", "kept"]),
        ("takeover nope", &["`nope`", "[vrrp.NAME]"]),
        ("apply absent.toml", &["absent.toml", "check the path"]),
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        refuses(line, &place.run_verb(&arguments), says);
    }
    for event in place.events().events {
        is_plain("an event", &event.text);
    }
    drop(process);
}

#[test]
fn why_servers_are_down_is_said_in_plain_words() {
    let origins = [origin("a")];
    let [front, closed] = [reserve_port(), reserve_port()];
    let dir = TestDir::new();
    let pair = dir.join("own.pem");
    CertificateAuthority::new("own").pair(pair.clone(), &certificate_for(&["a.example"]));
    let tables = format!(
        "[service.secure]\nlisten = \"{}\"\nforward = \"http\"\npool = \"web\"\ntls = {pair:?}\n\
         [service.far]\nlisten = \"127.0.0.1:0\"\nforward = \"http\"\npool = \"far\"\n\
         [pool.far]\ntls = {{ name = \"a.example\" }}\nprobe = {{ http = \"/\", interval = \"100ms\", timeout = \"90ms\" }}\n\
         servers = [{{ name = \"untrusted\", address = \"{}\" }}, {{ name = \"clear\", address = \"{}\" }}, \
         {{ name = \"closed\", address = \"{}\" }}, {{ name = \"unknown\", address = \"nowhere.invalid:80\" }}]\n",
        front.address(),
        front.address(),
        origins[0].address(),
        closed.address(),
    );
    let tables = tables.replace("127.0.0.1:0", &reserve_port().address().to_string());
    let place =
        CliEnvironment::new(&BalancerConfig::http(&addresses(&origins)).with_tables(&tables));
    let process = place.start();
    let down = || {
        let status = place.status();
        let far = status.pools.iter().filter(|pool| pool.name == "far");
        let down = far.flat_map(|pool| &pool.servers).filter(|one| one.state == ServerState::Down);
        down.count()
    };
    wait::until("four servers are down", || down() == 4);
    for line in ["status", "status far", "explain server far/untrusted", "report", "events"] {
        let arguments: Vec<&str> = line.split(' ').collect();
        let done = place.run_verb(&arguments);
        is_plain(line, &format!("{}{}", done.stdout, done.stderr));
    }
    let status = place.run_verb(&["status", "--json"]).stdout;
    for says in [
        "the authority that signed its certificate is not trusted here",
        "what answers there does not speak TLS",
        "connection refused",
        "no such name is known",
    ] {
        assert!(status.contains(says), "{says}: {status}");
    }
    is_plain("status --json", &status);
    std::fs::remove_file(&pair).unwrap();
    let problem = wait::until_some("the certificate's file is missed", || {
        let services = place.status().services;
        services.into_iter().flat_map(|one| one.certificates).find_map(|one| one.problem)
    });
    assert!(problem.contains("No such file or directory: check the path"), "{problem}");
    is_plain("a certificate", &place.run_verb(&["status"]).stdout);
    for event in place.events().events {
        is_plain("an event", &event.text);
    }
    drop(process);
}

/// `steelyard run` with a configuration that listens here and has its socket there, until it ends.
fn fails_to_start(dir: &TestDir, listen: &str, socket: &str, says: &[&str]) {
    let text = format!(
        "[global]\ncontrol = {{ socket = \"{socket}\", state = \"{}\" }}\n[service.web]\nlisten = \"{listen}\"\n\
         forward = \"http\"\npool = \"p\"\n[pool.p]\nservers = [\"127.0.0.1:1\"]\n",
        dir.join("state").display()
    );
    let file = dir.write("run.toml", text);
    let mut command = Command::new(program());
    command.arg("run").arg("-c").arg(file).current_dir(dir.path());
    refuses(listen, &run_command(command), says);
}

#[test]
fn a_daemon_that_cannot_start_says_why_and_what_to_do() {
    let dir = TestDir::new();
    let socket = dir.join("sock").display().to_string();
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = holder.local_addr().unwrap().to_string();
    fails_to_start(&dir, &taken, &socket, &[&taken, "listens there"]);
    fails_to_start(
        &dir,
        "192.0.2.77:8080",
        &socket,
        &["192.0.2.77:8080", "this machine does not have that address", "ip_nonlocal_bind"],
    );
    let below_file = dir.write("a-file", "").join("sock").display().to_string();
    fails_to_start(
        &dir,
        &reserve_port().address().to_string(),
        &below_file,
        &["global.control.socket", "a-file is not a directory"],
    );
}
