//! Preconditions of a change: the expected generation, idempotency keys, and rejected requests.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::servers::{addresses, origin};

use crate::client::{ApiSocket, PATCH, TOML};

fn key(key: &str) -> (&'static str, &str) {
    ("idempotency-key", key)
}

#[test]
fn a_key_makes_a_change_happen_once_and_gives_its_answer_again() {
    let origins = [origin("a"), origin("b")];
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)));
    let socket = ApiSocket::at(&balancer.dir().join("sock"));
    let add = "{\"action\": \"add\", \"address\": \"127.0.0.1:1\"}";
    let json = ("content-type", "application/json");
    let first = socket.ask("POST /v1/servers/web/c", &[json, key("\"one\"")], add);
    assert_eq!((first.status, first.field("idempotency-replayed")), (200, None), "{first:?}");
    // The key is the same with or without quotes.
    let again = socket.ask("POST /v1/servers/web/c", &[json, key("one")], add);
    assert_eq!((again.status, &again.body), (200, &first.body));
    assert_eq!(again.field("idempotency-replayed"), Some("true"));
    assert_eq!(again.field("content-type"), first.field("content-type"));
    let without = socket.ask("POST /v1/servers/web/c", &[json], add);
    assert_eq!((without.status, without.problem().as_str()), (409, "server-exists"));
    let other = socket.ask("POST /v1/servers/web/d", &[json, key("one")], add);
    assert_eq!((other.status, other.problem().as_str()), (422, "idempotency-key"));
    // An error response is replayed too.
    let bad = socket.ask("PATCH /v1/config/pools/web", &[PATCH, key("two")], "{\"x\": 1}");
    let same = socket.ask("PATCH /v1/config/pools/web", &[PATCH, key("two")], "{\"x\": 1}");
    assert_eq!((bad.status, same.status, &bad.body), (422, 422, &same.body));
    for wrong in ["", "\"\"", "a b", &"k".repeat(256)] {
        let refused = socket.ask("POST /v1/undo", &[key(wrong)], "");
        assert_eq!(
            (refused.status, refused.problem().as_str()),
            (400, "idempotency-key"),
            "{wrong}"
        );
    }
    // Concurrent requests with the same key: the change happens once. Each answer is 200 or 409.
    let weight = "{\"action\": \"weight\", \"weight\": 9}";
    let told: Vec<u16> = std::thread::scope(|scope| {
        let ask = || socket.ask("POST /v1/servers/web/a", &[json, key("three")], weight).status;
        let threads: Vec<_> = (0..32).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(told.iter().all(|status| [200, 409].contains(status)) && told.contains(&200));
    let audit = socket.ask("GET /v1/audit", &[], "").json();
    let records = audit["records"].as_array().unwrap();
    let count = |action: &str| records.iter().filter(|it| it["action"] == action).count();
    assert_eq!((count("add"), count("weight 9")), (1, 1), "{audit}");
}

#[test]
fn a_change_asks_for_the_generation_it_began_with() {
    let origins = [origin("a")];
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)));
    let socket = ApiSocket::at(&balancer.dir().join("sock"));
    let (text, tag) = socket.config();
    let more = format!("{text}\n[pool.more]\nservers = [\"127.0.0.1:1\"]\n");
    let put = |fields: &[(&str, &str)], body: &str| {
        let fields: Vec<_> = [TOML].iter().chain(fields).copied().collect();
        socket.ask("PUT /v1/config?file=x.toml", &fields, body)
    };
    let blind = put(&[], &more);
    assert_eq!((blind.status, blind.problem().as_str()), (428, "if-match"));
    for (wrong, status) in [("1", 400), ("\"99\"", 412), ("W/\"1\"", 412), ("\"x\"", 412)] {
        assert_eq!(put(&[("if-match", wrong)], &more).status, status, "{wrong}");
    }
    let done = put(&[("if-match", &tag)], &more);
    assert_eq!((done.status, done.field("etag")), (200, Some("\"2\"")), "{done:?}");
    assert_eq!(put(&[("if-match", &tag)], &text).problem(), "generation-moved");
    let mistake = put(&[("if-match", "*")], "[service.x]\nlisten = 1\n");
    assert_eq!((mistake.status, mistake.problem().as_str()), (422, "configuration"));
    assert_eq!(mistake.json()["findings"][0]["file"], "x.toml");
    assert_eq!(socket.config(), (more, "\"2\"".to_owned()));
    assert_eq!(put(&[("if-match", "*")], &text).field("etag"), Some("\"3\""));
    // Earlier generations can be read.
    let old = socket.ask("GET /v1/config?generation=2", &[], "");
    assert!(old.status == 200 && old.body.contains("[pool.more]"), "{old:?}");
    assert_eq!(socket.ask("GET /v1/config?generation=99", &[], "").problem(), "no-generation");
}

