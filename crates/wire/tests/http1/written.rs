//! The writer's output where the corpus covers only one setting: policies for forwarding fields, Via, persistence,
//! local replies.

use crate::replay::request_edits;
use wire::http1::{
    ConnectionPersistence, ForwardedPolicy, HeadLimits, HeaderSlots, HttpVersion, RequestEdits,
    RequestIdHeader, ResponseBody, ResponseContext, ResponseEdits, TraceContext, TracePropagation,
    emit_local_reply, emit_request, emit_response, parse_request, parse_response,
};

const FORWARDED: &str = "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 10.0.0.1\r\n\
    X-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\nForwarded: for=10.0.0.1\r\n\r\n";

fn request(head: &str, edits: &RequestEdits) -> String {
    let mut slots = HeaderSlots::new();
    let parsed = parse_request(head.as_bytes(), &HeadLimits::default(), &mut slots);
    let mut out = Vec::new();
    emit_request(&parsed.unwrap().unwrap(), edits, &mut out);
    String::from_utf8(out).unwrap()
}

fn answer(head: &str, edits: &ResponseEdits) -> String {
    let mut slots = HeaderSlots::new();
    let parsed = parse_response(
        head.as_bytes(),
        &HeadLimits::default(),
        &mut slots,
        ResponseContext::Upgrade,
    );
    let mut out = Vec::new();
    emit_response(&parsed.unwrap().unwrap(), edits, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn forwarding_fields_are_treated_as_configured() {
    let rows = [
        (
            ForwardedPolicy::Keep,
            "X-Forwarded-For: 10.0.0.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\n\
             Forwarded: for=10.0.0.1\r\n",
        ),
        (
            ForwardedPolicy::Append,
            "X-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\n\
             X-Forwarded-For: 10.0.0.1, 2001:db8::8\r\n\
             Forwarded: for=10.0.0.1, for=\"[2001:db8::8]\";proto=http\r\n",
        ),
        (
            ForwardedPolicy::Replace,
            "X-Forwarded-For: 2001:db8::7\r\nX-Forwarded-Proto: http\r\n\
             Forwarded: for=\"[2001:db8::7]\";proto=http\r\n",
        ),
        (ForwardedPolicy::Remove, ""),
        (
            ForwardedPolicy::Pass,
            "X-Forwarded-For: 10.0.0.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\n\
             Forwarded: for=10.0.0.1\r\n",
        ),
    ];
    for (treatment, fields) in rows {
        let edits = RequestEdits {
            client: "[2001:db8::7]:5555".parse().unwrap(),
            hop: "[2001:db8::8]:5555".parse().unwrap(),
            x_forwarded: treatment,
            forwarded: treatment,
            via: None,
            ..request_edits()
        };
        let wanted = format!("GET / HTTP/1.1\r\nHost: h\r\n{fields}\r\n");
        assert_eq!(request(FORWARDED, &edits), wanted, "{treatment:?}");
    }
}

/// For every policy: no byte of an untrusted client's forwarding fields passes, whatever the field.
#[test]
fn what_an_untrusted_sender_says_of_earlier_hops_never_passes() {
    const FIELDS: [&str; 9] = [
        "X-Forwarded-For: evil.1",
        "x-forwarded-proto: evil.2",
        "X-Forwarded-Host: evil.3",
        "X-Forwarded-Port: evil.4",
        "X-FORWARDED-Prefix: evil.5",
        "X-Forwarded-Ssl: evil.6",
        "Forwarded: for=evil.7",
        "X-Real-IP: evil.8",
        "x-forwarded-for: evil.9",
    ];
    let ours_x = "X-Forwarded-For: 2001:db8::7\r\nX-Forwarded-Proto: http\r\n";
    let ours_ip = "X-Real-IP: 2001:db8::7\r\n";
    let ours_forwarded = "Forwarded: for=\"[2001:db8::7]\";proto=http\r\n";
    let all = format!("GET / HTTP/1.1\r\nHost: h\r\n{}\r\n\r\n", FIELDS.join("\r\n"));
    let none = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    for (treatment, came, wanted) in [
        (ForwardedPolicy::Keep, all.as_str(), [ours_x, ours_ip, ours_forwarded].concat()),
        (ForwardedPolicy::Append, &all, [ours_x, ours_ip, ours_forwarded].concat()),
        (ForwardedPolicy::Replace, &all, [ours_x, ours_ip, ours_forwarded].concat()),
        (ForwardedPolicy::Remove, &all, String::new()),
        (ForwardedPolicy::Keep, none, String::new()),
        (ForwardedPolicy::Append, none, [ours_x, ours_forwarded].concat()),
        // Only where the configuration says that everybody's pass.
        (ForwardedPolicy::Pass, &all, format!("{}\r\n", FIELDS.join("\r\n"))),
        (ForwardedPolicy::Pass, none, String::new()),
    ] {
        let edits = RequestEdits {
            client: "[2001:db8::7]:5555".parse().unwrap(),
            trusted: false,
            x_forwarded: treatment,
            forwarded: treatment,
            via: None,
            ..request_edits()
        };
        let wanted = format!("GET / HTTP/1.1\r\nHost: h\r\n{wanted}\r\n");
        assert_eq!(request(came, &edits), wanted, "{treatment:?}");
    }
}

#[test]
fn an_ipv4_client_on_an_ipv6_socket_is_written_as_ipv4() {
    let edits = RequestEdits {
        client: "[::ffff:192.0.2.7]:5555".parse().unwrap(),
        hop: "[::ffff:192.0.2.7]:5555".parse().unwrap(),
        local: "[2001:db8::1]:8080".parse().unwrap(),
        scheme: "https",
        trusted: true,
        x_forwarded: ForwardedPolicy::Replace,
        forwarded: ForwardedPolicy::Replace,
        via: None,
        keep_upgrade: false,
        identity: None,
        request_id: None,
        tracing: None,
    };
    let wanted = "GET / HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\nX-Forwarded-For: 192.0.2.7\r\n\
        X-Forwarded-Proto: https\r\nForwarded: for=192.0.2.7;proto=https\r\n\r\n";
    assert_eq!(request("GET / HTTP/1.0\r\n\r\n", &edits), wanted);
}

#[test]
fn an_upgrade_is_kept_only_when_configured() {
    let head = "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, TE\r\nTE: trailers\r\nUpgrade: websocket\r\n\r\n";
    let quiet = RequestEdits { x_forwarded: ForwardedPolicy::Keep, via: None, ..request_edits() };
    let kept = "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nTE: trailers\r\nConnection: Upgrade, TE\r\n\r\n";
    assert_eq!(request(head, &quiet), kept);
    let dropped = RequestEdits { keep_upgrade: false, ..quiet };
    let without = "GET / HTTP/1.1\r\nHost: h\r\nTE: trailers\r\nConnection: TE\r\n\r\n";
    assert_eq!(request(head, &dropped), without);
}

#[test]
fn persistence_is_written_in_the_words_of_the_clients_version() {
    let counted = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let required =
        "HTTP/1.1 426 X\r\nConnection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n";
    let rows = [
        (counted, HttpVersion::Http11, ConnectionPersistence::KeepAlive, None),
        (counted, HttpVersion::Http11, ConnectionPersistence::Close, Some("close")),
        (counted, HttpVersion::Http10, ConnectionPersistence::KeepAlive, Some("keep-alive")),
        (counted, HttpVersion::Http10, ConnectionPersistence::Close, Some("close")),
        (chunked, HttpVersion::Http11, ConnectionPersistence::KeepAlive, None),
        (chunked, HttpVersion::Http10, ConnectionPersistence::KeepAlive, Some("close")),
        (
            "HTTP/1.1 200 OK\r\n\r\n",
            HttpVersion::Http11,
            ConnectionPersistence::KeepAlive,
            Some("close"),
        ),
        (required, HttpVersion::Http11, ConnectionPersistence::Close, Some("close, Upgrade")),
        (required, HttpVersion::Http11, ConnectionPersistence::KeepAlive, Some("Upgrade")),
    ];
    for (head, client_version, persist, wanted) in rows {
        let edits = ResponseEdits {
            client_version,
            persist,
            via: None,
            keep_upgrade: true,
            removed_headers: &[],
            removed_cookie: None,
            lines: b"",
        };
        let written = answer(head, &edits);
        let told = written.lines().find_map(|line| line.strip_prefix("Connection: "));
        assert_eq!(told, wanted, "{head} {client_version:?} {persist:?}");
    }
}

#[test]
fn an_error_is_a_whole_answer_and_cannot_be_split() {
    for (persist, keep_alive) in
        [(ConnectionPersistence::Close, false), (ConnectionPersistence::KeepAlive, true)]
    {
        for head_only in [false, true] {
            let mut out = Vec::new();
            emit_local_reply(
                503,
                "no-server\r\nSet-Cookie: a=b",
                "7f \u{e4}01",
                b"",
                persist,
                head_only,
                &mut out,
            );
            let mut slots = HeaderSlots::new();
            let answer =
                parse_response(&out, &HeadLimits::default(), &mut slots, ResponseContext::Other);
            let answer = answer.unwrap().unwrap();
            let body = &out[answer.head_len..];
            let text = "503 Service Unavailable: no-serverSet-Cookie:a=b (7f01)\n";
            assert_eq!(answer.body, ResponseBody::Length(text.len() as u64));
            assert_eq!(body, if head_only { b"" } else { text.as_bytes() });
            assert_eq!((answer.status, answer.keep_alive), (503, keep_alive));
            let field = |name: &str| answer.headers.iter().find(|h| h.name == name).unwrap().value;
            assert_eq!(field("x-steelyard-cause"), b"no-serverSet-Cookie:a=b");
            assert_eq!(field("x-steelyard-id"), b"7f01");
            assert_eq!(field("Cache-Control"), b"no-store");
        }
    }
}

#[test]
fn a_trace_goes_on_from_our_span_and_what_is_nonsense_goes() {
    let context = TraceContext { trace: 0xabc, parent: 0xdef, sampled: true };
    let line = "traceparent: 00-00000000000000000000000000000abc-0000000000000def-01\r\n";
    let head = "GET / HTTP/1.1\r\nHost: a\r\nTraceParent: x\r\nTRACESTATE: b=1\r\nx: y\r\n\r\n";
    for carried_on in [true, false] {
        let tracing = Some(TracePropagation { context, is_continued: carried_on });
        let out = request(head, &RequestEdits { tracing, ..request_edits() });
        assert_eq!(out.matches(line).count(), 1, "{out}");
        assert!(!out.contains("TraceParent"), "{out}");
        assert_eq!(out.contains("TRACESTATE: b=1\r\n"), carried_on, "{out}");
        assert!(out.contains("x: y\r\n"), "{out}");
    }
    let out = request(head, &request_edits());
    assert!(out.contains("TraceParent: x\r\nTRACESTATE: b=1\r\n"), "{out}");
}

#[test]
fn the_id_of_a_request_stands_once_in_whatever_spelling_another_came() {
    let head = "GET / HTTP/1.1\r\nHost: a\r\nX-Id: 1\r\nx_id: 2\r\nX.ID: 3\r\nX-Id2: 4\r\n\r\n";
    let request_id = Some(RequestIdHeader { name: "X-Id", value: "own" });
    let out = request(head, &RequestEdits { request_id, ..request_edits() });
    assert!(out.contains("X-Id2: 4\r\n") && out.contains("\r\nX-Id: own\r\n"), "{out}");
    assert!(
        ["1\r\n", "2\r\n", "3\r\n"].iter().all(|value| !out.contains(&format!(": {value}"))),
        "{out}"
    );
}
