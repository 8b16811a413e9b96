//! The task that asks the witness for one group: one question at a time, each answered in time or not at all.

use std::time::Duration;

use ha::witness::{Answer, Ask};
use model::config::{Witness, WitnessBy};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::super::word::{Answered, Word};
use super::call::Caller;
use super::etcd::Etcd;
use super::lease::Lease;

/// Questions that may wait: another one comes when the last was not answered.
const WAITING: usize = 1;

/// The task.
pub struct Asker {
    to: mpsc::Sender<Ask>,
    task: JoinHandle<()>,
}

impl Drop for Asker {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Asker {
    /// For the lease of this name and holder; `to` hears the answers.
    pub fn start(
        settings: &Witness,
        (name, holder): (String, String),
        (era, group, words): (u64, (u8, bool), mpsc::Sender<Word>),
    ) -> Asker {
        let (to, mut inbox) = mpsc::channel::<Ask>(WAITING);
        let callers = || settings.at.iter().map(|at| Caller::new(at.clone(), settings));
        let patience = settings.lease / 3;
        let mut keeper = match settings.by {
            WitnessBy::Http => Keeper::Lease(Lease::new(callers(), name, holder, settings.lease)),
            WitnessBy::Etcd => {
                Keeper::Etcd(Etcd::new(callers().collect(), name, holder, settings.lease))
            }
        };
        let task = tokio::spawn(async move {
            while let Some(ask) = inbox.recv().await {
                let (answer, said) = keeper.ask(ask, patience).await;
                let answered = Answered { group, number: ask.number, answer, said };
                if words.send(Word::Witness(era, answered)).await.is_err() {
                    return;
                }
            }
        });
        Asker { to, task }
    }

    /// Asks; what cannot be asked now counts as not answered.
    pub fn ask(&self, ask: Ask) {
        let _ = self.to.try_send(ask);
    }

    /// The last question, which nobody hears the answer of.
    pub async fn part(mut self, ask: Ask) {
        // What was asked before is asked first; then this, and the task ends.
        let _ = self.to.send(ask).await;
        self.to = mpsc::channel(WAITING).0;
        let _ = (&mut self.task).await;
    }
}

/// The two ways to ask.
enum Keeper {
    Lease(Lease),
    Etcd(Etcd),
}

impl Keeper {
    async fn ask(&mut self, ask: Ask, patience: Duration) -> (Answer, String) {
        let asked = async {
            match self {
                Keeper::Lease(lease) => lease.ask(ask).await,
                Keeper::Etcd(etcd) => etcd.ask(ask).await,
            }
        };
        let said = timeout(patience, asked).await;
        match said {
            Ok(Ok(said)) => said,
            Ok(Err(error)) => {
                self.hang_up();
                (Answer::Nothing, error.to_string())
            }
            Err(_) => {
                self.hang_up();
                (Answer::Nothing, format!("nothing came within {} ms", patience.as_millis()))
            }
        }
    }

    /// The next question goes by a new connection, and to the next server.
    fn hang_up(&mut self) {
        match self {
            Keeper::Lease(lease) => lease.hang_up(),
            Keeper::Etcd(etcd) => etcd.hang_up(),
        }
    }
}
