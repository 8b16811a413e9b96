//! Messages between a leader and its agents, each a line of JSON.
//!
//! It sends nothing.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::load::{LoadModel, LoadPlan, TallyRecord};
use crate::machine::processors::ProcessorShare;
use crate::result_note::ResultNote;

/// The version of the protocol; both ends must have the same.
pub const VERSION: u32 = 2;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum LeaderMessage {
    /// Prepare this load.
    Order {
        version: u32,
        /// This agent's part of the load.
        plan: Box<LoadPlan>,
    },
    Go,
    /// Start no more requests, wait for responses, and report the end.
    Stop,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum AgentMessage {
    Ready {
        /// Limits that the agent will reach.
        notes: Vec<ResultNote>,
        /// Hostname, kernel and processors.
        about: String,
    },
    /// The agent refuses, with the reason.
    Refused(String),
    /// The counts since the start.
    Figures(AgentProgress),
    /// The final counts.
    Done(AgentSummary),
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AgentProgress {
    /// Seconds since the load started.
    pub seconds: f64,
    /// Counts since the load started.
    pub counts: TallyRecord,
}

/// How an agent's load ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AgentSummary {
    /// The final counts.
    pub figures: AgentProgress,
    /// Threads that failed.
    pub broken_threads: usize,
    /// Limits of the agent that may have reduced the load.
    pub notes: Vec<ResultNote>,
    pub processors: Vec<ProcessorShare>,
    /// Processor share of each of its threads.
    pub threads_busy: Vec<f64>,
}

/// Divides a plan among this many agents; the sum of the parts is the plan. Each agent chooses its threads.
pub fn split_plan(plan: &LoadPlan, agents: usize) -> Vec<LoadPlan> {
    let part = |all: usize, at: usize| all / agents + usize::from(at < all % agents);
    let requests = |all: u64, at: usize| {
        let at = at as u64;
        let agents = agents as u64;
        all / agents + u64::from(at < all % agents)
    };
    let one = |at: usize| LoadPlan {
        pace: match plan.pace {
            LoadModel::Closed { connections, think } => {
                LoadModel::Closed { connections: part(connections, at), think }
            }
            LoadModel::Open { per_second, connections } => LoadModel::Open {
                per_second: per_second / agents as f64,
                connections: part(connections, at),
            },
        },
        requests: plan.requests.map(|all| requests(all, at)),
        ..plan.clone()
    };
    (0..agents).map(one).collect()
}

/// An agent silent for this long counts as lost. Fifty report intervals.
pub const SILENCE: Duration = Duration::from_secs(10);
/// How often counts are reported.
pub const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);
/// How long either side waits for the other before the load starts.
pub const MESSAGE_TIMEOUT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{HttpPlan, LoadProtocol, RequestMix, RequestTemplate, TargetTls};
    use std::net::SocketAddr;

    #[test]
    fn parts_come_to_the_whole() {
        let get = LoadProtocol::Http(HttpPlan::get("x", "/"));
        let mut plan = LoadPlan::new(SocketAddr::from(([127, 0, 0, 1], 1)), get, 10);
        plan.requests = Some(101);
        let parts = split_plan(&plan, 4);
        assert_eq!(parts.iter().map(LoadPlan::connections).collect::<Vec<_>>(), [3, 3, 2, 2]);
        assert_eq!(parts.iter().filter_map(|part| part.requests).sum::<u64>(), 101);
        plan.pace = LoadModel::Open { per_second: 100.0, connections: 8 };
        let rates = split_plan(&plan, 3).into_iter().map(|part| match part.pace {
            LoadModel::Open { per_second, .. } => per_second,
            LoadModel::Closed { .. } => 0.0,
        });
        assert!((rates.sum::<f64>() - 100.0).abs() < 1e-9);
    }

    #[test]
    fn an_order_arrives_as_it_was_given() {
        let mut shot = RequestTemplate::get("shop.example", "/cart");
        shot.body = std::sync::Arc::from(&b"item=1"[..]);
        let mix = LoadProtocol::Mix(RequestMix { shots: vec![shot] });
        let mut plan = LoadPlan::new(SocketAddr::from(([127, 0, 0, 1], 1)), mix, 10);
        plan.secure =
            Some(TargetTls::unverified("shop.example", &[b"h2"]).unwrap().without_resumption());
        let order = LeaderMessage::Order { version: VERSION, plan: Box::new(plan) };
        let words = serde_json::to_string(&order).unwrap();
        let decoded: LeaderMessage = serde_json::from_str(&words).unwrap();
        assert_eq!(serde_json::to_string(&decoded).unwrap(), words);
        assert!(words.contains("\"resumed\":false") && words.contains("shop.example"));
    }
}
