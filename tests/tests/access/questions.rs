//! Requests that pass because a server says so: what is asked, what servers get, and what clients get otherwise.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::h2client::{H2Request, send_all};
use tests::e2e::http::ReceivedMessage;
use tests::e2e::recording_server::{RecordingServer, ScriptedServer};
use tests::e2e::servers;

use crate::asked_server::{AskedServer, asking};
use crate::passwords::ask;

const FORGED: &str = "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Uri: /public\r\n\
    X-Forwarded-Method: OPTIONS\r\nX-Forwarded-Host: other.example\r\nX-Forwarded-Host: third.example\r\n";

#[test]
fn a_question_has_our_facts_and_nothing_that_a_client_forged() {
    let recorder = RecordingServer::start();
    let asked = AskedServer::of_users();
    let keys = "path = \"/verify?site=shop\"\nresponse-headers = \"X-User\"\n";
    let balancer = TestBalancer::start(&asking(recorder.address(), &[asked.address()], keys));
    let mut client = balancer.client();
    client.send(format!(
        "POST /cart?id=1 HTTP/1.1\r\nHost: shop.example\r\n{FORGED}X-User: root\r\nx_user: root\r\n\
         Cookie: user=ann; a=1\r\nAuthorization: Bearer t\r\nX-Other: 1\r\nContent-Length: 4\r\n\r\nbody"
    ));
    assert_eq!(client.read_answer().status(), 200);
    let mut over_h2 = H2Request::post("/cart?id=1", b"body");
    let forged = FORGED.lines().filter_map(|line| line.split_once(": "));
    let names = ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-uri", "x-forwarded-method"];
    for (name, value) in forged {
        let name = names.into_iter().find(|one| one.eq_ignore_ascii_case(name));
        over_h2.fields.push((name.unwrap_or("x-forwarded-host"), value.to_owned()));
    }
    for (name, value) in
        [("x-user", "root"), ("cookie", "user=ann; a=1"), ("authorization", "Bearer t")]
    {
        over_h2.fields.push((name, value.to_owned()));
    }
    assert_eq!(send_all(balancer.front(), &[over_h2])[0].status, 200);

    let questions = asked.questions();
    assert_eq!(questions.len(), 2);
    for (question, host) in questions.iter().zip(["shop.example", ""]) {
        assert_eq!(question.start, "GET /verify?site=shop HTTP/1.1");
        let names: Vec<&str> = question.fields.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "Host",
                "X-Forwarded-Method",
                "X-Forwarded-Proto",
                "X-Forwarded-Host",
                "X-Forwarded-Uri",
                "X-Forwarded-For",
                "Cookie",
                "Authorization"
            ]
        );
        let field = |name: &str| question.field(name).unwrap();
        assert_eq!(field("x-forwarded-method"), "POST");
        assert_eq!(field("x-forwarded-proto"), "http");
        assert_eq!(field("x-forwarded-uri"), "/cart?id=1");
        assert_eq!(field("x-forwarded-for"), "127.0.0.1");
        assert_eq!(field("x-forwarded-host"), field("host"));
        assert!(host.is_empty() || field("host") == host);
        assert_eq!(field("cookie"), "user=ann; a=1");
        assert!(question.body.is_empty());
    }
    for request in recorder.so_far().requests {
        assert_eq!(request.field("x-user").as_deref(), Some("ann"));
        assert_eq!(request.field("x_user"), None);
        assert_eq!(request.field("x-secret"), None);
        assert_eq!(request.field("authorization").as_deref(), Some("Bearer t"));
        assert_eq!(request.body, b"body");
    }
    let passed = "steelyard_service_auth_requests_total{service=\"shop\",outcome=\"passed\"} 2";
    assert!(balancer.metrics().contains(passed));
    drop(client);
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
}

