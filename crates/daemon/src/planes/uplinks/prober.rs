//! Probes one target through one uplink, and reports its answers.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket as Plain};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use links::echo::EchoRequest;
use links::uplink::health::UplinkTarget;
use model::monotonic_time::MonotonicTime;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpSocket, UdpSocket};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use crate::util::monotonic_clock::monotonic_now;

/// The size of the read buffer; longer answers are not to these probes.
const ANSWER: usize = 256;
/// Connections to one target that may be under way; further questions have no answer.
const CALLS: usize = 64;

#[derive(Clone, Copy, Debug)]
pub struct UplinkProbeReply {
    pub token: u64,
    pub number: u16,
    pub at: MonotonicTime,
}

/// By which way questions leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeRoute<'a> {
    pub interface: &'a str,
    pub ifindex: u32,
    /// The mark that leads to the gateway.
    pub mark: u32,
}

#[derive(Debug)]
pub struct UplinkProber {
    /// The token that this prober's answers carry.
    pub token: u64,
    interface: String,
    /// The mark that leads to the gateway.
    mark: u32,
    to: SocketAddr,
    limit: Duration,
    kind: UplinkProbeMethod,
    replies: mpsc::Sender<UplinkProbeReply>,
}

#[derive(Debug)]
enum UplinkProbeMethod {
    Echo(Arc<UdpSocket>, JoinHandle<()>),
    Connect(JoinSet<()>),
}

impl Drop for UplinkProber {
    fn drop(&mut self) {
        if let UplinkProbeMethod::Echo(_, reader) = &self.kind {
            reader.abort();
        }
    }
}

impl UplinkProber {
    /// Opens the prober. Answers are sent to `heard`. `limit`: later answers are ignored.
    ///
    /// # Errors
    /// The right to open such sockets is missing, or the interface is.
    pub fn open(
        target: UplinkTarget,
        way: ProbeRoute<'_>,
        token: u64,
        limit: Duration,
        heard: mpsc::Sender<UplinkProbeReply>,
    ) -> io::Result<UplinkProber> {
        let port = if let UplinkTarget::Connect(at) = target { at.port() } else { 0 };
        let to = match target.ip() {
            IpAddr::V6(v6) if v6.is_unicast_link_local() => {
                SocketAddrV6::new(v6, port, 0, way.ifindex).into()
            }
            ip => SocketAddr::new(ip, port),
        };
        let kind = match target {
            UplinkTarget::Connect(_) => UplinkProbeMethod::Connect(JoinSet::new()),
            UplinkTarget::Echo(ip) => {
                let (domain, protocol) = match ip {
                    IpAddr::V4(_) => (Domain::IPV4, Protocol::ICMPV4),
                    IpAddr::V6(_) => (Domain::IPV6, Protocol::ICMPV6),
                };
                let socket = bind_to_uplink(
                    Socket::new(domain, Type::RAW, Some(protocol))?,
                    way.interface,
                    way.mark,
                )?;
                // A raw socket sends and receives with addresses as one of datagrams does.
                let socket = Arc::new(UdpSocket::from_std(Plain::from(OwnedFd::from(socket)))?);
                let reader =
                    tokio::spawn(read_replies(Arc::clone(&socket), ip, token, heard.clone()));
                UplinkProbeMethod::Echo(socket, reader)
            }
        };
        let interface = way.interface.to_owned();
        Ok(UplinkProber { token, interface, mark: way.mark, to, limit, kind, replies: heard })
    }

    /// Sends a probe. A send error is ignored, because the probe then counts as unanswered.
    pub fn send_probe(&mut self, number: u16) {
        match &mut self.kind {
            UplinkProbeMethod::Echo(socket, _) => {
                let echo = EchoRequest { token: self.token, number, sent: monotonic_now() };
                // A probe that was not sent counts as lost.
                let _ = socket.try_send_to(&echo.to_request(self.to.is_ipv6()), self.to);
            }
            UplinkProbeMethod::Connect(calls) => {
                while calls.try_join_next().is_some() {}
                if calls.len() < CALLS {
                    let interface = self.interface.clone();
                    let mark = self.mark;
                    let to = self.to;
                    let limit = self.limit;
                    let heard = self.replies.clone();
                    let token = self.token;
                    calls.spawn(async move {
                        let called =
                            tokio::time::timeout(limit, connect_probe(&interface, mark, to)).await;
                        if matches!(called, Ok(Ok(()))) {
                            // Fails only if the uplink's task has ended.
                            let _ = heard
                                .send(UplinkProbeReply { token, number, at: monotonic_now() })
                                .await;
                        }
                    });
                }
            }
        }
    }

    /// Whether the prober still receives.
    pub fn is_alive(&self) -> bool {
        match &self.kind {
            UplinkProbeMethod::Echo(_, reader) => !reader.is_finished(),
            UplinkProbeMethod::Connect(_) => true,
        }
    }
}

/// A socket that leaves by this interface, with this mark.
fn bind_to_uplink(socket: Socket, interface: &str, mark: u32) -> io::Result<Socket> {
    socket.bind_device(Some(interface.as_bytes()))?;
    socket.set_mark(mark)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Connects and closes; a target that refuses has answered.
async fn connect_probe(interface: &str, mark: u32, to: SocketAddr) -> io::Result<()> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
    let socket = bind_to_uplink(socket, interface, mark)?;
    // No data was sent: a reset ends the connection at once and leaves no TIME_WAIT.
    socket.set_linger(Some(Duration::ZERO))?;
    let socket = TcpSocket::from_std_stream(OwnedFd::from(socket).into());
    match socket.connect(to).await {
        Err(error) if error.kind() != io::ErrorKind::ConnectionRefused => Err(error),
        _ => Ok(()),
    }
}

async fn read_replies(
    socket: Arc<UdpSocket>,
    target: IpAddr,
    token: u64,
    heard: mpsc::Sender<UplinkProbeReply>,
) {
    let mut buffer = [0; ANSWER];
    loop {
        let (bytes, from) = match socket.recv_from(&mut buffer).await {
            Ok(got) => got,
            // Errors of earlier probes arrive here too. Only missing answers count, not their reason.
            Err(error) if error.raw_os_error() != Some(libc::ENODEV) => {
                tokio::task::yield_now().await;
                continue;
            }
            Err(_) => return,
        };
        let at = monotonic_now();
        let echo = EchoRequest::parse_reply(&buffer[..bytes], target.is_ipv6());
        let ours = echo.filter(|echo| from.ip() == target && echo.token == token);
        if let Some(EchoRequest { number, .. }) = ours
            && heard.send(UplinkProbeReply { token, number, at }).await.is_err()
        {
            return;
        }
    }
}
