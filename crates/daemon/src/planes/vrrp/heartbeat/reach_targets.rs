//! The reachability targets of a heartbeat: the tasks that probe them, and the results.

use ha::heartbeat::ReachScore;
use ha::reach::{ReachTarget, reach_score};
use model::config::ReachabilityConfig;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::message::HeartbeatMessage;
use super::target_probe::{TargetEndpoint, probe_target};

pub struct ReachTargets {
    targets: Vec<ProbedTarget>,
    rise: u8,
    fall: u8,
}

pub struct ProbedTarget {
    pub endpoint: TargetEndpoint,
    pub target: ReachTarget,
    task: JoinHandle<()>,
}

/// A verdict that changed.
#[derive(Clone, Copy, Debug)]
pub struct ReachChange {
    pub endpoint: TargetEndpoint,
    /// Whether it is reached now.
    pub reached: bool,
    /// Nothing was known before.
    pub is_first: bool,
}

impl Drop for ProbedTarget {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ReachTargets {
    /// Begins to ask them.
    pub fn new(
        reach: Option<&ReachabilityConfig>,
        era: u64,
        words: &mpsc::Sender<HeartbeatMessage>,
    ) -> ReachTargets {
        let Some(reach) = reach else {
            return ReachTargets { targets: Vec::new(), rise: 1, fall: 1 };
        };
        let echoes = reach.echo.iter().map(|ip| TargetEndpoint::Echo(*ip));
        let all = echoes.chain(reach.connect.iter().map(|at| TargetEndpoint::Connect(*at)));
        let asked = |(index, at)| ProbedTarget {
            endpoint: at,
            target: ReachTarget::default(),
            task: probe_target(at, reach.every, reach.timeout, era, index, words.clone()),
        };
        let each = all.enumerate().map(asked).collect();
        ReachTargets { targets: each, rise: reach.rise, fall: reach.fall }
    }

    pub fn targets(&self) -> &[ProbedTarget] {
        &self.targets
    }

    /// One answered in time, or did not.
    pub fn record_answer(&mut self, at: usize, answered: bool) -> Option<ReachChange> {
        let asked = self.targets.get_mut(at)?;
        let first = asked.target.is_reached().is_none();
        let changed = asked.target.record_probe(answered, self.rise, self.fall);
        changed.then_some(ReachChange {
            endpoint: asked.endpoint,
            reached: answered,
            is_first: first,
        })
    }

    /// How many targets are reached, once each was probed.
    pub fn reach_score(&self) -> Option<ReachScore> {
        reach_score(self.targets.iter().map(|asked| &asked.target))
    }
}
