//! Health checks of real servers from Debian packages: up, hanging (stopped), resumed, and dead.

use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::{Pid, Signal, geteuid, kill_process_group};
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::dir::TestDir;
use tests::e2e::nginx::Nginx;
use tests::e2e::process::ChildProcess;
use tests::e2e::tools::program;
use tests::skip::skip;

use super::fake_servers::{balancer, wait_until_down, wait_until_up};

/// An unprivileged user: some servers do not run as root.
pub const NOBODY: u32 = 65_534;

/// A port that was free a moment ago, because these servers cannot inherit a socket.
pub fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Up; down while it is stopped; up after it resumed; down once it is dead.
pub fn lives(process: &mut ChildProcess, port: u16, probe: &str, good: &str, dead: &str) {
    let balancer = balancer(format!("127.0.0.1:{port}"), probe);
    let group = Pid::from_raw(process.pid().cast_signed()).unwrap();
    let signal = |signal| kill_process_group(group, signal).unwrap();
    wait_until_up(&balancer, good);
    signal(Signal::STOP);
    wait_until_down(&balancer, "within 200 ms");
    signal(Signal::CONT);
    wait_until_up(&balancer, good);
    signal(Signal::KILL);
    process.wait();
    wait_until_down(&balancer, dead);
}

#[test]
fn redis() {
    let dir = TestDir::new();
    let port = port();
    let mut command = Command::new(program("redis-server"));
    command.args(["--bind", "127.0.0.1", "--save", "", "--port", &port.to_string(), "--dir"]);
    let mut process = ChildProcess::start({
        command.arg(dir.path());
        command
    });
    lives(&mut process, port, "redis = true", "redis +PONG in ", "refused");
}

#[test]
fn bind9() {
    let dir = TestDir::new();
    let port = port();
    let at = dir.path().display();
    dir.write("zone", "$TTL 60\n@ IN SOA ns a 1 60 60 60 60\n@ IN NS ns\nns IN A 192.0.2.1\n");
    dir.write(
        "named.conf",
        format!(
            "options {{ directory \"{at}\"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};\n\
             recursion no; pid-file none; session-keyfile none; dnssec-validation no; }};\ncontrols {{ }};\n\
             zone \"shop.example\" {{ type master; file \"zone\"; }};\n"
        ),
    );
    let mut command = Command::new(program("named"));
    command.args(["-g", "-n", "1", "-c"]).arg(dir.join("named.conf"));
    let mut process = ChildProcess::start(command);
    let probe = "dns = \"ns.shop.example\"";
    lives(&mut process, port, probe, "dns ns.shop.example: 1 records", "the port is closed");
}

#[test]
fn a_name_server_that_refuses_is_down_although_it_answers() {
    let dir = TestDir::new();
    let port = port();
    let at = dir.path().display();
    dir.write(
        "named.conf",
        format!(
            "options {{ directory \"{at}\"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};\n\
             recursion no; pid-file none; session-keyfile none; dnssec-validation no; }};\ncontrols {{ }};\n"
        ),
    );
    let mut command = Command::new(program("named"));
    command.args(["-g", "-n", "1", "-c"]).arg(dir.join("named.conf"));
    let _process = ChildProcess::start(command);
    let balancer = balancer(format!("127.0.0.1:{port}"), "dns = \"shop.example\"");
    wait_until_down(&balancer, "refuses to answer");
}

#[test]
fn slapd() {
    let dir = TestDir::new();
    let port = port();
    let at = dir.path().display();
    let schema = "/etc/ldap/schema/core.schema";
    std::fs::create_dir(dir.join("db")).unwrap();
    let text = format!(
        "include {schema}\ninclude /etc/ldap/schema/cosine.schema\npidfile {at}/pid\nargsfile {at}/args\n\
         modulepath /usr/lib/ldap\nmoduleload back_mdb\n\
         database mdb\nsuffix dc=example,dc=org\nrootdn cn=probe,dc=example,dc=org\nrootpw secret\ndirectory {at}/db\n"
    );
    dir.write("slapd.conf", text);
    let entries = "dn: dc=example,dc=org\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n\n\
                   dn: cn=Ada,dc=example,dc=org\nobjectClass: person\ncn: Ada\nsn: Lovelace\ndescription: ready to serve\n\n\
                   dn: cn=Alan,dc=example,dc=org\nobjectClass: person\ncn: Alan\nsn: Turing\n";
    dir.write("entries.ldif", entries);
    let mut add = Command::new(program("slapadd"));
    add.arg("-f").arg(dir.join("slapd.conf")).arg("-l").arg(dir.join("entries.ldif"));
    let added = add.output().unwrap();
    assert!(added.status.success(), "{added:?}");
    let mut command = Command::new(program("slapd"));
    command.args(["-d", "0", "-h", &format!("ldap://127.0.0.1:{port}"), "-f"]);
    let mut process = ChildProcess::start({
        command.arg(dir.join("slapd.conf"));
        command
    });
    let secret = dir.write("password", "secret\n").display().to_string();
    let base = "ldap = true, base = \"dc=example,dc=org\", scope = \"sub\"";
    let people = format!("{base}, filter = \"(&(objectClass=person)(sn=*ing))\"");
    let bound =
        format!("{base}, user = \"cn=probe,dc=example,dc=org\", secret-file = \"{secret}\"");
    let rows = [
        ("ldap = true, base = \"\"".to_owned(), Ok("found 1 entry")),
        (format!("{people}, entries = \"1\""), Ok("found 1 entry")),
        (format!("{people}, entries = \"2-\""), Err("found 1 entry, expected at least 2")),
        (format!("{people}, attribute = \"cn\", expect = \"^Alan$\""), Ok("found cn: Alan")),
        (format!("{people}, attribute = \"description\""), Err("none with description")),
        (format!("{base}, entries = \"3\""), Ok("found 3 entries")),
        (format!("{base}, entries = \"-2\""), Err("at least 3 entries, expected 0 to 2")),
        (
            format!(
                "{bound}, filter = \"(cn=Ada)\", attribute = \"description\", expect = \"^ready\""
            ),
            Ok("found description: ready to serve"),
        ),
        ("ldap = true, base = \"dc=nowhere\"".to_owned(), Err("ldap search at dc=nowhere: ")),
        ("ldap = true, base = \"no dn\"".to_owned(), Err("the DN is not valid")),
    ];
    for (probe, expected) in rows {
        let place = balancer(format!("127.0.0.1:{port}"), &probe);
        match expected {
            Ok(evidence) => wait_until_up(&place, evidence),
            Err(evidence) => wait_until_down(&place, evidence),
        };
    }
    lives(&mut process, port, "ldap = true", "ldap bind succeeded", "refused");
}

