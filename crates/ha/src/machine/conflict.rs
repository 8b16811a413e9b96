//! When it is reported that somebody advertises the group's number with other addresses. Pure.

use std::net::IpAddr;
use std::time::Duration;

use model::moment::Moment;

/// Between two reports of addresses that are not ours.
const REPORT: Duration = Duration::from_secs(60);

/// What was reported of advertisements with other addresses.
#[derive(Clone, Debug, Default)]
pub struct Conflict {
    reported: Option<(Moment, IpAddr, Vec<IpAddr>)>,
}

impl Conflict {
    /// Whether this is to be reported: once for the same source and addresses, and not more often than once a minute.
    pub fn is_new(&mut self, now: Moment, source: IpAddr, addresses: &[IpAddr]) -> bool {
        let quiet = self.reported.as_ref().is_some_and(|(at, from, list)| {
            (*from == source && list == addresses) || now.since(*at) < REPORT
        });
        if !quiet {
            self.reported = Some((now, source, addresses.to_vec()));
        }
        !quiet
    }
}
