//! Verifies a heartbeat's witness: whether it can be reached, and whether groups can depend on it.

use super::super::types::WitnessUrl;
use crate::config::decode::key_path::quote_key;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;
use crate::config::unit::Time;

/// Limit for the etcd members to query.
/// etcd advises against more than seven members; nine leave room for a replacement.
const ETCD: usize = 9;

/// The priority of the address owner (RFC 9568).
const OWNER: u64 = 255;

pub fn verify(
    witness: &ConfigSection,
    path: &str,
    heartbeat: &ConfigSection,
    groups: &[ConfigSection],
    sink: &mut FindingCollector<'_, '_>,
) {
    verify_urls(witness, path, sink);
    let every = heartbeat.time_or_zero("interval");
    if witness.time_or_zero("lease") < every * 4 {
        let trouble = FindingDetails::new("members would not agree in time before it is over")
            .with_found(Time(witness.time_or_zero("lease")).to_string())
            .with_expected(format!("at least four times `interval`, {}", Time(every * 4)));
        sink.error(witness.span_of("lease"), &format!("{path}.lease"), trouble);
    }
    for group in groups {
        let at = |key: &str| (group.span_of(key), format!("vrrp.{}.{key}", quote_key(&group.name)));
        if group.count("priority") == Some(OWNER) {
            let (place, path) = at("priority");
            let message = "an owner takes its address whoever else has it, and there is a witness";
            sink.error(place, &path, FindingDetails::new(message).with_expected("at most 254"));
        }
        if group.time("fencing-timeout").is_none() && group.is_written("fencing-timeout") {
            let (place, path) = at("fencing-timeout");
            let message = "a daemon that hangs would keep the address, and there is a witness";
            sink.error(place, &path, FindingDetails::new(message).with_expected("a time"));
        }
    }
}

fn verify_urls(witness: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let http = witness.text("http");
    let etcd = witness.texts("etcd");
    if witness.is_invalid("http") || witness.is_invalid("etcd") {
        return;
    }
    let key = if http.is_some() { "http" } else { "etcd" };
    let count = usize::from(http.is_some()) + etcd.len();
    if count == 0 || (http.is_some() && count > 1) || count > ETCD {
        let trouble = FindingDetails::new("a witness is one server, or one etcd");
        let trouble = trouble.with_expected("`http` or `etcd`, one to nine members");
        return sink.error(witness.span, path, trouble);
    }
    let all = http.into_iter().chain(etcd.iter().map(String::as_str));
    for text in all {
        let mut wrong = |trouble: FindingDetails| {
            sink.error(witness.span_of(key), &format!("{path}.{key}"), trouble);
        };
        match WitnessUrl::parse(text) {
            None => {
                let trouble =
                    FindingDetails::new("this is no place to ask").with_found(format!("{text:?}"));
                wrong(trouble.with_expected("`https://HOST:PORT/PATH` or `http://…`"));
            }
            Some(place) if !place.secure && !place.is_loopback() && witness.is_written("token") => {
                let trouble =
                    FindingDetails::new("without TLS everybody on the way could read the token");
                wrong(trouble.with_found(format!("{text:?}")).with_expected("`https://…`"));
            }
            Some(_) => {}
        }
    }
}
