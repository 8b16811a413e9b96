//! Leases that this daemon gives as the witness of others, and a mark on disk that some were given. What is given is decided
//! in `ha::lease`.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use api::types::LeaseRenewal;
use ha::lease::{LeaseError, LeaseRequest, LeaseTable};

use super::problem::ApiProblem;
use crate::util::atomic_file;
use crate::util::monotonic_clock::monotonic_now;

/// Bytes of a name, or of a holder's.
const MAX_NAME_BYTES: usize = 128;

/// All leases of this process.
pub struct LeaseServer(Mutex<LeaseState>);

struct LeaseState {
    leases: LeaseTable,
    /// A file that marks that an earlier process granted leases. Removed once its leases have expired.
    marker_file: Option<PathBuf>,
}

impl LeaseServer {
    /// Creates the server of a process with this state directory.
    pub fn new(state: Option<PathBuf>) -> LeaseServer {
        let mark = state.map(|state| state.join("leases"));
        // A file of this name counts regardless of its owner. New holders then get no lease until earlier leases have
        // expired.
        let follows = mark.as_ref().is_some_and(|mark| std::fs::symlink_metadata(mark).is_ok());
        let leases = LeaseTable::new(monotonic_now(), follows);
        LeaseServer(Mutex::new(LeaseState { leases, marker_file: mark.filter(|_| !follows) }))
    }

    /// Gives a name to a holder, and for how long, or takes it back.
    ///
    /// # Errors
    /// The lease is not granted.
    pub(super) fn request_lease(
        &self,
        name: &str,
        order: &LeaseRenewal,
    ) -> Result<Duration, ApiProblem> {
        let fits = |text: &str| {
            (1..=MAX_NAME_BYTES).contains(&text.len())
                && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
        };
        if !fits(name) || !fits(&order.holder) {
            let detail =
                format!("a name has 1 to {MAX_NAME_BYTES} letters, digits, `-`, `.` or `_`");
            return Err(ApiProblem::new(400, "lease-name", detail));
        }
        let mut given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mark) = given.marker_file.take_if(|_| order.lease_ms > 0) {
            // The mark is written before the first lease, because it informs the next process that leases may be held.
            let text = "This daemon has given leases: another one gives none to new holders in its first 30 s.\n";
            if let Err(error) = atomic_file::replace(&mark, text.as_bytes()) {
                let detail = format!("{} cannot be written: {error}", mark.display());
                given.marker_file = Some(mark);
                return Err(ApiProblem::new(500, "lease-not-kept", detail));
            }
        }
        let request = LeaseRequest {
            holder: &order.holder,
            ticket: order.ticket,
            is_holder: order.holds,
            length: Duration::from_millis(order.lease_ms),
        };
        given.leases.request_lease(monotonic_now(), name, request).map_err(refusal)
    }
}

fn refusal(error: LeaseError) -> ApiProblem {
    let text = error.to_string();
    match error {
        LeaseError::Held { .. } | LeaseError::Stale => ApiProblem::new(409, "lease-held", text),
        LeaseError::Young(_) => ApiProblem::new(503, "lease-young", text),
        LeaseError::Length => ApiProblem::new(400, "lease-length", text),
        LeaseError::Full => ApiProblem::new(503, "lease-full", text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::util::scratch_dir::Scratch;

    #[test]
    fn a_process_that_follows_gives_nothing_to_new_holders() {
        let scratch = Scratch::new("lessor").unwrap();
        let state = scratch.path().to_owned();
        let order =
            |holds| LeaseRenewal { holder: "left".into(), ticket: 1, holds, lease_ms: 3_000 };
        let first = LeaseServer::new(Some(state.clone()));
        // No lease was granted yet, so the next process need not wait.
        assert!(LeaseServer::new(Some(state.clone())).request_lease("a", &order(false)).is_ok());
        assert!(
            first.request_lease("a", &order(false)).is_ok()
                && first.request_lease("b", &order(false)).is_ok()
        );
        let second = LeaseServer::new(Some(state.clone()));
        assert!(second.request_lease("a", &order(false)).is_err(), "it may have been given");
        assert!(second.request_lease("a", &order(true)).is_ok(), "who has it goes on");
        assert!(LeaseServer::new(None).request_lease("a", &order(false)).is_ok());
        let nowhere = LeaseServer::new(Some(state.join("a file\0")));
        assert!(nowhere.request_lease("a", &order(false)).is_err(), "it cannot be marked");
    }
}