#[test]
fn fields_of_the_answer_replace_the_clients_also_if_it_lacks_them() {
    let recorder = RecordingServer::start();
    let asked = AskedServer::start(|question| {
        let token = question.field("authorization").unwrap_or_default();
        match token.as_str() {
            "Bearer good" => {
                b"HTTP/1.1 204 \r\nAuthorization: Bearer inner\r\nX-Role: a\r\nX-Role: b\r\n\r\n"
            }
            _ => &b"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"[..],
        }
        .to_vec()
    });
    let keys = "response-headers = [\"Authorization\", \"X-Role\"]\n";
    let balancer = TestBalancer::start(&asking(recorder.address(), &[asked.address()], keys));
    for token in ["good", "other"] {
        let lines = format!("Authorization: Bearer {token}\r\nX-Role: admin\r\nX_ROLE: admin\r\n");
        assert_eq!(ask(&balancer, "/", &lines).status(), 200);
    }
    let twice = "Authorization: Bearer good\r\nAuthorization: Bearer other\r\n";
    assert_eq!(ask(&balancer, "/", twice).status(), 401, "it is not clear which one counts");
    let requests = recorder.so_far().requests;
    let fields = |name: &str| requests.iter().map(|it| it.field(name)).collect::<Vec<_>>();
    assert_eq!(fields("authorization"), [Some("Bearer inner".to_owned()), None]);
    assert_eq!(fields("x-role"), [Some("a, b".to_owned()), None]);
    assert_eq!(fields("x_role"), [None, None]);
    assert_eq!(asked.questions().len(), 2);
}

#[test]
fn a_refusal_reaches_the_client_and_its_connection_goes_on() {
    let recorder = RecordingServer::start();
    let asked = AskedServer::start(|question| {
        match question.field("x-forwarded-uri").unwrap_or_default().as_str() {
            "/login" => &b"HTTP/1.1 302 Found\r\nLocation: https://sso.example/?a=b\r\nSet-Cookie: s=1\r\n\
                Set-Cookie: t=2\r\nConnection: X-Hop\r\nX-Hop: 1\r\nContent-Length: 0\r\n\r\n"[..],
            "/secret" => b"HTTP/1.1 401 Who\r\nWWW-Authenticate: Bearer realm=\"a\"\r\nContent-Type: text/x\r\n\
                Transfer-Encoding: chunked\r\n\r\n3\r\nwho\r\n0\r\n\r\n",
            "/closing" => b"HTTP/1.1 403 No\r\nCache-Control: private\r\nConnection: close\r\n\r\nnever",
            _ => b"HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes",
        }
        .to_vec()
    });
    let balancer = TestBalancer::start(&asking(recorder.address(), &[asked.address()], ""));
    let mut client = balancer.client();
    let check = |at: &str, answer: &ReceivedMessage| {
        assert_eq!(answer.field("x-steelyard-cause"), None, "{at}");
        match at {
            "/login" => {
                assert_eq!(answer.status(), 302);
                assert_eq!(answer.field("location").as_deref(), Some("https://sso.example/?a=b"));
                assert_eq!(answer.field("set-cookie").as_deref(), Some("s=1, t=2"));
                assert_eq!(answer.field("x-hop"), None);
                assert_eq!(answer.field("cache-control").as_deref(), Some("no-store"));
            }
            "/secret" => {
                assert_eq!(answer.status(), 401);
                let challenge = answer.field("www-authenticate");
                assert_eq!(challenge.as_deref(), Some("Bearer realm=\"a\""));
                assert_eq!(answer.field("content-type").as_deref(), Some("text/x"));
                assert_eq!(answer.text(), "who");
            }
            "/closing" => {
                assert_eq!((answer.status(), answer.text().as_str()), (403, "never"));
                assert_eq!(answer.field("cache-control").as_deref(), Some("private"));
            }
            _ => assert_eq!(answer.status(), 200),
        }
    };
    // All on one connection of the client, with bodies between.
    for at in ["/login", "/secret", "/", "/closing", "/secret", "/", "/login"] {
        check(at, &client.get(at));
        check(at, &client.post(at, b"some body"));
    }
    client.send("HEAD /secret HTTP/1.1\r\nHost: a\r\n\r\n");
    let head = client.read_answer_head();
    assert_eq!((head.status(), head.field("content-length").as_deref()), (401, Some("3")));
    check("/", &client.get("/"));
    let requests = recorder.so_far().requests;
    assert_eq!(requests.len(), 5);
    assert_eq!(requests.iter().filter(|it| it.body == b"some body").count(), 2);

    let paths = ["/login", "/secret", "/closing", "/"];
    let all: Vec<H2Request> = paths
        .iter()
        .flat_map(|at| [H2Request::get(at), H2Request::post(at, b"some body")])
        .collect();
    let answers = send_all(balancer.front(), &all);
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [302, 302, 401, 401, 403, 403, 200, 200]);
    assert_eq!(answers[0].field("location").as_deref(), Some("https://sso.example/?a=b"));
    assert_eq!(answers[2].body, b"who");
    let line = balancer.wait_for_log_line("a refusal", |line| line["target"] == "/secret");
    assert_eq!(line["cause"], "unauthenticated", "{line}");
    drop(client);
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
}

