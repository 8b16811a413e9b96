//! The socket by which a link's next hop is asked, and the task that hears its answers. It judges nothing.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket as Plain};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use links::echo::Echo;
use model::moment::Moment;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::vrrp::now;

/// Bytes of an answer that are read; more is not ours.
const ANSWER: usize = 256;

/// An answer to one of our questions.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    /// Whose.
    pub echo: Echo,
    /// When it came.
    pub at: Moment,
}

/// A link's socket.
#[derive(Debug)]
pub struct Asker {
    /// What our questions carry.
    pub token: u64,
    socket: Arc<UdpSocket>,
    to: SocketAddr,
    reader: JoinHandle<()>,
}

impl Drop for Asker {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Asker {
    /// Opens it at an interface; answers go to `heard`.
    ///
    /// # Errors
    /// The right to open raw sockets is missing, or the interface is.
    pub fn open(
        (interface, ifindex): (&str, u32),
        via: IpAddr,
        token: u64,
        heard: mpsc::Sender<Heard>,
    ) -> io::Result<Asker> {
        let (domain, protocol) = match via {
            IpAddr::V4(_) => (Domain::IPV4, Protocol::ICMPV4),
            IpAddr::V6(_) => (Domain::IPV6, Protocol::ICMPV6),
        };
        let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
        socket.bind_device(Some(interface.as_bytes()))?;
        socket.set_nonblocking(true)?;
        // A raw socket sends and receives with addresses as one of datagrams does.
        let socket = Arc::new(UdpSocket::from_std(Plain::from(OwnedFd::from(socket)))?);
        let to = match via {
            IpAddr::V4(_) => SocketAddr::new(via, 0),
            IpAddr::V6(v6) => {
                let scope = if v6.is_unicast_link_local() { ifindex } else { 0 };
                SocketAddrV6::new(v6, 0, 0, scope).into()
            }
        };
        let reader = tokio::spawn(read(Arc::clone(&socket), via, token, heard));
        Ok(Asker { token, socket, to, reader })
    }

    /// Asks. A question that cannot be sent has no answer, which is what counts.
    pub fn ask(&self, number: u16) {
        let echo = Echo { token: self.token, number, sent: now() };
        let _ = self.socket.try_send_to(&echo.question(self.to.is_ipv6()), self.to);
    }

    /// Whether it hears still.
    pub fn lives(&self) -> bool {
        !self.reader.is_finished()
    }
}

async fn read(socket: Arc<UdpSocket>, via: IpAddr, token: u64, heard: mpsc::Sender<Heard>) {
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
        let echo = Echo::answer(&buffer[..bytes], via.is_ipv6());
        let ours = echo.filter(|echo| from.ip() == via && echo.token == token);
        if let Some(echo) = ours
            && heard.send(Heard { echo, at }).await.is_err()
        {
            return;
        }
    }
}
