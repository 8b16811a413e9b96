//! What a closed exchange was to its user, where its service promises something. A few plain additions; it judges nothing.

use std::net::IpAddr;

use model::snapshot::ServiceView;
use model::users::ended::Ended;
use model::users::tally::places;

use super::record::Record;

/// The status of an upgrade: what comes after it is no answer.
const SWITCHING: u16 = 101;

/// Counts a closed exchange of a client.
#[inline]
pub fn met(record: &Record, view: &ServiceView, worker: usize, client: IpAddr) {
    let (Some(users), Some(objective)) = (&view.users, &view.config.objective) else { return };
    users.count(worker, client, places(&ended(record), objective.fast));
}

fn ended(record: &Record) -> Ended {
    let Record { cause, by_us, status, .. } = *record;
    let tunnel = (status == SWITCHING).then(|| record.took_to_answer()).flatten();
    Ended { cause, by_us, status, took: tunnel.unwrap_or_else(|| record.took()) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use model::moment::Moment;

    use super::super::measured::Opening;
    use super::*;

    fn at(millis: u64) -> Moment {
        Moment(millis * 1_000_000)
    }

    #[test]
    fn users_wait_for_all_of_an_answer_and_for_the_beginning_of_a_tunnel() {
        let mut record = Record::begin(at(100), at(101));
        let opening = Opening { accept: Duration::from_millis(3), tls: None, group: None };
        record.measured.opening = Some(opening);
        (record.first_byte, record.status) = (Some(at(150)), 200);
        record.close(at(900));
        assert_eq!(ended(&record).took, Duration::from_millis(803));
        record.status = 101;
        assert_eq!(ended(&record).took, Duration::from_millis(53));
        record.first_byte = None;
        assert_eq!(ended(&record).took, Duration::from_millis(803));
    }
}
