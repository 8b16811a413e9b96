//! Many datagrams with one system call each way, which no safe wrapper offers: the one file here with unsafe code. It knows
//! nothing of what is in them.
#![allow(unsafe_code, reason = "recvmmsg and sendmmsg have no safe wrapper")]

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Datagrams at a time.
/// One system call receives a burst; the buffers of a thread have 256 KiB.
pub(super) const BATCH_SIZE: usize = 64;
/// Bytes of a query that are looked at: no query is longer.
pub(super) const QUERY_MAX: usize = 4_096;
/// Bytes of the address of IPv6, the longest here.
const ADDRESS: usize = size_of::<libc::sockaddr_in6>();

/// Bytes of a received datagram and of its sender's address.
#[derive(Clone, Copy, Default)]
struct DatagramLengths {
    query: usize,
    sender: libc::socklen_t,
}

/// A received datagram and who sent it.
pub(super) struct ReceivedQuery<'a> {
    pub bytes: &'a [u8],
    pub sender: IpAddr,
}

/// Buffers for received datagrams, their senders, and answers.
pub(super) struct DatagramBatch {
    queries: Vec<[u8; QUERY_MAX]>,
    senders: Vec<[u8; ADDRESS]>,
    lengths: [DatagramLengths; BATCH_SIZE],
    /// The answers; an empty one is not sent.
    pub answers: Vec<Vec<u8>>,
}

impl DatagramBatch {
    pub fn new() -> DatagramBatch {
        DatagramBatch {
            queries: vec![[0; QUERY_MAX]; BATCH_SIZE],
            senders: vec![[0; ADDRESS]; BATCH_SIZE],
            lengths: [DatagramLengths::default(); BATCH_SIZE],
            answers: (0..BATCH_SIZE).map(|_| Vec::with_capacity(QUERY_MAX)).collect(),
        }
    }

    /// Reads waiting datagrams without blocking; returns their number.
    pub fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        let mut parts: [libc::iovec; BATCH_SIZE] = std::array::from_fn(|at| libc::iovec {
            iov_base: self.queries[at].as_mut_ptr().cast(),
            iov_len: QUERY_MAX,
        });
        let mut heads: [libc::mmsghdr; BATCH_SIZE] = std::array::from_fn(|at| {
            head(&mut parts[at], &mut self.senders[at], ADDRESS as libc::socklen_t)
        });
        // SAFETY: each head points at one buffer and one address of this batch, with their true lengths; all of them and
        // `parts` live until the call returns, and nothing else uses them meanwhile.
        let count = unsafe {
            let flags = libc::MSG_DONTWAIT;
            let most = BATCH_SIZE as libc::c_uint;
            libc::recvmmsg(
                socket.as_raw_fd(),
                heads.as_mut_ptr(),
                most,
                flags,
                std::ptr::null_mut(),
            )
        };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        for (kept, head) in self.lengths.iter_mut().zip(&heads[..count.min(BATCH_SIZE)]) {
            *kept = DatagramLengths {
                query: (head.msg_len as usize).min(QUERY_MAX),
                sender: head.msg_hdr.msg_namelen,
            };
        }
        Ok(count.min(BATCH_SIZE))
    }

    /// The query at a position; `None`: from an address of another kind.
    pub fn query(&self, at: usize) -> Option<ReceivedQuery<'_>> {
        let sender = self.senders.get(at)?;
        let family = u16::from_ne_bytes([sender[0], sender[1]]);
        let from = match i32::from(family) {
            libc::AF_INET => IpAddr::V4(Ipv4Addr::new(sender[4], sender[5], sender[6], sender[7])),
            libc::AF_INET6 => {
                let octets: [u8; 16] = sender.get(8..24)?.try_into().ok()?;
                IpAddr::V6(Ipv6Addr::from(octets))
            }
            _ => return None,
        };
        let bytes = self.queries.get(at)?.get(..self.lengths.get(at)?.query)?;
        Some(ReceivedQuery { bytes, sender: from })
    }

    /// Sends the answers from position `from` to before `to` that are there; the first that the kernel would not take.
    pub fn send(&mut self, socket: BorrowedFd<'_>, from: usize, to: usize) -> Option<usize> {
        let wanted: [usize; BATCH_SIZE] = self.answered_positions(from, to.min(BATCH_SIZE));
        let count = wanted.iter().take_while(|at| **at < BATCH_SIZE).count();
        if count == 0 {
            return None;
        }
        let mut parts: [libc::iovec; BATCH_SIZE] = std::array::from_fn(|n| {
            let answer = self.answers.get_mut(wanted[n]);
            let (base, length) =
                answer.map_or((std::ptr::null_mut(), 0), |a| (a.as_mut_ptr(), a.len()));
            libc::iovec { iov_base: base.cast(), iov_len: length }
        });
        let mut heads: [libc::mmsghdr; BATCH_SIZE] = std::array::from_fn(|n| {
            let at = wanted[n].min(BATCH_SIZE - 1);
            head(&mut parts[n], &mut self.senders[at], self.lengths[at].sender)
        });
        // SAFETY: the first `count` heads point at answers and addresses of this batch, with their true lengths; all of
        // them and `parts` live until the call returns; the kernel only reads them.
        let sent = unsafe {
            let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
            libc::sendmmsg(socket.as_raw_fd(), heads.as_mut_ptr(), count as libc::c_uint, flags)
        };
        let sent = usize::try_from(sent).unwrap_or(0);
        (sent < count).then(|| wanted[sent])
    }

    /// Positions with an answer, in their order; `MOST` where there are no more.
    fn answered_positions(&self, from: usize, to: usize) -> [usize; BATCH_SIZE] {
        let mut there = (from..to).filter(|at| !self.answers[*at].is_empty());
        std::array::from_fn(|_| there.next().unwrap_or(BATCH_SIZE))
    }
}

