//! Tasks and their turns.
//!
//! A turn: wait for readiness or the next deadline, mark the ready sockets, and poll their tasks. A polled task sets
//! its deadline anew. Futures get a waker without effect: inside a worker, a task becomes runnable through sockets,
//! deadlines, `wake`, and the wakers that it passes to libraries (`waker`).

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

use super::net_driver::{NetDriver, ReadyEvent};
use super::parked_task::ParkedTask;
use super::run_delay::RunDelay;
use super::source::{Readiness, ReadinessSource, RegisteredSource};
use super::task::TaskId;
use super::timer_wheel::{DueTimer, TimerWheel};
use super::waker::{TaskWaker, WokenTasks};

struct Task {
    generation: NonZeroU32,
    future: Option<Pin<Box<dyn Future<Output = ()>>>>,
    live: bool,
    queued: bool,
    /// The latest time of the next poll.
    deadline: MonotonicTime,
    /// When the task's entry in the timer wheel is due; `NEVER`: no entry.
    armed: MonotonicTime,
}

struct SourceTable {
    slots: Vec<SourceSlot>,
    free: Vec<u32>,
}

/// A place for the readiness source of one socket.
struct SourceSlot {
    /// Changes whenever the slot is freed, so that late events of the previous socket are ignored.
    generation: u32,
    source: Option<Rc<ReadinessSource>>,
}

pub struct WorkerRuntime<N: NetDriver> {
    pub net: N,
    tasks: RefCell<Vec<Task>>,
    free: RefCell<Vec<u32>>,
    sources: RefCell<SourceTable>,
    ready: RefCell<VecDeque<TaskId>>,
    wheel: RefCell<TimerWheel<TaskId>>,
    current: Cell<Option<TaskId>>,
    pub(crate) parked: ParkedTask,
    wanted: Cell<MonotonicTime>,
    now: Cell<MonotonicTime>,
    waited: Cell<Duration>,
    pub(crate) run_delay: RunDelay,
    reports: RefCell<Vec<ReadyEvent>>,
    due: RefCell<Vec<DueTimer<TaskId>>>,
    woken: Arc<WokenTasks>,
    woken_batch: RefCell<Vec<TaskId>>,
}

impl<N: NetDriver> WorkerRuntime<N> {
    pub fn new(net: N) -> Self {
        let now = net.now();
        WorkerRuntime {
            net,
            tasks: RefCell::default(),
            free: RefCell::default(),
            sources: RefCell::new(SourceTable { slots: Vec::new(), free: Vec::new() }),
            ready: RefCell::default(),
            wheel: RefCell::new(TimerWheel::new(now)),
            current: Cell::new(None),
            parked: ParkedTask::default(),
            wanted: Cell::new(MonotonicTime::NEVER),
            now: Cell::new(now),
            waited: Cell::default(),
            run_delay: RunDelay::default(),
            reports: RefCell::default(),
            due: RefCell::default(),
            woken: Arc::default(),
            woken_batch: RefCell::default(),
        }
    }

    /// The time when this turn began, or of the last `update_now`.
    #[inline]
    pub fn now(&self) -> MonotonicTime {
        self.now.get()
    }

    #[inline]
    pub fn update_now(&self) -> MonotonicTime {
        let now = self.net.now();
        self.now.set(now);
        now
    }

    /// Total time spent waiting for events.
    pub fn waited_time(&self) -> Duration {
        self.waited.get()
    }

    /// Spawns a task, which is polled in the next turn.
    pub fn spawn(&self, story: impl Future<Output = ()> + 'static) -> TaskId {
        let mut tasks = self.tasks.borrow_mut();
        let index = self.free.borrow_mut().pop().unwrap_or_else(|| {
            tasks.push(Task {
                generation: NonZeroU32::MIN,
                future: None,
                live: false,
                queued: false,
                deadline: MonotonicTime::NEVER,
                armed: MonotonicTime::NEVER,
            });
            (tasks.len() - 1) as u32
        });
        let task = &mut tasks[index as usize];
        task.future = Some(Box::pin(story));
        task.live = true;
        task.queued = true;
        task.deadline = MonotonicTime::NEVER;
        let id = TaskId { index, generation: task.generation };
        self.ready.borrow_mut().push_back(id);
        id
    }

