//! Targets of the name server: any bytes as a query, over both transports.
//!
//! Properties besides not panicking: another parser accepts the response, the response belongs to the query, and its
//! length is within the limit.

use std::sync::{Arc, OnceLock};

use model::config::load;
use model::monotonic_time::MonotonicTime;
use model::snapshot::WorkerSnapshot;
use names::counts::DnsTransport;
use names::question::DnsQuestion;
use names::responder::{AMPLIFICATION, DnsResponder, QueryContext};
use names::zone_data::ZoneData;
use names::zone_plan::ZonePlans;

/// A zone with a name of each kind.
const TEXT: &str = r#"
[names]
listen = "192.0.2.53:53"
rate = "off"
[zone."e.org"]
nameservers = ["ns.e.org"]
text = ["t"]
[name."ns.e.org"]
addresses = ["192.0.2.53", "2001:db8::53"]
[name."w.e.org"]
addresses = ["10.0.0.1", "10.0.0.2", "2001:db8::1", "2001:db8::2"]
policy = "nearest"
near = [{ client = ["192.0.2.0/24"], prefer = "a1" }]
answers = 32
https = ["h2"]
[name."a.e.org"]
cname = "w.e.org"
[name."s.e.org"]
addresses = ["10.0.0.3", "10.0.0.4"]
policy = "sticky"
"#;

/// A query from the network.
pub fn query(bytes: &[u8]) {
    let book = zone_data();
    for by in DnsTransport::ALL {
        let mut desk = DnsResponder::new([0; 16], 1);
        let from = [192, 0, 2, 1].into();
        let asked = QueryContext {
            source: from,
            transport: by,
            now: MonotonicTime(1 << 40),
            unix_seconds: 1,
        };
        let mut out = Vec::new();
        let fate = desk.answer(&book, &asked, bytes, &mut out);
        assert_eq!(fate.is_sent(), !out.is_empty(), "{fate:?}");
        if out.is_empty() {
            continue;
        }
        let read = hickory_proto::op::Message::from_vec(&out);
        assert!(read.is_ok(), "{read:?}: {out:?}");
        assert_eq!(out[..2], bytes[..2], "of another query");
        if by == DnsTransport::Udp {
            assert!(out.len() <= bytes.len() * AMPLIFICATION, "{} for {}", out.len(), bytes.len());
        }
        if let Ok(question) = DnsQuestion::read(bytes) {
            assert!(out[12..].starts_with(question.section), "another question");
        }
    }
}

fn zone_data() -> Arc<ZoneData> {
    static BOOK: OnceLock<Arc<ZoneData>> = OnceLock::new();
    let make = || {
        let config = load(TEXT, "fuzz.toml").unwrap().config;
        let plan = Arc::new(ZonePlans::new(&config, 1, None));
        Arc::new(ZoneData::new(plan, &config, &WorkerSnapshot::default()))
    };
    Arc::clone(BOOK.get_or_init(make))
}

/// Typical byte sequences of queries.
pub const WORDS: &[&[u8]] = &[b"\xc0\x0c", b"\0\0\x29", b"\0\x08", b"\0\x0a", b"\x3f", b"\xff\xff"];

/// A query of each kind, without EDNS and with EDNS and its options.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let names: [&[u8]; 5] = [b"\x01w", b"\x01a", b"\x01s", b"\x02ns", b""];
    for (name, kind) in names.into_iter().zip([1u8, 28, 65, 255, 6]) {
        let mut query = vec![0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        query.extend(name);
        query.extend(b"\x01e\x03org\0\0");
        query.extend([kind, 0, 1]);
        out.push(query.clone());
        query[11] = 1;
        query.extend([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 23]);
        query.extend([0, 8, 0, 7, 0, 1, 24, 0, 192, 0, 2]);
        query.extend([0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
        out.push(query);
    }
    out
}
