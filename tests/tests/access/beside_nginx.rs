//! The same requests to the balancer and to nginx come to the same answers.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::dir::TestDir;
use tests::e2e::http::ReceivedMessage;
use tests::e2e::nginx::Nginx;
use tests::e2e::recording_server::RecordingServer;

use crate::asked_server::{AskedServer, asking};
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

/// What a server answers that is asked about this path.
fn answer_of(question: &ReceivedMessage) -> Vec<u8> {
    let path = question.field("x-forwarded-uri").unwrap_or_default();
    match path.as_str() {
        "/app/user" => &b"HTTP/1.1 200 OK\r\nX-User: ann\r\nContent-Length: 2\r\n\r\nok"[..],
        "/app/nobody" => b"HTTP/1.1 204 OK\r\n\r\n",
        "/app/401" => {
            b"HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer realm=\"a\"\r\nContent-Length: 2\r\n\r\nno"
        }
        "/app/403" => b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n",
        "/app/404" => b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n",
        "/app/500" => b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
        "/app/garbage" => b"220 mail ESMTP\r\n",
        _ => b"",
    }
    .to_vec()
}

#[test]
fn a_server_is_asked_as_by_auth_request() {
    let recorders = [RecordingServer::start(), RecordingServer::start()];
    let asked = AskedServer::start(answer_of);
    let setup =
        asking(recorders[0].address(), &[asked.address()], "response-headers = \"X-User\"\n");
    let balancer = TestBalancer::start(&setup);
    let directives = format!(
        "auth_request /ask; auth_request_set $user $upstream_http_x_user;\n\
         location = /ask {{ internal; proxy_pass http://{}/; proxy_pass_request_body off;\n\
         proxy_set_header Content-Length \"\"; proxy_set_header X-Forwarded-Uri $request_uri; }}\n\
         location /app/ {{ proxy_pass http://{}; proxy_set_header X-User $user; }}",
        asked.address(),
        recorders[1].address()
    );
    let nginx = Nginx::with("nginx", &directives);
    for path in ["user", "nobody", "401", "403", "404", "500", "garbage", "closed"] {
        for method in ["GET", "POST"] {
            let answers = [balancer.front(), nginx.address()].map(|address| {
                let mut client = HttpClient::connect(address);
                client.send(format!(
                    "{method} /app/{path} HTTP/1.1\r\nHost: shop.example\r\nX-User: root\r\nCookie: a=1\r\n\
                     Content-Length: 4\r\n\r\nbody"
                ));
                client.read_answer()
            });
            // What is no answer is 500 there and 503 here.
            let statuses = answers
                .each_ref()
                .map(|it| it.status())
                .map(|it| it - it % 100 * u16::from(it >= 500));
            assert_eq!(statuses[0], statuses[1], "{path}");
            let [ours, theirs] = answers.each_ref().map(|it| it.field("www-authenticate"));
            assert_eq!(ours, theirs, "{path}");
            let [ours, theirs] = recorders.each_ref().map(|it| it.so_far().requests);
            let seen =
                |requests: &[ReceivedMessage]| -> Vec<(Option<String>, Option<String>, Vec<u8>)> {
                    let each = requests.iter();
                    each.map(|it| (it.field("x-user"), it.field("cookie"), it.body.clone()))
                        .collect()
                };
            assert_eq!(seen(&ours), seen(&theirs), "{path}");
        }
    }
    assert_eq!(recorders[0].so_far().requests.len(), 4);
}
