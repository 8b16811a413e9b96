//! Sends trains of echoes over a bundle's links and notes when they come back. What they tell is worked out by
//! `links::train`; nothing here passes through the bundle itself.

use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::time::{Duration, Instant};

use api::types::{BundleStatus, LinkStatus};
use links::echo::Echo;
use links::train::{Order, PACKETS, Rate, Sent, middle, order, rate};
use model::moment::Moment;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// Trains over each link, and over all links together.
const TRAINS: usize = 5;
/// How long the last packet is waited for.
const WAIT: Duration = Duration::from_millis(600);
/// Bytes of the header of Ethernet.
const ETHERNET: usize = 14;
/// Bytes that may wait in the kernel: a whole train.
const ROOM: usize = 1 << 20;
/// Bytes of an answer that are read; the rest is nothing.
const ANSWER: usize = 128;

/// What came of a bundle's trains.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// Of each link, in the bundle's order; `None`: dead, or too little came back.
    pub rates: Vec<Option<Rate>>,
    /// Of packets that took turns over all links, none of them held.
    pub turns: Order,
}

/// Measures a bundle's links.
///
/// # Errors
/// The right to open raw sockets is missing, or a link has no interface.
pub(super) fn measure(bundle: &BundleStatus) -> io::Result<Measured> {
    let living = || bundle.links.iter().filter(|link| link.state == "alive");
    let mut lines = living().map(Line::open).collect::<io::Result<Vec<Line>>>()?;
    let mut measured = Measured::default();
    let mut next = 0;
    for link in &bundle.links {
        if link.state != "alive" {
            measured.rates.push(None);
            continue;
        }
        let line = &mut lines[next..=next];
        next += 1;
        let bytes = bundle.mtu as usize + ETHERNET;
        let rates = (0..TRAINS).filter_map(|_| rate(&train(line, bundle.mtu), bytes));
        measured.rates.push(middle(rates.collect()));
    }
    if lines.len() > 1 {
        for _ in 0..TRAINS {
            let now = order(&train(&mut lines, bundle.mtu));
            let all = &mut measured.turns;
            all.came += now.came;
            all.overtaken += now.overtaken;
            all.depth = all.depth.max(now.depth);
        }
    }
    Ok(measured)
}

/// A link, and the way to ask its next hop.
struct Line {
    socket: Socket,
    to: SockAddr,
    via: IpAddr,
}

impl Line {
    fn open(link: &LinkStatus) -> io::Result<Line> {
        let via = *link.via.first().ok_or(ErrorKind::NotFound)?;
        let (domain, protocol) = match via {
            IpAddr::V4(_) => (Domain::IPV4, Protocol::ICMPV4),
            IpAddr::V6(_) => (Domain::IPV6, Protocol::ICMPV6),
        };
        let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
        socket.bind_device(Some(link.interface.as_bytes()))?;
        socket.set_nonblocking(true)?;
        socket.set_recv_buffer_size(ROOM)?;
        socket.set_send_buffer_size(ROOM)?;
        let to = match via {
            IpAddr::V4(_) => SocketAddr::new(via, 0),
            IpAddr::V6(v6) => {
                let index = format!("/sys/class/net/{}/ifindex", link.interface);
                let scope = if v6.is_unicast_link_local() {
                    let text = std::fs::read_to_string(index)?;
                    text.trim().parse().map_err(io::Error::other)?
                } else {
                    0
                };
                SocketAddrV6::new(v6, 0, 0, scope).into()
            }
        };
        Ok(Line { socket, to: to.into(), via })
    }

    /// Notes what has come back by now.
    fn hear(&mut self, token: u64, begun: Instant, sent: &mut [Sent]) -> usize {
        let (mut buffer, mut heard) = ([0; ANSWER], 0);
        while let Ok(bytes) = (&self.socket).read(&mut buffer) {
            let echo = Echo::answer(&buffer[..bytes], self.via.is_ipv6());
            let ours = echo.filter(|echo| echo.token == token);
            let Some(one) = ours.and_then(|echo| sent.get_mut(usize::from(echo.number))) else {
                continue;
            };
            heard += usize::from(one.came.is_none());
            one.came.get_or_insert(at(begun));
        }
        heard
    }
}

/// Sends a train whose packets take turns over these lines; when each went, and when it came back.
fn train(lines: &mut [Line], mtu: u32) -> Vec<Sent> {
    let (begun, token) = (Instant::now(), token());
    let mut sent: Vec<Sent> = Vec::with_capacity(usize::from(PACKETS));
    let (mut open, mut last) = (0, begun);
    for number in 0..PACKETS {
        let line = &lines[usize::from(number) % lines.len()];
        let v6 = line.via.is_ipv6();
        let header = if v6 { 40 } else { 20 };
        let question = Echo { token, number, sent: at(begun) };
        let question = question.long(v6, (mtu as usize).saturating_sub(header));
        let went = line.socket.send_to(&question, &line.to).is_ok();
        sent.push(Sent { at: at(begun), came: None });
        open += usize::from(went);
        for line in &mut *lines {
            open -= line.hear(token, begun, &mut sent).min(open);
        }
        last = Instant::now();
    }
    // Looked at all the time: whoever sleeps notes late when packets came.
    while open > 0 && last.elapsed() < WAIT {
        for line in &mut *lines {
            let heard = line.hear(token, begun, &mut sent);
            if heard > 0 {
                last = Instant::now();
            }
            open -= heard.min(open);
        }
    }
    sent
}

fn at(begun: Instant) -> Moment {
    Moment(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// Tells our echoes from those of others.
fn token() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64) ^ u64::from(std::process::id()) << 40
}
