//! Trust in clients' and servers' certificates: changed authorities, revocation lists, client certificates required for
//! some names, and trust files opened before they are activated.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;

use api::types::Source;
use rustls::version::{TLS12, TLS13};
use tests::e2e::balancer::{TestBalancer, program};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::{CertificateRequest, certificate_for, replace};
use tests::e2e::recording_server::RecordingServer;
use tests::e2e::servers::{self, addresses};
use tests::e2e::wait;

use crate::authority::TlsAuthority;

const NAME: &str = "shop.example";

#[test]
fn no_session_outlives_the_authority_that_vouched_for_its_client() {
    let ours = TlsAuthority::new();
    let recorder = RecordingServer::start();
    let pair = ours.pair("shop.pem", &[NAME]);
    let alice = certificate_for(&["alice.example"]).client("alice");
    let alice = ours.authority.pair(ours.dir.join("alice.pem"), &alice);
    for (round, version) in [&TLS12, &TLS13].into_iter().enumerate() {
        let ca = ours.authority.write(ours.dir.join(&format!("clients{round}.pem")));
        let tls = format!("tls = {{ certificates = {pair:?}, client = {ca:?} }}\n");
        let balancer =
            TestBalancer::start(&BalancerConfig::http(&[recorder.address()]).service(&tls));
        let client = ours.returning(&alice, version);
        assert!(client.ask(balancer.front(), NAME).is_some_and(|(resumed, _)| !resumed));
        assert!(client.ask(balancer.front(), NAME).is_some_and(|(resumed, _)| resumed));
        let mut open = client.open(balancer.front(), NAME);
        let mut ask = || {
            open.write_all(b"GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n").ok()?;
            let mut answer = [0; 9];
            open.read_exact(&mut answer).ok()?;
            let mut rest = [0; 4_096];
            open.read(&mut rest).ok().map(|_| answer)
        };
        assert_eq!(ask().as_ref(), Some(b"HTTP/1.1 "));
        TlsAuthority::new().authority.write(ca);
        wait::until("the other authority", || {
            balancer.process().output().contains("sessions of before are not resumed")
        });
        wait::until("refused", || client.ask(balancer.front(), NAME).is_none());
        wait::until("an open connection brings no further request", || ask().is_none());
        balancer.wait_for_log_line("refused", |line| line["cause"] == "client-certificate");
    }
}

#[test]
fn what_is_revoked_is_refused_in_full_handshakes_and_in_resumed_ones() {
    let ours = TlsAuthority::new();
    let recorder = RecordingServer::start();
    let pair = ours.pair("shop.pem", &[NAME]);
    let ca = &ours.ca;
    let client = |name: &'static str, serial| {
        let wanted = certificate_for(&[]).client(name).serial(serial);
        let pair = ours.authority.pair(ours.dir.join(&format!("{name}.pem")), &wanted);
        ours.returning(&pair, &TLS13)
    };
    let alice = client("alice", 7_001);
    let bob = client("bob", 7_002);
    let list = ours.authority.revoke(ours.dir.join("revoked.pem"), &[7_001], 2100);
    let tls = |more: &str| {
        format!(
            "tls = {{ certificates = {pair:?}, client = {{ ca = {ca:?}, crl = {list:?}{more} }} }}\n"
        )
    };
    let setup = BalancerConfig::http(&[recorder.address()]);
    let mut balancer = TestBalancer::start(&setup.clone().service(&tls("")));
    let front = balancer.front();
    assert_eq!(alice.ask(front, NAME), None);
    balancer.wait_for_log_line("revoked", |line| line["defect"] == "certificate-revoked");
    assert!(bob.ask(front, NAME).is_some_and(|(resumed, _)| !resumed));
    assert!(bob.ask(front, NAME).is_some_and(|(resumed, _)| resumed));
    ours.authority.revoke(list.clone(), &[7_001, 7_002], 2100);
    wait::until("bob is refused", || bob.ask(front, NAME).is_none());
    // An expired revocation list rejects every certificate, unless `expired-crl` accepts it.
    ours.authority.revoke(list.clone(), &[7_001], 2001);
    wait::until("the old list", || balancer.process().output().contains("the next list was due"));
    wait::until("overdue", || {
        assert_eq!(bob.ask(front, NAME), None);
        let overdue = "certificate-revocation-list-expired";
        balancer.log().iter().any(|line| line["defect"] == overdue)
    });
    balancer.reload(&setup.service(&tls(", expired-crl = \"accept\"")));
    assert!(bob.ask(front, NAME).is_some() && alice.ask(front, NAME).is_none());
}

