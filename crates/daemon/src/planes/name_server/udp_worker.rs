//! A thread that answers over UDP: waits for its sockets, receives a batch, and answers it.
//!
//! A socket that it loses is emptied before it is closed, so that what had come is answered.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use names::counts::{CounterBatch as Sums, DnsTransport, Fate};
use names::responder::{DnsResponder, QueryContext};
use rustix::event::epoll;
use socket2::Socket;

use super::datagram_batch::{BATCH_SIZE, DatagramBatch, ReceivedQuery};
use super::shared::{DnsClockReading, NameServerState, ZoneDataReader, clock_now};
use super::worker_mailbox::{WorkerMailbox, WorkerOrder, WorkerSockets};

/// The longest wait, after which anything missed is noticed.
const POLL_TIMEOUT: rustix::time::Timespec = rustix::time::Timespec { tv_sec: 1, tv_nsec: 0 };
/// Batches from one socket before the others have their turn.
const ROUNDS: usize = 16;
/// Batches to read from a socket that will be closed: more than its buffer can store.
const LAST_ROUNDS: usize = 4_096;
/// The number of the bell among the events.
const MAILBOX_TOKEN: u64 = u64::MAX;

/// Answers queries until it is stopped.
pub(super) fn run(
    seat: &WorkerMailbox,
    shared: &Arc<NameServerState>,
    desk: DnsResponder,
) -> io::Result<()> {
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(
        &poll,
        seat.event_fd(),
        epoll::EventData::new_u64(MAILBOX_TOKEN),
        epoll::EventFlags::IN,
    )?;
    let mut worker = UdpWorker::new(shared, desk);
    let mut sockets: Vec<Option<(SocketAddr, Arc<Socket>)>> = Vec::new();
    // 64 events at once: more addresses than a name server has as a rule. The next wait returns the rest.
    let mut ready = Vec::with_capacity(64);
    loop {
        ready.clear();
        match epoll::wait(&poll, rustix::buffer::spare_capacity(&mut ready), Some(&POLL_TIMEOUT)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &ready {
            let at = event.data.u64();
            if at == MAILBOX_TOKEN {
                let WorkerOrder { sockets: wanted, end } = seat.receive();
                change(&poll, &mut sockets, wanted, &mut worker)?;
                if end {
                    return Ok(());
                }
            } else if let Some(Some((_, socket))) =
                usize::try_from(at).ok().and_then(|at| sockets.get(at))
            {
                worker.serve(socket, ROUNDS);
            }
        }
    }
}

/// Takes the sockets that are wanted, and leaves the others empty.
fn change(
    poll: &impl AsFd,
    sockets: &mut Vec<Option<(SocketAddr, Arc<Socket>)>>,
    mut wanted: WorkerSockets,
    worker: &mut UdpWorker,
) -> io::Result<()> {
    for place in sockets.iter_mut() {
        let Some((at, socket)) = place else { continue };
        match wanted.get(at) {
            Some(same) if Arc::ptr_eq(same, socket) => drop(wanted.remove(at)),
            _ => {
                worker.serve(socket, LAST_ROUNDS);
                epoll::delete(poll, &**socket)?;
                *place = None;
            }
        }
    }
    for (at, socket) in wanted {
        let free = sockets.iter().position(Option::is_none).unwrap_or(sockets.len());
        let data = epoll::EventData::new_u64(free as u64);
        epoll::add(poll, &*socket, data, epoll::EventFlags::IN)?;
        match sockets.get_mut(free) {
            Some(place) => *place = Some((at, socket)),
            None => sockets.push(Some((at, socket))),
        }
    }
    Ok(())
}

/// The state of the thread.
struct UdpWorker {
    reader: ZoneDataReader,
    state: Arc<NameServerState>,
    responder: DnsResponder,
    batch: DatagramBatch,
    fates: [Option<Fate>; BATCH_SIZE],
    sums: Sums,
}

impl UdpWorker {
    fn new(shared: &Arc<NameServerState>, desk: DnsResponder) -> UdpWorker {
        UdpWorker {
            reader: ZoneDataReader::new(shared),
            state: Arc::clone(shared),
            responder: desk,
            batch: DatagramBatch::new(),
            fates: [None; BATCH_SIZE],
            sums: Sums::default(),
        }
    }

    /// Answers waiting queries, at most this many batches.
    fn serve(&mut self, socket: &Socket, rounds: usize) {
        for _ in 0..rounds {
            // The error of an earlier answer, whose receiver has closed its socket. It is ignored.
            let count = match self.batch.receive(socket.as_fd()) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => continue,
            };
            self.answer_batch(socket, count);
            if count < BATCH_SIZE {
                return;
            }
        }
    }

    fn answer_batch(&mut self, socket: &Socket, count: usize) {
        let DnsClockReading { now, unix_seconds } = clock_now();
        self.state.counts.add_received(DnsTransport::Udp, count as u64);
        let Some(book) = self.reader.zone_data().cloned() else { return };
        for at in 0..count {
            let mut answer = std::mem::take(&mut self.batch.answers[at]);
            let fate = match self.batch.query(at) {
                Some(ReceivedQuery { bytes, sender }) => {
                    let asked = QueryContext {
                        source: sender,
                        transport: DnsTransport::Udp,
                        now,
                        unix_seconds,
                    };
                    self.responder.answer(&book, &asked, bytes, &mut answer)
                }
                None => Fate::Short,
            };
            self.batch.answers[at] = answer;
            self.fates[at] = Some(fate);
        }
        let mut from = 0;
        while let Some(failed) = self.batch.send(socket.as_fd(), from, count) {
            self.fates[failed] = Some(Fate::Unsent);
            from = failed + 1;
        }
        for fate in self.fates[..count].iter_mut().filter_map(Option::take) {
            self.sums.add(fate);
        }
        self.sums.flush(DnsTransport::Udp, &self.state.counts);
        let crowded = self.responder.take_evicted_networks();
        if crowded > 0 {
            self.state.counts.evicted_networks.fetch_add(crowded, Ordering::Relaxed);
        }
    }
}
