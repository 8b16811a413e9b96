//! The kernel's list of TCP sockets in TIME_WAIT, by `sock_diag(7)`: one question for each family, and the answers as they come.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use rtnetlink::sys::{Socket, SocketAddr as Peer};

/// Numbers of the kernel's uapi headers: NETLINK_SOCK_DIAG and the message types and flags (REQUEST, DUMP) of
/// linux/netlink.h, SOCK_DIAG_BY_FAMILY of linux/sock_diag.h, AF_INET and AF_INET6, IPPROTO_TCP.
const PROTOCOL: isize = 4;
const BY_FAMILY: u16 = 20;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const FLAGS: u16 = 0x301;
const FAMILIES: [u8; 2] = [2, 10];
const TCP: u8 = 6;
/// `TCP_TIME_WAIT`, as a state and in the bit mask of requested states.
const TIME_WAIT: u8 = 6;
/// The sizes of `struct nlmsghdr` (linux/netlink.h) and of `struct inet_diag_req_v2` (linux/inet_diag.h).
const HEADER: usize = 16;
const REQUEST: usize = 56;

/// A socket that rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeWaitSocket {
    pub local: SocketAddr,
    pub remote: SocketAddr,
    /// How long it still does.
    pub remaining: Duration,
}

/// Calls `take` for every such socket of this network namespace, until it returns that it has enough.
///
/// # Errors
/// The kernel does not offer the list.
pub fn for_each_time_wait(mut take: impl FnMut(TimeWaitSocket) -> bool) -> io::Result<()> {
    for family in FAMILIES {
        let mut socket = Socket::new(PROTOCOL)?;
        socket.bind_auto()?;
        socket.connect(&Peer::new(0, 0))?;
        socket.send(&question(family), 0)?;
        // The kernel makes the next part of the list when one was read: there is no waiting.
        while parse_part(&socket.recv_from_full()?.0, &mut take)? {}
    }
    Ok(())
}

fn question(family: u8) -> Vec<u8> {
    let length = HEADER + REQUEST;
    let mut message = Vec::with_capacity(length);
    message.extend((length as u32).to_ne_bytes());
    message.extend(BY_FAMILY.to_ne_bytes());
    message.extend(FLAGS.to_ne_bytes());
    message.extend([0; 8]);
    message.extend([family, TCP, 0, 0]);
    message.extend((1_u32 << TIME_WAIT).to_ne_bytes());
    message.resize(length, 0);
    message
}

/// Reads one part of a list; `false`: it was the last one, or it is enough.
fn parse_part(bytes: &[u8], take: &mut impl FnMut(TimeWaitSocket) -> bool) -> io::Result<bool> {
    let mut rest = bytes;
    while let Some((header, _)) = rest.split_at_checked(HEADER) {
        let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let Some(body) = rest.get(HEADER..length) else { break };
        match word(4) {
            DONE => return Ok(false),
            ERROR => return Err(refusal(body)),
            BY_FAMILY => {
                if let Some(found) = parse_diag_message(body)
                    && !take(found)
                {
                    return Ok(false);
                }
            }
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    // An empty part would be returned repeatedly.
    Ok(!bytes.is_empty())
}

fn refusal(body: &[u8]) -> io::Error {
    let errno = body.first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
    io::Error::from_raw_os_error(-errno)
}

fn parse_diag_message(body: &[u8]) -> Option<TimeWaitSocket> {
    let family = *body.first()?;
    let state = *body.get(1)?;
    let port = |at: usize| Some(u16::from_be_bytes(*body.get(at..)?.first_chunk()?));
    let ip = |at: usize| -> Option<IpAddr> {
        let bytes = body.get(at..)?;
        match family {
            2 => Some(IpAddr::from(*bytes.first_chunk::<4>()?)),
            10 => Some(IpAddr::from(*bytes.first_chunk::<16>()?)),
            _ => None,
        }
    };
    if state != TIME_WAIT {
        return None;
    }
    let left = u32::from_ne_bytes(*body.get(52..)?.first_chunk()?);
    Some(TimeWaitSocket {
        local: (ip(8)?, port(4)?).into(),
        remote: (ip(24)?, port(6)?).into(),
        remaining: Duration::from_millis(u64::from(left)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut out = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        out.extend(kind.to_ne_bytes());
        out.extend([0; 10]);
        out.extend(body);
        out.resize(out.len().next_multiple_of(4), 0);
        out
    }

    fn socket(state: u8) -> Vec<u8> {
        let mut body = vec![2, state, 3, 0];
        body.extend(40_000_u16.to_be_bytes());
        body.extend(80_u16.to_be_bytes());
        body.extend([10, 0, 0, 9]);
        body.resize(24, 0);
        body.extend([10, 0, 0, 1]);
        body.resize(52, 0);
        body.extend(59_000_u32.to_ne_bytes());
        body.resize(72, 0);
        body
    }

    fn all(bytes: &[u8]) -> (io::Result<bool>, Vec<TimeWaitSocket>) {
        let mut found = Vec::new();
        let more = parse_part(bytes, &mut |rest| {
            found.push(rest);
            true
        });
        (more, found)
    }

    #[test]
    fn lists_are_read_part_by_part_and_have_an_end() {
        let both =
            [message(BY_FAMILY, &socket(TIME_WAIT)), message(BY_FAMILY, &socket(1))].concat();
        let (more, found) = all(&both);
        let rest = TimeWaitSocket {
            local: "10.0.0.9:40000".parse().unwrap(),
            remote: "10.0.0.1:80".parse().unwrap(),
            remaining: Duration::from_secs(59),
        };
        assert_eq!((more.unwrap(), found), (true, vec![rest]));
        assert!(!all(&message(DONE, &[0; 4])).0.unwrap());
        assert!(!all(&[]).0.unwrap(), "nothing more comes");
        let refused = all(&message(ERROR, &(-1_i32).to_ne_bytes())).0.unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(1));
    }

    #[test]
    fn what_is_cut_short_is_passed_over() {
        let whole = message(BY_FAMILY, &socket(TIME_WAIT));
        for length in 0..whole.len() {
            assert_eq!(all(&whole[..length]).1, [], "{length}");
        }
        for length in 0..56 {
            assert_eq!(all(&message(BY_FAMILY, &socket(TIME_WAIT)[..length])).1, [], "{length}");
        }
        // A length of nothing is no endless loop.
        assert!(all(&[0; HEADER]).0.is_ok());
        let mut taken = 0;
        let enough = parse_part(&[whole.clone(), whole].concat(), &mut |_| {
            taken += 1;
            false
        });
        assert_eq!((enough.unwrap(), taken), (false, 1));
    }
}
