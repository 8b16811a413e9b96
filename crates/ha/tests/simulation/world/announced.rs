//! The members' announcements to their neighbours, and their replies.

use super::{NORMAL_DELAY_MS, VrrpSimulation, WELL};

impl VrrpSimulation {
    pub(super) fn announce(&mut self, from: usize) {
        for (to, beside) in self.neighbours.places() {
            let line = if beside == from { WELL } else { self.lines[from][beside] };
            if !self.dice.percent(line.loss) {
                self.neighbours.tell(self.now + self.dice.between(0, line.delay), to, from);
            }
        }
    }

    /// Hosts with an expired entry ask; the holder of the address replies.
    pub(super) fn ask(&mut self) {
        for (to, beside) in self.neighbours.ask(self.now) {
            for from in self.holders() {
                let lines = [self.lines[from][beside], self.lines[beside][from]];
                let lost = from != beside && lines.iter().any(|line| self.dice.percent(line.loss));
                if !lost {
                    self.neighbours.tell(
                        self.now + self.dice.between(0, NORMAL_DELAY_MS),
                        to,
                        from,
                    );
                }
            }
        }
    }
}
