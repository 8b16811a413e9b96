//! Probes one target periodically, and reports whether it answered in time.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket as Plain};
use std::os::fd::OwnedFd;
use std::time::Duration;

use links::echo::EchoRequest;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::message::HeartbeatMessage;
use crate::util::monotonic_clock::monotonic_now;
use crate::util::random_seed::random_seed;

/// The size of the read buffer; longer answers are not to these probes.
const ANSWER: usize = 256;

/// The target and the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetEndpoint {
    Echo(IpAddr),
    /// By a connection, which is closed at once.
    Connect(SocketAddr),
}

impl std::fmt::Display for TargetEndpoint {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TargetEndpoint::Echo(ip) => write!(to, "{ip}"),
            TargetEndpoint::Connect(at) => write!(to, "{at}"),
        }
    }
}

/// Probes a target until the task is aborted.
pub fn probe_target(
    at: TargetEndpoint,
    every: Duration,
    limit: Duration,
    era: u64,
    index: usize,
    to: mpsc::Sender<HeartbeatMessage>,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut every = interval(every);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut caller = IcmpProber { token: random_seed(), number: 0, socket: None };
        loop {
            every.tick().await;
            let answered = match at {
                TargetEndpoint::Connect(at) => {
                    timeout(limit, TcpStream::connect(at)).await.map(|it| it.is_ok())
                }
                TargetEndpoint::Echo(ip) => timeout(limit, caller.ping(ip))
                    .await
                    .map(|it| it.inspect_err(|_| caller.socket = None).is_ok()),
            };
            let answered = answered.unwrap_or(false);
            if to.send(HeartbeatMessage::TargetAnswer(era, index, answered)).await.is_err() {
                return;
            }
        }
    })
}

/// Probes by ICMP echo.
struct IcmpProber {
    token: u64,
    number: u16,
    socket: Option<UdpSocket>,
}

impl IcmpProber {
    /// Sends an echo request and waits for its answer without a limit.
    async fn ping(&mut self, ip: IpAddr) -> io::Result<()> {
        let socket = match &self.socket {
            Some(socket) => socket,
            None => self.socket.insert(open(ip)?),
        };
        self.number = self.number.wrapping_add(1);
        let question =
            EchoRequest { token: self.token, number: self.number, sent: monotonic_now() };
        socket.send_to(&question.to_request(ip.is_ipv6()), SocketAddr::new(ip, 0)).await?;
        let mut buffer = [0; ANSWER];
        loop {
            let (bytes, from) = socket.recv_from(&mut buffer).await?;
            let echo = EchoRequest::parse_reply(&buffer[..bytes], ip.is_ipv6());
            let ours = echo.is_some_and(|echo| {
                (echo.token, echo.number) == (self.token, self.number) && from.ip() == ip
            });
            if ours {
                return Ok(());
            }
        }
    }
}

/// A raw socket, which sends and receives with addresses as one of datagrams does.
fn open(ip: IpAddr) -> io::Result<UdpSocket> {
    let (domain, protocol) = match ip {
        IpAddr::V4(_) => (Domain::IPV4, Protocol::ICMPV4),
        IpAddr::V6(_) => (Domain::IPV6, Protocol::ICMPV6),
    };
    let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
    socket.set_nonblocking(true)?;
    UdpSocket::from_std(Plain::from(OwnedFd::from(socket)))
}
