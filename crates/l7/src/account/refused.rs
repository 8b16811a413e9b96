//! A closed exchange as one of the last refused requests: bounded and escaped. It keeps nothing.

use model::cause::Cause;
use model::refused::RefusedRequest;

use super::escape;
use super::line::{FIELD, FOUND, HOST, METHOD, NAME, Names, TARGET};
use super::record::Record;

/// What is kept of a request that was refused at this time, milliseconds since 1970.
pub fn refused(record: &Record, cause: Cause, said: &Names, unix_ms: u64) -> RefusedRequest {
    RefusedRequest {
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
        at: said.offence.at.map(|at| at as u64),
        found: escaped(said.offence.found, FOUND),
        status: record.status,
    }
}

fn escaped(bytes: &[u8], most: usize) -> String {
    let mut out = Vec::new();
    escape::common(bytes, most, &mut out);
    // ASCII, whatever came.
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use model::moment::Moment;
    use wire::http1::Offence;

    use super::super::line::Protocol;
    use super::*;

    #[test]
    fn whatever_came_is_bounded_and_ascii() {
        let record = Record::begin(Moment(0), Moment(0));
        let long = [0xffu8; 100_000];
        let offence = Offence { host: &long, field: &long, at: Some(7), found: &long };
        let client: SocketAddr = "192.0.2.7:1".parse().unwrap();
        let names = Names {
            service: "shop",
            server: None,
            client,
            protocol: Protocol::Http11,
            method: &long,
            target: &long,
            offence,
            slow: None,
        };
        let kept = refused(&record, Cause::BadRequest, &names, 5);
        let texts = [&kept.method, &kept.host, &kept.target, &kept.field, &kept.found];
        for text in texts {
            assert!(text.is_ascii() && text.starts_with("\\xff") && text.ends_with("\\xff..."));
        }
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        assert_eq!(bytes, 4 * (METHOD + HOST + TARGET + FIELD + FOUND) + 5 * 3);
        assert_eq!((kept.at, kept.client, kept.service.as_str()), (Some(7), client, "shop"));
    }
}
