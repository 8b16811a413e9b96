//! Upstream TLS: servers are verified before they receive data, rejected with a cause, and their sessions resumed.

use model::snapshot::ServerState;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::nginx::Nginx;
use tests::e2e::unix_server::address;
use tests::e2e::wait;

use crate::authority::TlsAuthority;

fn nginx(ours: &TlsAuthority, names: &[&str], more: &str) -> Nginx {
    let pair = ours.pair("server.pem", names);
    let pair = pair.display();
    // The `listen` directive with the `ssl` parameter precedes these lines.
    Nginx::tls("a", &format!("ssl_certificate {pair}; ssl_certificate_key {pair};\n{more}"))
}

fn pool(ours: &TlsAuthority, name: &str) -> String {
    format!("tls = {{ name = \"{name}\", ca = {:?} }}\n", ours.ca)
}

// Rows: Z03
#[test]
fn a_verified_server_serves_and_its_sessions_are_resumed() {
    let ours = TlsAuthority::new();
    let server = nginx(&ours, &["backend.example"], "keepalive_requests 1;");
    let setup = BalancerConfig::http(&[server.address()]).pool(&pool(&ours, "backend.example"));
    let balancer = TestBalancer::start(&setup);
    let mut client = balancer.client();
    for _ in 0..4 {
        assert_eq!(client.get("/").text(), "a\n");
    }
    let mut page = balancer.client();
    assert!(page.get("/page").body == server.page_bytes());
    let upload = vec![7; 300_000];
    assert_eq!(put(&balancer, &upload), 201);
    assert!(server.uploaded("u") == upload);
    let report = balancer.report_when_idle();
    assert_eq!(report.total.requests.answered.total, 6);
}

fn put(balancer: &TestBalancer, body: &[u8]) -> u16 {
    let mut client = balancer.client();
    let length = body.len();
    client.send(format!("PUT /upload/u HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n"));
    client.send(body);
    client.read_answer().status()
}

#[test]
fn the_proxy_protocol_goes_before_the_handshake() {
    let ours = TlsAuthority::new();
    let pair = ours.pair("server.pem", &["backend.example"]);
    let pair = pair.display();
    let more = format!(
        "ssl_certificate {pair}; ssl_certificate_key {pair};\n\
         add_header X-Client \"$proxy_protocol_addr:$proxy_protocol_port\" always;"
    );
    let server = Nginx::tls_proxied("a", &more);
    for version in ["v1", "v2"] {
        let lines = format!("{}send-proxy = \"{version}\"\n", pool(&ours, "backend.example"));
        let own = ours.pair("front.pem", &["shop.example"]);
        let setup = BalancerConfig::http(&[server.address()]).service(&format!("tls = {own:?}\n"));
        let balancer = TestBalancer::start(&setup.pool(&lines));
        let front = balancer.front();
        let to = format!("shop.example:{}:{}", front.port(), front.ip());
        let url = format!("https://shop.example:{}/", front.port());
        let ca = ours.ca.to_str().unwrap().to_owned();
        let wanted = "%{http_code} %{local_ip}:%{local_port} %header{x-client}";
        let words = ["--cacert", &ca, "--resolve", &to, "-o", "/dev/null", "-w", wanted, &url];
        let said = tests::e2e::tools::curl_text(&words);
        let parts: Vec<&str> = said.split(' ').collect();
        assert_eq!((parts[0], parts[1]), ("200", parts[2]), "{version}: {said}");
    }
}

#[test]
fn an_unverified_server_gets_nothing() {
    let ours = TlsAuthority::new();
    let server = nginx(&ours, &["other.example"], "");
    let setup = BalancerConfig::http(&[server.address()]);
    let refused = |pool: &str| {
        let pool = format!("{pool}probe = \"off\"\n");
        let balancer = TestBalancer::start(&setup.clone().pool(&pool));
        let answer = balancer.client().get("/");
        assert_eq!(answer.status(), 502, "{answer:?}");
        assert_eq!(answer.field("x-steelyard-cause").as_deref(), Some("server-certificate"));
    };
    refused(&pool(&ours, "backend.example"));
    let stranger = TlsAuthority::new();
    refused(&pool(&stranger, "other.example"));
    let mut balancer = TestBalancer::start(&setup.clone().pool(&pool(&ours, "other.example")));
    assert_eq!(balancer.client().get("/").status(), 200, "the right name");
    balancer.reload(&setup.clone().pool("tls = { verify = \"off\" }\n"));
    assert_eq!(balancer.client().get("/").status(), 200, "nobody asked");
    let warned = balancer.status().warnings.iter().any(|text| text.contains("not verified"));
    assert!(warned, "{:?}", balancer.status().warnings);
}