    /// Makes a task runnable.
    pub fn wake(&self, id: TaskId) {
        let mut tasks = self.tasks.borrow_mut();
        if let Some(task) = tasks.get_mut(id.index as usize)
            && task.generation == id.generation
            && task.live
            && !task.queued
        {
            task.queued = true;
            self.ready.borrow_mut().push_back(id);
        }
    }

    /// Makes every task runnable, after a change that any task may have to handle.
    pub fn wake_all(&self) {
        let ids: Vec<TaskId> = self
            .tasks
            .borrow()
            .iter()
            .enumerate()
            .filter(|(_, task)| task.live)
            .map(|(index, task)| TaskId { index: index as u32, generation: task.generation })
            .collect();
        for id in ids {
            self.wake(id);
        }
    }

    /// The task that is being polled.
    pub fn current(&self) -> Option<TaskId> {
        self.current.get()
    }

    /// A waker for the current task, for a library that the task drives.
    pub fn waker(&self) -> Waker {
        match self.current() {
            Some(task) => Waker::from(Arc::new(TaskWaker { task, woken: self.woken.clone() })),
            None => Waker::noop().clone(),
        }
    }

    /// Requests that the current task is polled at `at` at the latest.
    #[inline]
    pub fn wake_at(&self, at: MonotonicTime) {
        if at < self.wanted.get() {
            self.wanted.set(at);
        }
    }

    /// Lets the other runnable tasks run first.
    pub async fn yield_now(&self) {
        let mut yielded = false;
        std::future::poll_fn(|_| {
            if std::mem::replace(&mut yielded, true) {
                return Poll::Ready(());
            }
            if let Some(id) = self.current() {
                self.wake(id);
            }
            Poll::Pending
        })
        .await;
    }

    pub async fn sleep_until(&self, at: MonotonicTime) {
        std::future::poll_fn(|_| {
            if self.now() >= at {
                return Poll::Ready(());
            }
            self.wake_at(at);
            Poll::Pending
        })
        .await;
    }

    /// A readiness source for a stream without a socket.
    pub fn unregistered(&self) -> Rc<ReadinessSource> {
        Rc::new(ReadinessSource::new(self.current(), 0))
    }

    /// Registers a socket for the current task.
    pub fn register(&self, sock: &N::Sock, bits: u8) -> io::Result<RegisteredSource> {
        let source = Rc::new(ReadinessSource::new(self.current(), bits));
        let mut sources = self.sources.borrow_mut();
        let index = sources.free.pop().unwrap_or_else(|| {
            sources.slots.push(SourceSlot { generation: 0, source: None });
            (sources.slots.len() - 1) as u32
        });
        let slot = &mut sources.slots[index as usize];
        let token = u64::from(slot.generation) << 32 | u64::from(index);
        slot.source = Some(source.clone());
        drop(sources);
        if let Err(error) = self.net.register(sock, token) {
            self.forget(token);
            return Err(error);
        }
        Ok(RegisteredSource { source, token })
    }

    /// Removes a socket that is being closed.
    pub fn forget(&self, token: u64) {
        let mut sources = self.sources.borrow_mut();
        let index = token as u32;
        if let Some(slot) = sources.slots.get_mut(index as usize)
            && u64::from(slot.generation) == token >> 32
        {
            slot.generation = slot.generation.wrapping_add(1);
            slot.source = None;
            sources.free.push(index);
        }
    }

    pub fn clear(&self) {
        let stories: Vec<_> =
            self.tasks.borrow_mut().iter_mut().filter_map(|task| task.future.take()).collect();
        drop(stories);
    }

    /// Runs one turn: waits up to `most`, then polls every runnable task. Returns whether there was any.
    pub fn turn(&self, most: Option<Duration>) -> io::Result<bool> {
        let mut begun = MonotonicTime::NEVER;
        let carried = self.ready.borrow().len();
        let timeout = if carried == 0 {
            begun = self.net.now();
            self.run_delay.before_wait(begun, || self.net.run_delay_ns());
            self.wheel.borrow().until_next(begun).into_iter().chain(most).min()
        } else {
            Some(Duration::ZERO)
        };
        let mut reports = std::mem::take(&mut *self.reports.borrow_mut());
        let waited = self.net.wait(timeout, &mut reports);
        self.waited.set(self.waited.get() + self.update_now().since(begun));
        self.run_delay.after_wait(begun, self.now(), || self.net.run_delay_ns());
        reports.drain(..).for_each(|report| self.mark_ready(report));
        *self.reports.borrow_mut() = reports;
        waited?;
        self.fire_timers();
        Ok(self.run(carried))
    }

