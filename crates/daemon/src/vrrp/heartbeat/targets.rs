//! The targets of a heartbeat: the tasks that ask them, and the verdicts. It judges nothing itself.

use ha::beat::Score;
use ha::reach::{Target, score};
use model::config::Reach;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::target::{At, ask};
use super::word::Word;

/// All of them.
pub struct Targets {
    each: Vec<Asked>,
    rise: u8,
    fall: u8,
}

/// One.
pub struct Asked {
    /// Which.
    pub at: At,
    /// Its verdict.
    pub target: Target,
    task: JoinHandle<()>,
}

/// A verdict that changed.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// Of which target.
    pub at: At,
    /// Whether it is reached now.
    pub reached: bool,
    /// Nothing was known before.
    pub first: bool,
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Targets {
    /// Begins to ask them.
    pub fn new(reach: Option<&Reach>, era: u64, words: &mpsc::Sender<Word>) -> Targets {
        let Some(reach) = reach else { return Targets { each: Vec::new(), rise: 1, fall: 1 } };
        let echoes = reach.echo.iter().map(|ip| At::Echo(*ip));
        let all = echoes.chain(reach.connect.iter().map(|at| At::Connect(*at)));
        let asked = |(index, at)| Asked {
            at,
            target: Target::default(),
            task: ask(at, reach.every, reach.timeout, (era, index), words.clone()),
        };
        let each = all.enumerate().map(asked).collect();
        Targets { each, rise: reach.rise, fall: reach.fall }
    }

    /// All of them.
    pub fn each(&self) -> &[Asked] {
        &self.each
    }

    /// One answered in time, or did not.
    pub fn hear(&mut self, at: usize, answered: bool) -> Option<Told> {
        let asked = self.each.get_mut(at)?;
        let first = asked.target.reached().is_none();
        let changed = asked.target.hear(answered, self.rise, self.fall);
        changed.then_some(Told { at: asked.at, reached: answered, first })
    }

    /// How many are reached, once each was asked.
    pub fn score(&self) -> Option<Score> {
        score(self.each.iter().map(|asked| &asked.target))
    }
}
