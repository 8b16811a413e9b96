//! One agent during a run: what it has told last, and how it ended. It judges nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::channel::{Channel, ChannelError};
use super::talk::{Done, Figures, SILENCE, ToAgent, ToLeader};

/// What is known of an agent.
#[derive(Debug, Default)]
pub struct Followed {
    state: Mutex<State>,
}

/// Its state.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// What it told last.
    pub figures: Figures,
    /// How it ended; `None`: it has not.
    pub end: Option<End>,
}

/// How it ended.
#[derive(Clone, Debug)]
pub enum End {
    /// As planned, or as it was told to.
    Done(Box<Done>),
    /// It told nothing more, and why.
    Lost(String),
}

impl Followed {
    /// A copy of what is known.
    pub fn state(&self) -> State {
        self.lock().clone()
    }

    /// Listens until the agent has ended, and tells it once to stop.
    pub fn follow(&self, channel: &mut Channel, stop: &AtomicBool) {
        let mut told = false;
        let mut heard = Instant::now();
        let end = loop {
            if stop.load(Ordering::Relaxed) && !told {
                told = true;
                // One that cannot be told any more is found to be lost below.
                let _ = channel.say(&ToAgent::Stop);
            }
            match channel.hear(LOOK_EVERY) {
                Ok(Some(ToLeader::Figures(figures))) => {
                    heard = Instant::now();
                    self.lock().figures = figures;
                }
                Ok(Some(ToLeader::Done(done))) => break End::Done(Box::new(done)),
                Ok(Some(ToLeader::Refused(why))) => break End::Lost(why),
                Ok(Some(ToLeader::Ready { .. })) => {}
                Ok(None) if heard.elapsed() < SILENCE => {}
                Ok(None) => break End::Lost(ChannelError::Silent(SILENCE).to_string()),
                Err(error) => break End::Lost(error.to_string()),
            }
        };
        let mut state = self.lock();
        if let End::Done(done) = &end {
            state.figures = done.figures.clone();
        }
        state.end = Some(end);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const LOOK_EVERY: Duration = Duration::from_millis(50);
