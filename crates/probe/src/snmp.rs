//! SNMPv2c GET of one object (RFC 3416 §4.2.1). The check reads no other objects and sets none.

use std::net::Ipv4Addr;

use regex::bytes::Regex;

use crate::ber;
use crate::dialogue::{DialogueStep, ProbeDialogue, printable_text};

/// Tags of BER (X.690) for a sequence and for the PDUs of RFC 3416 §3, and the number of SNMPv2c (RFC 1901 §3).
const SEQUENCE: u8 = 0x30;
const GET: u8 = 0xa0;
const RESPONSE: u8 = 0xa2;
const VERSION: i32 = 1;

#[derive(Debug)]
pub struct SnmpProbe {
    oid: String,
    community: Vec<u8>,
    id: i32,
    expect: Option<Regex>,
}

impl SnmpProbe {
    /// A request for this object.
    pub fn new(oid: &str, community: &[u8], id: u32, expect: Option<Regex>) -> SnmpProbe {
        let id = (id & 0x7fff_ffff).cast_signed();
        SnmpProbe {
            oid: oid.trim_start_matches('.').to_owned(),
            community: community.to_vec(),
            id,
            expect,
        }
    }

    fn check_value(&self, value: &str) -> DialogueStep {
        let SnmpProbe { oid, expect, .. } = self;
        match expect {
            Some(expect) if !expect.is_match(value.as_bytes()) => DialogueStep::failure(format!(
                "snmp {oid} = {}, expected {}",
                printable_text(value.as_bytes()),
                expect.as_str()
            )),
            _ => {
                DialogueStep::success(format!("snmp {oid} = {}", printable_text(value.as_bytes())))
            }
        }
    }
}

impl ProbeDialogue for SnmpProbe {
    fn start(&mut self, out: &mut Vec<u8>) -> DialogueStep {
        let pair =
            [ber::encode_element(0x06, &encode_oid(&self.oid)), ber::encode_element(0x05, &[])]
                .concat();
        let pairs = ber::encode_element(SEQUENCE, &ber::encode_element(SEQUENCE, &pair));
        let get =
            [ber::encode_integer(self.id), ber::encode_integer(0), ber::encode_integer(0), pairs]
                .concat();
        let parts = [
            ber::encode_integer(VERSION),
            ber::encode_element(0x04, &self.community),
            ber::encode_element(GET, &get),
        ];
        out.extend(ber::encode_element(SEQUENCE, &parts.concat()));
        DialogueStep::Wait
    }

    fn receive(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> DialogueStep {
        let Some(SnmpResponse { id, error, tag, value }) = parse_response(bytes) else {
            return DialogueStep::failure("the answer is not SNMP");
        };
        if id != i64::from(self.id) {
            return DialogueStep::Wait;
        }
        if error != 0 {
            return DialogueStep::failure(format!("snmp {}: error {error}", self.oid));
        }
        match value_text(tag, value) {
            Ok(value) => self.check_value(&value),
            Err(why) => DialogueStep::failure(format!("snmp {}: {why}", self.oid)),
        }
    }

    fn awaited(&self) -> &'static str {
        "answer"
    }
}

/// A response as far as the check reads it.
struct SnmpResponse<'b> {
    id: i64,
    error: i64,
    /// The tag of the first value.
    tag: u8,
    value: &'b [u8],
}

fn parse_response(bytes: &[u8]) -> Option<SnmpResponse<'_>> {
    let message = ber::read_tagged(SEQUENCE, bytes)?.contents;
    let version = ber::read_tagged(0x02, message)?;
    let community = ber::read_tagged(0x04, version.rest)?;
    let pdu = ber::read_tagged(RESPONSE, community.rest)?.contents;
    let id = ber::read_tagged(0x02, pdu)?;
    let error = ber::read_tagged(0x02, id.rest)?;
    let error_index = ber::read_tagged(0x02, error.rest)?;
    let id = ber::parse_integer(id.contents)?;
    let error = ber::parse_integer(error.contents)?;
    let pairs = ber::read_tagged(SEQUENCE, error_index.rest)?.contents;
    let found = ber::read_tagged(SEQUENCE, pairs)
        .and_then(|pair| ber::read_tagged(0x06, pair.contents))
        .map(|name| ber::read_element(name.rest));
    match found {
        Some(ber::BerResult::Complete { tag, contents, .. }) => {
            Some(SnmpResponse { id, error, tag, value: contents })
        }
        // An error may have no value.
        _ if error != 0 => Some(SnmpResponse { id, error, tag: 0x05, value: &[] }),
        _ => None,
    }
}

/// A value as text (RFC 2578 §7.1); RFC 3416 §3 defines the exceptions.
fn value_text(tag: u8, value: &[u8]) -> Result<String, &'static str> {
    match tag {
        0x02 => ber::parse_integer(value).map(|n| n.to_string()).ok_or("a number that is none"),
        // Counter32, Gauge32, TimeTicks, Counter64: never negative.
        0x41..=0x43 | 0x46 if (1..=9).contains(&value.len()) => {
            Ok(value.iter().fold(0u128, |n, byte| n << 8 | u128::from(*byte)).to_string())
        }
        0x04 => Ok(String::from_utf8_lossy(value).into_owned()),
        0x40 => match <[u8; 4]>::try_from(value) {
            Ok(octets) => Ok(Ipv4Addr::from(octets).to_string()),
            Err(_) => Err("an address that is none"),
        },
        0x06 => Ok(value.iter().map(|byte| format!("{byte:02x}")).collect()),
        0x05 => Err("no value"),
        0x80 => Err("no such object"),
        0x81 => Err("no such instance"),
        0x82 => Err("nothing there"),
        _ => Err("a value of a type that is not known"),
    }
}

/// An object identifier (X.690 §8.19). The configuration has checked its form.
fn encode_oid(oid: &str) -> Vec<u8> {
    let numbers: Vec<u32> = oid.split('.').filter_map(|number| number.parse().ok()).collect();
    let [first, second, rest @ ..] = &numbers[..] else { return Vec::new() };
    let mut out = Vec::new();
    for number in std::iter::once(&(first * 40 + second)).chain(rest) {
        let mut shift = 28;
        while shift > 0 && number >> shift == 0 {
            shift -= 7;
        }
        while shift > 0 {
            out.push(0x80 | (number >> shift & 0x7f) as u8);
            shift -= 7;
        }
        out.push((number & 0x7f) as u8);
    }
    out
}
