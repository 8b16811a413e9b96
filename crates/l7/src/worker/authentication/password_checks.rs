//! Checks of passwords on threads of their own: one takes milliseconds, which a worker has not.
//!
//! The queue is bounded, and one client has a share of it. Threads begin with the first check.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use credentials::basic_credentials::BasicCredentials;
use credentials::password_file::PasswordFile;
use model::table_key;

use crate::rt::TaskId;

/// Threads at most, and never more than half of the processors: workers need the others.
const MAX_THREADS: usize = 4;

/// Checks that wait. With bcrypt at its usual cost four threads do as many in five seconds.
const MAX_WAITING: usize = 256;

/// Checks of one client that wait or run.
const MAX_OF_CLIENT: u32 = 32;

/// How far the threads stand back behind workers.
const NICENESS: i32 = 10;

/// Wakes a task of one worker from another thread.
pub type WorkerTaskWaker = Box<dyn Fn(TaskId) + Send + Sync>;

/// The queue of checks, and the threads that do them.
#[derive(Default)]
pub struct PasswordChecks {
    state: Mutex<CheckState>,
    changed: Condvar,
    /// One for each worker.
    wakers: OnceLock<Vec<WorkerTaskWaker>>,
}

#[derive(Default)]
struct CheckState {
    waiting: VecDeque<QueuedCheck>,
    /// Checks by client that wait or run.
    clients: HashMap<u64, u32>,
    threads: usize,
    idle: usize,
    stops: bool,
}

/// What is to be checked, and whom to tell.
pub struct PasswordQuestion {
    pub file: Arc<PasswordFile>,
    pub credentials: BasicCredentials,
    pub client: IpAddr,
    /// Called when the answer is there.
    pub on_answer: Box<dyn FnOnce() + Send>,
}

struct QueuedCheck {
    question: PasswordQuestion,
    client_key: u64,
    answer: Arc<PasswordAnswer>,
}

/// The answer to a check, once it is there.
#[derive(Debug, Default)]
pub struct PasswordAnswer(AtomicU8);

const PENDING: u8 = 0;
const WRONG: u8 = 1;
const RIGHT: u8 = 2;

/// The queue, or a client's share of it, is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueFullError;

impl PasswordAnswer {
    /// Whether the password is right; `None`: it is not known yet.
    pub fn get(&self) -> Option<bool> {
        match self.0.load(Ordering::Acquire) {
            PENDING => None,
            answer => Some(answer == RIGHT),
        }
    }
}

impl PasswordChecks {
    /// Sets how a task of each worker is woken.
    pub fn set_wakers(&self, wakers: Vec<WorkerTaskWaker>) {
        // Only the first call has an effect.
        let _ = self.wakers.set(wakers);
    }

    /// Wakes a task of a worker.
    pub fn wake(&self, worker: usize, task: TaskId) {
        if let Some(waker) = self.wakers.get().and_then(|all| all.get(worker)) {
            waker(task);
        }
    }

    /// Queues a check. `on_answer` is called when the answer is there.
    ///
    /// # Errors
    /// The queue is full.
    pub fn submit(
        self: &Arc<Self>,
        question: PasswordQuestion,
    ) -> Result<Arc<PasswordAnswer>, QueueFullError> {
        let client_key = table_key::hash_network(question.client, 32, 64);
        let mut state = self.lock();
        let of_client = state.clients.get(&client_key).copied().unwrap_or_default();
        if state.waiting.len() >= MAX_WAITING || of_client >= MAX_OF_CLIENT || state.stops {
            return Err(QueueFullError);
        }
        state.clients.insert(client_key, of_client + 1);
        let answer = Arc::new(PasswordAnswer::default());
        state.waiting.push_back(QueuedCheck { question, client_key, answer: answer.clone() });
        let wants_thread = state.idle < state.waiting.len() && state.threads < thread_limit();
        if wants_thread {
            self.start_thread(&mut state);
        }
        drop(state);
        self.changed.notify_one();
        Ok(answer)
    }

    /// Ends the threads after their current checks.
    pub fn stop(&self) {
        let mut state = self.lock();
        state.stops = true;
        state.waiting.clear();
        drop(state);
        self.changed.notify_all();
    }

    fn start_thread(self: &Arc<Self>, state: &mut CheckState) {
        let checks = self.clone();
        let name = format!("passwords-{}", state.threads);
        // Without a thread the check waits for another one, or until its exchange gives up.
        let begun = std::thread::Builder::new().name(name).spawn(move || checks.run());
        state.threads += usize::from(begun.is_ok());
    }

    fn run(&self) {
        // If it is refused, the threads have the same rank as workers.
        let _ = rustix::process::nice(NICENESS);
        while let Some(check) = self.take_check() {
            // Nobody waits for the answer any more: the exchange has ended.
            if Arc::strong_count(&check.answer) > 1 {
                let PasswordQuestion { file, credentials, on_answer, .. } = check.question;
                let is_right = file.check(&credentials.name, &credentials.password);
                let answer = if is_right { RIGHT } else { WRONG };
                // Pairs with the load of `get`.
                check.answer.0.store(answer, Ordering::Release);
                on_answer();
            }
            self.forget_client(check.client_key);
        }
    }

    /// Waits for the next check; `None`: the thread ends.
    fn take_check(&self) -> Option<QueuedCheck> {
        let mut state = self.lock();
        loop {
            if state.stops {
                return None;
            }
            if let Some(check) = state.waiting.pop_front() {
                return Some(check);
            }
            state.idle += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    fn forget_client(&self, key: u64) {
        let mut state = self.lock();
        if let Some(count) = state.clients.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                state.clients.remove(&key);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, CheckState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn thread_limit() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (processors / 2).clamp(1, MAX_THREADS)
}

#[cfg(test)]
#[path = "password_checks/tests.rs"]
mod tests;
