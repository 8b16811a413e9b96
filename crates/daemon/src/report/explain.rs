//! Picture → why servers have their weights. Pure: it shows sums that the judge made, and makes none.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use api::types::{
    EjectionExplained, JudgeExplained, OperatorWeight, ServerExplained, ServerStatus,
    ServersExplained, WeightExplained,
};
use model::config::Priority;
use model::id::ServerId;
use model::pick::eligible::{Eligible, Turn};
use model::snapshot::{PoolView, ServerView};

use super::status::server_status;
use super::vitals::unix_ms;
use crate::control::{Picture, ServerFacts};
use crate::judge::weighed::Weighed;
use crate::kept::board::Left;
use crate::probe::board::Board;

/// One server of a pool, or all with `*`; `None`: there is no such pool, or no such server in it.
pub fn explain(
    picture: &Picture,
    board: &Board,
    weighed: &Weighed,
    kept: &HashMap<ServerId, Left>,
    (pool, name): (&str, &str),
    now: SystemTime,
) -> Option<ServersExplained> {
    let view = picture.snapshot.pools.values().find(|view| view.config.name == pool)?;
    let eligible = Eligible::of(view);
    let chosen = view.servers.iter().enumerate();
    let chosen = chosen.filter(|(_, server)| name == "*" || server.config.name == name);
    let servers: Vec<ServerExplained> = chosen
        .filter_map(|(at, server)| {
            let facts = picture.servers.get(&server.id)?;
            let weight = weight(view, server, facts, weighed);
            let ejection = ejection(view, server.id, facts, weighed);
            let left = kept.get(&server.id).copied();
            let status = server_status(server, facts, board.read(server.id), left);
            Some(ServerExplained {
                ejection,
                ..one(&eligible, (at, server), status, board, weight)
            })
        })
        .collect();
    (!servers.is_empty()).then(|| ServersExplained {
        pool: pool.to_owned(),
        balance: view.config.balance.name().to_owned(),
        turn: turn(view, &eligible),
        now_unix_ms: unix_ms(now),
        servers,
    })
}

fn one(
    eligible: &Eligible,
    (at, server): (usize, &ServerView),
    status: ServerStatus,
    board: &Board,
    weight: WeightExplained,
) -> ServerExplained {
    let all: u64 = eligible.slots.iter().map(|slot| u64::from(slot.weight)).sum();
    let own = eligible.slots.iter().find(|slot| slot.index == at).map(|slot| slot.weight);
    let load = server.live.load.read();
    ServerExplained {
        server: status,
        rank: server.config.priority.words(),
        takes_work: own.is_some(),
        share_percent: own.map_or(0.0, |own| f64::from(own) * 100.0 / all.max(1) as f64),
        weight,
        ejection: None,
        probe_ms: board.time(server.id).map(|time| time.as_secs_f64() * 1e3),
        answer_ms: server.live.pace.mean().map(|mean| f64::from(mean.micros) / 1e3),
        load: load.map(|report| report.value),
        load_source: load.map(|report| report.source.name().to_owned()),
    }
}

fn weight(
    view: &PoolView,
    server: &ServerView,
    facts: &ServerFacts,
    weighed: &Weighed,
) -> WeightExplained {
    let judge = view.config.judge.as_ref().and_then(|judge| {
        let sum = weighed.read(server.id)?;
        Some(JudgeExplained {
            row: sum.row,
            proportions: [judge.active, judge.new, judge.latency, judge.agent],
            change_percent: sum.change,
            sensitivity_percent: judge.sensitivity,
            at_unix_ms: unix_ms(sum.at),
        })
    });
    WeightExplained {
        configured: facts.config.weight.get(),
        operator: facts.hand.weight.as_ref().map(|word| OperatorWeight {
            weight: word.value.get(),
            by: word.by.to_string(),
            at_unix_ms: unix_ms(word.at),
        }),
        judge,
        judged: facts.share.and_then(|share| share.judge),
        slow_start_percent: facts.share.map_or(100, |share| share.percent),
        in_force: server.weight.get(),
    }
}

fn ejection(
    view: &PoolView,
    id: ServerId,
    facts: &ServerFacts,
    weighed: &Weighed,
) -> Option<EjectionExplained> {
    let terms = view.config.eject.as_ref()?;
    let (sum, at) = weighed.ejection(id)?;
    let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    Some(EjectionExplained {
        text: sum.to_string(),
        sum,
        failures: terms.failures,
        rate_percent: terms.rate,
        cut_rate_percent: terms.cut_rate,
        volume: terms.volume,
        interval_ms: millis(terms.interval),
        share_percent: terms.share,
        until_unix_ms: facts.ejected.as_ref().map(|out| unix_ms(out.until)),
        at_unix_ms: unix_ms(at),
    })
}

fn turn(view: &PoolView, eligible: &Eligible) -> String {
    let several = eligible.slots.len();
    let servers =
        if several == 1 { "1 server takes".to_owned() } else { format!("{several} servers take") };
    let to = |priority: Priority| match view.servers.iter().map(|it| it.config.priority).min() {
        Some(first) if first < priority => format!("down to {}", priority.words()),
        _ => format!("of {}", priority.words()),
    };
    match eligible.turn {
        Turn::Nobody => "no server may take work".to_owned(),
        Turn::Up(priority) => format!("{servers} work: those that are up, {}", to(priority)),
        Turn::Unknown(priority) => {
            format!("{servers} work: nothing is up, so those without evidence, {}", to(priority))
        }
        Turn::LastResort => format!("{servers} work: nothing else may, so the last resort"),
        Turn::AllDown => format!("{servers} work: nothing is up, and all-down is spread"),
    }
}