#[test]
fn a_server_whose_certificate_is_revoked_gets_nothing() {
    let ours = TlsAuthority::new();
    let recorder = RecordingServer::start();
    let backend = certificate_for(&["backend.example"]).serial(9_001);
    let backend = ours.authority.pair(ours.dir.join("backend.pem"), &backend);
    let behind =
        BalancerConfig::http(&[recorder.address()]).service(&format!("tls = {backend:?}\n"));
    let behind = TestBalancer::start(&behind);
    let list = ours.authority.revoke(ours.dir.join("revoked.pem"), &[], 2100);
    let tls =
        format!("tls = {{ name = \"backend.example\", ca = {:?}, crl = {list:?} }}\n", ours.ca);
    let lines = format!("{tls}retries = 0\nprobe = \"off\"\n");
    let setup = BalancerConfig::http(&[behind.front()]).pool(&lines);
    let balancer = TestBalancer::start(&setup);
    assert_eq!(balancer.client().get("/").status(), 200);
    let group = |key: &str| balancer.wait_for_log_line(key, |line| line[key] == "x25519mlkem768");
    group("server-tls-group");
    behind.wait_for_log_line("the client's side", |line| line["tls-group"] == "x25519mlkem768");
    ours.authority.revoke(list, &[9_001], 2100);
    wait::until("refused", || balancer.client().get("/").status() == 502);
    balancer.wait_for_log_line("revoked", |line| line["cause"] == "server-certificate");
}

#[test]
fn a_host_of_another_kind_of_connection_is_misdirected() {
    let ours = TlsAuthority::new();
    let recorder = RecordingServer::start();
    let www = ours.pair("www.pem", &["www.example"]);
    let ca = &ours.ca;
    let admin = ours.pair("admin.pem", &["admin.example"]);
    let alice = certificate_for(&["alice.example"]).client("alice");
    let alice = ours.authority.pair(ours.dir.join("alice.pem"), &alice);
    let client = format!("client = {{ ca = {ca:?}, names = [\"admin.example\"] }}");
    let tls = format!("tls = {{ certificates = [{www:?}, {admin:?}], {client} }}\n");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[recorder.address()]).service(&tls));
    let cert = ["--cert", alice.to_str().unwrap()];
    let status = |name: &str, more: &[&str]| {
        let words = [&["-o", "/dev/null", "-w", "%{http_code}"], more].concat();
        let said = ours.try_curl(balancer.front(), name, &words);
        said.status.success().then(|| String::from_utf8(said.stdout).unwrap())
    };
    for protocol in ["--http1.1", "--http2"] {
        let status = |name: &str, more: &[&str]| status(name, &[&[protocol], more].concat());
        let host = |name: &str| format!("Host: {name}");
        assert_eq!(status("www.example", &[]).as_deref(), Some("200"));
        assert_eq!(status("admin.example", &[]), None, "no certificate");
        assert_eq!(status("admin.example", &cert).as_deref(), Some("200"));
        let to_admin = status("www.example", &["-H", &host("ADMIN.example.:443")]);
        assert_eq!(to_admin.as_deref(), Some("421"));
        let to_www = status("admin.example", &[&cert[..], &["-H", &host("www.example")]].concat());
        assert_eq!(to_www.as_deref(), Some("421"));
    }
    balancer.wait_for_log_line("misdirected", |line| {
        line["cause"] == "misdirected" && line["status"] == 421
    });
    let reached = recorder.so_far().requests.len();
    assert_eq!(reached, 4, "no misdirected request reaches a server");
}

