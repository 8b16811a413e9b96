//! A stand-in resolver: it answers questions for addresses of the run's names over UDP (RFC 1035), and no others.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::plan::HostEntry;

/// Between two looks at whether the run has ended.
const LOOK: Duration = Duration::from_millis(200);
/// The header of a message, bytes (RFC 1035 section 4.1.1).
const HEADER: usize = 12;
/// Types of records with addresses (RFC 1035 section 3.2.2, RFC 3596).
const A: u16 = 1;
const AAAA: u16 = 28;

/// A running resolver; dropping it ends it.
#[derive(Debug)]
pub struct StandInResolver {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl StandInResolver {
    /// Answers at this address, in the network of the calling thread.
    pub fn start(address: SocketAddr, hosts: &[HostEntry]) -> io::Result<StandInResolver> {
        let socket = UdpSocket::bind(address)?;
        socket.set_read_timeout(Some(LOOK))?;
        let ends = Arc::new(AtomicBool::new(false));
        let stop = ends.clone();
        let hosts = hosts.to_vec();
        let thread = std::thread::spawn(move || {
            let mut query = [0; 512];
            while !stop.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut query) else { continue };
                if let Some(answer) = answer(&query[..length], &hosts) {
                    // Ignored: who asked may be gone.
                    let _ = socket.send_to(&answer, from);
                }
            }
        });
        Ok(StandInResolver { ends, thread: Some(thread) })
    }
}

impl Drop for StandInResolver {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The answer to a query with one question; `None`: it is none.
fn answer(query: &[u8], hosts: &[HostEntry]) -> Option<Vec<u8>> {
    let mut name = String::new();
    let mut at = HEADER;
    loop {
        let length = usize::from(*query.get(at)?);
        if length == 0 {
            break;
        }
        let label = query.get(at + 1..at + 1 + length)?;
        name.push_str(&String::from_utf8_lossy(label).to_ascii_lowercase());
        name.push('.');
        at += 1 + length;
    }
    let question = query.get(HEADER..at + 5)?;
    let kind = u16::from_be_bytes([*query.get(at + 1)?, *query.get(at + 2)?]);
    let known = hosts.iter().find(|entry| name.trim_end_matches('.') == entry.name);
    let data = match known.map(|entry| entry.address) {
        Some(IpAddr::V4(address)) if kind == A => address.octets().to_vec(),
        Some(IpAddr::V6(address)) if kind == AAAA => address.octets().to_vec(),
        _ => Vec::new(),
    };
    let mut out = query.get(..2)?.to_vec();
    // A response with recursion, and NXDOMAIN for a name that is unknown.
    out.extend([0x81, if known.is_some() { 0x80 } else { 0x83 }]);
    out.extend([0, 1, 0, u8::from(!data.is_empty()), 0, 0, 0, 0]);
    out.extend(question);
    if !data.is_empty() {
        // The name of the question, its type, class IN, and a minute to live.
        out.extend([0xc0, 0x0c]);
        out.extend(kind.to_be_bytes());
        out.extend([0, 1, 0, 0, 0, 60]);
        out.extend((data.len() as u16).to_be_bytes());
        out.extend(data);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_have_their_address_and_others_do_not_exist() {
        let hosts = [HostEntry { name: "a.lan".into(), address: "198.18.0.1".parse().unwrap() }];
        let ask = |label: &[u8], kind: u8| {
            let mut query = vec![7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
            query.extend(label);
            query.extend([0, 0, kind, 0, 1]);
            answer(&query, &hosts)
        };
        let found = ask(b"\x01A\x03lan", 1).unwrap();
        assert_eq!((found[3], found[7]), (0x80, 1));
        assert!(found.ends_with(&[0, 4, 198, 18, 0, 1]));
        assert_eq!(ask(b"\x01a\x03lan", 28).unwrap()[7], 0);
        assert_eq!(ask(b"\x01b\x03lan", 1).unwrap()[3], 0x83);
        assert_eq!(answer(&[1, 2, 3], &hosts), None);
    }
}
