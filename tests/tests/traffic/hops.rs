//! TRACE and OPTIONS, whose senders say how far they go: in every version of HTTP.

use tests::e2e::balancer::Balancer;
use tests::e2e::frames::{END, Frames, WHOLE, head, kind};
use tests::e2e::recorder::Recorder;
use tests::e2e::setup::Setup;

#[test]
fn a_request_that_may_go_no_further_is_answered_here() {
    let server = Recorder::start();
    let balancer = Balancer::start(&Setup::http(&[server.address()]));
    let mut client = balancer.client();
    for (method, status) in [("TRACE", 405), ("OPTIONS", 200)] {
        client.send(format!(
            "{method} /x HTTP/1.1\r\nHost: a\r\nCookie: secret\r\nMax-Forwards: 0\r\n\r\n"
        ));
        let answer = client.answer();
        assert_eq!((answer.status(), answer.text().as_str()), (status, ""), "{method}");
        assert_eq!(answer.field("allow").as_deref(), Some("OPTIONS"), "{method}");
        balancer.logged(method, |line| line["method"] == method && line["by"] == "us");
    }
    assert!(server.so_far().requests.is_empty(), "nothing of it came to a server");
    client.send("OPTIONS /x HTTP/1.1\r\nHost: a\r\nMax-Forwards: 5\r\n\r\n");
    assert_eq!(client.answer().status(), 200);
    let came = server.so_far().requests.remove(0);
    assert_eq!(came.field("max-forwards").as_deref(), Some("4"), "{came:?}");
    client.send("TRACE /x HTTP/1.1\r\nHost: a\r\nMax-Forwards: -1\r\n\r\n");
    assert_eq!(client.answer().status(), 400);
}

#[test]
fn the_same_holds_over_http_2() {
    let server = Recorder::start();
    let setup = Setup::http(&[server.address()]).service("http2 = \"always\"\n");
    let balancer = Balancer::start(&setup);
    for method in ["TRACE", "OPTIONS"] {
        let mut client = Frames::to(balancer.front());
        client.send(kind::HEADERS, END | WHOLE, 1, &head(method, "/x", &[("max-forwards", "0")]));
        assert!(client.next_of(kind::HEADERS).is_some(), "{method}: no answer");
        balancer.logged(method, |line| line["method"] == method && line["by"] == "us");
    }
    assert!(server.so_far().requests.is_empty());
}
