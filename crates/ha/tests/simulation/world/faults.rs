//! Random faults of a run: members that are killed, stopped or ordered, and lines that lose packets.

use ha::state_machine::{TransitionReason, VrrpState, VrrpStateMachine};

use super::{FAULTY_DELAY_MS, VrrpLine, VrrpSimulation, WELL};

impl VrrpSimulation {
    pub(super) fn trouble(&mut self) {
        if self.dice.percent(99) || self.dice.percent(50) {
            return;
        }
        let at = self.member();
        match self.dice.between(0, 10) {
            0 => {
                self.blow(at);
                self.kill(at);
            }
            1 | 2 => self.revive(at),
            3 => {
                self.blow(at);
                self.members[at].stopped = self.now + self.dice.between(10, 3_000);
            }
            4 => self.members[at].ahead += self.dice.between(1, 2_000),
            5 => {
                let fault = self.dice.percent(50);
                self.act(at, |machine, now, out| match (fault, machine.state()) {
                    (true, _) => machine.stop(now, TransitionReason::Fault, out),
                    (false, VrrpState::Idle) => machine.start(now, false, out),
                    (false, _) => drop(machine.order_active(now, out)),
                });
            }
            _ if self.network_fails => self.disturb(at),
            _ => {}
        }
    }

    pub(super) fn blow(&mut self, at: usize) {
        for one in 0..self.members.len() {
            self.blows[one.max(at)][one.min(at)] += 1;
        }
    }

    /// Changes one direction, or everything that a member receives or sends.
    fn disturb(&mut self, at: usize) {
        let line = match self.dice.between(0, 4) {
            0 => VrrpLine { loss: 100, ..WELL },
            1 => {
                VrrpLine { loss: self.dice.between(1, 60), duplication: 20, delay: FAULTY_DELAY_MS }
            }
            _ => WELL,
        };
        self.splits += u64::from(line.loss == 100);
        let other = self.member();
        match self.dice.between(0, 3) {
            0 => self.lines[at][other] = line,
            1 => self.lines[at].fill(line),
            _ => self.lines.iter_mut().for_each(|from| from[at] = line),
        }
    }

    pub(super) fn heal(&mut self) {
        for at in 0..self.members.len() {
            self.members[at].stopped = 0;
            self.revive(at);
            self.act(at, |machine, now, out| machine.start(now, false, out));
            self.lines[at].fill(WELL);
        }
    }

    /// SIGKILL: the address stays on the machine.
    fn kill(&mut self, at: usize) {
        let member = &mut self.members[at];
        let counts = member.machine.counts().clone();
        member.counts.push(counts);
        member.alive = false;
        member.machine = VrrpStateMachine::new(member.settings.clone());
    }

    /// Starts a process, which reads the state that the previous process left.
    fn revive(&mut self, at: usize) {
        let now = self.clock(at);
        let member = &mut self.members[at];
        if member.alive {
            return;
        }
        member.alive = true;
        member.stopped = 0;
        let held = member.address && now < member.lease_until;
        if member.address && !held {
            member.machine.release_found_addresses();
        }
        member.address &= held;
        self.act(at, |machine, now, out| machine.start(now, held, out));
    }
}
