//! Converts a closed exchange to an entry of the list of refused requests: bounded and escaped.

use model::cause::Cause;
use model::refused_requests::RefusedRequestRecord;

use super::escape;
use super::exchange_record::ExchangeRecord;
use super::line_limits::{FIELD, FOUND, HOST, METHOD, NAME, TARGET};
use super::log_fields::LogFields;

/// The record of a request that was refused at `at`, in milliseconds since 1970.
pub fn refused_request(
    record: &ExchangeRecord,
    cause: Cause,
    said: &LogFields,
    unix_ms: u64,
) -> RefusedRequestRecord {
    RefusedRequestRecord {
        unix_ms,
        id: record.known_id().map(|id| id.as_str().to_owned()).unwrap_or_default(),
        service: escaped(said.service.as_bytes(), NAME),
        client: said.client,
        protocol: said.protocol.name(),
        method: escaped(said.method, METHOD),
        host: escaped(said.offence.host, HOST),
        target: escaped(said.target, TARGET),
        cause,
        defect: record.defect,
        field: escaped(said.offence.field, FIELD),
        at: said.offence.field_offset.map(|at| at as u64),
        found: escaped(said.offence.found_bytes, FOUND),
        status: record.status,
    }
}

fn escaped(bytes: &[u8], most: usize) -> String {
    let mut out = Vec::new();
    escape::common(bytes, most, &mut out);
    // The escaped bytes are ASCII, so the conversion cannot fail.
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use model::monotonic_time::MonotonicTime;
    use wire::http1::DefectDetail;

    use super::super::log_fields::{DownstreamProtocol, FurtherFacts};
    use super::*;

    #[test]
    fn whatever_came_is_bounded_and_ascii() {
        let record = ExchangeRecord::begin(MonotonicTime(0), MonotonicTime(0));
        let long = [0xffu8; 100_000];
        let offence =
            DefectDetail { host: &long, field: &long, field_offset: Some(7), found_bytes: &long };
        let client: SocketAddr = "192.0.2.7:1".parse().unwrap();
        let names = LogFields {
            service: "shop",
            server: None,
            client,
            origin: None,
            request_id: None,
            protocol: DownstreamProtocol::Http11,
            method: &long,
            target: &long,
            offence,
            weight: None,
            slow: None,
            further: FurtherFacts::default(),
        };
        let kept = refused_request(&record, Cause::BadRequest, &names, 5);
        let texts = [&kept.method, &kept.host, &kept.target, &kept.field, &kept.found];
        for text in texts {
            assert!(text.is_ascii() && text.starts_with("\\xff") && text.ends_with("\\xff..."));
        }
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        assert_eq!(bytes, 4 * (METHOD + HOST + TARGET + FIELD + FOUND) + 5 * 3);
        assert_eq!((kept.at, kept.client, kept.service.as_str()), (Some(7), client, "shop"));
    }
}