#[test]
fn check_opens_what_run_would_open() {
    let ours = TlsAuthority::new();
    let origins = [servers::origin("a")];
    let pair = ours.pair("shop.pem", &[NAME]);
    let ca = &ours.ca;
    let (_, other) = ours.authority.sign(&certificate_for(&[NAME]));
    let (chain, _) = ours.authority.sign(&certificate_for(&[NAME]));
    let bad = ours.dir.join("bad.pem");
    let junk = ours.dir.join("junk.pem");
    replace(&bad, &(chain + &other));
    replace(&junk, "nothing of the kind");
    let check = |service: &str, pool: &str, more: &[&str]| {
        let setup = BalancerConfig::http(&addresses(&origins)).service(service).pool(pool);
        let file = ours.dir.write("steelyard.toml", setup.text(ours.dir.path()));
        let output =
            Command::new(program()).args(["check", "-c"]).arg(file).args(more).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said)
    };
    let of = |certificate: &str, client: &str| {
        format!("tls = {{ certificates = \"{certificate}\"{client} }}\n")
    };
    let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let good = text(&pair);
    let missing = "/nowhere/x.pem";
    assert_eq!(check(&of(&good, ""), "", &[]).0, Some(0));
    let client = |ca: &str, more: &str| format!(", client = {{ ca = \"{ca}\"{more} }}");
    let list = format!(", crl = \"{}\"", text(&junk));
    let probe = format!("probe = {{ tcp = true, tls = {{ ca = \"{missing}\" }} }}\n");
    let (code, said) = check("", &probe, &[]);
    assert!(code == Some(0) && said.contains("its probes cannot be made"), "{said}");
    for (service, pool, file, says) in [
        (of(missing, ""), String::new(), missing.to_owned(), "cannot read"),
        (of(&text(&bad), ""), String::new(), text(&bad), "not that of the certificate"),
        (of(&text(&junk), ""), String::new(), text(&junk), "no certificate"),
        (of(&good, &client(missing, "")), String::new(), missing.to_owned(), "cannot read"),
        (of(&good, &client(&text(&junk), "")), String::new(), text(&junk), "authorities"),
        (of(&good, &client(&text(ca), &list)), String::new(), text(&junk), "revocation list"),
        (
            String::new(),
            format!("tls = {{ ca = \"{missing}\" }}\n"),
            missing.to_owned(),
            "cannot read",
        ),
    ] {
        let (code, said) = check(&service, &pool, &[]);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(&file) && said.contains(says) && said.contains(".tls"), "{said}");
        assert_eq!(check(&service, &pool, &["--without-files"]).0, Some(0));
    }
}

#[test]
fn an_order_takes_up_a_good_pair_at_once_and_refuses_a_bad_one() {
    let ours = TlsAuthority::new();
    let origins = [servers::origin("a")];
    let pair = ours.pair("shop.pem", &[NAME]);
    let setup = BalancerConfig::http(&addresses(&origins)).service(&format!("tls = {pair:?}\n"));
    let balancer = TestBalancer::start(&setup);
    let file = balancer.dir().join("steelyard.toml");
    let socket = balancer.dir().join("sock");
    let apply = |file: &std::path::Path| {
        let mut command = Command::new(program());
        command.arg("apply").arg(file).arg("--socket").arg(&socket);
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    };
    let names = || balancer.status().services[0].certificates[0].names.clone();
    ours.pair("shop.pem", &[NAME, "new.example"]);
    let (done, said) = apply(&file);
    assert!(done, "{said}");
    assert_eq!(names(), [NAME, "new.example"], "without waiting for the next look");
    replace(&pair, "nothing of the kind");
    let other =
        ours.dir.write("other.toml", setup.pool("retries = 1\n").text(balancer.dir().path()));
    for file in [&file, &other] {
        let (done, said) = apply(file);
        assert!(!done && said.contains(pair.to_str().unwrap()), "{said}");
    }
    wait::until("looked at", || balancer.count_events("certificate-refused") > 0);
    let (done, said) = apply(&other);
    assert!(
        !done && said.contains("no certificate"),
        "also after the look that refused it: {said}"
    );
    assert_eq!(names(), [NAME, "new.example"]);
}

