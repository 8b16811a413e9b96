//! Traffic over the bundle: a stream whose receiver measures gaps, requests with pauses, and datagrams.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_tcp_congestion;

use super::kernel::KernelCounters;
use super::topology::{CLIENT, LinkEnd, LinkTopology, SERVER, SERVER6, Server, long, mtu};

/// The receiver's figures of a stream.
#[derive(Clone, Copy, Debug)]
pub struct StreamFigures {
    /// Payload bits a second, after the start-up time.
    pub mbit: f64,
    /// The longest time without a byte.
    pub gap: Duration,
    /// The kernels' counters during the measurement.
    pub kernel: KernelCounters,
}

/// The time that a stream sends before the measurement starts, until it has reached the rate of fast links.
fn under_way_after() -> Duration {
    if long() { Duration::from_secs(3) } else { Duration::from_millis(400) }
}

/// The minimum interval of two datagrams. The emulated links run in user space and need time for each packet.
fn least() -> Duration {
    Duration::from_micros(if long() { 20 } else { 250 })
}

/// Bytes of one write.
const CHUNK: usize = 64 << 10;

/// One stream from the client to the server for `time`. `during` runs while the stream is measured.
pub fn stream(
    world: &LinkTopology,
    how: &str,
    time: Duration,
    during: impl FnOnce(),
) -> StreamFigures {
    stream_to(Server, world, how, time, during)
}

/// As `stream`, over IPv6.
pub fn stream_six(world: &LinkTopology, how: &str, time: Duration) -> StreamFigures {
    stream_at(Server, SERVER6.into(), world, how, time, || ())
}

/// The joint throughput of `many` simultaneous streams to one of the hosts.
pub fn streams_to(
    who: LinkEnd,
    world: &LinkTopology,
    many: usize,
    how: &str,
    time: Duration,
) -> f64 {
    std::thread::scope(|scope| {
        let run = || stream_to(who, world, how, time, || ()).mbit;
        let all: Vec<_> = (0..many).map(|_| scope.spawn(run)).collect();
        all.into_iter().map(|one| one.join().unwrap()).sum()
    })
}

/// One stream to a host.
fn stream_to(
    who: LinkEnd,
    world: &LinkTopology,
    how: &str,
    time: Duration,
    during: impl FnOnce(),
) -> StreamFigures {
    let address = if who == Server { SERVER } else { CLIENT };
    stream_at(who, address.into(), world, how, time, during)
}

/// One stream to an address of a host.
fn stream_at(
    who: LinkEnd,
    address: IpAddr,
    world: &LinkTopology,
    how: &str,
    time: Duration,
    during: impl FnOnce(),
) -> StreamFigures {
    let (near, far) = match who {
        Server => (&world.lines.client, &world.lines.server),
        LinkEnd::Client => (&world.lines.server, &world.lines.client),
    };
    let listener = far.run_inside(|| TcpListener::bind((address, 0)).unwrap()).unwrap();
    let to = listener.local_addr().unwrap();
    let sender = near.run_inside(|| TcpStream::connect(to).unwrap()).unwrap();
    set_tcp_congestion(&sender, how).unwrap();
    let (mut receiver, _) = listener.accept().unwrap();
    let over = AtomicBool::new(false);
    let (under_way, is_under_way) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let received = scope.spawn(move || receive(&mut receiver, time, &under_way));
        scope.spawn(|| send(&sender, &over));
        is_under_way.recv().unwrap();
        let before = KernelCounters::read(near, far);
        during();
        let (mbit, gap) = received.join().unwrap();
        over.store(true, Ordering::Relaxed);
        StreamFigures { mbit, gap, kernel: KernelCounters::read(near, far).since(before) }
    })
}

fn send(mut sender: &TcpStream, over: &AtomicBool) {
    let bytes = vec![7; CHUNK];
    while !over.load(Ordering::Relaxed) {
        // The receiver closes first, which resets the connection.
        if sender.write_all(&bytes).is_err() {
            return;
        }
    }
}

/// Payload bits a second and the longest time without a byte.
fn receive(
    from: &mut TcpStream,
    time: Duration,
    under_way: &std::sync::mpsc::Sender<()>,
) -> (f64, Duration) {
    let mut buffer = vec![0; 256 << 10];
    from.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let begun = Instant::now();
    let found = under_way_after();
    let mut bytes = 0_u64;
    let mut since = None;
    let mut last = begun;
    let mut gap = Duration::ZERO;
    loop {
        let got = from.read(&mut buffer).expect("the stream goes on");
        assert!(got > 0, "the stream ended");
        let now = Instant::now();
        match since {
            None if now - begun >= found => {
                since = Some(now);
                under_way.send(()).unwrap();
            }
            None => {}
            Some(since) => {
                bytes += got as u64;
                gap = gap.max(now - last);
                if now - since >= time {
                    let seconds = (now - since).as_secs_f64();
                    return (bytes as f64 * 8.0 / 1e6 / seconds, gap);
                }
            }
        }
        last = now;
    }
}

