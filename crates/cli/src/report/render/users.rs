//! SLO counts since the start, as tables. Pure.

use api::types::ServiceReport;

use crate::show::table::{TextTable, left, right};
use crate::show::unit::{count, rate};

/// Requests by how they ended, of services with an SLO.
pub(super) fn users(services: &[ServiceReport]) -> TextTable {
    let mut table = TextTable::new(&[
        left("SLO OF"),
        right("FAST"),
        right("SLOW"),
        right("FAILED"),
        right("FAILED /S"),
        right("ABORTED"),
        right("DENIED"),
    ]);
    for service in services {
        let Some(users) = &service.slo else { continue };
        table.row(vec![
            service.name.as_str().into(),
            count(users.fast.total).into(),
            count(users.slow.total).into(),
            count(users.failed.total).into(),
            rate(users.failed.rate).into(),
            count(users.aborted.total).into(),
            count(users.declined.total).into(),
        ]);
    }
    table
}

/// Errors of TCP that ended their operations.
pub(super) fn errors(services: &[ServiceReport]) -> TextTable {
    let mut table =
        TextTable::new(&[left("TCP ERRORS OF"), left("KIND"), right("TOTAL"), right("/S")]);
    for service in services {
        for (kind, errors) in service.slo.iter().flat_map(|users| &users.tcp_errors) {
            table.row(vec![
                service.name.as_str().into(),
                kind.as_str().into(),
                count(errors.total).into(),
                rate(errors.rate).into(),
            ]);
        }
    }
    table
}
