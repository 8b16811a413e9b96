//! Resolves a name to an address as a simple client does: one query over UDP, and the first address of the response.
//!
//! Parses only as much of the response (RFC 1035 §4) as that needs.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

/// Time limit for one response.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);
/// Queries sent before the lookup fails.
const TRIES: u16 = 3;

pub fn resolve_first(server: SocketAddr, name: &str) -> io::Result<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(QUERY_TIMEOUT))?;
    let mut room = [0; 1_500];
    for id in 1..=TRIES {
        socket.send(&build_query(id, name))?;
        match socket.recv(&mut room) {
            Ok(length) => {
                if let Some(address) = parse_address(id, &room[..length]) {
                    return Ok(address);
                }
            }
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::NotFound, format!("{server} told no address of {name}")))
}

/// A query for an IPv4 address, without recursion desired.
fn build_query(id: u16, name: &str) -> Vec<u8> {
    let mut bytes = id.to_be_bytes().to_vec();
    bytes.extend([0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in name.split('.') {
        bytes.push(label.len() as u8);
        bytes.extend(label.as_bytes());
    }
    bytes.extend([0, 0, 1, 0, 1]);
    bytes
}

/// The first address of a response to the query `id`.
fn parse_address(id: u16, answer: &[u8]) -> Option<Ipv4Addr> {
    let number = |at: usize| Some(u16::from_be_bytes([*answer.get(at)?, *answer.get(at + 1)?]));
    let questions = number(4)?;
    let records = number(6)?;
    if number(0)? != id || answer.get(3)? & 0x0f != 0 {
        return None;
    }
    let mut at = 12;
    for _ in 0..questions {
        at = skip_name(answer, at)? + 4;
    }
    for _ in 0..records {
        at = skip_name(answer, at)?;
        let kind = number(at)?;
        let length = usize::from(number(at + 8)?);
        at += 10;
        if (kind, length) == (1, 4) {
            let bytes: [u8; 4] = answer.get(at..at + 4)?.try_into().ok()?;
            return Some(bytes.into());
        }
        at += length;
    }
    None
}

/// The offset behind a name, which ends with an empty label or a compression pointer.
fn skip_name(answer: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *answer.get(at)? {
            0 => return Some(at + 1),
            pointer if pointer >= 0xc0 => return Some(at + 2),
            length => at += 1 + usize::from(length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_address_is_taken_and_broken_answers_are_none() {
        let mut answer = build_query(7, "web.farm.example");
        answer[2] = 0x84;
        answer[7] = 2;
        // A CNAME record, then the address record.
        answer.extend([0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 9, 0, 2, 0xc0, 12]);
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 10, 60, 3, 2]);
        assert_eq!(parse_address(7, &answer), Some(Ipv4Addr::new(10, 60, 3, 2)));
        assert_eq!(parse_address(8, &answer), None, "another question's");
        for end in 0..answer.len() {
            assert_eq!(parse_address(7, &answer[..end]), None, "cut at {end}");
        }
        answer[3] = 3;
        assert_eq!(parse_address(7, &answer), None, "no such name");
    }
}