#[test]
fn without_a_usable_answer_nothing_passes_unless_that_is_wanted() {
    let recorder = RecordingServer::start();
    let asked = AskedServer::start(|question| {
        match question.field("x-forwarded-uri").unwrap_or_default().as_str() {
            "/500" => &b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno"[..],
            "/404" => b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n",
            "/304" => b"HTTP/1.1 304 No\r\n\r\n",
            "/cut-head" => b"HTTP/1.1 200 OK\r\nContent-Le",
            "/garbage" => b"220 mail.example ESMTP\r\n",
            "/long-head" => {
                return [b"HTTP/1.1 200 OK\r\nA: ".to_vec(), vec![b'a'; 200_000]].concat();
            }
            "/two-lengths" => {
                b"HTTP/1.1 401 No\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nno"
            }
            "/interim" => return b"HTTP/1.1 103 Early\r\n\r\n".repeat(100),
            "/cut-body" => b"HTTP/1.1 401 No\r\nContent-Length: 9\r\n\r\nno",
            _ => b"",
        }
        .to_vec()
    });
    let silent = ScriptedServer::start(|stream| {
        let mut rest = Vec::new();
        // Until the balancer gives up.
        let _ = std::io::Read::read_to_end(&mut &stream, &mut rest);
    });
    let dead = servers::reserve_port();
    let paths =
        ["/500", "/404", "/304", "/garbage", "/long-head", "/two-lengths", "/interim", "/close"];
    for (address, paths) in
        [(asked.address(), &paths[..]), (silent.address(), &["/"]), (dead.address(), &["/"])]
    {
        let keys = "timeout = \"300ms\"\n";
        let balancer = TestBalancer::start(&asking(recorder.address(), &[address], keys));
        for at in paths {
            let answer = ask(&balancer, at, "");
            assert_eq!(answer.status(), 503, "{at}");
            assert_eq!(
                answer.field("x-steelyard-cause").as_deref(),
                Some("auth-unanswered"),
                "{at}"
            );
        }
        assert!(recorder.so_far().requests.is_empty());
        let count = paths.len();
        let line = format!(
            "steelyard_service_auth_requests_total{{service=\"shop\",outcome=\"failed\"}} {count}"
        );
        assert!(balancer.metrics().contains(&line), "{line}");
    }
    let keys = "timeout = \"300ms\"\non-failure = \"allow\"\nresponse-headers = \"X-User\"\n";
    let setup = asking(recorder.address(), &[asked.address()], keys);
    let balancer = TestBalancer::start(&setup);
    for at in paths {
        assert_eq!(ask(&balancer, at, "X-User: root\r\n").status(), 200, "{at}");
    }
    for request in recorder.so_far().requests {
        assert_eq!(request.field("x-user"), None);
    }
    let line = "steelyard_service_auth_requests_total{service=\"shop\",outcome=\"allowed\"} 8";
    assert!(balancer.metrics().contains(line));
}

