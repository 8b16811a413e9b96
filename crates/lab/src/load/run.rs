//! A run of the load generator: its threads, its live figures and its end.
//!
//! It handles no signals: a signal handler calls `Stopper::stop`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;
use rustix::io::Errno;
use thiserror::Error;

use super::engine::LoadEngine;
use super::plan::{LoadPlan, LoadPlanError};
use super::report::LoadReport;
use super::tally::LoadTally;
use super::thread::{LoadThread, ThreadProgress};
use crate::poller::{Poller, PollerWaker, now};

/// Why a run could not start.
#[derive(Debug, Error)]
pub enum LoadStartError {
    /// The plan is invalid.
    #[error("the load cannot be made as planned")]
    Plan(#[from] LoadPlanError),
    /// A histogram could not be created.
    #[error("no histogram could be made")]
    Histogram(#[from] hdrhistogram::CreationError),
    /// The kernel rejected an epoll instance, a timer or an event descriptor.
    #[error("no poller could be made")]
    Poller(#[from] Errno),
    /// The kernel could not start a thread.
    #[error("no thread could be started")]
    Thread(#[from] std::io::Error),
}

/// A run in progress. Dropping it stops it without waiting for responses.
#[derive(Debug)]
pub struct LoadRun {
    threads: Vec<JoinHandle<Result<(), Errno>>>,
    shared: Vec<Arc<ThreadProgress>>,
    stopper: Stopper,
    started: MonotonicTime,
    finished: Arc<AtomicU64>,
    none: LoadTally,
}

/// Ends a run from any thread, for instance from a signal handler's.
#[derive(Clone, Debug)]
pub struct Stopper {
    stop: Arc<AtomicBool>,
    wakers: Vec<PollerWaker>,
}

impl Stopper {
    /// Starts no further requests; requests in flight have the plan's grace time.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.wakers.iter().for_each(PollerWaker::wake);
    }
}

impl LoadRun {
    pub fn start(plan: LoadPlan) -> Result<LoadRun, LoadStartError> {
        plan.check()?;
        let plan = Arc::new(plan);
        let none = LoadTally::new()?;
        let pollers: Vec<Poller> =
            (0..plan.threads).map(|_| Poller::new()).collect::<Result<_, _>>()?;
        let stop = Arc::new(AtomicBool::new(false));
        let wakers = pollers.iter().map(Poller::waker).collect();
        let mut load = LoadRun {
            threads: Vec::new(),
            shared: Vec::new(),
            stopper: Stopper { stop: stop.clone(), wakers },
            started: now(),
            finished: Arc::new(AtomicU64::new(0)),
            none,
        };
        for (number, poller) in pollers.into_iter().enumerate() {
            let tally = std::sync::Mutex::new(load.none.clone());
            let shared =
                Arc::new(ThreadProgress { tally, cpu_nanos: 0.into(), stop: stop.clone() });
            let engine = LoadEngine::new(plan.clone(), number, load.started, load.none.clone());
            let thread = LoadThread::new(plan.clone(), engine, poller, shared.clone());
            let over = load.finished.clone();
            let run = move || {
                let outcome = thread.run();
                over.fetch_max(now().0, Ordering::Relaxed);
                outcome
            };
            load.shared.push(shared);
            load.threads
                .push(std::thread::Builder::new().name(format!("load-{number}")).spawn(run)?);
        }
        Ok(load)
    }

    /// A handle that ends the run.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Whether every thread has ended.
    pub fn is_finished(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// The figures, at most a tenth of a second old.
    pub fn report(&self) -> LoadReport {
        let end = if self.is_finished() {
            MonotonicTime(self.finished.load(Ordering::Relaxed))
        } else {
            now()
        };
        self.build_report(end, 0)
    }

    /// Processor time of each thread, at most a tenth of a second old.
    pub fn cpu(&self) -> Vec<Duration> {
        let nanos = self.shared.iter().map(|shared| shared.cpu_nanos.load(Ordering::Relaxed));
        nanos.map(Duration::from_nanos).collect()
    }

    /// Waits for the end of the run.
    pub fn wait(mut self) -> LoadReport {
        let threads = std::mem::take(&mut self.threads);
        let joined = threads.into_iter().map(JoinHandle::join);
        let broken = joined.filter(|outcome| !matches!(outcome, Ok(Ok(())))).count();
        self.build_report(MonotonicTime(self.finished.load(Ordering::Relaxed)), broken)
    }

    fn build_report(&self, end: MonotonicTime, broken: usize) -> LoadReport {
        let mut sum = self.none.clone();
        for shared in &self.shared {
            sum.merge(&shared.tally.lock().unwrap_or_else(PoisonError::into_inner));
        }
        LoadReport::new(sum, end.since(self.started), broken)
    }
}

impl Drop for LoadRun {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}
