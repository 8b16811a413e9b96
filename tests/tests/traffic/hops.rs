//! TRACE and OPTIONS with Max-Forwards, in every version of HTTP.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::frames::{END, FrameClient, WHOLE, head, kind};
use tests::e2e::recording_server::RecordingServer;

#[test]
fn a_request_that_may_go_no_further_is_answered_here() {
    let server = RecordingServer::start();
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]));
    let mut client = balancer.client();
    for (method, status) in [("TRACE", 405), ("OPTIONS", 200)] {
        client.send(format!(
            "{method} /x HTTP/1.1\r\nHost: a\r\nCookie: secret\r\nMax-Forwards: 0\r\n\r\n"
        ));
        let answer = client.read_answer();
        assert_eq!((answer.status(), answer.text().as_str()), (status, ""), "{method}");
        assert_eq!(answer.field("allow").as_deref(), Some("OPTIONS"), "{method}");
        balancer
            .wait_for_log_line(method, |line| line["method"] == method && line["by"] == "balancer");
    }
    assert!(server.so_far().requests.is_empty(), "nothing of it came to a server");
    client.send("OPTIONS /x HTTP/1.1\r\nHost: a\r\nMax-Forwards: 5\r\n\r\n");
    assert_eq!(client.read_answer().status(), 200);
    let came = server.so_far().requests.remove(0);
    assert_eq!(came.field("max-forwards").as_deref(), Some("4"), "{came:?}");
    client.send("TRACE /x HTTP/1.1\r\nHost: a\r\nMax-Forwards: -1\r\n\r\n");
    assert_eq!(client.read_answer().status(), 400);
}

#[test]
fn the_same_holds_over_http_2() {
    let server = RecordingServer::start();
    let setup = BalancerConfig::http(&[server.address()]).service("http2 = \"always\"\n");
    let balancer = TestBalancer::start(&setup);
    for method in ["TRACE", "OPTIONS"] {
        let mut client = FrameClient::connect(balancer.front());
        client.send(kind::HEADERS, END | WHOLE, 1, &head(method, "/x", &[("max-forwards", "0")]));
        assert!(client.next_of(kind::HEADERS).is_some(), "{method}: no answer");
        balancer
            .wait_for_log_line(method, |line| line["method"] == method && line["by"] == "balancer");
    }
    assert!(server.so_far().requests.is_empty());
}
