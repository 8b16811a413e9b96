//! Who a client of HTTP/3 is, and whether it may come in.

use std::io::Write;

use serde_json::json;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::http::HttpReader;
use tests::e2e::recording_server::{RecordingServer, ScriptedServer};

use crate::authority::Http3Authority;

/// `apr1:open sesame`, as htpasswd writes it.
const USER: &str = "apr1:$apr1$fI.O7AED$DRX0NO3x3.3DbKANlVUoD/\n";
/// The same name and password as a client sends them.
const CREDENTIALS: &str = "Basic YXByMTpvcGVuIHNlc2FtZQ==";

#[test]
fn only_who_has_the_password_reaches_the_server() {
    let ours = Http3Authority::new();
    let recorder = RecordingServer::start();
    let file = ours.dir.write("users", USER);
    let table =
        format!("[auth.staff]\nkind = \"basic\"\nfile = {file:?}\nuser-field = \"x-user\"\n");
    let setup = ours.setup_with(&[recorder.address()], "", "auth = \"staff\"\n");
    let balancer = TestBalancer::start(&setup.with_tables(&table));
    let mut client = ours.client(balancer.front());
    assert_eq!(client.get("/")["status"], 401);
    let fields = json!({ "authorization": "Basic YXByMTp3cm9uZw==" });
    let refused = client.does(json!({ "do": "ask", "path": "/", "fields": fields }));
    assert_eq!(refused["status"], 401, "{refused}");
    let fields = json!({ "authorization": CREDENTIALS, "x-user": "root" });
    let admitted = client.does(json!({ "do": "ask", "path": "/", "fields": fields }));
    assert_eq!(admitted["status"], 200, "{admitted}");
    let [request] = &recorder.so_far().requests[..] else { panic!("not one request") };
    assert_eq!(request.field("x-user").as_deref(), Some("apr1"));
    assert_eq!(request.field("authorization"), None);
}

#[test]
fn a_proxy_names_its_client() {
    let ours = Http3Authority::new();
    let recorder = RecordingServer::start();
    let lines = "trust = \"127.0.0.0/8\"\nclient-from = \"x-forwarded-for\"\n\
                 rule = [{ when = { client = \"203.0.113.66\" }, deny = true }]\n";
    let setup = ours.setup_with(&[recorder.address()], "", lines);
    let balancer = TestBalancer::start(&setup);
    let mut client = ours.client(balancer.front());
    for (chain, status) in [("203.0.113.66", 403), ("203.0.113.66, 203.0.113.9", 200)] {
        let fields = json!({ "x-forwarded-for": chain });
        let answer = client.does(json!({ "do": "ask", "path": "/", "fields": fields }));
        assert_eq!(answer["status"], status, "{chain}: {answer}");
    }
    balancer.wait_for_log_line("the client", |line| {
        line["client"] == "203.0.113.9" && line["protocol"] == "HTTP/3"
    });
}

#[test]
fn a_request_has_the_id_of_a_trusted_proxy_or_a_new_one() {
    let ours = Http3Authority::new();
    let recorder = RecordingServer::start();
    for (trust, is_kept) in [("127.0.0.0/8", true), ("10.0.0.0/8", false)] {
        let lines = format!(
            "trust = \"{trust}\"\nrequest-id = {{ header = \"X-Request-Id\", response = true }}\n"
        );
        let setup = ours.setup_with(&[recorder.address()], "", &lines);
        let balancer = TestBalancer::start(&setup);
        let mut client = ours.client(balancer.front());
        let fields = json!({ "x-request-id": "edge-1" });
        let answer = client.does(json!({ "do": "ask", "path": "/", "fields": fields }));
        assert_eq!(answer["status"], 200, "{answer}");
        let requests = recorder.so_far().requests;
        let id = requests.last().and_then(|it| it.field("x-request-id")).unwrap();
        assert_eq!(id == "edge-1", is_kept, "{id}");
        assert_eq!(answer["head"]["x-request-id"], id.as_str(), "{answer}");
        balancer.wait_for_log_line("its line", |line| {
            line["protocol"] == "HTTP/3"
                && line[if is_kept { "request-id" } else { "id" }] == id.as_str()
        });
    }
}

#[test]
fn a_server_is_asked_whether_a_request_may_pass() {
    let ours = Http3Authority::new();
    let recorder = RecordingServer::start();
    let asked = ScriptedServer::start(|stream| {
        let mut reader = HttpReader::new(&stream);
        while let Ok(Some(question)) = reader.head() {
            let answer = match question.field("cookie").as_deref() {
                Some("user=ann") => {
                    let proto = question.field("x-forwarded-proto").unwrap();
                    let uri = question.field("x-forwarded-uri").unwrap();
                    format!(
                        "HTTP/1.1 200 \r\nX-User: ann {proto} {uri}\r\nContent-Length: 0\r\n\r\n"
                    )
                }
                _ => "HTTP/1.1 302 \r\nLocation: /login\r\nContent-Length: 3\r\n\r\nwho".to_owned(),
            };
            (&stream).write_all(answer.as_bytes()).unwrap();
        }
    });
    let tables = format!(
        "[pool.sso]\nservers = [\"{}\"]\n[auth.sso]\nkind = \"request\"\npool = \"sso\"\nresponse-headers = \"x-user\"\n",
        asked.address()
    );
    let setup = ours.setup_with(&[recorder.address()], "", "auth = \"sso\"\n");
    let balancer = TestBalancer::start(&setup.with_tables(&tables));
    let mut client = ours.client(balancer.front());
    assert_eq!(client.get("/")["status"], 302);
    let fields = json!({ "x-forwarded-uri": "/public", "x-user": "root", "cookie": "user=ann" });
    for body in ["", "some body"] {
        let admitted = client.does(
            json!({ "do": "ask", "path": "/a?b", "method": "POST", "fields": fields, "body": body }),
        );
        assert_eq!(admitted["status"], 200, "{admitted}");
    }
    let refused =
        client.does(json!({ "do": "ask", "path": "/", "method": "POST", "body": "some body" }));
    assert_eq!(refused["status"], 302, "{refused}");
    let requests = recorder.so_far().requests;
    assert_eq!(requests.len(), 2);
    for request in &requests {
        assert_eq!(request.field("x-user").as_deref(), Some("ann https /a?b"));
    }
    assert_eq!(requests[1].body, b"some body");
}

#[test]
fn the_access_log_has_the_name_and_the_version_of_tls() {
    let ours = Http3Authority::new();
    let recorder = RecordingServer::start();
    let fields =
        "all = true, fields = [\"protocol\", \"sni\", \"tls-version\", \"header.x-a\", \"host\"]";
    let setup = ours.setup_with(&[recorder.address()], "", "").log_with(fields);
    let balancer = TestBalancer::start(&setup);
    let mut client = ours.client(balancer.front());
    let fields = json!({ "x-a": "1" });
    let answer = client.does(json!({ "do": "ask", "path": "/", "fields": fields }));
    assert_eq!(answer["status"], 200, "{answer}");
    let line = balancer.wait_for_log_line("it", |line| line["protocol"] == "HTTP/3");
    let known = [&line["sni"], &line["tls-version"], &line["header.x-a"], &line["host"]];
    assert_eq!(known, ["shop.example", "TLSv1.3", "1", "shop.example"], "{line}");
}