#[test]
fn an_empty_text_is_no_configuration_unless_it_says_so() {
    let origins = [origin("a")];
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)));
    let socket = ApiSocket::at(&balancer.dir().join("sock"));
    let before = socket.config();
    for nothing in ["", "\n \n", "# to be written\n"] {
        for (line, fields) in [
            ("PUT /v1/config", &[TOML, ("if-match", "*")][..]),
            ("POST /v1/apply", &[TOML]),
            ("POST /v1/plan", &[TOML]),
        ] {
            let refused = socket.ask(line, fields, nothing);
            assert_eq!((refused.status, refused.problem().as_str()), (400, "empty"), "{line}");
            let advice = refused.json()["advice"].to_string();
            assert!(advice.contains("[global]"), "{line}: {advice}");
        }
    }
    assert_eq!(socket.config(), before);
    assert_eq!(balancer.client().get("/").status(), 200);
    // Settings that only the file may change stay as they are, because a moved control socket would make the daemon
    // unreachable.
    let put = |text: &str| socket.ask("PUT /v1/config", &[TOML, ("if-match", "*")], text);
    let elsewhere = put("[global]\n");
    assert_eq!((elsewhere.status, elsewhere.problem().as_str()), (403, "program-not-allowed"));
    let control = before.0.lines().find(|line| line.starts_with("control = ")).unwrap();
    let global = format!("[global]\n{control}\n");
    let done = put(&global);
    assert_eq!((done.status, done.json()["generation"].as_u64()), (200, Some(2)), "{done:?}");
    assert_eq!(socket.config().0, global);
    // A rollback still works as usual.
    assert_eq!(socket.ask("POST /v1/rollback", &[], "").status, 200);
    assert_eq!(balancer.client().get("/").status(), 200);
}

// Rows: Z10
#[test]
fn objects_are_read_as_written_and_patched_alone() {
    let origins = [origin("a"), origin("b")];
    let rules = "rule = [{ name = \"old\", when = { path = \"/old\" }, redirect = \"/new\" }]\n";
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)).service(rules));
    let socket = ApiSocket::at(&balancer.dir().join("sock"));
    let server = socket.ask("GET /v1/config/pools/web/servers/a", &[], "");
    assert_eq!((server.json()["name"].as_str(), server.field("etag")), (Some("a"), Some("\"1\"")));
    for (path, patch, key, expected) in [
        ("/v1/config/pools/web/servers/a", "{\"weight\": 3}", "weight", "3"),
        ("/v1/config/pools/web", "{\"balance\": \"random\"}", "balance", "\"random\""),
        (
            "/v1/config/services/shop",
            "{\"timeout\": {\"idle\": \"7s\"}}",
            "timeout",
            "{\"idle\":\"7s\"}",
        ),
        (
            "/v1/config/services/shop/rules/old",
            "{\"redirect\": \"/other\"}",
            "redirect",
            "\"/other\"",
        ),
    ] {
        let done = socket.ask(&format!("PATCH {path}"), &[PATCH], patch);
        assert_eq!(done.status, 200, "{path}: {done:?}");
        let now = socket.ask(&format!("GET {path}"), &[], "").json();
        assert_eq!(now[key].to_string(), expected, "{path}: {now}");
    }
    assert_eq!(balancer.server("a").weight, 3);
    let location = balancer.client().get("/old").field("location");
    assert_eq!(location.as_deref(), Some("/other"));
    for (path, patch, status, kind) in [
        ("/v1/config/pools/none", "{}", 404, "no-object"),
        ("/v1/config/services/shop/rules/9", "{}", 404, "no-object"),
        ("/v1/config/pools/web", "[]", 400, "patch"),
        ("/v1/config/pools/web", "{", 400, "body"),
        ("/v1/config/pools/web", "{\"servers\": [null]}", 400, "patch"),
        ("/v1/config/pools/web", "{\"balanse\": \"random\"}", 422, "configuration"),
    ] {
        let refused = socket.ask(&format!("PATCH {path}"), &[PATCH], patch);
        assert_eq!((refused.status, refused.problem().as_str()), (status, kind), "{path} {patch}");
    }
    let kind = ("content-type", "Application/Merge-Patch+JSON; charset=utf-8");
    assert_eq!(socket.ask("PATCH /v1/config", &[kind], "{}").status, 200, "in any case");
    let kind = socket.ask("PATCH /v1/config", &[("content-type", "text/plain")], "{}");
    assert_eq!(kind.status, 415);
    // The API reports the same findings as the program.
    let said = balancer.dir().write("bad.toml", "[service.x]\nlisten = 1\n");
    let said = std::process::Command::new(tests::e2e::balancer::program())
        .args(["apply", "--socket"])
        .arg(balancer.dir().join("sock"))
        .arg(said)
        .output()
        .unwrap();
    let api = socket.ask("POST /v1/apply", &[TOML], "[service.x]\nlisten = 1\n").json();
    let words = api["findings"][0]["message"].as_str().unwrap().to_owned();
    let said = String::from_utf8(said.stderr).unwrap();
    assert!(said.contains(&words), "{words} is not in {said}");
}
