//! Asks resolvers over UDP, and over TCP where an answer does not fit. What is said is `dns`'s.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use model::config::DiscoverySource;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

use super::dns::{DiscoveryAnswer, DiscoveryAnswerError, DiscoveryQuery};
use crate::util::atomic_file;

/// For one resolver to answer.
/// A resolver may have to ask several servers first; a silent one must not delay the next one for long.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);
/// How many times all resolvers are tried, one after another.
/// A lost datagram is repeated once; a further failure waits for the next lookup.
const ROUNDS: usize = 2;
/// The resolvers that are used: as many as the C library does (resolv.conf(5), MAXNS).
const RESOLVERS: usize = 3;
/// The size of a datagram buffer. Servers send at most 512 bytes unless a query announces more (RFC 1035 §4.2.1).
const DATAGRAM: usize = 4096;
/// The most bytes read from `resolv.conf`.
const CONF_BYTES: u64 = 64 * 1024;

/// Queries a source's name; the first answer of any resolver counts.
pub(super) async fn query_resolvers(place: &DiscoverySource) -> Result<DiscoveryAnswer, String> {
    let DiscoverySource::Dns { name, records, port, resolver } = place else {
        return Err("a file is not asked".to_owned());
    };
    let resolvers = match resolver {
        Some(resolver) => vec![*resolver],
        None => system(),
    };
    let mut why = "no resolver is known".to_owned();
    for _ in 0..ROUNDS {
        for to in &resolvers {
            // Every query has a new id, so that a late answer to an earlier one is ignored.
            let question = DiscoveryQuery::new(name, *records, *port)?;
            match tokio::time::timeout(QUERY_TIMEOUT, query_resolver(*to, &question)).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => why = format!("{to}: {error}"),
                Err(_) => why = format!("{to} did not answer within {QUERY_TIMEOUT:?}"),
            }
        }
    }
    Err(why)
}

async fn query_resolver(
    to: SocketAddr,
    question: &DiscoveryQuery,
) -> Result<DiscoveryAnswer, String> {
    let text = |error: std::io::Error| error.to_string();
    let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).await.map_err(text)?;
    socket.connect(to).await.map_err(text)?;
    socket.send(&question.bytes).await.map_err(text)?;
    let mut room = vec![0; DATAGRAM];
    loop {
        let length = socket.recv(&mut room).await.map_err(text)?;
        match question.parse_answer(room.get(..length).unwrap_or_default()) {
            Ok(answer) => return Ok(answer),
            Err(DiscoveryAnswerError::OtherQuery) => {}
            Err(DiscoveryAnswerError::Truncated) => {
                return stream(to, question).await.map_err(text)?;
            }
            Err(DiscoveryAnswerError::Refused(why)) => return Err(why),
        }
    }
}

async fn stream(
    to: SocketAddr,
    question: &DiscoveryQuery,
) -> std::io::Result<Result<DiscoveryAnswer, String>> {
    let mut stream = TcpStream::connect(to).await?;
    let length = u16::try_from(question.bytes.len()).unwrap_or(u16::MAX);
    stream.write_u16(length).await?;
    stream.write_all(&question.bytes).await?;
    let length = stream.read_u16().await?;
    let mut bytes = vec![0; usize::from(length)];
    stream.read_exact(&mut bytes).await?;
    Ok(question.parse_answer(&bytes).map_err(|bad| match bad {
        DiscoveryAnswerError::Refused(why) => why,
        DiscoveryAnswerError::OtherQuery => "the answer is to another question".to_owned(),
        DiscoveryAnswerError::Truncated => "the answer is cut short over TCP too".to_owned(),
    }))
}

/// The system's resolvers; without any, that of this machine (resolv.conf(5)).
fn system() -> Vec<SocketAddr> {
    let text = atomic_file::read(Path::new("/etc/resolv.conf"), CONF_BYTES).ok().flatten();
    let addresses = resolvers(&text.unwrap_or_default());
    if addresses.is_empty() { vec![(Ipv4Addr::LOCALHOST, 53).into()] } else { addresses }
}

fn resolvers(text: &str) -> Vec<SocketAddr> {
    let entry = |line: &str| {
        let address = line.trim().strip_prefix("nameserver")?.trim();
        let address: IpAddr = address.split('%').next()?.parse().ok()?;
        Some((address, 53).into())
    };
    text.lines().filter_map(entry).take(RESOLVERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_resolvers_are_read() {
        let text = "# x\nsearch a.b\nnameserver 10.0.0.2\nnameserver ::1\nnameserver x\nnameserver 1.1.1.1\nnameserver 1.1.1.2\n";
        let addresses: Vec<String> = resolvers(text).iter().map(ToString::to_string).collect();
        assert_eq!(addresses, ["10.0.0.2:53", "[::1]:53", "1.1.1.1:53"]);
    }
}
