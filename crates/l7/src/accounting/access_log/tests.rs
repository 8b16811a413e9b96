//! Log lines from a consumer's perspective: known lines compared in full, hostile input through a JSON parser.

use model::cause::Cause;
use model::config::{LogVariable, MAX_LOG_FIELDS};
use model::monotonic_time::MonotonicTime;
use proptest::prelude::*;
use wire::http1::{DefectDetail, Header};

use super::super::captured_fields::CapturedFields;
use super::super::id::RequestIds;
use super::super::line_limits::{MAX_LINE_BYTES, TARGET, VALUE};
use super::super::log_fields::{ClientOrigin, DownstreamProtocol, FurtherFacts, LoggedServer};
use super::*;

/// What further fields add at most, each with its name.
const MAX_FIELD_BYTES: usize = MAX_LOG_FIELDS * (6 * VALUE + 96);

fn at(micros: u64) -> MonotonicTime {
    MonotonicTime(micros * 1000)
}

fn names<'a>(method: &'a [u8], target: &'a [u8]) -> LogFields<'a> {
    LogFields {
        service: "shop",
        server: Some(LoggedServer { pool: "web", name: "a" }),
        client: "192.0.2.7:4711".parse().unwrap(),
        origin: None,
        request_id: None,
        protocol: DownstreamProtocol::Http11,
        method,
        target,
        offence: DefectDetail::default(),
        weight: None,
        slow: None,
        further: FurtherFacts::default(),
    }
}

fn written(record: &ExchangeRecord, names: &LogFields, format: AccessLogFormat) -> String {
    written_with(record, names, format, &[])
}

fn written_with(
    record: &ExchangeRecord,
    names: &LogFields,
    format: AccessLogFormat,
    fields: &[AccessLogField],
) -> String {
    let mut out = Vec::new();
    write_line(
        record,
        names,
        format,
        fields,
        WallOrigin { origin_nanos: 1_795_297_261_000_000_000 },
        &mut out,
    );
    String::from_utf8(out).unwrap()
}

fn answered() -> ExchangeRecord {
    let mut record = ExchangeRecord::begin(at(42_000), at(42_100));
    record.connect_begin = Some(at(42_100));
    record.connect_end = Some(at(42_350));
    record.request_sent = Some(at(42_360));
    record.first_byte = Some(at(45_360));
    record.ended_at = Some(at(45_400));
    record.status = 200;
    record.bytes_from_client = 80;
    record.bytes_to_client = 2326;
    record.bytes_to_server = 120;
    record.bytes_from_server = 2300;
    record.id(&RequestIds::new(1, 5));
    record
}

#[test]
fn an_answered_request() {
    let names = names(b"GET", b"/a?b");
    let mut record = answered();
    // The id depends on a random key.
    let id = record.id(&RequestIds::new(1, 5)).to_string();
    let written = |format| written(&record, &names, format).replace(&id, "0040000000000005");
    assert_eq!(
        written(AccessLogFormat::Json),
        concat!(
            r#"{"time":"2026-11-21T21:41:01.042Z","id":"0040000000000005","service":"shop","#,
            r#""client":"192.0.2.7:4711","protocol":"HTTP/1.1","method":"GET","target":"/a?b","#,
            r#""status":200,"by":"server","server":"web/a","attempts":1,"bytes-from-client":80,"#,
            r#""bytes-to-client":2326,"bytes-to-server":120,"bytes-from-server":2300,"head-ms":0.100,"#,
            r#""connect-ms":0.250,"first-byte-ms":3.000,"transfer-ms":0.040,"total-ms":3.400}"#,
            "\n"
        )
    );
    assert_eq!(
        written(AccessLogFormat::Common),
        concat!(
            r#"192.0.2.7 - - [21/Nov/2026:21:41:01 +0000] "GET /a?b HTTP/1.1" 200 2326 "#,
            "0040000000000005 shop web/a - 1 0.100/-/0.250/3.000/0.040/3.400\n"
        )
    );
    let names = LogFields { request_id: Some("edge-1"), ..names };
    let json = super::tests::written(&record, &names, AccessLogFormat::Json);
    assert!(
        json.contains(&format!("\"id\":\"{id}\",\"request-id\":\"edge-1\",\"service\"")),
        "{json}"
    );
    let common = super::tests::written(&record, &names, AccessLogFormat::Common);
    assert!(common.ends_with(" request-id=\"edge-1\"\n"), "{common}");
}

