//! Targets of health check and agent dialogues: any bytes, in any pieces, for every protocol.
//!
//! Properties besides not panicking: a dialogue sends little, gives up on endless input, and returns a short one-line
//! result.

use model::config::{
    AgentKind, HttpProbe, LdapFilter, LdapScope, LdapSearch, NumberRange, Pattern, ProbeKind,
    SendExpectProbe, StatusRange,
};
use probe::agent;
use probe::context::ProbeContext;
use probe::dialogue::{DialogueStep, ProbeResult};
use probe::probe_plan::{ProbePlan, ProbeTransport};

/// The limit of the bytes that a dialogue sends for one input.
const SAID: usize = 64 * 1024;
/// The limit of the text of evidence, in bytes.
const SENTENCE: usize = 700;

/// A health check protocol, with responses that are valid or nearly valid.
pub struct ProbeProtocol {
    pub kind: ProbeKind,
    pub seeds: Vec<Vec<u8>>,
}

/// Every protocol, with its name.
pub fn protocols() -> Vec<(String, ProbeProtocol)> {
    let mut all: Vec<(String, ProbeProtocol)> = Vec::new();
    for protocol in kinds() {
        let name = protocol.kind.name();
        let twin = all.iter().any(|(taken, _)| taken == name);
        let name = match (twin, name) {
            (false, name) => name.to_owned(),
            (true, "ldap") => "ldap_search".to_owned(),
            (true, name) => format!("{name}_digest"),
        };
        all.push((name, protocol));
    }
    all
}

