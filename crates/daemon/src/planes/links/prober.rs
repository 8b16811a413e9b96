//! The socket that probes a link's next hop, and the task that receives the answers, and the other end's probes if it
//! probes as well.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket as Plain};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use links::echo::{EchoRequest, ReceivedEcho};
use model::monotonic_time::MonotonicTime;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::util::monotonic_clock::monotonic_now;

/// The size of the read buffer; longer packets are not for these probes.
const REPLY_BYTES: usize = 256;

/// A message that arrived by a link.
#[derive(Clone, Copy, Debug)]
pub enum FarEndMessage {
    /// An answer to one of our questions.
    Reply(ProbeReply),
    /// The far end reports that another link has no carrier there.
    CarrierLost(CarrierNotice),
}

/// A carrier notice of the far end.
#[derive(Clone, Copy, Debug)]
pub struct CarrierNotice {
    /// The link that it arrived by: the token of this side's probes there.
    pub via_token: u64,
    /// The link without a carrier: the token of the far end's probes there.
    pub down_token: u64,
    /// The far end's clock at sending.
    pub sent: MonotonicTime,
}

/// The last probe that the next hop sent over this link. A host that has not received the probes does not know their
/// token, so it cannot falsely report the link as down.
#[derive(Debug, Default)]
pub struct FarEnd {
    token: AtomicU64,
    sent: AtomicU64,
}

impl FarEnd {
    fn record_question(&self, question: &EchoRequest) {
        self.token.store(question.token, Ordering::Relaxed);
        self.sent.store(question.sent.0, Ordering::Relaxed);
    }

    fn has_token(&self, token: u64) -> bool {
        token != 0 && self.token.load(Ordering::Relaxed) == token
    }

    /// Whether its probes carry this token and the last one was sent earlier. After a link has recovered, repeated
    /// notices are old.
    pub fn is_older_than(&self, token: u64, than: MonotonicTime) -> bool {
        self.has_token(token) && self.sent.load(Ordering::Relaxed) < than.0
    }
}

/// An answer to one of our questions.
#[derive(Clone, Copy, Debug)]
pub struct ProbeReply {
    pub echo: EchoRequest,
    pub at: MonotonicTime,
}

#[derive(Debug)]
pub struct LinkProber {
    /// The token of this side's probes.
    pub token: u64,
    /// The next hop, as its own probes identify it.
    pub far_end: Arc<FarEnd>,
    socket: Arc<UdpSocket>,
    to: SocketAddr,
    reader: JoinHandle<()>,
}

impl Drop for LinkProber {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl LinkProber {
    /// Opens the prober on an interface. Answers are sent to `heard`.
    ///
    /// # Errors
    /// The right to open raw sockets is missing, or the interface is.
    pub fn open(
        interface: &str,
        ifindex: u32,
        via: IpAddr,
        token: u64,
        heard: mpsc::Sender<FarEndMessage>,
    ) -> io::Result<LinkProber> {
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
        let far = Arc::<FarEnd>::default();
        let ears = ReplyFilter { via, token, far: Arc::clone(&far), messages: heard };
        let reader = tokio::spawn(read_replies(Arc::clone(&socket), ears));
        Ok(LinkProber { token, far_end: far, socket, to, reader })
    }

    /// Sends a probe. A send error is ignored, because the probe then counts as unanswered.
    pub fn send_probe(&self, number: u16) {
        let echo = EchoRequest { token: self.token, number, sent: monotonic_now() };
        // A probe that was not sent counts as lost.
        let _ = self.socket.try_send_to(&echo.to_request(self.to.is_ipv6()), self.to);
    }

    /// Announces that the link with these probes has no carrier here.
    pub fn send_carrier_notice(&self, down: u64) {
        // No probe has number 0, so the answer has no effect.
        let echo = EchoRequest { token: self.token, number: 0, sent: monotonic_now() };
        // If a notice is not sent, the far end still has its own probes.
        let _ = self.socket.try_send_to(&echo.to_down_notice(self.to.is_ipv6(), down), self.to);
    }

    /// Whether the prober still receives.
    pub fn is_alive(&self) -> bool {
        !self.reader.is_finished()
    }
}

/// Which packets a link's socket accepts, and where they are sent.
struct ReplyFilter {
    via: IpAddr,
    token: u64,
    far: Arc<FarEnd>,
    messages: mpsc::Sender<FarEndMessage>,
}

impl ReplyFilter {
    /// Parses a packet; `None`: it carries no message, or is another host's.
    fn parse_message(&self, bytes: &[u8], from: IpAddr) -> Option<FarEndMessage> {
        if from != self.via {
            return None;
        }
        let at = monotonic_now();
        let v6 = self.via.is_ipv6();
        if let Some(echo) = EchoRequest::parse_reply(bytes, v6) {
            return (echo.token == self.token)
                .then_some(FarEndMessage::Reply(ProbeReply { echo, at }));
        }
        let ReceivedEcho { echo, reports_link_down: down } = ReceivedEcho::read(bytes, v6)?;
        match down {
            Some(down) if self.far.has_token(echo.token) => {
                Some(FarEndMessage::CarrierLost(CarrierNotice {
                    via_token: self.token,
                    down_token: down,
                    sent: echo.sent,
                }))
            }
            Some(_) => None,
            None => {
                self.far.record_question(&echo);
                None
            }
        }
    }
}

async fn read_replies(socket: Arc<UdpSocket>, ears: ReplyFilter) {
    let mut buffer = [0; REPLY_BYTES];
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
        if let Some(heard) = ears.parse_message(&buffer[..bytes], from.ip())
            && ears.messages.send(heard).await.is_err()
        {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIA: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 41, 1, 2));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 41, 1, 3));

    fn ears(token: u64) -> ReplyFilter {
        ReplyFilter { via: VIA, token, far: Arc::default(), messages: mpsc::channel(1).0 }
    }

    fn echo(token: u64, sent: u64) -> EchoRequest {
        EchoRequest { token, number: 0, sent: MonotonicTime(sent) }
    }

    fn came(message: Vec<u8>) -> Vec<u8> {
        [&[0x45; 20][..], &message].concat()
    }

    #[test]
    fn the_far_end_is_believed_by_what_its_questions_carry() {
        let first = ears(1);
        let second = ears(2);
        let question = |token, sent| came(echo(token, sent).to_request(false));
        let notice = |token, sent, down| came(echo(token, sent).to_down_notice(false, down));
        // Notices are rejected before the far end is known, from another host, and with another token.
        assert!(second.parse_message(&notice(22, 9, 11), VIA).is_none());
        assert!(first.parse_message(&question(11, 5), VIA).is_none());
        assert!(second.parse_message(&question(22, 6), VIA).is_none());
        assert!(second.parse_message(&question(66, 7), OTHER).is_none());
        assert!(second.parse_message(&notice(22, 9, 11), OTHER).is_none());
        assert!(second.parse_message(&notice(66, 9, 11), VIA).is_none());
        let Some(FarEndMessage::CarrierLost(news)) = second.parse_message(&notice(22, 9, 11), VIA)
        else {
            panic!("no news")
        };
        assert_eq!((news.via_token, news.down_token, news.sent), (2, 11, MonotonicTime(9)));
        assert!(first.far.is_older_than(news.down_token, news.sent));
        assert!(!second.far.is_older_than(news.down_token, news.sent), "it names another link");
        assert!(!first.far.is_older_than(0, news.sent));
        // After the link has recovered, the same notice is old.
        assert!(first.parse_message(&question(11, 10), VIA).is_none());
        assert!(!first.far.is_older_than(news.down_token, news.sent));
    }
}