#[test]
fn a_refused_connection() {
    let mut record = ExchangeRecord::begin(at(0), at(0));
    record.cause = Some(Cause::ServerRefused);
    record.ended_at = Some(at(1500));
    let names = LogFields {
        server: None,
        client: "[2001:db8::1]:5".parse().unwrap(),
        origin: None,
        protocol: DownstreamProtocol::Tcp,
        ..names(b"", b"")
    };
    assert_eq!(
        written(&record, &names, AccessLogFormat::Json),
        concat!(
            r#"{"time":"2026-11-21T21:41:01.000Z","service":"shop","client":"[2001:db8::1]:5","#,
            r#""protocol":"TCP","attempts":1,"cause":"server-refused","bytes-from-client":0,"#,
            r#""bytes-to-client":0,"bytes-to-server":0,"bytes-from-server":0,"head-ms":0.000,"total-ms":1.500}"#,
            "\n"
        )
    );
    assert_eq!(
        written(&record, &names, AccessLogFormat::Common),
        concat!(
            r#"2001:db8::1 - - [21/Nov/2026:21:41:01 +0000] "-" - 0 - shop - server-refused 1 "#,
            "0.000/-/-/-/-/1.500\n"
        )
    );
}

#[test]
fn a_long_target_is_cut_with_a_mark_and_its_length() {
    let target = vec![b'x'; 5000];
    let got = written(&answered(), &names(b"GET", &target), AccessLogFormat::Json);
    let value: serde_json::Value = serde_json::from_str(&got).unwrap();
    assert_eq!(value["target"], format!("{}…", "x".repeat(TARGET)));
    assert_eq!(value["target-bytes"], 5000);
}

fn fields(names: &[&str]) -> Vec<AccessLogField> {
    names.iter().map(|name| AccessLogField::parse(name).unwrap()).collect()
}

#[test]
fn a_line_has_the_fields_that_are_asked_for_in_their_order() {
    let fields = fields(&[
        "status",
        "cookie.s",
        "header.X-A",
        "rule",
        "sni",
        "tls-version",
        "total-ms",
        "host",
    ]);
    let headers = [
        Header { name: "Host", value: b"a.example" },
        Header { name: "cookie", value: b"t=1; s=2" },
        Header { name: "x-a", value: b"\"\xff" },
    ];
    let captured = CapturedFields::capture(&fields, &headers, |_, value| value.into());
    let further = FurtherFacts {
        captured: Some(&captured),
        sni: Some("b.example"),
        tls_version: Some("TLSv1.3"),
        rule: Some("all"),
    };
    let names = LogFields { further, ..names(b"GET", b"/") };
    assert_eq!(
        written_with(&answered(), &names, AccessLogFormat::Json, &fields),
        concat!(
            r#"{"status":200,"cookie.s":"2","header.X-A":"\"\\xff","rule":"all","sni":"b.example","#,
            r#""tls-version":"TLSv1.3","total-ms":3.400,"host":"a.example"}"#,
            "\n"
        )
    );
}

#[test]
fn default_stands_for_what_a_line_has_anyway_and_no_name_stands_twice() {
    let record = answered();
    let plain = names(b"GET", b"/");
    let json = |names: &LogFields, fields: &[AccessLogField]| {
        written_with(&record, names, AccessLogFormat::Json, fields)
    };
    assert_eq!(json(&plain, &fields(&["default"])), json(&plain, &[]));
    let everything: Vec<AccessLogField> = LogVariable::ALL
        .iter()
        .filter(|it| it.is_default() && !matches!(it, LogVariable::Host | LogVariable::Connection))
        .map(|it| AccessLogField::parse(it.name()).unwrap())
        .collect();
    assert_eq!(json(&plain, &everything), json(&plain, &[]));

    let asked = fields(&["connection", "default", "host"]);
    let captured =
        CapturedFields::capture(&asked, &[Header { name: "Host", value: b"a" }], |_, value| {
            value.into()
        });
    let further = FurtherFacts { captured: Some(&captured), ..FurtherFacts::default() };
    let usual = json(&LogFields { further, ..plain }, &asked);
    assert!(usual.starts_with("{\"connection\":\"192.0.2.7:4711\",\"time\":"), "{usual}");
    assert!(usual.ends_with(",\"host\":\"a\"}\n"), "{usual}");
    let origin = ClientOrigin {
        connection: "10.0.0.1:7".parse().unwrap(),
        source: "forwarded",
        stop: Some("single"),
        hops: 1,
    };
    let offence = DefectDetail { host: b"b", ..DefectDetail::default() };
    let other = json(&LogFields { origin: Some(origin), offence, further, ..plain }, &asked);
    assert_eq!(other.matches("\"host\":").count(), 1, "{other}");
    assert_eq!(other.matches("\"connection\":").count(), 1, "{other}");
    assert!(other.contains("\"connection\":\"10.0.0.1:7\",\"client-from\""), "{other}");
}

