//! A netlink exchange with messages that are ready made. It does not wait: the kernel answers within the request.

use std::io;

use links::netlink::{NetlinkReply, parse_replies};
use rtnetlink::sys::{Socket, SocketAddr};

/// Bounds the reads for one answer: lists arrive in several messages.
const READS: usize = 256;

/// Sends messages of a subsystem and reads the answers; returns their bodies, or the first error.
///
/// # Errors
/// There is no such subsystem, or it refuses.
pub fn exchange_messages(protocol: isize, messages: &[Vec<u8>]) -> io::Result<Vec<Vec<u8>>> {
    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.set_non_blocking(true)?;
    socket.send(&messages.concat(), 0)?;
    let mut told = Vec::new();
    for _ in 0..READS {
        let bytes = match socket.recv_from_full() {
            Ok((bytes, _)) => bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        };
        for answer in parse_replies(&bytes) {
            match answer {
                NetlinkReply::Done(0) | NetlinkReply::End => {}
                NetlinkReply::Done(errno) => return Err(io::Error::from_raw_os_error(errno)),
                NetlinkReply::Payload(_, body) => told.push(body),
            }
        }
    }
    Ok(told)
}
