//! Every kind against replies of servers: ready, not ready although the port accepts, and of another protocol.
//!
//! Each row is run whole and byte by byte: the split of the bytes changes no result.

use super::support::{self, DialogueRun, ber, plan, play};
use model::config::{
    HttpProbe, LdapFilter, LdapScope, LdapSearch, NumberRange, Pattern, ProbeKind, SendExpectProbe,
    StatusRange,
};
use probe::probe_plan::ProbeTransport;

enum ExpectedResult {
    /// The probe succeeds, and the evidence contains this text.
    Good(&'static str),
    /// The probe fails, and the reason contains this text.
    Bad(&'static str),
}
use ExpectedResult::{Bad, Good};

/// A kind, the received bytes, whether the server closes then, and the result.
type DialogueCase = (ProbeKind, Vec<u8>, bool, ExpectedResult);

fn check_rows(rows: Vec<DialogueCase>) {
    for (kind, says, closes, expect) in rows {
        let plan = plan(&kind);
        let whole = play(&plan, &[&says], closes);
        check(&kind, &says, &whole, &expect);
        if plan.transport() == ProbeTransport::Stream {
            let bytes: Vec<&[u8]> = says.chunks(1).collect();
            let dripped = play(&plan, &bytes, closes);
            check(&kind, &says, &dripped, &expect);
        }
    }
}

fn check(kind: &ProbeKind, says: &[u8], talk: &DialogueRun, expect: &ExpectedResult) {
    let what = format!("{} {:?}: {:?}", kind.name(), String::from_utf8_lossy(says), talk.result);
    match (expect, &talk.result) {
        (Good(part), Some(Ok(seen))) => assert!(seen.contains(part), "{what}"),
        (Bad(part), Some(Err(why))) => assert!(why.contains(part), "{what}"),
        _ => panic!("{what}"),
    }
}

fn row(kind: ProbeKind, says: &[u8], expect: ExpectedResult) -> DialogueCase {
    (kind, says.to_vec(), true, expect)
}

fn pattern(text: &str) -> Option<Pattern> {
    Some(Pattern::new(text).unwrap())
}

// Rows: I16
#[test]
fn lines() {
    use ProbeKind::{Ftp, Imap, Nntp, Pop3, Redis, Smtp};
    check_rows(vec![
        row(Smtp, b"220 mx ESMTP\r\n250-mx\r\n250 SIZE 1\r\n", Good("smtp 220 mx ESMTP")),
        row(Smtp, b"220-mx\r\n220 second\r\n250 ok\r\n", Good("smtp 220")),
        row(Smtp, b"421 shutting down\r\n", Bad("greeting: 421 shutting down")),
        row(Smtp, b"554 no service\r\n", Bad("554")),
        row(Smtp, b"220 mx\r\n503 busy\r\n", Bad("answer to EHLO: 503 busy")),
        row(Smtp, b"HTTP/1.1 400 Bad\r\n", Bad("is not smtp")),
        row(Smtp, b"220 mx\r\n", Bad("closed before the answer to EHLO")),
        row(Imap, b"* OK dovecot\r\np1 OK NOOP\r\n", Good("imap * OK dovecot")),
        row(Imap, b"* PREAUTH hi\r\n* 3 EXISTS\r\np1 OK\r\n", Good("PREAUTH")),
        row(Imap, b"* BYE server is full\r\n", Bad("BYE server is full")),
        row(Imap, b"* OK\r\n* BYE going\r\n", Bad("BYE going")),
        row(Imap, b"* OK\r\np1 NO not now\r\n", Bad("NO not now")),
        row(Imap, b"+OK pop\r\n", Bad("is not imap")),
        row(Pop3, b"+OK ready <1@x>\r\n", Good("+OK ready")),
        row(Pop3, b"-ERR mailbox locked\r\n", Bad("-ERR mailbox locked")),
        row(Pop3, b"220 smtp\r\n", Bad("is not pop3")),
        row(Ftp, b"220 ftp\r\n215 UNIX\r\n", Good("ftp 220")),
        row(Ftp, b"220-hello\r\n220 there\r\n530 log in\r\n", Good("ftp 220")),
        row(Ftp, b"120 ready in 5 minutes\r\n", Bad("120 ready in 5 minutes")),
        row(Ftp, b"421 too many users\r\n", Bad("421")),
        row(Nntp, b"201 no posting\r\n", Good("nntp 201")),
        row(Nntp, b"400 not now\r\n", Bad("400 not now")),
        row(Redis, b"+PONG\r\n", Good("+PONG")),
        row(Redis, b"-NOAUTH Authentication required.\r\n", Good("NOAUTH")),
        row(Redis, b"-LOADING Redis is loading the dataset in memory\r\n", Bad("LOADING")),
        row(Redis, b"-MASTERDOWN Link with MASTER is down\r\n", Bad("MASTERDOWN")),
        row(Redis, b"$4\r\nPING\r\n", Bad("is not redis")),
        row(Redis, &[b'a'; 5_000], Bad("exceeds")),
    ]);
}

#[test]
fn greetings_of_databases() {
    let mysql = || ProbeKind::Mysql { user: "steelyard".into() };
    let postgres = || ProbeKind::Postgres { user: "steelyard".into() };
    let packet =
        |seq: u8, body: &[u8]| [&(body.len() as u32).to_le_bytes()[..3], &[seq], body].concat();
    let hello = packet(0, &[&[10][..], b"8.0.36\0", &[0; 40]].concat());
    let error =
        |code: u16, text: &str| [&[0xff][..], &code.to_le_bytes(), text.as_bytes()].concat();
    let denied = [hello.clone(), packet(2, &error(1045, "#28000Access denied"))].concat();
    let blocked = packet(0, &error(1129, "Host is blocked"));
    let full = packet(0, &error(1040, "#08004Too many connections"));
    let fatal = |code: &str, text: &str| {
        let fields = format!("SFATAL\0C{code}\0M{text}\0\0");
        [&[b'E'][..], &(fields.len() as u32 + 4).to_be_bytes(), fields.as_bytes()].concat()
    };
    let auth = [&[b'R'][..], &8u32.to_be_bytes(), &10u32.to_be_bytes()].concat();
    check_rows(vec![
        row(mysql(), &denied, Good("mysql 8.0.36")),
        row(mysql(), &[hello.clone(), packet(2, &[0, 0, 0])].concat(), Good("mysql")),
        row(mysql(), &[hello.clone(), packet(2, &[0xfe, 0])].concat(), Good("mysql")),
        row(mysql(), &blocked, Bad("mysql error 1129: Host is blocked")),
        row(mysql(), &full, Bad("Too many connections")),
        row(mysql(), &hello, Bad("closed before the answer to the log-in")),
        row(mysql(), b"HTTP/1.1 400 Bad Request\r\n\r\n", Bad("is not mysql")),
        row(postgres(), &auth, Good("accepts")),
        row(postgres(), &fatal("28000", "role does not exist"), Good("accepts")),
        row(postgres(), &fatal("57P03", "the database system is starting up"), Bad("starting up")),
        row(postgres(), &fatal("53300", "sorry, too many clients already"), Bad("53300")),
        row(postgres(), b"HTTP/1.1 400\r\n", Bad("is not postgres")),
    ]);
}

// Rows: I18, C10
#[test]
fn http() {
    let get = || HttpProbe::get("/x");
    let plain = || ProbeKind::Http(get());
    let body = |text: &str| ProbeKind::Http(HttpProbe { expect: pattern(text), ..get() });
    let digest = |hex: &str| ProbeKind::Http(HttpProbe { digest: Some(hex.into()), ..get() });
    let of_ok = "2689367b205c16ce32ed4200942b8b8b1e262dfc70d9bc9fbc77c49699a4f1df";
    check_rows(vec![
        row(plain(), b"HTTP/1.1 200 OK\r\n\r\n", Good("http GET /x 200")),
        row(plain(), b"HTTP/1.1 103 E\r\n\r\nHTTP/1.1 204 N\r\n\r\n", Good("204")),
        row(plain(), b"HTTP/1.1 503 Busy\r\n\r\n", Bad("status 503, expected 200-399")),
        row(plain(), b"SSH-2.0-x\r\n", Bad("not HTTP")),
        row(plain(), b"HTTP/1.1 200 OK\r\n", Bad("in the middle of the answer's head")),
        row(plain(), b"", Bad("closed without an answer")),
        row(body("re+ady"), b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nready", Good("200")),
        row(body("ready"), b"HTTP/1.1 200 OK\r\n\r\nnot yet", Bad("the body lacks ready")),
        row(
            body("rea.y"),
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nre\r\n3\r\nady\r\n0\r\n\r\n",
            Good("200"),
        ),
        row(body("r"), b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nr", Bad("middle of the answer's body")),
        row(digest(of_ok), b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", Good("200")),
        row(digest(of_ok), b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno", Bad("digest is sha256:")),
    ]);
    let small = HttpProbe { body_bytes: 4, expect: pattern("x"), ..get() };
    let long = [&b"HTTP/1.1 200 OK\r\n\r\n"[..], &[b'a'; 100]].concat();
    check_rows(vec![row(ProbeKind::Http(small), &long, Bad("lacks"))]);
}

// Rows: C10
#[test]
fn text_and_datagrams() {
    let telnet = |expect: Option<&str>| ProbeKind::Telnet { expect: expect.and_then(pattern) };
    let say = |expect: &str| {
        ProbeKind::Say(SendExpectProbe { send: "hi\n".into(), expect: pattern(expect) })
    };
    let udp = |expect: Option<&str>| {
        ProbeKind::Udp(SendExpectProbe { send: "hi".into(), expect: expect.and_then(pattern) })
    };
    check_rows(vec![
        row(telnet(None), b"\xff\xfd\x18\xff\xfb\x01login: ", Good("telnet l")),
        row(telnet(Some("login:")), b"\xff\xfa\x18\x01\xff\xf0Debian\r\nlogin: ", Good("login:")),
        row(telnet(None), b"\xff\xfd\x18\xff\xfd\x20", Bad("before any text")),
        row(telnet(Some("login:")), b"system is going down\r\n", Bad("before the expected text")),
        row(say("^ready"), b"ready to serve\n", Good("tcp ready")),
        row(say("^ready"), b"warming up\n", Bad("not the expected answer")),
        row(say("x"), b"", Bad("closed without an answer")),
        row(udp(None), b"hi", Good("udp hi")),
        row(udp(None), b"ho", Bad("not the expected answer")),
        row(udp(Some("^o+k$")), b"ook", Good("ook")),
        row(udp(Some("^o+k$")), b"no", Bad("no")),
    ]);
}

// Rows: I16
#[test]
fn ldap_and_snmp() {
    let ldap = || ProbeKind::Ldap { user: String::new(), secret: None, search: None };
    let bind = |code: u8, text: &str| {
        let result = [ber(0x0a, &[code]), ber(4, b""), ber(4, text.as_bytes())].concat();
        ber(0x30, &[ber(2, &[1]), ber(0x61, &result)].concat())
    };
    check_rows(vec![
        row(ldap(), &bind(0, ""), Good("bind succeeded")),
        row(ldap(), &bind(52, "backend offline"), Bad("unavailable: backend offline")),
        row(ldap(), &bind(49, ""), Bad("wrong user or password")),
        row(ldap(), b"HTTP/1.1 400\r\n", Bad("not LDAP")),
        row(ldap(), b"\x30\x05\x02\x01\x01", Bad("closed before")),
    ]);
    let snmp = |expect: Option<&str>| ProbeKind::Snmp {
        oid: "1.3.6.1.2.1.1.3.0".into(),
        secret: None,
        expect: expect.and_then(pattern),
    };
    // The identifier is the lower 31 bits of `random`: 7.
    let answer = |error: u8, value: Vec<u8>| {
        let pair = ber(0x30, &[ber(6, &[0x2b, 6]), value].concat());
        let pdu = [ber(2, &[7]), ber(2, &[error]), ber(2, &[0]), ber(0x30, &pair)].concat();
        ber(0x30, &[ber(2, &[1]), ber(4, b"public"), ber(0xa2, &pdu)].concat())
    };
    check_rows(vec![
        row(snmp(None), &answer(0, ber(0x43, &[1, 0])), Good("= 256")),
        row(snmp(Some("^up")), &answer(0, ber(4, b"up and well")), Good("up and well")),
        row(snmp(Some("^up$")), &answer(0, ber(4, b"maintenance")), Bad("expected ^up$")),
        row(snmp(None), &answer(2, ber(5, &[])), Bad("error 2")),
        row(snmp(None), &answer(0, ber(0x80, &[])), Bad("no such object")),
        row(snmp(None), b"rubbish", Bad("not SNMP")),
    ]);
}

// Rows: I16
#[test]
fn searches_of_ldap() {
    let search = |entries: &str, attribute: Option<&str>, expect: Option<&str>| {
        let search = LdapSearch {
            base: "dc=example".into(),
            scope: LdapScope::Sub,
            filter: LdapFilter::new("(objectClass=person)").unwrap(),
            entries: NumberRange::parse(entries).unwrap(),
            attribute: attribute.map(str::to_owned),
            expect: expect.and_then(pattern),
        };
        ProbeKind::Ldap { user: String::new(), secret: None, search: Some(search) }
    };
    let result = |id: u8, tag: u8, code: u8, text: &str| {
        let result = [ber(0x0a, &[code]), ber(4, b""), ber(4, text.as_bytes())].concat();
        ber(0x30, &[ber(2, &[id]), ber(tag, &result)].concat())
    };
    let entry = |mail: &str| {
        let values = ber(0x31, &[ber(4, b"x"), ber(4, mail.as_bytes())].concat());
        let attribute = ber(0x30, &[ber(4, b"MAIL"), values].concat());
        let entry = [ber(4, b"cn=a,dc=example"), ber(0x30, &attribute)].concat();
        ber(0x30, &[ber(2, &[2]), ber(0x64, &entry)].concat())
    };
    let bound = result(1, 0x61, 0, "");
    let done = |code| result(2, 0x65, code, "");
    let after_bind = |parts: &[Vec<u8>]| [vec![bound.clone()], parts.to_vec()].concat().concat();
    let two = after_bind(&[entry("a@example"), entry("b@example"), done(0)]);
    let reference = ber(0x30, &[ber(2, &[2]), ber(0x73, &ber(4, b"ldap://x"))].concat());
    let mut cut = after_bind(&[entry("a@example")]);
    cut.truncate(cut.len() - 3);
    let notice = result(0, 0x78, 52, "shutting down");
    let long = after_bind(&[b"\x30\x82\xea\x60".to_vec(), vec![0; 17_000]]);
    check_rows(vec![
        row(search("2", None, None), &two, Good("ldap search found 2 entries")),
        row(search("1-", None, None), &two, Good("ldap search found 1 entry")),
        row(search("1", None, None), &two, Bad("found at least 2 entries, expected 1")),
        row(search("3-4", None, None), &two, Bad("found 2 entries, expected 3 to 4")),
        row(search("0", None, None), &after_bind(&[done(0)]), Good("found 0 entries")),
        row(search("1-", None, None), &after_bind(&[done(0)]), Bad("expected at least 1")),
        row(search("1-", Some("mail"), Some("^b@")), &two, Good("found mail: b@example")),
        row(search("2", Some("mail"), None), &two, Good("found mail: x")),
        row(search("1-", Some("mail"), Some("^c@")), &two, Bad("mail: x, expected ^c@")),
        row(search("1-", Some("cn"), None), &two, Bad("found 2 entries, none with cn")),
        row(search("1-", None, None), &after_bind(&[done(32)]), Bad("dc=example: no such entry")),
        row(search("1-", None, None), &after_bind(&[done(4)]), Bad("found 0 entries")),
        row(
            search("1", None, None),
            &after_bind(&[reference, entry("a"), done(0)]),
            Good("1 entry"),
        ),
        row(search("1-", None, None), &result(1, 0x61, 49, ""), Bad("ldap bind: wrong user")),
        row(
            search("1-", None, None),
            &after_bind(&[notice]),
            Bad("search: the server is unavailable: shutting down"),
        ),
        row(
            search("1-", None, None),
            &after_bind(&[result(3, 0x65, 0, "")]),
            Bad("not an answer to a search"),
        ),
        row(search("1-", None, None), &after_bind(&[b"HTTP/1.1".to_vec()]), Bad("not LDAP")),
        row(search("1-", None, None), &cut, Bad("closed before the answer to the search")),
        row(search("1-", None, None), &bound, Bad("closed before the answer to the search")),
        row(search("1-", None, None), &long, Bad("the answer to the search is too long")),
    ]);
}

// Rows: C10
#[test]
fn answers_to_questions_of_ours() {
    let dns = || ProbeKind::Dns { name: "shop.example".into(), record: 1 };
    let answered = |flags: u16, count: u16| {
        let mut answer = vec![0, 7];
        for word in [flags, 1, count, 0, 0] {
            answer.extend(word.to_be_bytes());
        }
        answer.extend(b"\x04shop\x07example\0\0\x01\0\x01");
        answer
    };
    let radius = || ProbeKind::Radius { secret: "/s".into() };
    check_rows(vec![
        row(dns(), &answered(0x8180, 2), Good("2 records")),
        row(dns(), &answered(0x8182, 0), Bad("the server failed")),
        row(dns(), &answered(0x8185, 0), Bad("refuses")),
        row(dns(), &answered(0x8183, 0), Bad("no such name")),
        row(dns(), &answered(0x8180, 0), Bad("no such record")),
        row(dns(), &answered(0x0100, 0), Bad("not an answer")),
        row(dns(), b"x", Bad("not DNS")),
        row(
            radius(),
            &[2, 7, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            Bad("not signed"),
        ),
        row(radius(), b"hi", Bad("not RADIUS")),
    ]);
    let sip = plan(&ProbeKind::Sip { status: vec![StatusRange { first: 200, last: 299 }] });
    let call = "0000000000000007@steelyard.invalid";
    let reply = |status: &str, call: &str| format!("SIP/2.0 {status}\r\nCall-ID: {call}\r\n\r\n");
    for (says, good) in
        [("200 OK", Some(true)), ("503 Service Unavailable", Some(false)), ("100 Trying", None)]
    {
        let talk = play(&sip, &[reply(says, call).as_bytes()], false);
        assert_eq!(talk.result.map(|v| v.is_ok()), good, "{says}");
    }
    let talk = play(&sip, &[reply("200 OK", "another").as_bytes()], false);
    assert!(talk.result.is_none(), "an answer to somebody else is not ours");
    let ping = plan(&ProbeKind::Ping);
    let request = play(&ping, &[], false).sent;
    let mut reply = request.clone();
    reply[0] = 0;
    assert!(play(&ping, &[&reply], false).result.is_some_and(|v| v.is_ok()));
    reply[8] ^= 1;
    assert!(
        play(&ping, &[&reply, &request], false).result.is_none(),
        "others' replies, and our own request"
    );
}

// Rows: C10
#[test]
fn a_secret_of_radius_signs_both_ways() {
    let plan = plan(&ProbeKind::Radius { secret: "/s".into() });
    let request = play(&plan, &[], false).sent;
    assert_eq!((request[0], request.len()), (12, 38));
    for (code, good) in [(2u8, true), (5, true), (3, false)] {
        let head = [code, request[1], 0, 20];
        let signed = probe::md5::md5(&[&head[..], &request[4..20], support::SECRET].concat());
        let answer = [&head[..], &signed].concat();
        let verdict = play(&plan, &[&answer], false).result.unwrap();
        assert_eq!(verdict.is_ok(), good, "{verdict:?}");
    }
}
