//! How much was in flight from round to round, as steps: rounds without a packet need no room, however many there are.
//!
//! A transfer with pauses has many times more rounds than packets. This module determines no shapes.

/// A sender that was silent for as long may begin with a small congestion window again, nanoseconds: the least timeout
/// of Linux.
const RESTART_NS: i64 = 200_000_000;

/// The data in flight when a packet was sent.
#[derive(Clone, Copy, Debug)]
pub struct FlightSample {
    /// The packet's time, nanoseconds since the capture began.
    pub time_ns: i64,
    /// Bytes in flight behind the packet.
    pub in_flight: i64,
}

/// Rounds of equal length, counted from a time.
#[derive(Clone, Copy, Debug)]
pub struct RoundClock {
    pub from_ns: i64,
    pub round_ns: i64,
    /// How many rounds there are.
    pub count: usize,
}

/// Rounds in a row with as much in flight.
#[derive(Clone, Copy, Debug)]
pub struct LevelStep {
    /// The first of them.
    pub from: usize,
    /// Most in flight in the first one, bytes; those behind it have no packet.
    pub peak: i64,
    /// As above, raised to the lower of its neighbours where it is alone.
    pub level: i64,
    /// Whether no earlier round had more in flight than the first one or the next.
    is_record: bool,
    /// As above, for the last round of the step before.
    is_record_ahead: bool,
}

/// The steps of a transfer.
#[derive(Debug)]
pub struct RoundLevels {
    steps: Vec<LevelStep>,
    count: usize,
}

/// A round, and the step that it is in.
#[derive(Clone, Copy, Debug)]
pub struct LevelPlace {
    pub round: usize,
    step: usize,
}

impl RoundClock {
    /// The round at a time.
    pub fn round_at(&self, time_ns: i64) -> usize {
        usize::try_from((time_ns - self.from_ns) / self.round_ns).unwrap_or(0)
    }
}

impl RoundLevels {
    /// `flights`: in order of time.
    pub fn from_flights(flights: &[FlightSample], clock: &RoundClock) -> RoundLevels {
        let first =
            LevelStep { from: 0, peak: 0, level: 0, is_record: false, is_record_ahead: false };
        let mut steps: Vec<LevelStep> = Vec::with_capacity(flights.len() + 1);
        steps.push(first);
        for FlightSample { time_ns, in_flight } in flights.iter().copied() {
            let from = steps.last().map_or(0, |last| last.from).max(clock.round_at(time_ns));
            match steps.last_mut() {
                _ if in_flight <= 0 || from >= clock.count => {}
                Some(last) if last.from == from => last.peak = last.peak.max(in_flight),
                _ => steps.push(LevelStep { from, peak: in_flight, ..first }),
            }
        }
        let mut levels = RoundLevels { steps, count: clock.count };
        levels.mark_records(usize::try_from(RESTART_NS / clock.round_ns + 1).unwrap_or(usize::MAX));
        levels.raise_dips();
        levels
    }

    /// Most in flight in any round, bytes.
    pub fn peak(&self) -> i64 {
        self.steps.iter().map(|step| step.peak).max().unwrap_or(0)
    }

    /// The first round.
    pub fn start(&self) -> LevelPlace {
        LevelPlace { round: 0, step: 0 }
    }

    /// Whether a place is behind the last round.
    pub fn is_end(&self, at: LevelPlace) -> bool {
        at.round >= self.count
    }

    /// The place of a later round.
    pub fn advance(&self, at: LevelPlace, round: usize) -> LevelPlace {
        let mut step = at.step;
        while self.steps.get(step + 1).is_some_and(|next| next.from <= round) {
            step += 1;
        }
        LevelPlace { round, step }
    }

    /// Rounds of the place's step from there on.
    pub fn rounds_left(&self, at: LevelPlace) -> usize {
        self.end_of(at.step) - at.round
    }

    /// The level at a place.
    pub fn level(&self, at: LevelPlace) -> i64 {
        self.steps[at.step].level
    }

    /// The level of a round near a place. `None` behind the last round.
    pub fn level_near(&self, at: LevelPlace, round: usize) -> Option<i64> {
        if round >= self.count {
            return None;
        }
        let mut step = at.step;
        while self.steps[step].from > round {
            step -= 1;
        }
        Some(self.level(self.advance(LevelPlace { round, step }, round)))
    }

    /// How many rounds there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether no earlier round had more in flight than this one or the next: a congestion window that grows. After a
    /// silence it may begin anew (RFC 5681, 4.1).
    pub fn is_record(&self, at: LevelPlace) -> bool {
        let step = &self.steps[at.step];
        if at.round == step.from && step.peak > 0 {
            return step.is_record;
        }
        let next = self.steps.get(at.step + 1);
        next.is_some_and(|next| next.from == at.round + 1 && next.is_record_ahead)
    }

    /// How many rounds in a row from a place on have such a level.
    pub fn rounds_with(&self, at: LevelPlace, is_near: impl Fn(i64) -> bool) -> usize {
        let near = self.steps[at.step..].iter().take_while(|step| is_near(step.level)).count();
        if near == 0 { 0 } else { self.end_of(at.step + near - 1) - at.round }
    }

    /// The sum of the levels of so many rounds from a place on.
    pub fn sum(&self, at: LevelPlace, count: usize) -> i64 {
        let mut at = at;
        let end = at.round + count;
        let mut sum = 0;
        while at.round < end {
            let until = self.end_of(at.step).min(end);
            sum += self.level(at) * (until - at.round) as i64;
            at = LevelPlace { round: until, step: at.step + 1 };
        }
        sum
    }

    /// Most in flight in so many rounds from a place on.
    pub fn peak_within(&self, at: LevelPlace, count: usize) -> i64 {
        let end = at.round + count;
        let within = self.steps[at.step..].iter().take_while(|step| step.from < end);
        within.map(|step| step.peak).max().unwrap_or(0)
    }

    fn end_of(&self, step: usize) -> usize {
        self.steps.get(step + 1).map_or(self.count, |next| next.from)
    }

    /// `quiet`: rounds without a packet after which a window may begin anew.
    fn mark_records(&mut self, quiet: usize) {
        let mut most = 0;
        // The round behind the last one with a packet.
        let mut behind = 0;
        for at in 0..self.steps.len() {
            let next = self.steps.get(at + 1).copied();
            let step = &mut self.steps[at];
            if step.peak == 0 {
                continue;
            }
            if step.from - behind >= quiet {
                most = 0;
            }
            behind = step.from + 1;
            let next = next.map_or(0, |next| if next.from == behind { next.peak } else { 0 });
            step.is_record_ahead = step.peak > most;
            step.is_record = step.peak.max(next) > most;
            most = most.max(step.peak);
        }
    }

    /// Raises each round to the lower of its neighbours. A sender that waits for room in its buffer sends in bursts,
    /// which do not align with round trips and leave a round with only the rest of a burst.
    fn raise_dips(&mut self) {
        for step in &mut self.steps {
            step.level = step.peak;
        }
        for at in 1..self.steps.len().saturating_sub(1) {
            if self.steps[at].from + 1 == self.steps[at + 1].from {
                let around = self.steps[at - 1].peak.min(self.steps[at + 1].peak);
                self.steps[at].level = self.steps[at].peak.max(around);
            }
        }
    }
}
