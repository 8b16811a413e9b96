//! Sends trains of echoes over a bundle's links and records when they come back. `links::train` evaluates them; nothing
//! here passes through the bundle itself.

use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::time::{Duration, Instant};

use api::types::{BundleStatus, LinkStatus};
use links::echo::EchoRequest;
use links::packet_train::{
    MeasuredRate, PACKETS, PacketOrder, TrainPacket, median_rate, packet_order, train_rate,
};
use model::monotonic_time::MonotonicTime;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// Trains over each link, and over all links together.
/// The median of five hides one train that was disturbed.
const TRAINS: usize = 5;
/// How long the last packet is waited for.
/// Above the round trip of a satellite link, 500 to 600 ms.
const WAIT: Duration = Duration::from_millis(600);
/// Bytes of the header of Ethernet.
const ETHERNET: usize = 14;
/// Bytes that may wait in the kernel: a whole train.
const ROOM: usize = 1 << 20;
/// Bytes of an answer that are read; the rest is nothing.
const ANSWER: usize = 128;

/// The result of a bundle's trains.
#[derive(Debug, Default)]
pub(super) struct TrainResults {
    /// Of each link, in the bundle's order; `None`: dead, or too little came back.
    pub rates: Vec<Option<MeasuredRate>>,
    /// Of packets that took turns over all links, none of them held.
    pub reordering: PacketOrder,
}

/// Measures a bundle's links.
///
/// # Errors
/// The right to open raw sockets is missing, or a link has no interface.
pub(super) fn measure_bundle(bundle: &BundleStatus) -> io::Result<TrainResults> {
    let living = || bundle.links.iter().filter(|link| link.state == "alive");
    let mut lines =
        living().map(NextHopPinger::open).collect::<io::Result<Vec<NextHopPinger>>>()?;
    let mut measured = TrainResults::default();
    let mut next = 0;
    for link in &bundle.links {
        if link.state != "alive" {
            measured.rates.push(None);
            continue;
        }
        let line = &mut lines[next..=next];
        next += 1;
        let bytes = bundle.mtu as usize + ETHERNET;
        let rates = (0..TRAINS).filter_map(|_| train_rate(&send_train(line, bundle.mtu), bytes));
        measured.rates.push(median_rate(rates.collect()));
    }
    if lines.len() > 1 {
        for _ in 0..TRAINS {
            let now = packet_order(&send_train(&mut lines, bundle.mtu));
            let all = &mut measured.reordering;
            all.received += now.received;
            all.reordered += now.reordered;
            all.depth = all.depth.max(now.depth);
        }
    }
    Ok(measured)
}

/// A link, and the socket that pings its next hop.
struct NextHopPinger {
    socket: Socket,
    address: SockAddr,
    next_hop: IpAddr,
}

impl NextHopPinger {
    fn open(link: &LinkStatus) -> io::Result<NextHopPinger> {
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
        Ok(NextHopPinger { socket, address: to.into(), next_hop: via })
    }

    /// Records the replies that have come back by now.
    fn collect_replies(&mut self, token: u64, begun: Instant, sent: &mut [TrainPacket]) -> usize {
        let mut buffer = [0; ANSWER];
        let mut heard = 0;
        while let Ok(bytes) = (&self.socket).read(&mut buffer) {
            let echo = EchoRequest::parse_reply(&buffer[..bytes], self.next_hop.is_ipv6());
            let ours = echo.filter(|echo| echo.token == token);
            let Some(one) = ours.and_then(|echo| sent.get_mut(usize::from(echo.number))) else {
                continue;
            };
            heard += usize::from(one.received_at.is_none());
            one.received_at.get_or_insert(elapsed_since(begun));
        }
        heard
    }
}

/// Sends a train whose packets alternate over these lines; returns when each was sent, and when it came back.
fn send_train(lines: &mut [NextHopPinger], mtu: u32) -> Vec<TrainPacket> {
    let begun = Instant::now();
    let token = random_token();
    let mut sent: Vec<TrainPacket> = Vec::with_capacity(usize::from(PACKETS));
    let mut open = 0;
    let mut last = begun;
    for number in 0..PACKETS {
        let line = &lines[usize::from(number) % lines.len()];
        let v6 = line.next_hop.is_ipv6();
        let header = if v6 { 40 } else { 20 };
        let question = EchoRequest { token, number, sent: elapsed_since(begun) };
        let question = question.to_padded_request(v6, (mtu as usize).saturating_sub(header));
        let went = line.socket.send_to(&question, &line.address).is_ok();
        sent.push(TrainPacket { sent_at: elapsed_since(begun), received_at: None });
        open += usize::from(went);
        for line in &mut *lines {
            open -= line.collect_replies(token, begun, &mut sent).min(open);
        }
        last = Instant::now();
    }
    // Polled without sleeping: a sleep would record late when packets came.
    while open > 0 && last.elapsed() < WAIT {
        for line in &mut *lines {
            let heard = line.collect_replies(token, begun, &mut sent);
            if heard > 0 {
                last = Instant::now();
            }
            open -= heard.min(open);
        }
    }
    sent
}

fn elapsed_since(begun: Instant) -> MonotonicTime {
    MonotonicTime(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// A token that tells these echoes from those of other programs.
fn random_token() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64) ^ u64::from(std::process::id()) << 40
}