#[test]
fn a_pool_that_speaks_tls_is_probed_by_a_handshake() {
    let ours = TlsAuthority::new();
    let recorder = RecordingServer::start();
    let stranger = TlsAuthority::new();
    let backend = ours.pair("backend.pem", &["backend.example"]);
    let behind =
        BalancerConfig::http(&[recorder.address()]).service(&format!("tls = {backend:?}\n"));
    let behind = TestBalancer::start(&behind);
    for kind in [
        "",
        "interval = \"500ms\"",
        "tcp = true, interval = \"500ms\"",
        "http = \"/\", interval = \"500ms\"",
    ] {
        for (ca, state) in [(&ours.ca, "up"), (&stranger.ca, "down")] {
            let tls = format!("tls = {{ name = \"backend.example\", ca = {ca:?} }}\n");
            let times = ", timeout = \"500ms\", fast-interval = \"50ms\"";
            let pool = match kind {
                "" => tls,
                _ => format!("{tls}probe = {{ {kind}{times} }}\n"),
            };
            let balancer =
                TestBalancer::start(&BalancerConfig::http(&[behind.front()]).pool(&pool));
            let judged = || serde_json::to_value(balancer.server("a")).unwrap();
            wait::until(state, || judged()["state"] == state);
            let shown = judged().to_string();
            assert!(shown.contains("over tls"), "{kind}: {shown}");
            assert!(state == "up" || shown.contains("certificate"), "{kind}: {shown}");
        }
    }
    let tls = format!("tls = {{ name = \"backend.example\", ca = {:?} }}\n", stranger.ca);
    let setup = BalancerConfig::http(&[behind.front()]).pool(&format!("{tls}probe = \"off\"\n"));
    let balancer = TestBalancer::start(&setup);
    assert_eq!(
        balancer.server("a").reason.source,
        Source::Configuration,
        "nobody asks where it is off"
    );
}

#[test]
fn check_warns_of_certificates_that_are_made_for_something_else() {
    let ours = TlsAuthority::new();
    let origins = [servers::origin("a")];
    let dir = ours.dir.path();
    let pair = |file: &str, wanted: &CertificateRequest<'_>| {
        ours.authority.pair(ours.dir.join(file), wanted)
    };
    let plain = pair("plain.pem", &certificate_for(&[NAME]));
    let of_server = pair("server.pem", &certificate_for(&[NAME]).for_servers());
    let of_client = pair("client.pem", &certificate_for(&[NAME]).client("us"));
    let check = |server: &Path, client: &Path| {
        let setup = BalancerConfig::http(&addresses(&origins))
            .service(&format!("tls = {{ certificates = \"{}\" }}\n", server.display()))
            .pool(&format!(
                "tls = {{ ca = \"{}\", certificate = \"{}\" }}\n",
                ours.ca.display(),
                client.display()
            ));
        let file = ours.dir.write("steelyard.toml", setup.text(dir));
        let output = Command::new(program()).args(["check", "-c"]).arg(file).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let for_servers = "service.shop.tls: ";
    let for_clients = "pool.web.tls: ";
    for (server, client, warned) in [
        (&plain, &plain, &[][..]),
        (&of_server, &of_client, &[]),
        (&of_client, &of_client, &[(for_servers, "does not have serverAuth")]),
        (&of_server, &of_server, &[(for_clients, "does not have clientAuth")]),
    ] {
        let said = check(server, client);
        assert_eq!(said.matches("extendedKeyUsage").count(), warned.len(), "{said}");
        for (key, why) in warned {
            assert!(said.contains(key) && said.contains(why), "{said}");
        }
    }
}
