//! What a leader and its agents say to each other: a line of JSON each.
//!
//! It sends nothing.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::load::{Counts, Pace, Plan};
use crate::machine::processors::Share;
use crate::result::Note;

/// The version of this talk; both sides must have the same.
pub const VERSION: u32 = 2;

/// What the leader says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToAgent {
    /// Make ready for this.
    Order {
        /// The leader's version.
        version: u32,
        /// This agent's part of the load.
        plan: Box<Plan>,
    },
    /// Begin.
    Go,
    /// Begin no request any more, wait for answers, and tell the end.
    Stop,
}

/// What an agent says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToLeader {
    /// It can begin.
    Ready {
        /// What it will run out of.
        notes: Vec<Note>,
        /// Its name, kernel and processors.
        about: String,
    },
    /// It will not, and why.
    Refused(String),
    /// What it has counted since it began.
    Figures(Figures),
    /// The last of them.
    Done(Done),
}

/// Counts so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Figures {
    /// Seconds since it began.
    pub seconds: f64,
    /// Counts since it began.
    pub counts: Counts,
}

/// How an agent's load ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Done {
    /// All it has counted.
    pub figures: Figures,
    /// Threads that broke down.
    pub broken_threads: usize,
    /// What was a limit of the agent, not of the target.
    pub notes: Vec<Note>,
    /// What its processors did.
    pub processors: Vec<Share>,
    /// Share of a processor that each of its threads used.
    pub threads_busy: Vec<f64>,
}

/// The parts of a plan for so many agents; their sum is the plan. Threads are each agent's own.
pub fn split(plan: &Plan, agents: usize) -> Vec<Plan> {
    let part = |all: usize, at: usize| all / agents + usize::from(at < all % agents);
    let requests = |all: u64, at: usize| {
        let (at, agents) = (at as u64, agents as u64);
        all / agents + u64::from(at < all % agents)
    };
    let one = |at: usize| Plan {
        pace: match plan.pace {
            Pace::Closed { connections, think } => {
                Pace::Closed { connections: part(connections, at), think }
            }
            Pace::Open { per_second, connections } => Pace::Open {
                per_second: per_second / agents as f64,
                connections: part(connections, at),
            },
        },
        requests: plan.requests.map(|all| requests(all, at)),
        ..plan.clone()
    };
    (0..agents).map(one).collect()
}

/// How long an agent may say nothing before it counts as gone.
pub const SILENCE: Duration = Duration::from_secs(10);
/// How often counts are told.
pub const TELL_EVERY: Duration = Duration::from_millis(200);
/// How long either side waits for the other before the load begins.
pub const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{HttpPlan, Mix, Protocol, Secure, Shot};
    use std::net::SocketAddr;

    #[test]
    fn parts_come_to_the_whole() {
        let get = Protocol::Http(HttpPlan::get("x", "/"));
        let mut plan = Plan::new(SocketAddr::from(([127, 0, 0, 1], 1)), get, 10);
        plan.requests = Some(101);
        let parts = split(&plan, 4);
        assert_eq!(parts.iter().map(Plan::connections).collect::<Vec<_>>(), [3, 3, 2, 2]);
        assert_eq!(parts.iter().filter_map(|part| part.requests).sum::<u64>(), 101);
        plan.pace = Pace::Open { per_second: 100.0, connections: 8 };
        let rates = split(&plan, 3).into_iter().map(|part| match part.pace {
            Pace::Open { per_second, .. } => per_second,
            Pace::Closed { .. } => 0.0,
        });
        assert!((rates.sum::<f64>() - 100.0).abs() < 1e-9);
    }

    #[test]
    fn an_order_arrives_as_it_was_given() {
        let mut shot = Shot::get("shop.example", "/cart");
        shot.body = std::sync::Arc::from(&b"item=1"[..]);
        let mix = Protocol::Mix(Mix { shots: vec![shot] });
        let mut plan = Plan::new(SocketAddr::from(([127, 0, 0, 1], 1)), mix, 10);
        plan.secure =
            Some(Secure::unverified("shop.example", &[b"h2"]).unwrap().whole_handshakes());
        let order = ToAgent::Order { version: VERSION, plan: Box::new(plan) };
        let words = serde_json::to_string(&order).unwrap();
        let again: ToAgent = serde_json::from_str(&words).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), words);
        assert!(words.contains("\"resumed\":false") && words.contains("shop.example"));
    }
}
