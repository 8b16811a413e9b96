//! A rule with an `active` condition matches again when its exchanges have ended, however busy the next rule is.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail")]

use std::sync::Arc;

use model::config::load;
use model::id::{PoolId, ServiceId};
use model::monotonic_time::MonotonicTime;
use model::rules::{RuleContext, RuleMatch, ServiceRules};
use model::snapshot::ServiceView;
use model::snapshot::rule_state::LiveRuleState;
use model::stats::ServiceStats;

fn service(count: &str) -> ServiceView {
    let text = format!(
        "[service.s]\nlisten = \"127.0.0.1:80\"\nforward = \"tcp\"\npool = \"busy\"\n\
         rule = [{{ when = {{ active = \"-9\"{count} }}, pool = \"main\" }}, {{ pool = \"busy\" }}]\n\
         [pool.main]\nservers = [\"10.0.0.1:80\"]\n[pool.busy]\nservers = [\"10.0.0.2:80\"]\n"
    );
    let config = load(&text, "latching.toml").unwrap().config.services["s"].clone();
    let ruling = ServiceRules::new(&config, |name| Some(PoolId(name.len() as u32)), 1, None);
    ServiceView {
        id: ServiceId(1),
        config,
        pool: PoolId(4),
        tls: None,
        error_pages: None,
        file_networks: None,
        stats: Arc::new(ServiceStats::new(1)),
        rules: ruling.map(Arc::new),
        edits: None,
        affinity: None,
        slo: None,
    }
}

/// The rule that matches a connection now.
fn taker(view: &ServiceView) -> usize {
    let ruling = view.rules.as_ref().unwrap();
    let pool = |_| None;
    let standing = LiveRuleState {
        rules: ruling,
        service: view,
        pool: &pool,
        now: MonotonicTime(0),
        worker: Some(0),
    };
    let client = "192.0.2.1:1".parse().unwrap();
    let context = RuleContext { client, sni: None, tos: None, head: None, unix_seconds: 0 };
    match ruling.table.find_rule(&context, &standing) {
        RuleMatch::Rule(at) => at,
        other => panic!("{other:?}"),
    }
}

// Rows: I24
#[test]
fn what_the_busy_page_holds_does_not_hold_the_main_pool() {
    for (count, want) in [("", 0), (", scope = \"service\"", 1)] {
        let view = service(count);
        let live = &view.rules.as_ref().unwrap().stats;
        let mut matches = [0, 0];
        for _ in 0..25 {
            let at = taker(&view);
            matches[at] += 1;
            live[at].in_flight.increment();
            view.stats.in_flight.increment();
        }
        assert_eq!(matches, [10, 15], "{count}");
        // The exchanges of the main pool have ended; those of the busy page continue.
        for _ in 0..10 {
            live[0].in_flight.decrement();
            view.stats.in_flight.decrement();
        }
        assert_eq!(taker(&view), want, "{count}");
    }
}
