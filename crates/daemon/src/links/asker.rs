//! The socket by which a link's next hop is asked, and the task that hears its answers, and its own questions if it asks as
//! well. It judges nothing.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket as Plain};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use links::echo::{Asked, Echo};
use model::moment::Moment;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::vrrp::now;

/// Bytes of an answer that are read; more is not ours.
const ANSWER: usize = 256;

/// What came by a link.
#[derive(Clone, Copy, Debug)]
pub enum Heard {
    /// An answer to one of our questions.
    Answer(Answer),
    /// The far end says that another link has no carrier there.
    Down(News),
}

/// What the far end says.
#[derive(Clone, Copy, Debug)]
pub struct News {
    /// By which link it came: what our questions carry there.
    pub by: u64,
    /// Which link: what the far end's questions carry there.
    pub down: u64,
    /// When it was said, by the far end's clock.
    pub sent: Moment,
}

/// The last question that the next hop asked by this link. Whoever has not heard those does not know what they carry, so that
/// it cannot say in the far end's name that the link is dead.
#[derive(Debug, Default)]
pub struct FarEnd {
    token: AtomicU64,
    sent: AtomicU64,
}

impl FarEnd {
    fn hears(&self, question: &Echo) {
        self.token.store(question.token, Ordering::Relaxed);
        self.sent.store(question.sent.0, Ordering::Relaxed);
    }

    fn is(&self, token: u64) -> bool {
        token != 0 && self.token.load(Ordering::Relaxed) == token
    }

    /// Whether its questions carry that, and the last one was sent before: what is said again later of a link that has come
    /// back is not news.
    pub fn is_older_of(&self, token: u64, than: Moment) -> bool {
        self.is(token) && self.sent.load(Ordering::Relaxed) < than.0
    }
}

/// An answer to one of our questions.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
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
    /// Who is asked, as far as it asks.
    pub far: Arc<FarEnd>,
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
        let far = Arc::<FarEnd>::default();
        let ears = Ears { via, token, far: Arc::clone(&far), heard };
        let reader = tokio::spawn(read(Arc::clone(&socket), ears));
        Ok(Asker { token, far, socket, to, reader })
    }

    /// Asks. A question that cannot be sent has no answer, which is what counts.
    pub fn ask(&self, number: u16) {
        let echo = Echo { token: self.token, number, sent: now() };
        let _ = self.socket.try_send_to(&echo.question(self.to.is_ipv6()), self.to);
    }

    /// Says that the link with these questions has no carrier here.
    pub fn tell_down(&self, down: u64) {
        // No question has this number, so that the answer says nothing.
        let echo = Echo { token: self.token, number: 0, sent: now() };
        let _ = self.socket.try_send_to(&echo.notice(self.to.is_ipv6(), down), self.to);
    }

    /// Whether it hears still.
    pub fn lives(&self) -> bool {
        !self.reader.is_finished()
    }
}

/// Whom a link's socket hears, and where that goes.
struct Ears {
    via: IpAddr,
    token: u64,
    far: Arc<FarEnd>,
    heard: mpsc::Sender<Heard>,
}

impl Ears {
    /// What a packet says; `None`: nothing for others, or it is somebody else's.
    fn hear(&self, bytes: &[u8], from: IpAddr) -> Option<Heard> {
        if from != self.via {
            return None;
        }
        let (at, v6) = (now(), self.via.is_ipv6());
        if let Some(echo) = Echo::answer(bytes, v6) {
            return (echo.token == self.token).then_some(Heard::Answer(Answer { echo, at }));
        }
        let Asked { echo, down } = Asked::read(bytes, v6)?;
        match down {
            Some(down) if self.far.is(echo.token) => {
                Some(Heard::Down(News { by: self.token, down, sent: echo.sent }))
            }
            Some(_) => None,
            None => {
                self.far.hears(&echo);
                None
            }
        }
    }
}

async fn read(socket: Arc<UdpSocket>, ears: Ears) {
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
        if let Some(heard) = ears.hear(&buffer[..bytes], from.ip())
            && ears.heard.send(heard).await.is_err()
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

    fn ears(token: u64) -> Ears {
        Ears { via: VIA, token, far: Arc::default(), heard: mpsc::channel(1).0 }
    }

    fn echo(token: u64, sent: u64) -> Echo {
        Echo { token, number: 0, sent: Moment(sent) }
    }

    fn came(message: Vec<u8>) -> Vec<u8> {
        [&[0x45; 20][..], &message].concat()
    }

    #[test]
    fn the_far_end_is_believed_by_what_its_questions_carry() {
        let (first, second) = (ears(1), ears(2));
        let question = |token, sent| came(echo(token, sent).question(false));
        let notice = |token, sent, down| came(echo(token, sent).notice(false, down));
        // What came before the far end was known, from somebody else, or with another word, is nobody's.
        assert!(second.hear(&notice(22, 9, 11), VIA).is_none());
        assert!(first.hear(&question(11, 5), VIA).is_none());
        assert!(second.hear(&question(22, 6), VIA).is_none());
        assert!(second.hear(&question(66, 7), OTHER).is_none());
        assert!(second.hear(&notice(22, 9, 11), OTHER).is_none());
        assert!(second.hear(&notice(66, 9, 11), VIA).is_none());
        let Some(Heard::Down(news)) = second.hear(&notice(22, 9, 11), VIA) else {
            panic!("no news")
        };
        assert_eq!((news.by, news.down, news.sent), (2, 11, Moment(9)));
        assert!(first.far.is_older_of(news.down, news.sent));
        assert!(!second.far.is_older_of(news.down, news.sent), "it names another link");
        assert!(!first.far.is_older_of(0, news.sent));
        // Once the link has come back the same is no news any more.
        assert!(first.hear(&question(11, 10), VIA).is_none());
        assert!(!first.far.is_older_of(news.down, news.sent));
    }
}