#[test]
fn logfmt_quotes_only_what_needs_it() {
    let mut record = answered();
    let id = record.id(&RequestIds::new(1, 5)).to_string();
    let line = written(&record, &names(b"GET", b"/a b=\"c\""), AccessLogFormat::Logfmt);
    assert_eq!(
        line.replace(&id, "0040000000000005"),
        concat!(
            "time=2026-11-21T21:41:01.042Z id=0040000000000005 service=shop client=192.0.2.7:4711 ",
            r#"protocol=HTTP/1.1 method=GET target="/a b=\"c\"" status=200 by=server server=web/a "#,
            "attempts=1 bytes-from-client=80 bytes-to-client=2326 bytes-to-server=120 ",
            "bytes-from-server=2300 head-ms=0.100 connect-ms=0.250 first-byte-ms=3.000 ",
            "transfer-ms=0.040 total-ms=3.400\n"
        )
    );
}

#[test]
fn a_line_of_cef_has_its_head_and_its_extensions() {
    let mut record = answered();
    let id = record.id(&RequestIds::new(1, 5)).to_string();
    let captured = CapturedFields::capture(
        &AccessLogField::cef(),
        &[
            Header { name: "Host", value: b"a.example" },
            Header { name: "User-Agent", value: b"curl/8 (a=b|c)" },
        ],
        |_, value| value.into(),
    );
    let further = FurtherFacts { captured: Some(&captured), ..FurtherFacts::default() };
    let names = LogFields { further, weight: Some(100.0), ..names(b"GET", b"/a?b=c") };
    let line = written(&record, &names, AccessLogFormat::Cef);
    let version = env!("CARGO_PKG_VERSION");
    let head = format!("CEF:0|Steelyard|Steelyard|{version}|200|request completed|1|");
    let rest = line.strip_prefix(&head).unwrap();
    assert_eq!(
        rest.replace(&id, "0040000000000005"),
        concat!(
            "rt=Nov 21 2026 21:41:01.042 UTC src=192.0.2.7 spt=4711 app=HTTP/1.1 requestMethod=GET ",
            r"request=/a?b\=c dhost=a.example requestClientApplication=curl/8 (a\=b|c) outcome=200 ",
            "in=80 out=2326 externalId=0040000000000005 cs1Label=service cs1=shop cs2Label=server ",
            "cs2=web/a cn1Label=total-ms cn1=3 cn2Label=attempts cn2=1 cfp1Label=weight cfp1=100\n"
        )
    );
    record.cause = Some(Cause::ServerRefused);
    record.status = 502;
    let names = LogFields { client: "[2001:db8::1]:5".parse().unwrap(), ..names };
    let line = written(&record, &names, AccessLogFormat::Cef);
    assert!(line.contains("|server-refused|request failed|6|rt="), "{line}");
    assert!(line.contains(" c6a2Label=Source IPv6 Address c6a2=2001:db8::1 spt=5 "), "{line}");
    assert!(line.contains(" outcome=502 reason=server-refused "), "{line}");
}

