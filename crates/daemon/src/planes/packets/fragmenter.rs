//! Sends packets on as fragments that do not fit a tunnel's way: a thread takes them out of the datapath's ring, and raw
//! sockets send what `l4::oversized` makes of each. It decides nothing about packets.
//!
//! Datagrams that cannot be sent are counted and not retried, because their senders expect losses.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use l4::datapath::OversizedRing;
use l4::oversized::{OversizedPacket, OversizedReader, fragment_packet};
use l4::plan::encoding::from_mapped_bytes;
use rustix::net::{
    AddressFamily, SendFlags, SocketFlags, SocketType, ipproto, sendto, socket_with,
};
use thiserror::Error;

use super::host_facts::clock_tick;

/// The interval between signs of life when no packet arrives: the datapath waits for eight ticks of 0.27 s.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Why no fragments are sent.
#[derive(Debug, Error)]
pub enum FragmenterError {
    #[error(transparent)]
    Load(#[from] bpf::LoadError),
    #[error("no raw socket for IPv{family}: it takes the right CAP_NET_RAW")]
    Socket {
        family: u8,
        #[source]
        source: io::Error,
    },
    #[error("no thread: {0}")]
    Thread(#[source] io::Error),
}

/// Packets and fragments by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FragmentTotals {
    /// Fragments that were sent.
    pub sent: u64,
    /// Fragments that the kernel refused.
    pub failed: u64,
    /// Packets of which none could be made.
    pub malformed: u64,
    /// Packets that were handed to a process that ended, and were too old for this one.
    pub late: u64,
}

#[derive(Debug, Default)]
struct FragmentCounters {
    sent: AtomicU64,
    failed: AtomicU64,
    malformed: AtomicU64,
    late: AtomicU64,
}

/// The thread; it ends with this.
#[derive(Debug)]
pub struct Fragmenter {
    counts: Arc<FragmentCounters>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Fragmenter {
    /// Takes packets from now on.
    ///
    /// # Errors
    /// See `FragmenterError`.
    pub fn start(from: OversizedRing) -> Result<Fragmenter, FragmenterError> {
        let sockets = RawSockets::open()?;
        let counts = Arc::new(FragmentCounters::default());
        let stop = Arc::new(AtomicBool::new(false));
        let (told, heard) = std::sync::mpsc::channel();
        let thread = {
            let counts = Arc::clone(&counts);
            let stop = Arc::clone(&stop);
            let run = move || match OversizedReader::open(&from.ring) {
                Ok(ring) => {
                    // `start` waits for this message, so the receiver exists.
                    let _ = told.send(Ok(()));
                    run(&from, &ring, &sockets, &counts, &stop);
                }
                Err(error) => {
                    // `start` waits for this message, so the receiver exists.
                    let _ = told.send(Err(error));
                }
            };
            std::thread::Builder::new().name("fragments".to_owned()).spawn(run)
        };
        let thread = Some(thread.map_err(FragmenterError::Thread)?);
        let begun = Fragmenter { counts, stop, thread };
        match heard.recv() {
            Ok(opened) => opened.map(|()| begun).map_err(FragmenterError::from),
            Err(_) => Err(FragmenterError::Thread(io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Packets by result so far.
    pub fn totals(&self) -> FragmentTotals {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        FragmentTotals {
            sent: of(&self.counts.sent),
            failed: of(&self.counts.failed),
            malformed: of(&self.counts.malformed),
            late: of(&self.counts.late),
        }
    }
}

impl Drop for Fragmenter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It looks up between two beats.
            let _ = thread.join();
        }
    }
}

fn run(
    from: &OversizedRing,
    ring: &OversizedReader,
    sockets: &RawSockets,
    counts: &FragmentCounters,
    stop: &AtomicBool,
) {
    let add = |count: &AtomicU64, more: usize| count.fetch_add(more as u64, Ordering::Relaxed);
    // It is unknown how long these packets have waited.
    add(&counts.late, ring.wait_for_packets(Duration::ZERO).len());
    let mut alive = 0;
    while !stop.load(Ordering::Relaxed) {
        // Tick 0 would mean that no thread is running.
        let now = clock_tick().max(1);
        if alive != now && from.alive_tick.set(&0, &now).is_ok() {
            alive = now;
        }
        for handed in ring.wait_for_packets(POLL_INTERVAL) {
            let cut = handed.and_then(|handed| Some((fragment_packet(&handed).ok()?, handed)));
            let Some((packets, handed)) = cut else {
                add(&counts.malformed, 1);
                continue;
            };
            let sent =
                packets.iter().filter(|packet| sockets.send(&handed, packet).is_ok()).count();
            add(&counts.sent, sent);
            add(&counts.failed, packets.len() - sent);
        }
    }
    // If this fails, the datapath stops handing over packets by itself two seconds after the last sign of life.
    let _ = from.alive_tick.set(&0, &0);
}

/// Sockets that are given whole packets, headers and all.
#[derive(Debug)]
struct RawSockets {
    v4: OwnedFd,
    /// Not where the machine has no IPv6.
    v6: Option<OwnedFd>,
}

impl RawSockets {
    fn open() -> Result<RawSockets, FragmenterError> {
        let raw = |family| {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            socket_with(family, SocketType::RAW, flags, Some(ipproto::RAW))
        };
        let failed = |family| {
            move |errno: rustix::io::Errno| FragmenterError::Socket { family, source: errno.into() }
        };
        let v4 = raw(AddressFamily::INET).map_err(failed(4))?;
        let v6 = match raw(AddressFamily::INET6) {
            Err(rustix::io::Errno::AFNOSUPPORT) => None,
            opened => Some(opened.map_err(failed(6))?),
        };
        Ok(RawSockets { v4, v6 })
    }

    fn send(&self, handed: &OversizedPacket, packet: &[u8]) -> io::Result<()> {
        let to = from_mapped_bytes(handed.head.server);
        let socket = match to {
            IpAddr::V4(_) => Some(&self.v4),
            IpAddr::V6(_) => self.v6.as_ref(),
        };
        let socket = socket.ok_or(io::ErrorKind::Unsupported)?;
        sendto(socket, packet, SendFlags::DONTWAIT, &SocketAddr::new(to, 0))?;
        Ok(())
    }
}
