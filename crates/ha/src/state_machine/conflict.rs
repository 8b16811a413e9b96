//! When it is reported that somebody advertises the group's number with other addresses. Pure.

use std::net::IpAddr;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

/// Between two reports of addresses that are not ours.
const REPORT: Duration = Duration::from_secs(60);

/// What was reported of advertisements with other addresses.
#[derive(Clone, Debug, Default)]
pub struct AddressConflict {
    reported: Option<(MonotonicTime, IpAddr, Vec<IpAddr>)>,
}

impl AddressConflict {
    /// Whether this is to be reported: once for the same source and addresses, and not more often than once a minute.
    pub fn should_report(
        &mut self,
        now: MonotonicTime,
        source: IpAddr,
        addresses: &[IpAddr],
    ) -> bool {
        let quiet = self.reported.as_ref().is_some_and(|(at, from, list)| {
            (*from == source && list == addresses) || now.since(*at) < REPORT
        });
        if !quiet {
            self.reported = Some((now, source, addresses.to_vec()));
        }
        !quiet
    }
}