    fn mark_ready(&self, report: ReadyEvent) {
        let source = {
            let sources = self.sources.borrow();
            match sources.slots.get(report.token as u32 as usize) {
                Some(SourceSlot { generation, source: Some(source) })
                    if u64::from(*generation) == report.token >> 32 =>
                {
                    source.clone()
                }
                _ => return,
            }
        };
        source.set(report.readiness.0);
        if let Some(task) = source.task() {
            self.wake(task);
        }
    }

    fn fire_timers(&self) {
        let mut due = std::mem::take(&mut *self.due.borrow_mut());
        self.wheel.borrow_mut().take_due(self.now(), &mut due);
        for DueTimer { armed, owner: id } in due.drain(..) {
            let mut tasks = self.tasks.borrow_mut();
            let Some(task) = tasks.get_mut(id.index as usize) else { continue };
            if task.generation != id.generation || !task.live || task.armed != armed {
                continue;
            }
            task.armed = MonotonicTime::NEVER;
            if task.deadline <= self.now() {
                drop(tasks);
                self.wake(id);
            } else if task.deadline != MonotonicTime::NEVER {
                task.armed = self.wheel.borrow_mut().insert(task.deadline, id);
            }
        }
        *self.due.borrow_mut() = due;
    }

    /// Polls the runnable tasks, of which so many were runnable before the last poll of events.
    fn run(&self, carried: usize) -> bool {
        let turns = self.ready.borrow().len();
        (0..carried).for_each(|_| self.poll_next());
        self.run_delay.after_carried_tasks();
        (carried..turns).for_each(|_| self.poll_next());
        turns > 0
    }

    fn poll_next(&self) {
        let Some(id) = self.ready.borrow_mut().pop_front() else { return };
        let story = {
            let mut tasks = self.tasks.borrow_mut();
            let Some(task) = tasks.get_mut(id.index as usize) else { return };
            if task.generation != id.generation {
                return;
            }
            task.queued = false;
            task.future.take()
        };
        let Some(mut story) = story else { return };
        if let Some(parked) = self.parked.release_for(id) {
            self.wake(parked);
        }
        self.current.set(Some(id));
        self.wanted.set(MonotonicTime::NEVER);
        let done = story.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
        self.wake_woken();
        if done {
            // Dropped while it is still the current task: destructors may ask for the current task.
            drop(story);
            self.wake_woken();
            self.current.set(None);
            self.remove_task(id);
            return;
        }
        self.current.set(None);
        let mut tasks = self.tasks.borrow_mut();
        let task = &mut tasks[id.index as usize];
        task.future = Some(story);
        task.deadline = self.wanted.get();
        if task.deadline < task.armed {
            task.armed = self.wheel.borrow_mut().insert(task.deadline, id);
        }
    }

    /// Makes the tasks runnable that libraries have woken in this turn.
    fn wake_woken(&self) {
        let mut woken = self.woken_batch.borrow_mut();
        self.woken.take(&mut woken);
        for id in woken.drain(..) {
            self.wake(id);
        }
    }

    fn remove_task(&self, id: TaskId) {
        let mut tasks = self.tasks.borrow_mut();
        let task = &mut tasks[id.index as usize];
        task.generation = task.generation.checked_add(1).unwrap_or(NonZeroU32::MIN);
        task.live = false;
        task.queued = false;
        task.deadline = MonotonicTime::NEVER;
        task.armed = MonotonicTime::NEVER;
        self.free.borrow_mut().push(id.index);
    }

    /// Ready if `bits` of a source are set, or an error if `until` has passed; otherwise sets the task's deadline.
    pub fn poll_ready(
        &self,
        source: &ReadinessSource,
        bits: u8,
        until: MonotonicTime,
    ) -> Poll<Result<(), DeadlineError>> {
        if source.has(bits | Readiness::BROKEN) {
            return Poll::Ready(Ok(()));
        }
        if self.now() >= until {
            return Poll::Ready(Err(DeadlineError));
        }
        self.wake_at(until);
        Poll::Pending
    }
}

/// The deadline passed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlineError;
