//! The production `NetDriver`: edge-triggered epoll, kernel sockets and pipes.
//!
//! Only this file waits, reads, writes, accepts and splices.

use std::cell::{OnceCell, RefCell};
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::config::ServerEndpoint;
use model::monotonic_time::MonotonicTime;
use model::time_attribution::TcpInfoSample;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, SocketFlags};
use rustix::pipe::{PipeFlags, SpliceFlags};
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::net_driver::{AcceptedSocket, ConnectTarget, NetDriver, ReadyEvent};
use super::source::Readiness;
use super::worker_socket::WorkerSocket;
use crate::rt::reserved_descriptors::ReservedDescriptors;
use crate::rt::run_delay;
use crate::rt::socket;
use crate::rt::sys;

/// Most events per wait.
/// What does not fit is returned by the next wait; 256 events are 3 KiB, which stay in the cache.
const EVENTS: usize = 256;

/// Capacity of a pipe in bytes, so that a stalled client occupies no more. Segments on the loopback interface would
/// otherwise let the default sixteen pages hold more.
const PIPE_BYTES: usize = 256 * 1024;

pub struct Epoll {
    poll: OwnedFd,
    /// The clock's value at `MonotonicTime(0)`, in nanoseconds.
    zero: u64,
    reserved: ReservedDescriptors,
    events: RefCell<Vec<epoll::Event>>,
    /// Opened by the thread whose times it has.
    schedule_times: OnceCell<Option<File>>,
}

/// A pipe for splicing.
pub struct KernelPipe {
    read: OwnedFd,
    write: OwnedFd,
}

impl Epoll {
    /// Creates the epoll descriptor before the worker's thread starts, so that a failure is known in time.
    ///
    /// # Errors
    /// The error of epoll_create1(2).
    pub fn descriptor() -> io::Result<OwnedFd> {
        Ok(epoll::create(epoll::CreateFlags::CLOEXEC)?)
    }

    /// A driver over an epoll descriptor that accepts no `reserved` descriptor. Its clock counts from `origin`, which
    /// all workers share.
    pub fn new(poll: OwnedFd, origin: Instant, reserved: ReservedDescriptors) -> Epoll {
        let since = u64::try_from(origin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let zero = clock_nanos().saturating_sub(since);
        Epoll {
            poll,
            zero,
            reserved,
            events: RefCell::new(Vec::with_capacity(EVENTS)),
            schedule_times: OnceCell::new(),
        }
    }
}

/// The clock of `Instant` as a number. Each request reads the clock several times, and numbers are subtracted without
/// the checks of `Instant`.
fn clock_nanos() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

impl NetDriver for Epoll {
    type Sock = WorkerSocket;
    type Pipe = KernelPipe;

    fn now(&self) -> MonotonicTime {
        MonotonicTime(clock_nanos().saturating_sub(self.zero))
    }

    fn wait(&self, timeout: Option<Duration>, into: &mut Vec<ReadyEvent>) -> io::Result<()> {
        let mut events = self.events.borrow_mut();
        let timeout = timeout.map(|t| Timespec {
            tv_sec: i64::try_from(t.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(t.subsec_nanos()),
        });
        events.clear();
        match epoll::wait(
            &self.poll,
            rustix::buffer::spare_capacity(&mut *events),
            timeout.as_ref(),
        ) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        into.extend(events.iter().map(|event| ReadyEvent {
            token: event.data.u64(),
            readiness: readiness(event.flags),
        }));
        Ok(())
    }

    fn adopt(&self, listener: Arc<OwnedFd>) -> io::Result<WorkerSocket> {
        rustix::io::ioctl_fionbio(&listener, true)?;
        Ok(WorkerSocket::Shared(listener))
    }

    fn register(&self, sock: &WorkerSocket, token: u64) -> io::Result<()> {
        let interest = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.poll, sock, EventData::new_u64(token), interest)?)
    }

    fn deregister(&self, sock: &WorkerSocket) {
        // The kernel keeps the registration of a closed descriptor while a duplicate of it is open. A later duplicate
        // that got the same number could not be registered: nobody would accept on it.
        if let WorkerSocket::Shared(listener) = sock {
            // It fails only for a socket that is not registered.
            let _ = epoll::delete(&self.poll, listener);
        }
    }

