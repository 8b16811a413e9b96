//! What answers and failures say of a server, counted for whoever puts servers out.
//!
//! It judges nothing: `model::eject` does, of what all workers have counted.

use model::cause::Cause;
use model::eject::{Fault, weighs};
use model::live::ServerLive;
use model::snapshot::PoolView;

/// A whole answer of this status came from a server of the pool.
#[inline]
pub fn answered(pool: &PoolView, live: &ServerLive, worker: usize, status: u16) {
    let Some(eject) = &pool.config.eject else { return };
    let counters = &live.slots[worker].counters;
    if eject.on.has(status) {
        counters.judged_bad.add(1);
        live.bad_in_a_row.up();
    } else {
        counters.judged_good.add(1);
        live.bad_in_a_row.clear();
    }
}

/// An attempt at it failed.
pub fn failed(pool: &PoolView, live: &ServerLive, worker: usize, cause: Cause) {
    let (Some(_), Some(fault)) = (&pool.config.eject, weighs(cause)) else { return };
    let counters = &live.slots[worker].counters;
    counters.judged_bad.add(1);
    counters.judged_cut.add(u64::from(fault == Fault::Cut));
    live.bad_in_a_row.up();
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::Arc;

    use model::config::Eject;
    use model::id::PoolId;

    use super::*;
    use crate::fixture;

    #[test]
    fn answers_and_failures_count_once_and_only_where_servers_are_put_out() {
        for ejects in [true, false] {
            let mut snapshot = fixture::snapshot(&[SocketAddr::from(([10, 0, 0, 1], 1))]);
            let pool = snapshot.pools.get_mut(&PoolId(0)).and_then(Arc::get_mut).unwrap();
            Arc::make_mut(&mut pool.config).eject = ejects.then(Eject::default);
            let live = &pool.servers[0].live;
            let seen = || {
                let c = &live.slots[0].counters;
                let counts = [&c.judged_good, &c.judged_bad, &c.judged_cut].map(|c| c.get());
                (counts, live.bad_in_a_row.get())
            };
            answered(pool, live, 0, 503);
            failed(pool, live, 0, Cause::ServerCut);
            failed(pool, live, 0, Cause::FirstByteTimeout);
            failed(pool, live, 0, Cause::ClientReset);
            failed(pool, live, 0, Cause::ServerMarkedDown);
            assert_eq!(seen(), if ejects { ([0, 3, 1], 3) } else { ([0; 3], 0) });
            answered(pool, live, 0, 500);
            assert_eq!(seen(), if ejects { ([1, 3, 1], 0) } else { ([0; 3], 0) });
        }
    }
}
