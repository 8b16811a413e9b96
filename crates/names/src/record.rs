//! Records in wire form: built once with the zone data, and copied into answers.
//!
//! `hickory-proto` writes the data of all types but addresses, without compression, so that it is valid at any
//! position.

use hickory_proto::ProtoError;
use hickory_proto::rr::rdata::svcb::{Alpn, SVCB, SvcParamKey, SvcParamValue};
use hickory_proto::rr::rdata::{HINFO, HTTPS, SOA, TXT};
use hickory_proto::rr::{Name, RData};
use hickory_proto::serialize::binary::{BinEncodable, BinEncoder, NameEncoding};

use super::domain::DomainName;

/// Types of records: RFC 1035 §3.2.2, AAAA of RFC 3596 §2.1, SRV of RFC 2782, HTTPS of RFC 9460 §14.
pub const A: u16 = 1;
pub const NS: u16 = 2;
pub const CNAME: u16 = 5;
pub const SOA_KIND: u16 = 6;
pub const HINFO_KIND: u16 = 13;
pub const TXT_KIND: u16 = 16;
pub const AAAA: u16 = 28;
pub const SRV: u16 = 33;
pub const HTTPS_KIND: u16 = 65;
/// Type ANY, which only questions have.
pub const ANY: u16 = 255;

/// The class of the Internet (RFC 1035 §3.2.4).
pub const IN: u16 = 1;

/// Refresh, retry and expire of SOA in seconds. Only secondary servers use them, and there are none (RFC 1912 §2.2).
const COPYING: (i32, i32, i32) = (3_600, 600, 604_800);

/// The data of the answer to ANY (RFC 8482 §4.2).
const MINIMAL: &str = "RFC8482";

/// Builds a record owned by the name in the question.
pub fn build_record(kind: u16, ttl: u32, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(12 + data.len());
    out.extend([0xc0, 12]);
    out.extend(kind.to_be_bytes());
    out.extend(IN.to_be_bytes());
    out.extend(ttl.to_be_bytes());
    out.extend((data.len() as u16).to_be_bytes());
    out.extend_from_slice(data);
    out
}

pub fn soa_data(
    server: &DomainName,
    contact: &DomainName,
    serial: u32,
    minimum: u32,
) -> Result<Vec<u8>, ProtoError> {
    let (refresh, retry, expire) = COPYING;
    let server = to_proto_name(server)?;
    let contact = to_proto_name(contact)?;
    encode_data(&RData::SOA(SOA::new(server, contact, serial, refresh, retry, expire, minimum)))
}

pub fn txt_data(text: &str) -> Result<Vec<u8>, ProtoError> {
    encode_data(&RData::TXT(TXT::new(vec![text.to_owned()])))
}

/// The data of HTTPS: the name itself with these protocols (RFC 9460 §2.4.3, §7.1).
pub fn https_data(protocols: &[String]) -> Result<Vec<u8>, ProtoError> {
    let alpn = SvcParamValue::Alpn(Alpn(protocols.to_vec()));
    encode_data(&RData::HTTPS(HTTPS(SVCB::new(1, Name::root(), vec![(SvcParamKey::Alpn, alpn)]))))
}

pub fn any_data() -> Result<Vec<u8>, ProtoError> {
    encode_data(&RData::HINFO(HINFO::new(MINIMAL.to_owned(), String::new())))
}

/// The data of SRV (RFC 2782).
pub fn srv_data(priority: u16, weight: u16, port: u16, target: &DomainName) -> Vec<u8> {
    let mut data = Vec::with_capacity(6 + target.wire().len());
    for word in [priority, weight, port] {
        data.extend(word.to_be_bytes());
    }
    data.extend_from_slice(target.wire());
    data
}

fn to_proto_name(domain: &DomainName) -> Result<Name, ProtoError> {
    use hickory_proto::serialize::binary::BinDecodable;
    Name::from_bytes(domain.wire()).map_err(ProtoError::from)
}

fn encode_data(data: &RData) -> Result<Vec<u8>, ProtoError> {
    let mut bytes = Vec::new();
    let mut encoder = BinEncoder::new(&mut bytes);
    encoder.set_name_encoding(NameEncoding::Uncompressed);
    data.emit(&mut encoder)?;
    Ok(bytes)
}
