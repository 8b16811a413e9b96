//! Asks one target through one uplink, and tells when it answers. It judges nothing.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket as Plain};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use links::echo::Echo;
use links::uplink::judge::Target;
use model::moment::Moment;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpSocket, UdpSocket};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use crate::vrrp::now;

/// Bytes of an answer that are read; more is not ours.
const ANSWER: usize = 256;
/// Connections to one target that may be under way; further questions have no answer.
const CALLS: usize = 64;

/// A target answered.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    /// To whose question.
    pub token: u64,
    /// To which.
    pub number: u16,
    /// When it came.
    pub at: Moment,
}

/// By which way questions leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way<'a> {
    /// The interface.
    pub interface: &'a str,
    /// Its number.
    pub ifindex: u32,
    /// The mark that leads to the gateway.
    pub mark: u32,
}

/// Asks a target.
#[derive(Debug)]
pub struct Asker {
    /// Whose answers are ours.
    pub token: u64,
    way: (String, u32),
    to: SocketAddr,
    limit: Duration,
    kind: Kind,
    heard: mpsc::Sender<Heard>,
}

#[derive(Debug)]
enum Kind {
    Echo(Arc<UdpSocket>, JoinHandle<()>),
    Connect(JoinSet<()>),
}

impl Drop for Asker {
    fn drop(&mut self) {
        if let Kind::Echo(_, reader) = &self.kind {
            reader.abort();
        }
    }
}

impl Asker {
    /// Opens it; answers go to `heard`. `limit`: what takes longer is no answer.
    ///
    /// # Errors
    /// The right to open such sockets is missing, or the interface is.
    pub fn open(
        target: Target,
        way: Way<'_>,
        (token, limit): (u64, Duration),
        heard: mpsc::Sender<Heard>,
    ) -> io::Result<Asker> {
        let port = if let Target::Connect(at) = target { at.port() } else { 0 };
        let to = match target.ip() {
            IpAddr::V6(v6) if v6.is_unicast_link_local() => {
                SocketAddrV6::new(v6, port, 0, way.ifindex).into()
            }
            ip => SocketAddr::new(ip, port),
        };
        let kind = match target {
            Target::Connect(_) => Kind::Connect(JoinSet::new()),
            Target::Echo(ip) => {
                let (domain, protocol) = match ip {
                    IpAddr::V4(_) => (Domain::IPV4, Protocol::ICMPV4),
                    IpAddr::V6(_) => (Domain::IPV6, Protocol::ICMPV6),
                };
                let socket =
                    led(Socket::new(domain, Type::RAW, Some(protocol))?, way.interface, way.mark)?;
                // A raw socket sends and receives with addresses as one of datagrams does.
                let socket = Arc::new(UdpSocket::from_std(Plain::from(OwnedFd::from(socket)))?);
                let reader = tokio::spawn(read(Arc::clone(&socket), ip, token, heard.clone()));
                Kind::Echo(socket, reader)
            }
        };
        let way = (way.interface.to_owned(), way.mark);
        Ok(Asker { token, way, to, limit, kind, heard })
    }

    /// Asks. A question that cannot be sent has no answer, which is what counts.
    pub fn ask(&mut self, number: u16) {
        match &mut self.kind {
            Kind::Echo(socket, _) => {
                let echo = Echo { token: self.token, number, sent: now() };
                let _ = socket.try_send_to(&echo.question(self.to.is_ipv6()), self.to);
            }
            Kind::Connect(calls) => {
                while calls.try_join_next().is_some() {}
                if calls.len() < CALLS {
                    let (way, to, limit) = (self.way.clone(), self.to, self.limit);
                    let (heard, token) = (self.heard.clone(), self.token);
                    calls.spawn(async move {
                        let called = tokio::time::timeout(limit, call(&way.0, way.1, to)).await;
                        if matches!(called, Ok(Ok(()))) {
                            let _ = heard.send(Heard { token, number, at: now() }).await;
                        }
                    });
                }
            }
        }
    }

    /// Whether it hears still.
    pub fn lives(&self) -> bool {
        match &self.kind {
            Kind::Echo(_, reader) => !reader.is_finished(),
            Kind::Connect(_) => true,
        }
    }
}

/// A socket that leaves by this interface, with this mark.
fn led(socket: Socket, interface: &str, mark: u32) -> io::Result<Socket> {
    socket.bind_device(Some(interface.as_bytes()))?;
    socket.set_mark(mark)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Connects and closes; a target that refuses has answered.
async fn call(interface: &str, mark: u32, to: SocketAddr) -> io::Result<()> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
    let socket = led(socket, interface, mark)?;
    // Nothing is said: a reset ends it at once and leaves nothing behind.
    socket.set_linger(Some(Duration::ZERO))?;
    let socket = TcpSocket::from_std_stream(OwnedFd::from(socket).into());
    match socket.connect(to).await {
        Err(error) if error.kind() != io::ErrorKind::ConnectionRefused => Err(error),
        _ => Ok(()),
    }
}

async fn read(socket: Arc<UdpSocket>, target: IpAddr, token: u64, heard: mpsc::Sender<Heard>) {
    let mut buffer = [0; ANSWER];
    loop {
        let (bytes, from) = match socket.recv_from(&mut buffer).await {
            Ok(got) => got,
            // Errors of questions are told here too: what is unanswered counts, not why.
            Err(error) if error.raw_os_error() != Some(libc::ENODEV) => {
                tokio::task::yield_now().await;
                continue;
            }
            Err(_) => return,
        };
        let at = now();
        let echo = Echo::answer(&buffer[..bytes], target.is_ipv6());
        let ours = echo.filter(|echo| from.ip() == target && echo.token == token);
        if let Some(Echo { number, .. }) = ours
            && heard.send(Heard { token, number, at }).await.is_err()
        {
            return;
        }
    }
}
