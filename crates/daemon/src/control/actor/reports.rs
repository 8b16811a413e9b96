//! Reports between commands: health checks, agents, the resolver, weights, ejections. Many of them go into one
//! snapshot.

use std::time::SystemTime;

use super::ControlActor;
use crate::state::EjectionChange;
use crate::state::handle::ControlCommand;
use crate::state::server_state;

impl ControlActor {
    /// Takes it in; gives any other order back.
    pub(super) fn apply_report(&mut self, order: ControlCommand) -> Option<ControlCommand> {
        let now = SystemTime::now();
        match order {
            ControlCommand::HealthReport(verdict) => {
                self.update_server(verdict.server, |facts| {
                    server_state::apply_verdict(facts, verdict, now)
                });
            }
            ControlCommand::Agent(agent_report) => {
                self.update_server(agent_report.server, |facts| {
                    server_state::apply_agent_report(facts, agent_report.wanted, now)
                });
            }
            ControlCommand::Resolution(resolution) => self
                .update_server(resolution.server, |facts| {
                    server_state::apply_resolution(facts, resolution.result, now)
                }),
            ControlCommand::WeightShares(shares) => {
                self.applied = self.applied.with_shares(&shares);
                self.save_server_state();
            }
            ControlCommand::Ejections(ejections) => {
                for EjectionChange { server, ejection } in ejections {
                    self.update_server(server, |facts| {
                        server_state::apply_ejection(facts, ejection, now)
                    });
                }
            }
            other => return Some(other),
        };
        None
    }
}