/// The head of one message.
fn head(
    part: &mut libc::iovec,
    address: &mut [u8; ADDRESS],
    length: libc::socklen_t,
) -> libc::mmsghdr {
    // SAFETY: a message head is of numbers and pointers alone, for which zeros are good values.
    let mut head: libc::mmsghdr = unsafe { std::mem::zeroed() };
    head.msg_hdr.msg_name = address.as_mut_ptr().cast();
    head.msg_hdr.msg_namelen = length.min(ADDRESS as libc::socklen_t);
    head.msg_hdr.msg_iov = part;
    head.msg_hdr.msg_iovlen = 1;
    head
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsFd;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_comes_is_distinguished_and_answered_where_it_came_from() {
        for local in ["127.0.0.1:0", "[::1]:0"] {
            let server = UdpSocket::bind(local).unwrap();
            let at = server.local_addr().unwrap();
            let clients: Vec<UdpSocket> = (0..5).map(|_| UdpSocket::bind(local).unwrap()).collect();
            for (n, client) in clients.iter().enumerate() {
                client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
                client.send_to(&[n as u8; 7], at).unwrap();
            }
            let mut batch = DatagramBatch::new();
            // Loopback delivers before the send returns.
            assert_eq!(batch.receive(server.as_fd()).unwrap(), 5);
            for at in 0..5 {
                let ReceivedQuery { bytes: query, sender } = batch.query(at).unwrap();
                assert!(query.len() == 7 && sender.is_loopback());
                let answer = if query[0] == 2 { Vec::new() } else { vec![query[0] + 10; 3] };
                batch.answers[at] = answer;
            }
            assert_eq!(batch.send(server.as_fd(), 0, 5), None);
            for n in [0, 1, 3, 4] {
                let mut got = [0; 9];
                assert_eq!(clients[n].recv(&mut got).unwrap(), 3);
                assert_eq!(got[..3], [n as u8 + 10; 3]);
            }
            assert!(batch.receive(server.as_fd()).is_err());
        }
    }
}
