//! The log with syslog servers: that read, that are not there, that stop reading, that end.

use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use model::config::{AccessLogTarget, SyslogServer, SyslogTls, SyslogTransport};

use super::super::{AccessCounts, AccessLogger};
use super::{LIMIT, notices, until};

fn start(transport: SyslogTransport, address: std::net::SocketAddr) -> AccessLogger {
    let target =
        AccessLogTarget::Syslog(SyslogServer { transport, address, tls: SyslogTls::default() });
    let (notice, _told) = notices();
    AccessLogger::start(&target, notice).unwrap()
}

/// The line in a message, whose other parts are as RFC 5424 §6 has them.
fn line_of(message: &[u8]) -> String {
    let text = std::str::from_utf8(message).unwrap();
    let parts: Vec<&str> = text.splitn(8, ' ').collect();
    let [priority, time, host, program, process, kind, data, line] = parts[..] else {
        panic!("{text}")
    };
    assert_eq!((priority, program, kind, data), ("<134>1", "steelyard", "access", "-"), "{text}");
    assert_eq!(process, std::process::id().to_string(), "{text}");
    assert!(time.len() == 24 && time.ends_with('Z') && time.as_bytes()[10] == b'T', "{text}");
    assert!((1..=255).contains(&host.len()), "{text}");
    line.to_owned()
}

fn accept(listener: &TcpListener) -> BufReader<TcpStream> {
    let stream = listener.accept().unwrap().0;
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    BufReader::new(stream)
}

/// The line in the next message of a stream; `None`: it has ended.
fn next_line(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut length = Vec::new();
    stream.read_until(b' ', &mut length).unwrap();
    let length = length.strip_suffix(b" ")?;
    let length: usize = std::str::from_utf8(length).unwrap().parse().unwrap();
    let mut message = vec![0; length];
    stream.read_exact(&mut message).unwrap();
    Some(line_of(&message))
}

#[test]
fn each_line_is_a_datagram_and_one_that_fits_in_none_takes_no_other_with_it() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_read_timeout(Some(LIMIT)).unwrap();
    let log = start(SyslogTransport::Udp, server.local_addr().unwrap());
    let long = [vec![b'x'; 70_000], b"\n".to_vec()].concat();
    assert!(log.log([&b"{\"a\":1}\n"[..], &long, b"two\n"].concat()));
    let mut buffer = [0; 1024];
    for wanted in ["{\"a\":1}", "two"] {
        let length = server.recv(&mut buffer).unwrap();
        assert_eq!(line_of(&buffer[..length]), wanted);
    }
    assert!(log.stop(LIMIT));
    let counts = log.counts();
    assert_eq!((counts.written, counts.dropped_target, counts.errors), (2, 1, 1));
}

#[test]
fn a_stream_has_each_line_with_its_length() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let log = start(SyslogTransport::Tcp, listener.local_addr().unwrap());
    let mut stream = accept(&listener);
    assert!(log.log(b"one\n{\"b\": \"two words\"}\n".to_vec()));
    assert!(log.log(b"three\n".to_vec()));
    for wanted in ["one", "{\"b\": \"two words\"}", "three"] {
        assert_eq!(next_line(&mut stream).as_deref(), Some(wanted));
    }
    assert!(log.stop(LIMIT));
    assert_eq!(next_line(&mut stream), None);
    assert_eq!(log.counts(), AccessCounts { written: 3, ..AccessCounts::default() });
}

#[test]
fn a_server_that_stops_reading_delays_nobody_and_what_it_misses_is_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let log = start(SyslogTransport::Tcp, listener.local_addr().unwrap());
    let mut stream = accept(&listener);
    let batch = [vec![b'x'; 999], b"\n".to_vec()].concat().repeat(100);
    let mut sent = 0;
    let deadline = Instant::now() + LIMIT;
    while log.counts().dropped_target == 0 {
        assert!(Instant::now() < deadline, "{:?}", log.counts());
        sent += 100 * u64::from(log.log(batch.clone()));
    }
    let counts = until(&log, |c| c.written + c.dropped_target == sent);
    // It reads again: messages are whole, and a new line comes after those that it had.
    let mut seen = 0;
    let found = loop {
        if seen >= counts.written {
            assert!(log.log(b"again\n".to_vec()));
        }
        let Some(line) = next_line(&mut stream) else { break false };
        if line == "again" {
            break true;
        }
        assert_eq!(line.len(), 999);
        seen += 1;
    };
    assert!(found, "the connection has ended");
    // Of some lines the server had taken a part when they were counted as lost: one for each error at most.
    assert!(
        (counts.written..=counts.written + counts.errors).contains(&seen),
        "{seen}: {counts:?}"
    );
    drop(stream);
    log.stop(LIMIT);
}

#[test]
fn a_server_that_ended_or_is_not_there_costs_lines_until_it_is_back() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let log = start(SyslogTransport::Tcp, address);
    let mut stream = accept(&listener);
    assert!(log.log(b"one\n".to_vec()));
    assert_eq!(next_line(&mut stream).as_deref(), Some("one"));
    drop((stream, listener));
    let deadline = Instant::now() + LIMIT;
    while log.counts().dropped_target < 2 {
        assert!(Instant::now() < deadline, "{:?}", log.counts());
        log.log(b"lost\n".to_vec());
        std::thread::yield_now();
    }
    assert!(log.counts().failing);
    let listener = TcpListener::bind(address).unwrap();
    listener.set_nonblocking(true).unwrap();
    let stream = loop {
        assert!(Instant::now() < deadline + LIMIT, "{:?}", log.counts());
        log.log(b"back\n".to_vec());
        if let Ok(accepted) = listener.accept() {
            break accepted.0;
        }
        std::thread::yield_now();
    };
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    log.log(b"back\n".to_vec());
    let mut stream = BufReader::new(stream);
    assert_eq!(next_line(&mut stream).as_deref(), Some("back"));
    until(&log, |c| !c.failing);
    drop(stream);
    log.stop(Duration::from_millis(1));
}
