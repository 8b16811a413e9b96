//! When to report that another sender advertises the group's number with other addresses. Pure.

use std::net::IpAddr;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

/// At most one report a minute, so that a wrong configuration elsewhere does not fill the log.
const REPORT: Duration = Duration::from_secs(60);

/// The last address conflict that was reported.
#[derive(Clone, Debug)]
struct ReportedConflict {
    reported_at: MonotonicTime,
    source: IpAddr,
    addresses: Vec<IpAddr>,
}

/// The address conflicts that were reported.
#[derive(Clone, Debug, Default)]
pub struct AddressConflict {
    reported: Option<ReportedConflict>,
}

impl AddressConflict {
    /// Whether to report this: once for the same source and addresses, and at most once a minute.
    pub fn should_report(
        &mut self,
        now: MonotonicTime,
        source: IpAddr,
        addresses: &[IpAddr],
    ) -> bool {
        let quiet = self.reported.as_ref().is_some_and(|last| {
            (last.source == source && last.addresses == addresses)
                || now.since(last.reported_at) < REPORT
        });
        if !quiet {
            let addresses = addresses.to_vec();
            self.reported = Some(ReportedConflict { reported_at: now, source, addresses });
        }
        !quiet
    }
}
