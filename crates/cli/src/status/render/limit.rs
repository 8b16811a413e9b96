//! The circuit breakers of pools, and their queues where something waits, as text.

use api::types::{BreakerStatus, Status};

use crate::show::paint::Colour;
use crate::show::table::{TextCell, TextTable, left, right};
use crate::show::unit::{count, span};

/// Breakers with a limit, and queues that are not empty or are shed.
pub(super) fn limits(status: &Status) -> TextTable {
    let mut table =
        TextTable::new(&[left("LIMIT"), right("IN USE"), right("REFUSED"), left("STATE")]);
    let age = |since: u64| span(status.now_unix_ms.saturating_sub(since));
    for pool in &status.pools {
        for BreakerStatus { resource, open, since_unix_ms, in_use, limit, refused } in
            &pool.circuit_breakers
        {
            let (word, colour) = match open {
                true => ("open", Colour::Bad),
                false => ("closed", Colour::Good),
            };
            table.row(vec![
                format!("{} {}", pool.name, resource.name()).into(),
                format!("{} of {}", count(u64::from(*in_use)), count(u64::from(*limit))).into(),
                count(*refused).into(),
                TextCell::with_lead(word, colour, &format!(" {}", age(*since_unix_ms))),
            ]);
        }
        if pool.waiting == 0 && pool.shedding_since_unix_ms.is_none() {
            continue;
        }
        let state = match pool.shedding_since_unix_ms {
            Some(since) => {
                TextCell::with_lead("shedding", Colour::Bad, &format!(" {}", age(since)))
            }
            None => "waiting for a server".into(),
        };
        table.row(vec![
            format!("{} queue", pool.name).into(),
            count(u64::from(pool.waiting)).into(),
            "".into(),
            state,
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use model::circuit_breaker::BreakerResource;

    use super::*;
    use crate::show::paint::Paint;
    use crate::status::render::tests::sample;

    #[test]
    fn breakers_and_queues_are_shown_with_their_state_and_since_when() {
        let mut status = sample();
        assert_eq!(limits(&status).render(100, Paint::fixed(false)), "", "nothing is limited");
        let now = status.now_unix_ms;
        let one = |bound, open, age_ms, in_use, refused| BreakerStatus {
            resource: bound,
            open,
            since_unix_ms: now - age_ms,
            in_use,
            limit: 100,
            refused,
        };
        let [web, mx] = &mut status.pools[..] else { panic!() };
        web.circuit_breakers = vec![
            one(BreakerResource::Requests, true, 3_000, 100, 1_234),
            one(BreakerResource::Retries, false, 192_000, 0, 0),
        ];
        web.waiting = 17;
        web.shedding_since_unix_ms = Some(now - 4_000);
        mx.waiting = 1;
        let text = limits(&status).render(100, Paint::fixed(false));
        let rows: Vec<String> = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(
            rows,
            [
                "LIMIT IN USE REFUSED STATE",
                "web requests 100 of 100 1,234 open 3s",
                "web retries 0 of 100 0 closed 3m12s",
                "web queue 17 shedding 4s",
                "mx queue 1 waiting for a server",
            ]
        );
    }
}
