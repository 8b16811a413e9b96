//! A client that sends raw bytes: for malformed requests, and for observing the connection itself.
//!
//! Every read has a deadline.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use super::http::{ExpectedBody, HttpReader, ReceivedMessage};
use super::wait::DEADLINE;

#[derive(Debug)]
pub struct HttpClient {
    reader: HttpReader<TcpStream>,
}

impl HttpClient {
    pub fn connect(address: SocketAddr) -> HttpClient {
        HttpClient::try_connect(address)
            .unwrap_or_else(|error| panic!("cannot connect to {address}: {error}"))
    }

    /// Connects to an address that may refuse the connection.
    pub fn try_connect(address: SocketAddr) -> io::Result<HttpClient> {
        let stream = TcpStream::connect_timeout(&address, DEADLINE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(DEADLINE))?;
        stream.set_write_timeout(Some(DEADLINE))?;
        Ok(HttpClient::from_stream(stream))
    }

    /// Uses an existing connection, with deadlines.
    pub fn from_stream(stream: TcpStream) -> HttpClient {
        HttpClient { reader: HttpReader::new(stream) }
    }

    pub fn stream(&self) -> &TcpStream {
        self.reader.stream()
    }

    pub fn send(&self, bytes: impl AsRef<[u8]>) -> &HttpClient {
        self.stream().write_all(bytes.as_ref()).unwrap();
        self
    }

    /// Sends bytes; fails without a panic when the peer has closed the connection.
    pub fn try_send(&self, bytes: &[u8]) -> io::Result<()> {
        self.stream().write_all(bytes)
    }

    /// Sends a request without a body.
    pub fn send_get(&mut self, target: &str) -> &mut HttpClient {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: shop.example\r\n\r\n"));
        self
    }

    /// Sends a request without a body and returns the answer.
    pub fn get(&mut self, target: &str) -> ReceivedMessage {
        self.send_get(target).read_answer()
    }

    /// Sends a POST in one piece and returns the answer: a refusal before the body came would close the connection.
    pub fn post(&mut self, target: &str, body: &[u8]) -> ReceivedMessage {
        let length = body.len();
        let head = format!(
            "POST {target} HTTP/1.1\r\nHost: shop.example\r\nContent-Length: {length}\r\n\r\n"
        );
        self.send([head.as_bytes(), body].concat());
        self.read_answer()
    }

    /// The next response, informational ones included. Not for the response to a HEAD request, which has no body.
    pub fn read_answer(&mut self) -> ReceivedMessage {
        let mut answer = self.read_answer_head();
        let bodiless = matches!(answer.status(), 100..200 | 204 | 304);
        let follows =
            if bodiless { ExpectedBody::NoBody } else { ExpectedBody::DeclaredOrUntilEnd };
        self.reader.body(&mut answer, follows).unwrap_or_else(|e| panic!("{answer:?}: {e}"));
        answer
    }

    /// The head of the next response, without its body.
    pub fn read_answer_head(&mut self) -> ReceivedMessage {
        let head = self.reader.head().unwrap_or_else(|error| panic!("no answer: {error}"));
        head.unwrap_or_else(|| panic!("the connection ended where an answer was expected"))
    }

    /// The body that follows this head, if all of it arrives.
    pub fn read_body(&mut self, mut answer: ReceivedMessage) -> io::Result<Vec<u8>> {
        self.reader.body(&mut answer, ExpectedBody::DeclaredOrUntilEnd)?;
        Ok(answer.body)
    }

    /// The next response, or `None` when the connection ends first, in order or by a reset.
    pub fn answer_or_end(&mut self) -> Option<ReceivedMessage> {
        let mut answer = self.reader.head().ok().flatten()?;
        let bodiless = matches!(answer.status(), 100..200 | 204 | 304);
        let follows =
            if bodiless { ExpectedBody::NoBody } else { ExpectedBody::DeclaredOrUntilEnd };
        self.reader.body(&mut answer, follows).ok()?;
        Some(answer)
    }

    pub fn read_exactly(&mut self, bytes: usize) -> Vec<u8> {
        self.reader.read_exactly(bytes).unwrap()
    }

    /// Reads exactly `bytes` bytes, or returns the error.
    pub fn try_read_exactly(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        self.reader.read_exactly(bytes)
    }

    /// Takes the bytes that were read after the last message, and empties the buffer.
    pub fn take_buffered(&mut self) -> Vec<u8> {
        self.reader.take_buffered()
    }

    /// Reads to the end of the connection, which must be closed in order.
    pub fn read_to_end(&mut self) -> Vec<u8> {
        self.reader.read_to_end().unwrap()
    }

    /// Reads to the end of the connection, which may be reset.
    pub fn read_to_end_or_reset(&mut self) -> io::Result<Vec<u8>> {
        self.reader.read_to_end()
    }

    pub fn shut_down_write(&self) -> &HttpClient {
        self.stream().shutdown(Shutdown::Write).unwrap();
        self
    }

    /// Closes the connection with a reset instead of a FIN.
    pub fn reset(self) {
        rustix::net::sockopt::set_socket_linger(self.stream(), Some(Duration::ZERO)).unwrap();
    }

    /// Whether the peer has closed the connection. Does not wait.
    pub fn has_ended(&self) -> bool {
        self.stream().set_nonblocking(true).unwrap();
        let peeked = self.stream().peek(&mut [0]);
        self.stream().set_nonblocking(false).unwrap();
        matches!(peeked, Ok(0)) || peeked.is_err_and(|e| e.kind() != io::ErrorKind::WouldBlock)
    }
}

/// Reads a stream to its end and counts the bytes without storing them.
pub fn drain(mut stream: impl Read) -> io::Result<u64> {
    let mut piece = vec![0; 256 * 1024];
    let mut total = 0;
    loop {
        match stream.read(&mut piece)? {
            0 => return Ok(total),
            read => total += read as u64,
        }
    }
}