#[test]
fn dovecot() {
    if !geteuid().is_root() {
        return skip("dovecot starts as root");
    }
    let dir = TestDir::new();
    let imap = port();
    let pop3 = port();
    let at = dir.path().display();
    dir.write(
        "dovecot.conf",
        format!(
            "base_dir = {at}/run\nstate_dir = {at}/state\nlog_path = /dev/stderr\nssl = no\nlisten = 127.0.0.1\n\
             protocols = imap pop3\nmail_location = maildir:{at}/mail\ninstance_name = steelyard-test\n\
             disable_plaintext_auth = no\npassdb {{\n driver = static\n args = nopassword=y\n}}\n\
             service imap-login {{\n inet_listener imap {{\n port = {imap}\n }}\n inet_listener imaps {{\n port = 0\n }}\n}}\n\
             service pop3-login {{\n inet_listener pop3 {{\n port = {pop3}\n }}\n inet_listener pop3s {{\n port = 0\n }}\n}}\n"
        ),
    );
    let mut command = Command::new(program("dovecot"));
    command.arg("-F").arg("-c").arg(dir.join("dovecot.conf"));
    let mut process = ChildProcess::start(command);
    let other = balancer(format!("127.0.0.1:{pop3}"), "pop3 = true");
    wait_until_up(&other, "pop3 +OK");
    lives(&mut process, imap, "imap = true", "imap * OK", "refused");
    wait_until_down(&other, "refused");
}

#[test]
fn postgres() {
    let dir = TestDir::new();
    let port = port();
    let data = dir.join("data");
    std::fs::create_dir(&data).unwrap();
    if geteuid().is_root() {
        chown(&data, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let mut init = unprivileged(postgres_program("initdb"));
    init.args(["-A", "trust", "-U", "steelyard", "-N", "-D"]).arg(&data);
    let output = init.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut command = unprivileged(postgres_program("postgres"));
    command.args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]);
    command.args(["-c", "unix_socket_directories=", "-D"]).arg(&data);
    let mut process = ChildProcess::start(command);
    lives(&mut process, port, "postgres = true", "postgres accepts connections", "refused");
}

/// Debian installs these programs outside `PATH`.
fn postgres_program(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let found =
        versions.map(|version| version.path().join("bin").join(name)).find(|it| it.is_file());
    found.unwrap_or_else(|| program(name))
}

/// Runs as the user `nobody` if the test is root.
pub fn unprivileged(path: PathBuf) -> Command {
    if !geteuid().is_root() {
        return Command::new(path);
    }
    let mut command = Command::new(program("setpriv"));
    command.args([format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")]);
    command.arg("--clear-groups").arg(path).current_dir("/");
    command
}

#[test]
fn nginx_that_hangs_dies_and_comes_back() {
    let mut nginx = Nginx::start("origin");
    let balancer = balancer(nginx.address(), "http = \"/\"");
    wait_until_up(&balancer, "http GET / 200 in ");
    nginx.signal(Signal::STOP);
    wait_until_down(&balancer, "no answer within 200 ms");
    nginx.signal(Signal::CONT);
    wait_until_up(&balancer, "http GET / 200 in ");
    nginx.kill();
    wait_until_down(&balancer, "connection refused");
    nginx.revive();
    wait_until_up(&balancer, "http GET / 200 in ");
}

#[test]
fn nginx_over_http_and_tls() {
    let dir = TestDir::new();
    let secure = port();
    let authority = CertificateAuthority::new("shop's own");
    let certificate = authority.write(dir.join("ca.pem"));
    let pair = authority.pair(dir.join("pair.pem"), &certificate_for(&["shop.example"]));
    let directives = format!(
        "listen 127.0.0.1:{secure} ssl; ssl_certificate {}; ssl_certificate_key {};\n\
         location /busy {{ return 503; }}",
        pair.display(),
        pair.display()
    );
    let nginx = Nginx::with("origin", &directives);
    let plain = balancer(nginx.address(), "http = \"/\", expect = \"^orig.n\"");
    wait_until_up(&plain, "http GET / 200 in ");
    wait_until_down(&balancer(nginx.address(), "http = \"/busy\""), "status 503");
    let tls = |name: &str| {
        let tls = format!("tls = {{ name = \"{name}\", ca = \"{}\" }}", certificate.display());
        balancer(format!("127.0.0.1:{secure}"), &format!("http = \"/\", {tls}"))
    };
    wait_until_up(&tls("shop.example"), "http GET / 200");
    wait_until_down(&tls("other.example"), "tls: ");
    let alone = format!("127.0.0.1:{secure}");
    wait_until_up(&balancer(&alone, "tls = { verify = false }"), "tls handshake done");
    wait_until_down(&balancer(nginx.address(), "tls = { verify = false }"), "tls: ");
}