/// The value of a field in a line of logfmt, by the rules of its readers: bare, or a text of JSON.
fn logfmt_value(line: &str, name: &str) -> Option<String> {
    let mut rest = line.trim_end_matches('\n');
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=').unwrap();
        assert!(key.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"'), "{line}");
        let mut values = serde_json::Deserializer::from_str(after).into_iter::<String>();
        let (value, length) = if after.starts_with('"') {
            let value = values.next().unwrap().unwrap();
            (value, values.byte_offset())
        } else {
            let end = after.find(' ').unwrap_or(after.len());
            (after[..end].to_owned(), end)
        };
        if key == name {
            return Some(value);
        }
        rest = &after[length..];
        rest = if rest.is_empty() { rest } else { rest.strip_prefix(' ').unwrap() };
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn whatever_is_sent_is_one_bounded_line(
        method in prop::collection::vec(any::<u8>(), 1..60),
        target in prop::collection::vec(any::<u8>(), 0..3000),
    ) {
        let names = names(&method, &target);
        let json = written(&answered(), &names, AccessLogFormat::Json);
        prop_assert!(json.len() <= MAX_LINE_BYTES);
        prop_assert_eq!(json.matches('\n').count(), 1);
        prop_assert!(!json.trim_end().chars().any(char::is_control));
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&value["status"], 200);
        if target.is_ascii() && target.len() <= TARGET {
            prop_assert_eq!(value["target"].as_str().unwrap().as_bytes(), &target[..]);
        }
        let common = written(&answered(), &names, AccessLogFormat::Common);
        prop_assert!(common.len() <= MAX_LINE_BYTES && common.is_ascii());
        prop_assert_eq!(common.matches('\n').count(), 1);
        // Only the two quotes around the request are unescaped.
        let bare = common.replace("\\\\", "").replace("\\\"", "").matches('"').count();
        prop_assert_eq!(bare, 2);
    }

    #[test]
    fn whatever_fields_and_cookies_hold_is_one_bounded_line_with_each_name_once(
        value in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let fields = fields(&["default", "header.x-a", "cookie.a", "host", "user-agent", "referer", "sni", "rule"]);
        let cookie = [b"a=".as_slice(), &value].concat();
        let headers = ["x-a", "host", "user-agent", "referer", "cookie"].map(|name| {
            Header { name, value: if name == "cookie" { &cookie } else { &value } }
        });
        let captured = CapturedFields::capture(&fields, &headers, |_, value| value.into());
        let text = String::from_utf8_lossy(&value);
        let further = FurtherFacts { captured: Some(&captured), sni: Some(&text), rule: Some(&text), tls_version: None };
        let names = LogFields { further, ..names(b"GET", b"/") };
        let json = written_with(&answered(), &names, AccessLogFormat::Json, &fields);
        prop_assert!(json.len() <= MAX_LINE_BYTES + MAX_FIELD_BYTES);
        prop_assert_eq!(json.matches('\n').count(), 1);
        prop_assert!(!json.trim_end().chars().any(char::is_control));
        let parsed: serde_json::Value = serde_json::from_str(&json).unwrap();
        let trimmed = value.trim_ascii();
        if trimmed.is_ascii() && (1..=VALUE).contains(&trimmed.len()) {
            prop_assert_eq!(parsed["header.x-a"].as_str().unwrap().as_bytes(), trimmed);
            prop_assert_eq!(parsed["referer"].as_str().unwrap().as_bytes(), trimmed);
        }
        let line = written_with(&answered(), &names, AccessLogFormat::Logfmt, &fields);
        prop_assert!(line.len() <= MAX_LINE_BYTES + MAX_FIELD_BYTES);
        prop_assert_eq!(line.matches('\n').count(), 1);
        for name in ["header.x-a", "referer", "cookie.a", "rule", "status"] {
            let known = parsed.get(name).map(|it| it.as_str().map_or(it.to_string(), str::to_owned));
            prop_assert_eq!(logfmt_value(&line, name), known);
        }
        let combined = written_with(&answered(), &names, AccessLogFormat::Combined, &AccessLogField::combined());
        prop_assert!(combined.is_ascii() && combined.matches('\n').count() == 1);
        let bare = combined.replace("\\\\", "").replace("\\\"", "").matches('"').count();
        prop_assert_eq!(bare, 6);
        let own = CapturedFields::capture(&AccessLogField::cef(), &headers, |_, value| value.into());
        let further = FurtherFacts { captured: Some(&own), ..FurtherFacts::default() };
        let cef = written(&answered(), &LogFields { further, ..names }, AccessLogFormat::Cef);
        prop_assert!(cef.len() <= MAX_LINE_BYTES + MAX_FIELD_BYTES);
        prop_assert_eq!(cef.matches('\n').count(), 1);
        prop_assert!(!cef.trim_end().chars().any(char::is_control));
        // Every bare `=` ends a key of the writer's.
        let bare = cef.replace("\\\\", "").replace("\\=", "").matches('=').count();
        let plain = written(&answered(), &LogFields { further: FurtherFacts::default(), ..names }, AccessLogFormat::Cef);
        let asked = [&b"host"[..], b"user-agent", b"referer"].len() * usize::from(!trimmed.is_empty());
        prop_assert_eq!(bare, plain.matches('=').count() + asked);
        for field in &fields {
            let name = format!("\"{}\":", field.name());
            // A value cannot hold a name, for its quotes are escaped.
            prop_assert!(json.matches(&name).count() <= 1);
        }
    }

    #[test]
    fn text_that_is_utf8_reads_back(target in "\\PC{0,200}") {
        let json = written(&answered(), &names(b"GET", target.as_bytes()), AccessLogFormat::Json);
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(value["target"].as_str().unwrap(), target);
    }
}
