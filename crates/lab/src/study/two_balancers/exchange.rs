//! The transaction of the study. The client sends a head, waits for its acknowledgement, sends a body, and reads a
//! large response. The server waits before it responds.
//!
//! Both sides are as simple as sockets allow, so that all delays come from the path between them.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::sys::unacknowledged;

/// Sizes and times of the transaction.
#[derive(Clone, Copy, Debug)]
pub struct TransactionSpec {
    /// Bytes of the request's body.
    pub request: u64,
    /// Bytes of the response's body.
    pub answer: u64,
    /// How long the server waits before it responds.
    pub think: Duration,
    /// Time limit for each socket operation and for the acknowledgement of the head.
    pub timeout: Duration,
}

/// Interval between checks of a socket.
const LOOK: Duration = Duration::from_millis(2);
const PIECE: usize = 64 << 10;

/// Makes one transaction and returns its duration. A short response is an error.
pub fn run_transaction(to: SocketAddr, transaction: TransactionSpec) -> io::Result<Duration> {
    let begun = Instant::now();
    let mut stream = TcpStream::connect_timeout(&to, transaction.timeout)?;
    stream.set_read_timeout(Some(transaction.timeout))?;
    stream.set_write_timeout(Some(transaction.timeout))?;
    stream.set_nodelay(true)?;
    let head = format!(
        "POST /transaction HTTP/1.1\r\nHost: {to}\r\nContent-Type: text/xml\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        transaction.request
    );
    stream.write_all(head.as_bytes())?;
    while unacknowledged(&stream).is_some_and(|segments| segments > 0) {
        if begun.elapsed() > transaction.timeout {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::park_timeout(LOOK);
    }
    stream.write_all(&vec![b'r'; transaction.request as usize])?;
    let mut buffer = vec![0; PIECE];
    let mut got = 0_u64;
    loop {
        match stream.read(&mut buffer)? {
            0 if got > transaction.answer => return Ok(begun.elapsed()),
            0 => {
                let text = format!("the answer ended after {got} bytes");
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
            }
            n => got += n as u64,
        }
    }
}

/// Serves transactions on this listener until `stop` is set.
pub fn serve_transactions(
    listener: &TcpListener,
    transaction: TransactionSpec,
    stop: &AtomicBool,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    while !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            // An error with one client does not stop the server; the client reports its own failure.
            Ok((stream, _)) => drop(answer_transaction(stream, transaction)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait_for_client(listener)?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits up to 50 ms for a client, so that `stop` is noticed.
fn wait_for_client(listener: &TcpListener) -> io::Result<()> {
    let mut ready = [PollFd::new(listener, PollFlags::IN)];
    let time = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    match poll(&mut ready, Some(&time)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn answer_transaction(mut stream: TcpStream, transaction: TransactionSpec) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(transaction.timeout))?;
    stream.set_write_timeout(Some(transaction.timeout))?;
    let mut got = Vec::new();
    let mut buffer = vec![0; PIECE];
    let mut head = None;
    while head.is_none_or(|end| got.len() < end + transaction.request as usize) {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            n => got.extend_from_slice(&buffer[..n]),
        }
        head = got.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
    }
    let until = Instant::now() + transaction.think;
    while let Some(left) =
        until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    {
        std::thread::park_timeout(left);
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: {}\r\n\r\n",
        transaction.answer
    );
    stream.write_all(head.as_bytes())?;
    let piece = vec![b'a'; PIECE];
    let mut left = transaction.answer as usize;
    while left > 0 {
        let n = left.min(PIECE);
        stream.write_all(&piece[..n])?;
        left -= n;
    }
    // Waits until the balancer has closed: closing earlier could discard data in flight.
    stream.shutdown(std::net::Shutdown::Write)?;
    while stream.read(&mut buffer)? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_takes_as_long_as_the_server_thinks() {
        let think = Duration::from_millis(30);
        let transaction = TransactionSpec {
            request: 3_000,
            answer: 200_000,
            think,
            timeout: Duration::from_secs(20),
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| serve_transactions(&listener, transaction, &stop).unwrap());
            assert!(run_transaction(to, transaction).unwrap() >= think);
            let more = TransactionSpec { answer: 200_200, ..transaction };
            assert_eq!(run_transaction(to, more).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
            stop.store(true, Ordering::Relaxed);
        });
    }
}
