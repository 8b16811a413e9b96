//! The limit of open descriptors, raised as far as this process may. It chooses no limit of connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::util::event::EventLog;

/// Fewer are hardly enough for a balancer.
/// About 2,000 clients, each with a connection to a server.
const FEW: u64 = 4096;

/// Raises the soft limit to the hard one.
pub fn raise_descriptors(events: &EventLog) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
    {
        events
            .warn("descriptors", format!("the limit of descriptors could not be raised: {error}"));
    }
    let now = getrlimit(Resource::Nofile).current;
    if let Some(now) = now.filter(|now| *now < FEW) {
        events.warn(
            "descriptors",
            format!(
                "only {now} descriptors may be open: raise LimitNOFILE (`ulimit -Hn` in a shell)"
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_had_is_had() {
        raise_descriptors(&EventLog::quiet());
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        assert_eq!(current, maximum);
    }
}
