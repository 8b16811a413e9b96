//! One agent during a run: what it has told last, and how it ended. It judges nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::channel::{ChannelError, FleetChannel};
use super::protocol::{AgentMessage, AgentProgress, AgentSummary, LeaderMessage, SILENCE};

/// What is known of an agent.
#[derive(Debug, Default)]
pub struct AgentMonitor {
    state: Mutex<AgentState>,
}

#[derive(Clone, Debug, Default)]
pub struct AgentState {
    /// What it told last.
    pub figures: AgentProgress,
    /// How it ended; `None`: it has not.
    pub end: Option<AgentEnd>,
}

#[derive(Clone, Debug)]
pub enum AgentEnd {
    /// As planned, or as it was told to.
    Done(Box<AgentSummary>),
    /// It told nothing more, and why.
    Lost(String),
}

impl AgentMonitor {
    /// A copy of what is known.
    pub fn state(&self) -> AgentState {
        self.lock().clone()
    }

    /// Listens until the agent has ended, and tells it once to stop.
    pub fn follow_agent(&self, channel: &mut FleetChannel, stop: &AtomicBool) {
        let mut stop_sent = false;
        let mut heard = Instant::now();
        let end = loop {
            if stop.load(Ordering::Relaxed) && !stop_sent {
                stop_sent = true;
                // One that cannot be told any more is found to be lost below.
                let _ = channel.send_message(&LeaderMessage::Stop);
            }
            match channel.receive_message(LOOK_EVERY) {
                Ok(Some(AgentMessage::Figures(figures))) => {
                    heard = Instant::now();
                    self.lock().figures = figures;
                }
                Ok(Some(AgentMessage::Done(done))) => break AgentEnd::Done(Box::new(done)),
                Ok(Some(AgentMessage::Refused(why))) => break AgentEnd::Lost(why),
                Ok(Some(AgentMessage::Ready { .. })) => {}
                Ok(None) if heard.elapsed() < SILENCE => {}
                Ok(None) => break AgentEnd::Lost(ChannelError::TimedOut(SILENCE).to_string()),
                Err(error) => break AgentEnd::Lost(error.to_string()),
            }
        };
        let mut state = self.lock();
        if let AgentEnd::Done(done) = &end {
            state.figures = done.figures.clone();
        }
        state.end = Some(end);
    }

    fn lock(&self) -> MutexGuard<'_, AgentState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const LOOK_EVERY: Duration = Duration::from_millis(50);
