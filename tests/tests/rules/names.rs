//! TLS pass-through by SNI: the balancer does not terminate TLS, and the server receives the first bytes.

use std::io::Write;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::client::HttpClient;
use tests::e2e::dir::TestDir;
use tests::e2e::servers::{origin, reserve_port};
use tests::e2e::tools::{curl_text, program};

#[test]
fn connections_go_where_their_name_says() {
    let authority = CertificateAuthority::new("test authority");
    let dir = TestDir::new();
    let ca = authority.write(dir.join("ca.pem"));
    let origins = [origin("a"), origin("b"), origin("plain")];
    let ports = [reserve_port(), reserve_port()];
    let mut tables = String::from(
        "[[service.shop.rule]]\nwhen = { sni = \"a.example\" }\npool = \"to-a\"\n\
         [[service.shop.rule]]\nwhen = { sni = \"*.b.example\" }\npool = \"to-b\"\n\
         [[service.shop.rule]]\nwhen = { sni = \"denied.example\" }\ndeny = true\n",
    );
    let names = [("a", "a.example"), ("b", "x.b.example")];
    for (((name, host), port), origin) in names.iter().zip(&ports).zip(&origins) {
        let pair = authority.pair(dir.join(&format!("{name}.pem")), &certificate_for(&[host]));
        let at = port.address();
        let to = origin.address();
        tables.push_str(&format!(
            "[service.tls-{name}]\nlisten = \"{at}\"\nforward = \"http\"\npool = \"{name}\"\n\
             tls = {pair:?}\n[pool.{name}]\nservers = [\"{to}\"]\n[pool.to-{name}]\nservers = [\"{at}\"]\n"
        ));
    }
    let balancer =
        TestBalancer::start(&BalancerConfig::tcp(&[origins[2].address()]).with_tables(&tables));
    let front = balancer.front();
    for (name, host) in names {
        let to = format!("{host}:{}:{}", front.port(), front.ip());
        let url = format!("https://{host}:{}/", front.port());
        let ca = ca.display().to_string();
        let answer = curl_text(&["-i", "--cacert", &ca, "--resolve", &to, &url]);
        assert!(answer.to_ascii_lowercase().contains(&format!("x-origin: {name}")), "{answer}");
    }
    let shown = std::process::Command::new(program("openssl"))
        .args(["s_client", "-connect", &front.to_string(), "-servername", "x.b.example"])
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("BEGIN CERTIFICATE") && shown.contains("test authority"), "{shown}");
    let denied = std::process::Command::new(program("openssl"))
        .args(["s_client", "-connect", &front.to_string(), "-servername", "denied.example"])
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert!(!String::from_utf8_lossy(&denied.stdout).contains("BEGIN CERTIFICATE"));
    // Traffic that is not TLS reaches the service's own pool, complete, even if it arrives byte by byte.
    let mut plain = HttpClient::connect(front);
    for byte in b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" {
        plain.stream().write_all(&[*byte]).unwrap();
    }
    assert_eq!(plain.read_answer().field("x-origin").as_deref(), Some("plain"));
    drop(plain);
    let report = balancer.report_when_settled();
    let service = report.services.iter().find(|service| service.name == "shop").unwrap();
    let hits: Vec<u64> = service.rules.iter().map(|rule| rule.hits).collect();
    assert_eq!(hits, [1, 2, 1]);
    assert!(service.counts.causes.iter().any(|cause| cause.cause == "rule-denied"));
}

/// A minimal ClientHello with this SNI.
fn hello(name: &str) -> Vec<u8> {
    let short = |length: usize| (length as u16).to_be_bytes();
    let server_name =
        [&short(name.len() + 3)[..], &[0], &short(name.len()), name.as_bytes()].concat();
    let extension = [&[0, 0][..], &short(server_name.len()), &server_name].concat();
    let body =
        [&[3, 3][..], &[7; 32], &[0, 0, 2, 0x13, 1, 1, 0], &short(extension.len()), &extension]
            .concat();
    let message = [&[1, 0][..], &short(body.len()), &body].concat();
    [&[22, 3, 1][..], &short(message.len()), &message].concat()
}

/// Servers skip alerts and empty records before a ClientHello; ambiguous records are rejected.
#[test]
fn nothing_that_comes_before_a_hello_hides_its_name() {
    let origins = [origin("plain")];
    let rule = "[[service.shop.rule]]\nwhen = { sni = \"denied.example\" }\ndeny = true\n";
    let balancer =
        TestBalancer::start(&BalancerConfig::tcp(&[origins[0].address()]).with_tables(rule));
    for (before, cause) in [
        (&b""[..], "rule-denied"),
        (b"\x16\x03\x01\x00\x00", "rule-denied"),
        (b"\x15\x03\x01\x00\x02\x01\x5a", "rule-denied"),
        (b"\x14\x03\x01\x00\x01\x01", "rule-denied"),
        (b"\x16\x03\x01\x00\x04\x0e\x00\x00\x00", "tls-handshake"),
        (b"\x15\x03\x01\x00\x02\x01\x5aGET / HTTP/1.1\r\n\r\n", "tls-handshake"),
    ] {
        let count = |report: &api::types::Report| {
            let service = report.services.iter().find(|service| service.name == "shop").unwrap();
            let of = service.counts.causes.iter().filter(|counted| counted.cause == cause);
            of.map(|counted| counted.count.total).sum::<u64>()
        };
        let counted = count(&balancer.report());
        let mut client = HttpClient::connect(balancer.front());
        client.send([before, &hello("denied.example")].concat());
        assert_eq!(client.read_to_end_or_reset().unwrap_or_default(), b"", "{before:?}");
        balancer.report_when(cause, |report| count(report) == counted + 1);
    }
    let mut other = HttpClient::connect(balancer.front());
    other.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(other.read_answer().field("x-origin").as_deref(), Some("plain"));
}