#[test]
fn long_bodies_of_answers_take_bounded_memory_and_no_time() {
    let recorder = RecordingServer::start();
    let asked = AskedServer::start(|question| {
        let status = question.field("x-forwarded-uri").unwrap_or_default();
        let mut answer = format!(
            "HTTP/1.1 {} X\r\nContent-Type: text/html\r\nWWW-Authenticate: Bearer\r\nContent-Length: 1048576\r\n\r\n",
            &status[1..]
        )
        .into_bytes();
        answer.resize(answer.len() + 1_048_576, b'x');
        answer
    });
    let balancer = TestBalancer::start(&asking(recorder.address(), &[asked.address()], ""));
    let mut client = balancer.client();
    for _ in 0..3 {
        let refused = client.get("/401");
        assert_eq!((refused.status(), refused.body.len()), (401, 0));
        assert_eq!(refused.field("www-authenticate").as_deref(), Some("Bearer"));
        assert_eq!(refused.field("content-type"), None);
        assert_eq!(client.get("/200").status(), 200);
        assert_eq!(client.get("/503").status(), 503);
    }
    let line = "steelyard_service_auth_bodies_dropped_total{service=\"shop\"} 3";
    assert!(balancer.metrics().contains(line));
}

#[test]
fn connections_are_used_again_and_a_dead_server_is_passed_over() {
    let recorder = RecordingServer::start();
    let asked = AskedServer::of_users();
    let dead = servers::reserve_port();
    let setup = asking(recorder.address(), &[dead.address(), asked.address()], "");
    let balancer = TestBalancer::start(&setup);
    let mut client = balancer.client();
    for _ in 0..20 {
        client.send("GET / HTTP/1.1\r\nHost: a\r\nCookie: user=ann\r\n\r\n");
        assert_eq!(client.read_answer().status(), 200);
    }
    assert_eq!(asked.questions().len(), 20);
    assert_eq!(asked.accepted(), 1);
    // A connection that credentials authenticate serves nobody else.
    for _ in 0..2 {
        client.send(
            "GET / HTTP/1.1\r\nHost: a\r\nCookie: user=ann\r\nAuthorization: Negotiate YII\r\n\r\n",
        );
        assert_eq!(client.read_answer().status(), 200);
    }
    assert_eq!(asked.accepted(), 3);
}

#[test]
fn a_server_that_never_answers_holds_up_nobody_else() {
    let recorder = RecordingServer::start();
    let silent = ScriptedServer::start(|stream| {
        let mut rest = Vec::new();
        // Until the balancer gives up.
        let _ = std::io::Read::read_to_end(&mut &stream, &mut rest);
    });
    let rule = "auth = \"sso\"\nhttp2 = \"always\"\n[[service.shop.rule]]\nwhen = { path = \"/open\" }\nauth = \"off\"\n";
    let keys = "timeout = \"2s\"\nmax-concurrent = 2\n";
    let setup = asking(recorder.address(), &[silent.address()], keys).service(rule);
    let balancer = TestBalancer::start(&setup);
    let mut requests = vec![H2Request::get("/"); 6];
    requests.push(H2Request::get("/open"));
    // One connection is on one worker.
    let answers = send_all(balancer.front(), &requests);
    let causes: Vec<String> = answers
        .iter()
        .map(|answer| answer.field("x-steelyard-cause").unwrap_or_default())
        .collect();
    let count = |cause: &str| causes.iter().filter(|one| *one == cause).count();
    assert_eq!((count("auth-unanswered"), count("auth-overloaded")), (2, 4), "{causes:?}");
    assert_eq!(answers[6].status, 200);
    let requests = recorder.so_far().requests;
    assert_eq!(requests.len(), 1);
}
