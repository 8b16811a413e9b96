//! One agent during a run: its last report, and how it ended. It assesses nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::channel::{ChannelError, FleetChannel};
use super::protocol::{AgentMessage, AgentProgress, AgentSummary, LeaderMessage, SILENCE};

/// The state of an agent.
#[derive(Debug, Default)]
pub struct AgentMonitor {
    state: Mutex<AgentState>,
}

#[derive(Clone, Debug, Default)]
pub struct AgentState {
    /// The agent's last report.
    pub figures: AgentProgress,
    /// How the agent ended; `None`: it is running.
    pub end: Option<AgentEnd>,
}

#[derive(Clone, Debug)]
pub enum AgentEnd {
    /// As planned, or stopped by the leader.
    Done(Box<AgentSummary>),
    /// Reports stopped, with the reason.
    Lost(String),
}

impl AgentMonitor {
    pub fn state(&self) -> AgentState {
        self.lock().clone()
    }

    /// Reads reports until the agent has ended, and sends it one stop request.
    pub fn follow_agent(&self, channel: &mut FleetChannel, stop: &AtomicBool) {
        let mut stop_sent = false;
        let mut heard = Instant::now();
        let end = loop {
            if stop.load(Ordering::Relaxed) && !stop_sent {
                stop_sent = true;
                // Ignored: the loop detects an agent that can no longer be reached.
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

/// Short compared with the interval of reports.
const LOOK_EVERY: Duration = Duration::from_millis(50);
