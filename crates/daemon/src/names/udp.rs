//! The life of a thread that answers over UDP: waits for its sockets, takes a batch, answers it.
//!
//! A socket that it loses is emptied before it is closed, so that what had come is answered.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use names::counts::{Batch as Sums, Fate, Transport};
use names::desk::{Asked, Desk};
use rustix::event::epoll;
use socket2::Socket;

use super::batch::{Batch, MOST};
use super::seat::{Seat, Sockets};
use super::shared::{Reader, Shared, now};

/// The longest wait: whatever was missed is noticed then.
const LOOK: rustix::time::Timespec = rustix::time::Timespec { tv_sec: 1, tv_nsec: 0 };
/// Batches from one socket before the others have their turn.
const ROUNDS: usize = 16;
/// Batches from one that is to be closed: more than its buffer holds.
const LAST_ROUNDS: usize = 4_096;
/// The number of the bell among the events.
const BELL: u64 = u64::MAX;

/// Answers until told to end.
pub(super) fn run(seat: &Seat, shared: &Arc<Shared>, desk: Desk) -> io::Result<()> {
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&poll, seat.bell(), epoll::EventData::new_u64(BELL), epoll::EventFlags::IN)?;
    let mut worker = Worker::new(shared, desk);
    let mut sockets: Vec<Option<(SocketAddr, Arc<Socket>)>> = Vec::new();
    let mut ready = Vec::with_capacity(64);
    loop {
        ready.clear();
        match epoll::wait(&poll, rustix::buffer::spare_capacity(&mut ready), Some(&LOOK)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &ready {
            let at = event.data.u64();
            if at == BELL {
                let (wanted, end) = seat.hear();
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
    mut wanted: Sockets,
    worker: &mut Worker,
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

/// What the thread works with.
struct Worker {
    reader: Reader,
    shared: Arc<Shared>,
    desk: Desk,
    batch: Batch,
    fates: [Option<Fate>; MOST],
    sums: Sums,
}

impl Worker {
    fn new(shared: &Arc<Shared>, desk: Desk) -> Worker {
        Worker {
            reader: Reader::new(shared),
            shared: Arc::clone(shared),
            desk,
            batch: Batch::new(),
            fates: [None; MOST],
            sums: Sums::default(),
        }
    }

    /// Answers what waits, at most so many batches.
    fn serve(&mut self, socket: &Socket, rounds: usize) {
        for _ in 0..rounds {
            // An error of an earlier answer (its receiver is gone) is reported here, and means nothing.
            let count = match self.batch.receive(socket.as_fd()) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => continue,
            };
            self.round(socket, count);
            if count < MOST {
                return;
            }
        }
    }

    fn round(&mut self, socket: &Socket, count: usize) {
        let (now, unix_seconds) = now();
        self.shared.counts.receive(Transport::Udp, count as u64);
        let Some(book) = self.reader.book().cloned() else { return };
        for at in 0..count {
            let mut answer = std::mem::take(&mut self.batch.answers[at]);
            let fate = match self.batch.query(at) {
                Some((query, from)) => {
                    let asked = Asked { from, by: Transport::Udp, now, unix_seconds };
                    self.desk.answer(&book, &asked, query, &mut answer)
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
        self.sums.flush(Transport::Udp, &self.shared.counts);
        let crowded = self.desk.crowded();
        if crowded > 0 {
            self.shared.counts.crowded.fetch_add(crowded, Ordering::Relaxed);
        }
    }
}
