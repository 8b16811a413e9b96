//! When to report that another sender advertises the group's number with other addresses. Pure.

use std::net::IpAddr;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

/// At most one report a minute, so that a wrong configuration elsewhere does not fill the log.
const REPORT: Duration = Duration::from_secs(60);

/// The address conflicts that were reported.
#[derive(Clone, Debug, Default)]
pub struct AddressConflict {
    reported: Option<(MonotonicTime, IpAddr, Vec<IpAddr>)>,
}

impl AddressConflict {
    /// Whether to report this: once for the same source and addresses, and at most once a minute.
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
