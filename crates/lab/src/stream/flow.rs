//! Sends and receives a stream of TCP for a time. Both ends use it. It opens nothing.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::ask::{Ask, Seen};
use super::socket::read_back;

/// Longer than its time a run may take by so much, for what is under way.
pub const GRACE: Duration = Duration::from_secs(20);

/// Sends messages until the time is over, then ends this direction.
pub fn send(mut stream: &TcpStream, ask: &Ask) -> std::io::Result<Seen> {
    let message = vec![0x5a; ask.message as usize];
    stream.set_write_timeout(Some(GRACE))?;
    let began = Instant::now();
    let mut seen = Seen::default();
    while began.elapsed() < ask.time() {
        stream.write_all(&message)?;
        seen.bytes += message.len() as u64;
        seen.messages += 1;
    }
    seen.nanos = nanos(began.elapsed());
    // While it is open the kernel knows what became of the buffers.
    read_back(stream, &mut seen);
    stream.shutdown(Shutdown::Write)?;
    Ok(seen)
}

/// Receives until the peer ends its direction.
pub fn receive(mut stream: &TcpStream, ask: &Ask) -> std::io::Result<Seen> {
    let mut scratch = vec![0; SCRATCH];
    stream.set_read_timeout(Some(GRACE))?;
    let mut seen = Seen::default();
    let (mut first, mut last) = (None, Instant::now());
    let until = Instant::now() + ask.time() + GRACE;
    loop {
        match stream.read(&mut scratch) {
            Ok(0) => break,
            Ok(bytes) => {
                last = Instant::now();
                first.get_or_insert(last);
                seen.bytes += bytes as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if last > until {
            return Err(std::io::Error::new(ErrorKind::TimedOut, "the sender does not stop"));
        }
    }
    seen.nanos = first.map_or(0, |first| nanos(last.duration_since(first)));
    read_back(stream, &mut seen);
    Ok(seen)
}

/// As reports count.
pub fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

const SCRATCH: usize = 256 * 1024;
