//! The same requests to the balancer and to nginx come to the same answers.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::dir::TestDir;
use tests::e2e::http::ReceivedMessage;
use tests::e2e::nginx::Nginx;
use tests::e2e::recording_server::RecordingServer;

use crate::passwords::{USERS, basic};

fn get(address: std::net::SocketAddr, lines: &str) -> ReceivedMessage {
    let mut client = HttpClient::connect(address);
    client.send(format!("GET /none HTTP/1.1\r\nHost: shop.example\r\n{lines}\r\n"));
    client.read_answer()
}

#[test]
fn passwords_are_judged_as_by_auth_basic() {
    let recorder = RecordingServer::start();
    let dir = TestDir::new();
    let file = dir.write("users", USERS);
    let table = format!("[auth.staff]\nkind = \"basic\"\nfile = {file:?}\nrealm = \"Staff\"\n");
    let setup = BalancerConfig::http(&[recorder.address()])
        .service("auth = \"staff\"\n")
        .with_tables(&table);
    let balancer = TestBalancer::start(&setup);
    let shared = dir.path().display();
    let directives = format!("auth_basic \"Staff\"; auth_basic_user_file {shared}/users;");
    let nginx = Nginx::with("nginx", &directives);
    let mut cases = vec![String::new(), "Authorization: Basic !\r\n".to_owned()];
    for user in ["bcrypt", "sha512", "sha256", "apr1", "nobody", ""] {
        for password in ["open sesame", "open sesam", ""] {
            cases.push(format!("Authorization: {}\r\n", basic(user, password)));
        }
    }
    for scheme in ["basic", "BASIC", "Bearer"] {
        let value = basic("apr1", "open sesame").replace("Basic", scheme);
        cases.push(format!("Authorization: {value}\r\n"));
    }
    let mut admitted = 0;
    for lines in cases {
        let ours = get(balancer.front(), &lines);
        let theirs = get(nginx.address(), &lines);
        let judged = |answer: &ReceivedMessage| match answer.status() {
            // It was let in, and there is no such page.
            404 => 200,
            status => status,
        };
        assert_eq!(judged(&ours), judged(&theirs), "{lines}");
        admitted += usize::from(judged(&ours) == 200);
        let challenge = |answer: &ReceivedMessage| {
            let field = answer.field("www-authenticate");
            field.map(|value| value.split(',').next().unwrap_or_default().to_owned())
        };
        assert_eq!(challenge(&ours), challenge(&theirs), "{lines}");
    }
    assert_eq!(admitted, 6);
}
