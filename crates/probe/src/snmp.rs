//! SNMPv2c GET of one object (RFC 3416 §4.2.1). It walks nothing and sets nothing.

use std::net::Ipv4Addr;

use regex::bytes::Regex;

use crate::ber;
use crate::dialogue::{Dialogue, Step, shown};

const SEQUENCE: u8 = 0x30;
const GET: u8 = 0xa0;
const RESPONSE: u8 = 0xa2;
/// Version 2c.
const VERSION: i32 = 1;

/// A dialogue under way.
#[derive(Debug)]
pub struct Snmp {
    oid: String,
    community: Vec<u8>,
    id: i32,
    expect: Option<Regex>,
}

impl Snmp {
    /// Asks for this object.
    pub fn new(oid: &str, community: &[u8], id: u32, expect: Option<Regex>) -> Snmp {
        let id = (id & 0x7fff_ffff).cast_signed();
        Snmp {
            oid: oid.trim_start_matches('.').to_owned(),
            community: community.to_vec(),
            id,
            expect,
        }
    }

    fn judge(&self, value: &str) -> Step {
        let Snmp { oid, expect, .. } = self;
        match expect {
            Some(expect) if !expect.is_match(value.as_bytes()) => Step::bad(format!(
                "snmp {oid} = {}, expected {}",
                shown(value.as_bytes()),
                expect.as_str()
            )),
            _ => Step::good(format!("snmp {oid} = {}", shown(value.as_bytes()))),
        }
    }
}

impl Dialogue for Snmp {
    fn begin(&mut self, out: &mut Vec<u8>) -> Step {
        let pair = [ber::element(0x06, &encoded(&self.oid)), ber::element(0x05, &[])].concat();
        let pairs = ber::element(SEQUENCE, &ber::element(SEQUENCE, &pair));
        let get = [ber::integer(self.id), ber::integer(0), ber::integer(0), pairs].concat();
        let parts =
            [ber::integer(VERSION), ber::element(0x04, &self.community), ber::element(GET, &get)];
        out.extend(ber::element(SEQUENCE, &parts.concat()));
        Step::Wait
    }

    fn take(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> Step {
        let Some((id, error, tag, value)) = response(bytes) else {
            return Step::bad("the answer is not SNMP");
        };
        if id != i64::from(self.id) {
            return Step::Wait;
        }
        if error != 0 {
            return Step::bad(format!("snmp {}: error {error}", self.oid));
        }
        match text(tag, value) {
            Ok(value) => self.judge(&value),
            Err(why) => Step::bad(format!("snmp {}: {why}", self.oid)),
        }
    }

    fn awaits(&self) -> &'static str {
        "answer"
    }
}

/// The identifier, the error, and the first value with its tag.
fn response(bytes: &[u8]) -> Option<(i64, i64, u8, &[u8])> {
    let (message, _) = ber::of(SEQUENCE, bytes)?;
    let (_, rest) = ber::of(0x02, message)?;
    let (_, rest) = ber::of(0x04, rest)?;
    let (pdu, _) = ber::of(RESPONSE, rest)?;
    let (id, rest) = ber::of(0x02, pdu)?;
    let (error, rest) = ber::of(0x02, rest)?;
    let (_, rest) = ber::of(0x02, rest)?;
    let (id, error) = (ber::number(id)?, ber::number(error)?);
    let (pairs, _) = ber::of(SEQUENCE, rest)?;
    let found = ber::of(SEQUENCE, pairs)
        .and_then(|(pair, _)| ber::of(0x06, pair))
        .map(|(_, rest)| ber::read(rest));
    match found {
        Some(ber::Read::Whole { tag, contents, .. }) => Some((id, error, tag, contents)),
        // An error may come without a value.
        _ if error != 0 => Some((id, error, 0x05, &[])),
        _ => None,
    }
}

/// A value as text (RFC 2578 §7.1); exceptions are RFC 3416 §3's.
fn text(tag: u8, value: &[u8]) -> Result<String, &'static str> {
    match tag {
        0x02 => ber::number(value).map(|n| n.to_string()).ok_or("a number that is none"),
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

/// An object identifier (X.690 §8.19). Its form was checked by the configuration.
fn encoded(oid: &str) -> Vec<u8> {
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