fn kinds() -> Vec<ProbeProtocol> {
    let expect = || Some(Pattern::new("re+ady").unwrap());
    let http = |expect, digest| HttpProbe { expect, digest, ..HttpProbe::get("/") };
    let of = |kind, seeds: &[&[u8]]| {
        let seeds = seeds.iter().map(|seed| seed.to_vec()).collect();
        ProbeProtocol { kind, seeds }
    };
    let answers: &[&[u8]] = &[
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nready",
        b"HTTP/1.1 103 E\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nre\r\n3\r\nady\r\n0\r\n\r\n",
        b"HTTP/1.1 503 Busy\r\n\r\nnot yet",
    ];
    let frames: &[&[u8]] = &[
        b"\0\0\0\x04\0\0\0\0\0\0\0\0\x04\x01\0\0\0\0\0\0\x01\x01\x05\0\0\0\x01\x88",
        b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0b",
        b"\0\0\0\x04\0\0\0\0\0\0\0\x01\x01\x04\0\0\0\x01\x88\0\0\x07\0\x01\0\0\0\x01\0\0\0\0\x02\x08\x01",
    ];
    vec![
        of(ProbeKind::Say(SendExpectProbe { send: "x".into(), expect: expect() }), &[b"ready\n", b"warming up\n"]),
        of(ProbeKind::Http(http(expect(), None)), answers),
        of(ProbeKind::Http(http(None, Some("00".repeat(32)))), answers),
        of(ProbeKind::Http2(http(expect(), None)), frames),
        of(ProbeKind::Grpc { service: "s".into(), host: None }, frames),
        of(
            ProbeKind::Dns { name: "a.example".into(), record: 1 },
            &[b"\0\x07\x81\x80\0\x01\0\x01\0\0\0\0\x01a\x07example\0\0\x01\0\x01\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x01"],
        ),
        of(ProbeKind::Smtp, &[b"220-mx\r\n220 mx\r\n250-mx\r\n250 SIZE 1\r\n", b"421 shutting down\r\n"]),
        of(ProbeKind::Imap, &[b"* OK dovecot\r\n* 3 EXISTS\r\np1 OK NOOP\r\n", b"* BYE full\r\n"]),
        of(ProbeKind::Pop3, &[b"+OK ready <1@x>\r\n", b"-ERR locked\r\n"]),
        of(ProbeKind::Ftp, &[b"220-hello\r\n220 there\r\n530 log in\r\n", b"120 soon\r\n"]),
        of(
            ProbeKind::Telnet { expect: expect() },
            &[b"\xff\xfd\x18\xff\xfb\x01ready: ", b"\xff\xfa\x18\x01\xff\xf0Debian\r\nlogin: "],
        ),
        of(ProbeKind::Nntp, &[b"201 no posting\r\n", b"400 not now\r\n"]),
        of(
            ProbeKind::Ldap { user: "u".into(), secret: None, search: None },
            &[b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\0\x04\0\x04\0", b"\x30\x84\0\0\0\x10\x02\x01\x01\x61\x84\0\0\0\x07\x0a\x01\x34\x04\0\x04\0"],
        ),
        of(
            ProbeKind::Ldap { user: "u".into(), secret: None, search: ldap_search() },
            &[
                b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\0\x04\0\x04\0\x30\x12\x02\x01\x02\x64\x0d\x04\0\x30\x09\x30\x07\x04\x01a\x31\x02\x04\0",
                b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\0\x04\0\x04\0\x30\x0c\x02\x01\x02\x65\x07\x0a\x01\x20\x04\0\x04\0",
            ],
        ),
        of(ProbeKind::Redis, &[b"+PONG\r\n", b"-LOADING\r\n", b"-NOAUTH x\r\n"]),
        of(
            ProbeKind::Mysql { user: "u".into() },
            &[b"\x0a\0\0\0\x0a8.0.36\0\x01\0\x07\0\0\x02\xff\x15\x04#28", b"\x05\0\0\0\xff\x10\x04no"],
        ),
        of(
            ProbeKind::Postgres { user: "u".into() },
            &[b"R\0\0\0\x08\0\0\0\x0a", b"E\0\0\0\x14SFATAL\0C57P03\0\0\0"],
        ),
        of(
            ProbeKind::Sip { status: vec![StatusRange { first: 200, last: 299 }] },
            &[b"SIP/2.0 200 OK\r\nCall-ID: 0000000000000007@steelyard.invalid\r\n\r\n"],
        ),
        of(ProbeKind::Udp(SendExpectProbe { send: "x".into(), expect: expect() }), &[b"ready", b"x"]),
        of(ProbeKind::Ping, &[b"\0\0\xff\xf7\0\0\0\x01steelyard", b"\x45\0\0\x1c\0\0\0\0\x40\x01\0\0\x7f\0\0\x01\x7f\0\0\x01\0\0\0\0\0\0\0\0"]),
        of(ProbeKind::Radius { secret: "/s".into() }, &[&[2, 7, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]),
        of(
            ProbeKind::Snmp { oid: "1.3.6".into(), secret: None, expect: expect() },
            &[b"\x30\x1f\x02\x01\x01\x04\x06public\xa2\x12\x02\x01\x07\x02\x01\0\x02\x01\0\x30\x07\x30\x05\x06\x01\x2b\x43\0"],
        ),
    ]
}

/// A search for a value that few servers have.
fn ldap_search() -> Option<LdapSearch> {
    Some(LdapSearch {
        base: "dc=example".into(),
        scope: LdapScope::Sub,
        filter: LdapFilter::new("(&(a=b*c)(!(d=*)))").ok()?,
        entries: NumberRange { min: 2, max: u64::MAX },
        attribute: Some("a".into()),
        expect: Pattern::new("ready").ok(),
    })
}

/// Plays a server's bytes: as a whole, and in pieces whose lengths depend on the bytes.
pub fn talk(kind: &ProbeKind, bytes: &[u8]) {
    let plan = ProbePlan::new(kind, false);
    play(&plan, &[bytes]);
    if plan.transport() == ProbeTransport::Stream {
        play(&plan, &pieces(bytes));
    } else {
        play(&plan, &bytes.chunks(bytes.len().div_ceil(2).max(1)).collect::<Vec<_>>());
    }
}

/// An agent's bytes: the line of a text agent, or a load report in any format.
pub fn agent(bytes: &[u8]) {
    if let Some(says) = agent::parse(bytes) {
        assert!(says.weight_share.is_none_or(|share| share >= 0.0), "{says:?}");
        assert!(says.reason.len() < SENTENCE, "{says:?}");
    }
    if let Ok(report) = model::load_report::orca::parse(bytes) {
        let value = report.utilization().unwrap_or(0.0);
        let at = model::monotonic_time::MonotonicTime(0);
        let model::load_report::ClampedReport { report, .. } =
            model::load_report::UtilizationReport::new_clamped(
                value,
                at,
                model::load_report::LoadSource::Orca,
            );
        assert!((0.0..=1.0).contains(&report.value), "{report:?}");
    }
    let kind = AgentKind::Text { send: String::new() };
    let plan = ProbePlan::for_agent(&kind).expect("a text agent is asked");
    play(&plan, &[bytes]);
    play(&plan, &pieces(bytes));
}

pub fn agent_seeds() -> Vec<Vec<u8>> {
    let seeds = [
        &b"75% up ready # fine\r\n"[..],
        b"drain,down#disk\n",
        b"{\"cpu_utilization\": 0.3, \"named_metrics\": {\"a\": 1}}",
        b"TEXT cpu_utilization=0.3,application_utilization=0.7",
        b"BIN CQAAAAAAAOA/",
    ];
    seeds.map(<[u8]>::to_vec).to_vec()
}

/// Tokens that lead to deeper states.
pub const WORDS: &[&[u8]] = &[
    b"\r\n",
    b"\n",
    b"\0",
    b" ",
    b"-",
    b"220 ",
    b"250-",
    b"* OK",
    b"+OK",
    b"p1 OK",
    b"\xff\xfd",
    b"\xff\xfa",
    b"\xff\xf0",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\x84\xff\xff\xff\xff",
    b"\x80",
    b"\x30\x80",
    b"\xc0\x0c",
    b"\xc0\xff",
    b"SIP/2.0 ",
    b"content-length: 99999999999999999999\r\n",
    b"HTTP/1.1 200 ",
    b"%",
    b"#",
    b"4000000%",
    b"1e308%",
    b"nan%",
    b"drain",
    b"down",
    b"maint",
    b"{\"cpu_utilization\":",
    b"1e999",
    b"}",
    b"TEXT cpu_utilization=",
    b"JSON ",
    b"BIN ",
];

fn pieces(bytes: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        let (piece, more) = rest.split_at(rest.len().min(1 + usize::from(first & 7)));
        pieces.push(piece);
        rest = more;
    }
    pieces
}

fn play(plan: &ProbePlan, pieces: &[&[u8]]) {
    let address = "192.0.2.1:9".parse().expect("an address");
    let context = ProbeContext { address, host: "h", secret: Some(b"s3cret"), random: 7 };
    let Some(mut dialogue) = plan.start_dialogue(&context) else { return };
    let mut said = Vec::new();
    let mut step = dialogue.start(&mut said);
    for piece in pieces {
        if step != DialogueStep::Wait {
            break;
        }
        assert!(!dialogue.awaited().is_empty(), "it waits for something without a name");
        step = dialogue.receive(piece, &mut said);
    }
    assert!(said.len() < SAID, "{} bytes said", said.len());
    describe_verdict(&match step {
        DialogueStep::Done(verdict) => verdict,
        DialogueStep::Wait => dialogue.handle_close(),
    });
}

fn describe_verdict(verdict: &ProbeResult) {
    let (Ok(text) | Err(text)) = verdict;
    // An agent's line may be longer, because it is parsed before it is displayed.
    assert!(text.len() < 8 * SENTENCE, "{} bytes of evidence", text.len());
    assert!(verdict.is_ok() || (!text.is_empty() && text.len() < SENTENCE), "{text:?}");
    assert!(verdict.is_ok() || !text.contains(['\n', '\r']), "{text:?}");
}