/// Requests on many connections from these client ports. Each request is answered before the next, with pauses in
/// between.
pub fn requests(world: &LinkTopology, ports: &[u16], bytes: usize, rounds: usize, pause: Duration) {
    let server = IpAddr::from(SERVER);
    let to = SocketAddr::new(server, 9_000);
    let listener = world.lines.server.run_inside(|| TcpListener::bind(to).unwrap()).unwrap();
    std::thread::scope(|scope| {
        for port in ports {
            let listener = &listener;
            let client = world.lines.client.run_inside(|| connect(*port, to)).unwrap();
            let (answering, _) = listener.accept().unwrap();
            scope.spawn(move || answer(answering, bytes));
            scope.spawn(move || ask(client, bytes, rounds, pause));
        }
    });
}

/// A connection from a chosen port.
fn connect(port: u16, to: SocketAddr) -> TcpStream {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket, sockopt};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    sockopt::set_socket_reuseaddr(&socket, true).unwrap();
    bind(&socket, &SocketAddr::new(IpAddr::from(CLIENT), port)).unwrap();
    connect(&socket, &to).unwrap();
    TcpStream::from(socket)
}

fn answer(mut stream: TcpStream, bytes: usize) {
    let mut buffer = vec![0; bytes];
    while stream.read_exact(&mut buffer).is_ok() {
        stream.write_all(&[1]).unwrap();
    }
}

fn ask(mut stream: TcpStream, bytes: usize, rounds: usize, pause: Duration) {
    let request = vec![7; bytes];
    stream.set_nodelay(true).unwrap();
    for _ in 0..rounds {
        stream.write_all(&request).unwrap();
        stream.read_exact(&mut [0]).unwrap();
        std::thread::park_timeout(pause);
    }
}

/// The figures of a series of datagrams.
#[derive(Clone, Copy, Debug, Default)]
pub struct DatagramArrivals {
    pub received: u32,
    /// Datagrams that arrived after a later one.
    pub overtaken: u32,
    /// The largest reordering: the distance to the highest number that had arrived before.
    pub depth: u32,
    /// Bits a second on the links, headers included.
    pub mbit: f64,
}

/// Sends datagrams of one size, one after the other, at up to `mbit` Mbit/s.
pub fn datagrams(world: &LinkTopology, size: usize, count: u32, mbit: f64) -> DatagramArrivals {
    let [server, client] = [SERVER, CLIENT].map(IpAddr::from);
    let receiver = world.lines.server.run_inside(|| UdpSocket::bind((server, 0)).unwrap()).unwrap();
    let to = receiver.local_addr().unwrap();
    let sender = world.lines.client.run_inside(|| UdpSocket::bind((client, 0)).unwrap()).unwrap();
    rustix::net::sockopt::set_socket_recv_buffer_size(&receiver, 4 << 20).unwrap();
    receiver.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    // Each fragment has its own headers.
    let wire = (size + 8).div_ceil(mtu() as usize - 20) * 38 + size + 8;
    let between = Duration::from_secs_f64(wire as f64 * 8.0 / mbit / 1e6).max(least());
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut bytes = vec![0; size];
            let mut last = Instant::now();
            for number in 0..count {
                // The interval starts at the last datagram. A late datagram is not made up for by a burst, which would
                // overflow queues.
                while last.elapsed() < between {
                    std::hint::spin_loop();
                }
                last = Instant::now();
                bytes[..4].copy_from_slice(&number.to_be_bytes());
                sender.send_to(&bytes, to).unwrap();
            }
        });
        let mut came = DatagramArrivals::default();
        let mut highest = 0;
        let mut buffer = vec![0; 65_536];
        while came.received < count {
            let bytes = match receiver.recv(&mut buffer) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            };
            assert_eq!(bytes, size);
            let number = u32::from_be_bytes(buffer[..4].try_into().unwrap());
            came.received += 1;
            came.overtaken += u32::from(number < highest);
            came.depth = came.depth.max(highest.saturating_sub(number));
            highest = highest.max(number);
            came.mbit =
                f64::from(came.received) * wire as f64 * 8.0 / 1e6 / begun.elapsed().as_secs_f64();
        }
        came
    })
}
