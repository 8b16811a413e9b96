//! Any bytes, in any pieces: no dialogue panics, and none grows with what a server sends.

use model::config::{
    HttpProbe, LdapFilter, LdapScope, LdapSearch, NumberRange, Pattern, ProbeKind, SendExpectProbe,
    StatusRange,
};
use probe::dialogue::DialogueStep;
use proptest::prelude::*;

use super::support::{SECRET, plan, play};

/// All kinds with a dialogue.
fn kinds() -> Vec<ProbeKind> {
    let expect = || Some(Pattern::new("ready").unwrap());
    let http = HttpProbe { expect: expect(), digest: Some("00".into()), ..HttpProbe::get("/") };
    vec![
        ProbeKind::Say(SendExpectProbe { send: "x".into(), expect: expect() }),
        ProbeKind::Http(http.clone()),
        ProbeKind::Http(HttpProbe { digest: None, ..http.clone() }),
        ProbeKind::Http2(http),
        ProbeKind::Grpc { service: "s".into(), host: None },
        ProbeKind::Dns { name: "a.example".into(), record: 1 },
        ProbeKind::Smtp,
        ProbeKind::Imap,
        ProbeKind::Pop3,
        ProbeKind::Ftp,
        ProbeKind::Telnet { expect: expect() },
        ProbeKind::Nntp,
        ProbeKind::Ldap { user: "u".into(), secret: None, search: None },
        ldap_search(),
        ProbeKind::Redis,
        ProbeKind::Mysql { user: "u".into() },
        ProbeKind::Postgres { user: "u".into() },
        ProbeKind::Sip { status: vec![StatusRange { first: 200, last: 299 }] },
        ProbeKind::Udp(SendExpectProbe { send: "x".into(), expect: expect() }),
        ProbeKind::Ping,
        ProbeKind::Radius { secret: "/s".into() },
        ProbeKind::Snmp { oid: "1.3.6".into(), secret: None, expect: expect() },
    ]
}

/// A search for a value that few servers have.
fn ldap_search() -> ProbeKind {
    let search = LdapSearch {
        base: "dc=example".into(),
        scope: LdapScope::Sub,
        filter: LdapFilter::new("(&(a=b*c)(!(d=*)))").unwrap(),
        entries: NumberRange { min: 2, max: u64::MAX },
        attribute: Some("a".into()),
        expect: Some(Pattern::new("ready").unwrap()),
    };
    ProbeKind::Ldap { user: "u".into(), secret: None, search: Some(search) }
}

/// Valid beginnings, which lead to deeper states than random bytes.
const BEGINNINGS: [&[u8]; 12] = [
    b"",
    b"220 x\r\n250",
    b"* OK\r\np1 ",
    b"HTTP/1.1 200 OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
    b"\0\0\0\x04\0\0\0\0\0",
    b"\0\x07\x81\x80\0\x01\0\x01\0\0\0\0",
    b"\x30\x20\x02\x01\x01\x61",
    b"\x10\0\0\0\x0a8.0\0",
    b"R\0\0\0",
    b"SIP/2.0 200 OK\r\n",
    b"\xff\xfa\x01",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_bytes_panic(
        beginning in prop::sample::select(&BEGINNINGS[..]),
        noise in prop::collection::vec(any::<u8>(), 0..600),
        cut in 1usize..200,
        closes in any::<bool>(),
    ) {
        let bytes = [beginning, &noise[..]].concat();
        let pieces: Vec<&[u8]> = bytes.chunks(cut).collect();
        for kind in kinds() {
            let talk = play(&plan(&kind), &pieces, closes);
            prop_assert!(talk.sent.len() < 64 * 1024, "{}: {} bytes said", kind.name(), talk.sent.len());
            if let Some(Err(why)) = talk.result {
                prop_assert!(!why.is_empty() && why.len() < 700 && !why.contains(['\n', '\r']), "{why:?}");
            }
        }
    }
}

/// A server that sends endlessly: every stream dialogue ends before the timeout.
#[test]
fn endless_talk_ends() {
    let context = probe::context::ProbeContext {
        address: "192.0.2.1:9".parse().unwrap(),
        host: "h",
        secret: Some(SECRET),
        random: 7,
    };
    for line in [
        &b"220-more and more\r\n"[..],
        b"* still untagged\r\n",
        b"no line ends here ",
        b"\xff\xfd\x18",
    ] {
        let piece = line.repeat(200);
        for kind in kinds() {
            let plan = plan(&kind);
            if plan.transport() != probe::probe_plan::ProbeTransport::Stream {
                continue;
            }
            let mut dialogue = plan.start_dialogue(&context).unwrap();
            let mut output = Vec::new();
            let mut step = dialogue.start(&mut output);
            let mut pieces = 0;
            while step == DialogueStep::Wait {
                step = dialogue.receive(&piece, &mut output);
                pieces += 1;
                assert!(pieces < 1_000, "{} listens for ever", kind.name());
            }
        }
    }
}
