//! Servers with non-conforming responses: rejected, unless their pool allows them.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::recording_server::ScriptedServer;
use tests::e2e::wait;

#[test]
fn a_pool_takes_faults_of_its_servers_that_it_allows_and_counts_them() {
    let rows: [(&str, &'static [u8]); 3] = [
        ("repeated-length", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok"),
        ("bare-lf", b"HTTP/1.1 200 OK\nContent-Length: 2\nX-A: b\n\nok"),
        ("space-before-colon", b"HTTP/1.1 200 OK\r\nContent-Length : 2\r\nX-A\t: b\r\n\r\nok"),
    ];
    for (what, answer) in rows {
        let server = ScriptedServer::answering(answer);
        let setup = BalancerConfig::http(&[server.address()]).pool("retries = 0\n");
        let strict = TestBalancer::start(&setup);
        assert_eq!(strict.client().get("/").status(), 502, "{what}");
        drop(strict);
        let line = format!("lenient-responses = \"{what}\"\n");
        let lenient = TestBalancer::start(&setup.clone().pool(&line));
        let mut client = lenient.client();
        for _ in 0..2 {
            let answer = client.get("/");
            assert_eq!(
                (answer.status(), answer.text().as_str()),
                (200, "ok"),
                "{what}: {answer:?}"
            );
        }
        let counted = format!(
            "steelyard_server_responses_repaired_total{{pool=\"web\",server=\"a\",kind=\"{what}\"}} 2"
        );
        wait::until(&counted, || lenient.metrics().contains(&counted));
    }
}