#[test]
fn we_show_our_certificate_to_servers() {
    use tests::e2e::certificate::certificate_for;
    let ours = TlsAuthority::new();
    let own =
        ours.authority.pair(ours.dir.join("own.pem"), &certificate_for(&["lb"]).client("balancer"));
    let more = format!(
        "ssl_client_certificate {}; ssl_verify_client on;\nadd_header X-Client $ssl_client_s_dn always;",
        ours.ca.display()
    );
    let server = nginx(&ours, &["127.0.0.1"], &more);
    let ca = &ours.ca;
    let with = format!("tls = {{ ca = {ca:?}, certificate = {own:?} }}\n");
    let setup = BalancerConfig::http(&[server.address()]);
    let mut balancer = TestBalancer::start(&setup.clone().pool(&with));
    let answer = balancer.client().get("/");
    assert_eq!(answer.field("x-client").as_deref(), Some("CN=balancer"), "{answer:?}");
    balancer.reload(&setup.pool(&format!("tls = {{ ca = {ca:?} }}\n")));
    assert_eq!(balancer.client().get("/").status(), 400, "nginx wants one");
}

#[test]
fn a_server_without_tls_is_named() {
    let ours = TlsAuthority::new();
    let server = Nginx::start("plain");
    let lines = format!("{}probe = \"off\"\n", pool(&ours, "backend.example"));
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]).pool(&lines));
    let answer = balancer.client().get("/");
    assert_eq!(answer.field("x-steelyard-cause").as_deref(), Some("server-tls"), "{answer:?}");
}

/// nginx with TLS at a Unix socket in the authority's directory; `words` follow the address of `listen`.
fn nginx_on_a_unix_socket(ours: &TlsAuthority, file: &str, words: &str) -> Nginx {
    let pair = ours.pair("server.pem", &["app.example"]);
    let pair = pair.display();
    let path = ours.dir.join(file);
    let listen = format!("listen unix:{} ssl {words};", path.display());
    let certificate = format!("ssl_certificate {pair}; ssl_certificate_key {pair};");
    Nginx::with(
        "unix",
        &format!("{listen}\n{certificate}\nadd_header X-By $server_protocol always;"),
    )
}

#[test]
fn a_server_on_a_unix_socket_is_verified_as_any_other() {
    let ours = TlsAuthority::new();
    for (words, http2, version) in [
        ("", "off", "HTTP/1.1"),
        ("http2", "prefer", "HTTP/2.0"),
        ("proxy_protocol", "off", "HTTP/1.1"),
    ] {
        let file = format!("app{words}.sock");
        let server = nginx_on_a_unix_socket(&ours, &file, words);
        let at = address(&ours.dir.join(&file));
        let proxied = if words == "proxy_protocol" { "send-proxy = \"v2\"\n" } else { "" };
        let setup = |name: &str, more: &str| {
            let lines = format!("{}http2 = \"{http2}\"\n{proxied}{more}", pool(&ours, name));
            BalancerConfig::http(&[]).server("a", &at, "").pool(&lines)
        };
        let probe = "probe = { http = \"/\", interval = \"200ms\" }\ninitial = \"down\"\n";
        let balancer = TestBalancer::start(&setup("app.example", probe));
        wait::until("a check over TLS", || balancer.server("a").state == ServerState::Up);
        let mut client = balancer.client();
        let answer = client.get("/");
        assert_eq!(answer.text(), "unix\n");
        assert_eq!(answer.field("x-by").as_deref(), Some(version), "{words}");
        assert!(client.get("/page").body == server.page_bytes(), "{words}");
        let balancer = TestBalancer::start(&setup("other.example", "probe = \"off\"\n"));
        let answer = balancer.client().get("/");
        let cause = answer.field("x-steelyard-cause");
        assert_eq!(
            (answer.status(), cause.as_deref()),
            (502, Some("server-certificate")),
            "{words}"
        );
    }
}
