//! The server beyond the routers: it sends each connection its source address, and then echoes lines.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use lab::net::NetworkNamespace;

pub const V4: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
pub const V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xe, 0, 0, 0, 0, 1);

/// The timeout of connects and reads.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection to the server.
pub struct ServerConnection {
    stream: BufReader<TcpStream>,
    /// The source address that the server sees.
    pub from: IpAddr,
}

/// Serves at an address of the server until the test ends.
pub fn serve(host: &NetworkNamespace, ip: IpAddr) -> SocketAddr {
    let listener = host.run_inside(|| TcpListener::bind((ip, 0)).unwrap()).unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((stream, from)) = listener.accept() {
            std::thread::spawn(move || {
                let mut out = stream.try_clone().unwrap();
                let _ = writeln!(out, "{}", from.ip());
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    if writeln!(out, "{line}").is_err() {
                        return;
                    }
                }
            });
        }
    });
    at
}

impl ServerConnection {
    /// Connects from a host. `None` if the connection is not established within `patience`.
    pub fn to(
        host: &NetworkNamespace,
        at: SocketAddr,
        patience: Duration,
    ) -> Option<ServerConnection> {
        let stream = host.run_inside(|| TcpStream::connect_timeout(&at, patience)).unwrap().ok()?;
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut stream = BufReader::new(stream);
        let from = read(&mut stream).parse().unwrap();
        Some(ServerConnection { stream, from })
    }

    /// Sends a line and checks its echo.
    pub fn speak(&mut self) {
        self.stream.get_mut().write_all(b"word\n").unwrap();
        assert_eq!(read(&mut self.stream), "word");
    }
}

/// Opens `count` connections from a host.
pub fn lines(host: &NetworkNamespace, at: SocketAddr, count: usize) -> Vec<ServerConnection> {
    (0..count)
        .map(|_| ServerConnection::to(host, at, PATIENCE).expect("the server answers"))
        .collect()
}

/// The number of connections from each source address.
pub fn shares(lines: &[ServerConnection]) -> BTreeMap<IpAddr, usize> {
    let mut shares = BTreeMap::new();
    for line in lines {
        *shares.entry(line.from).or_default() += 1;
    }
    shares
}

fn read(from: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    from.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}