    fn accept(&self, listener: &WorkerSocket) -> io::Result<AcceptedSocket<WorkerSocket>> {
        let (sock, peer) =
            rustix::net::acceptfrom_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
        let peer = peer.and_then(|address| SocketAddr::try_from(address).ok());
        let peer = peer.unwrap_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)));
        Ok(AcceptedSocket { sock: sock.into(), peer })
    }

    fn local_address(&self, sock: &WorkerSocket) -> Option<SocketAddr> {
        let name = rustix::net::getsockname(sock).ok()?;
        SocketAddr::try_from(name).ok()
    }

    fn is_reserved_descriptor(&self, sock: &WorkerSocket) -> bool {
        self.reserved.contains(sock)
    }

    fn refuse_handshakes(&self, listener: &WorkerSocket) -> io::Result<()> {
        // Classic BPF over the TCP header: a segment with SYN and without ACK is dropped, and its sender retries.
        let flags = socket2::SockFilter::new(0x30, 0, 0, 13);
        let mask = socket2::SockFilter::new(0x54, 0, 0, 0x12);
        let is_syn = socket2::SockFilter::new(0x15, 0, 1, 0x02);
        let drop = socket2::SockFilter::new(0x06, 0, 0, 0);
        let keep = socket2::SockFilter::new(0x06, 0, 0, u32::MAX);
        socket2::SockRef::from(listener).attach_filter(&[flags, mask, is_syn, drop, keep])
    }

    fn connect(&self, how: &ConnectTarget) -> io::Result<WorkerSocket> {
        let sock = match how.to {
            ServerEndpoint::Socket(to) => socket::outgoing(*to, how.from, how.options)?,
            ServerEndpoint::Unix(_) => socket::outgoing_unix(how.options)?,
        };
        if self.reserved.contains(&sock) {
            return Err(Errno::MFILE.into());
        }
        socket::begin_connect(&sock, how.to)?;
        Ok(sock.into())
    }

    fn established(&self, sock: &WorkerSocket) -> io::Result<()> {
        match rustix::net::getpeername(sock) {
            Ok(_) => Ok(()),
            Err(Errno::NOTCONN) => {
                rustix::net::sockopt::socket_error(sock)??;
                Err(io::ErrorKind::WouldBlock.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    #[inline]
    fn read(&self, sock: &WorkerSocket, into: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::net::recv(sock, into, RecvFlags::empty())?.0)
    }

    fn is_quiet(&self, sock: &WorkerSocket) -> bool {
        let mut one = [0u8; 1];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        matches!(rustix::net::recv(sock, &mut one, flags), Err(Errno::AGAIN))
    }

    #[inline]
    fn write(&self, sock: &WorkerSocket, from: &[u8], more: bool) -> io::Result<usize> {
        let mut flags = SendFlags::NOSIGNAL;
        if more {
            flags |= SendFlags::MORE;
        }
        Ok(rustix::net::send(sock, from, flags)?)
    }

    fn end(&self, sock: &WorkerSocket) -> io::Result<()> {
        Ok(rustix::net::shutdown(sock, Shutdown::Write)?)
    }

    fn acknowledge_now(&self, sock: &WorkerSocket) {
        // Without it the acknowledgement comes later, which is safe; sockets that are not TCP refuse it.
        let _ = rustix::net::sockopt::set_tcp_quickack(sock, true);
    }

    fn reset_on_drop(&self, sock: &WorkerSocket) {
        // After a failure the close is an ordinary one, which is safe.
        let _ = rustix::net::sockopt::set_socket_linger(sock, Some(Duration::ZERO));
    }

    fn acknowledged(&self, sock: &WorkerSocket) -> Option<u64> {
        sys::bytes_acknowledged(sock)
    }

    fn local_port(&self, sock: &WorkerSocket) -> Option<u16> {
        let own = rustix::net::getsockname(sock).ok()?;
        SocketAddr::try_from(own).ok().map(|own| own.port())
    }

    fn counters(&self, sock: &WorkerSocket) -> Option<TcpInfoSample> {
        let buffer = rustix::net::sockopt::socket_send_buffer_size(sock).unwrap_or(0);
        let send_buffer = u32::try_from(buffer).unwrap_or(u32::MAX);
        Some(TcpInfoSample { send_buffer, ..sys::counters(sock)? })
    }

    fn run_delay_ns(&self) -> Option<u64> {
        let file = self.schedule_times.get_or_init(run_delay::open_schedule_times);
        run_delay::read_schedule_times(file.as_ref()?)
    }

    fn pipe(&self) -> Option<KernelPipe> {
        let (read, write) =
            rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).ok()?;
        if self.reserved.contains(&read) || self.reserved.contains(&write) {
            return None;
        }
        // Above the user's soft limit of pipe pages the default size remains, which works too.
        let _ = rustix::pipe::fcntl_setpipe_size(&write, PIPE_BYTES);
        Some(KernelPipe { read, write })
    }

    fn fill(&self, sock: &WorkerSocket, pipe: &KernelPipe, most: usize) -> io::Result<usize> {
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        Ok(rustix::pipe::splice(sock, None, &pipe.write, None, most, flags)?)
    }

    fn pour(
        &self,
        pipe: &KernelPipe,
        sock: &WorkerSocket,
        most: usize,
        more: bool,
    ) -> io::Result<usize> {
        let mut flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        if more {
            flags |= SpliceFlags::MORE;
        }
        Ok(rustix::pipe::splice(&pipe.read, None, sock, None, most, flags)?)
    }
}

fn readiness(flags: EventFlags) -> Readiness {
    let mut bits = 0;
    if flags.contains(EventFlags::IN) {
        bits |= Readiness::READ;
    }
    if flags.contains(EventFlags::OUT) {
        bits |= Readiness::WRITE;
    }
    if flags.contains(EventFlags::RDHUP) {
        bits |= Readiness::READ | Readiness::END;
    }
    if flags.contains(EventFlags::ERR) {
        bits |= Readiness::READ | Readiness::WRITE | Readiness::BROKEN;
    }
    if flags.contains(EventFlags::HUP) {
        bits |= Readiness::READ | Readiness::WRITE | Readiness::HUNG_UP;
    }
    Readiness(bits)
}
