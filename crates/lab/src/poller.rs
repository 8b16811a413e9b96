//! Readiness of sockets: epoll, a precise timer, and a wake-up from other threads.
//!
//! Edge-triggered by default, so the caller reads and writes until the kernel returns EAGAIN. It owns no sockets and
//! does not interpret their data.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};

/// The current time of the kernel's monotonic clock, comparable between threads.
pub fn now() -> MonotonicTime {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    MonotonicTime(seconds * NANOS + u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// The kernel's report about one socket.
#[derive(Clone, Copy, Debug)]
pub struct SocketReadiness {
    /// The token that the socket was added with.
    pub token: u64,
    /// Bytes, the end or an error can be read.
    pub readable: bool,
    /// Bytes can be written, or the connection's error is available.
    pub writable: bool,
    /// The peer has closed its direction or the connection: read to the end.
    pub ended: bool,
}

/// Wakes a poller from another thread.
#[derive(Clone, Debug)]
pub struct PollerWaker(Arc<OwnedFd>);

impl PollerWaker {
    /// Makes the current or next `wait` return. A full counter already has that effect.
    pub fn wake(&self) {
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    alarm: OwnedFd,
    armed: MonotonicTime,
    waker: PollerWaker,
}

impl Poller {
    /// Creates a poller; fails only without free descriptors or memory.
    pub fn new() -> Result<Poller, Errno> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let alarm = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        epoll::add(&epoll, &alarm, EventData::new_u64(ALARM), EventFlags::IN | EventFlags::ET)?;
        epoll::add(&epoll, &wake, EventData::new_u64(WAKE), EventFlags::IN | EventFlags::ET)?;
        let waker = PollerWaker(Arc::new(wake));
        Ok(Poller { epoll, alarm, armed: MonotonicTime::NEVER, waker })
    }

    /// A handle that wakes this poller.
    pub fn waker(&self) -> PollerWaker {
        self.waker.clone()
    }

    /// Watches a connection for both directions, edge-triggered. `token` must be below `u64::MAX - 1`.
    pub fn add(&self, socket: impl AsFd, token: u64) -> Result<(), Errno> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.epoll, socket, EventData::new_u64(token), flags)
    }

    /// Watches a listener, level-triggered: the accept loop may stop early and continue after the next wait.
    pub fn add_listener(&self, socket: impl AsFd, token: u64) -> Result<(), Errno> {
        epoll::add(&self.epoll, socket, EventData::new_u64(token), EventFlags::IN)
    }

    /// Stops watching a socket; closing the socket has the same effect.
    pub fn remove(&self, socket: impl AsFd) -> Result<(), Errno> {
        epoll::delete(&self.epoll, socket)
    }

    /// Waits for readiness, a wake-up or `deadline`, and replaces the contents of `ready`.
    ///
    /// May return early without an event, so callers check the clock.
    pub fn wait(
        &mut self,
        deadline: MonotonicTime,
        ready: &mut Vec<SocketReadiness>,
    ) -> Result<(), Errno> {
        ready.clear();
        let timeout = self.timeout(deadline)?;
        let mut room = [const { MaybeUninit::<Event>::uninit() }; BATCH];
        let events = match epoll::wait(&self.epoll, &mut room, timeout.as_ref()) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(error),
        };
        for event in events {
            let flags = event.flags;
            let data = event.data;
            match data.u64() {
                ALARM => {
                    self.armed = MonotonicTime::NEVER;
                    // The descriptors do not block: a failed read means that they were reset already.
                    let _ = rustix::io::read(&self.alarm, &mut [0u8; 8]);
                }
                WAKE => {
                    // As above.
                    let _ = rustix::io::read(&self.waker.0, &mut [0u8; 8]);
                }
                token => ready.push(SocketReadiness {
                    token,
                    readable: flags.intersects(READABLE),
                    writable: flags.intersects(WRITABLE),
                    ended: flags.intersects(ENDED),
                }),
            }
        }
        Ok(())
    }

    /// The system call's timeout: whole milliseconds before the deadline; the timer covers the remainder.
    fn timeout(&mut self, deadline: MonotonicTime) -> Result<Option<Timespec>, Errno> {
        if deadline == MonotonicTime::NEVER {
            return Ok(None);
        }
        let left = deadline.since(now());
        if left.is_zero() {
            return Ok(Some(timespec(Duration::ZERO)));
        }
        if left > COARSE {
            let coarse = left - COARSE / 2;
            return Ok(Some(timespec(Duration::from_millis(
                u64::try_from(coarse.as_millis()).unwrap_or(u64::MAX),
            ))));
        }
        if self.armed != deadline {
            let value = timespec(Duration::from_nanos(deadline.0));
            let once = Itimerspec { it_interval: timespec(Duration::ZERO), it_value: value };
            timerfd_settime(&self.alarm, TimerfdTimerFlags::ABSTIME, &once)?;
            self.armed = deadline;
        }
        Ok(None)
    }
}

fn timespec(span: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(span.subsec_nanos()),
    }
}

/// Limit for events of one call.
const BATCH: usize = 256;
/// Longer waits use the system call's own timeout, whose unit is a millisecond.
const COARSE: Duration = Duration::from_millis(4);
/// Nanoseconds of a second.
const NANOS: u64 = 1_000_000_000;
const ALARM: u64 = u64::MAX;
const WAKE: u64 = u64::MAX - 1;
const ENDED: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);
const READABLE: EventFlags = EventFlags::IN.union(ENDED);
const WRITABLE: EventFlags = EventFlags::OUT.union(EventFlags::HUP).union(EventFlags::ERR);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarm_is_never_early_and_wakes_work() {
        let mut poller = Poller::new().unwrap();
        let mut ready = Vec::new();
        let deadline = now() + Duration::from_micros(7_300);
        let mut waits = 0;
        while now() < deadline {
            poller.wait(deadline, &mut ready).unwrap();
            waits += 1;
        }
        assert!(waits < 20, "{waits} waits: the alarm is not used");
        poller.waker().wake();
        poller.wait(MonotonicTime::NEVER, &mut ready).unwrap();
        assert!(ready.is_empty());
    }
}
