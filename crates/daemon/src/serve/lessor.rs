//! Leases that this daemon gives as the witness of others, and a mark on disk that some were given. What is given is decided
//! in `ha::lease`.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use api::types::LeaseOrder;
use ha::lease::{Asked, LeaseError, Leases};

use super::refusal::Refusal;
use crate::keep;
use crate::vrrp::now;

/// Bytes of a name, or of a holder's.
const NAME: usize = 128;

/// All leases of this process.
pub struct Lessor(Mutex<Given>);

struct Given {
    leases: Leases,
    /// Where it is marked that a process has given some; it is taken away once that is done.
    mark: Option<PathBuf>,
}

impl Lessor {
    /// Of a process that keeps its state there.
    pub fn new(state: Option<PathBuf>) -> Lessor {
        let mark = state.map(|state| state.join("leases"));
        // Whatever stands there, whosever it is: then nothing is given to new holders for a while.
        let follows = mark.as_ref().is_some_and(|mark| std::fs::symlink_metadata(mark).is_ok());
        let leases = Leases::new(now(), follows);
        Lessor(Mutex::new(Given { leases, mark: mark.filter(|_| !follows) }))
    }

    /// Gives a name to a holder, and for how long, or takes it back.
    ///
    /// # Errors
    /// It is not given.
    pub(super) fn ask(&self, name: &str, order: &LeaseOrder) -> Result<Duration, Refusal> {
        let fits = |text: &str| {
            (1..=NAME).contains(&text.len())
                && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
        };
        if !fits(name) || !fits(&order.holder) {
            let detail = format!("a name has 1 to {NAME} letters, digits, `-`, `.` or `_`");
            return Err(Refusal::new(400, "lease-name", detail));
        }
        let mut given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mark) = given.mark.take_if(|_| order.lease_ms > 0) {
            // The process after this one must know of it before anybody holds anything.
            let text = "This daemon has given leases: another one gives none to new holders in its first 30 s.\n";
            if let Err(error) = keep::replace(&mark, text.as_bytes()) {
                let detail = format!("{} cannot be written: {error}", mark.display());
                given.mark = Some(mark);
                return Err(Refusal::new(500, "lease-not-kept", detail));
            }
        }
        let asked = Asked {
            holder: &order.holder,
            ticket: order.ticket,
            holds: order.holds,
            length: Duration::from_millis(order.lease_ms),
        };
        given.leases.ask(now(), name, asked).map_err(refusal)
    }
}

fn refusal(error: LeaseError) -> Refusal {
    let text = error.to_string();
    match error {
        LeaseError::Held { .. } | LeaseError::Stale => Refusal::new(409, "lease-held", text),
        LeaseError::Young(_) => Refusal::new(503, "lease-young", text),
        LeaseError::Length => Refusal::new(400, "lease-length", text),
        LeaseError::Full => Refusal::new(503, "lease-full", text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_process_that_follows_gives_nothing_to_new_holders() {
        let scratch = Scratch::new("lessor").unwrap();
        let state = scratch.path().to_owned();
        let order = |holds| LeaseOrder { holder: "left".into(), ticket: 1, holds, lease_ms: 3_000 };
        let first = Lessor::new(Some(state.clone()));
        // Nothing was given yet: one that follows need not wait.
        assert!(Lessor::new(Some(state.clone())).ask("a", &order(false)).is_ok());
        assert!(first.ask("a", &order(false)).is_ok() && first.ask("b", &order(false)).is_ok());
        let second = Lessor::new(Some(state.clone()));
        assert!(second.ask("a", &order(false)).is_err(), "it may have been given");
        assert!(second.ask("a", &order(true)).is_ok(), "who has it goes on");
        assert!(Lessor::new(None).ask("a", &order(false)).is_ok());
        let nowhere = Lessor::new(Some(state.join("a file\0")));
        assert!(nowhere.ask("a", &order(false)).is_err(), "it cannot be marked");
    }
}
