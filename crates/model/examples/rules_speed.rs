//! Measures the cost of finding a rule: nanoseconds per request with one rule and with 3,000, and their ratio.
//!
//! `cargo run --profile prove -p model --example rules_speed`

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for people who measure")]

use std::hint::black_box;
use std::time::Instant;

use model::config::{ActiveCountScope, load};
use model::request_head::ParsedHead;
use model::rules::{PoolLoad, RuleContext, RuleMatch, RuleState, RuleTable};

const ROUNDS: u32 = 400_000;

struct NoRuleState;

impl RuleState for NoRuleState {
    fn active_count(&self, _: usize, _: usize, _: ActiveCountScope) -> u64 {
        0
    }
    fn arrivals_per_second(&self) -> u64 {
        0
    }
    fn rule_bits(&self, _: usize) -> u64 {
        0
    }
    fn service_bits(&self) -> u64 {
        0
    }
    fn pool_load(&self, _: usize) -> PoolLoad {
        PoolLoad::default()
    }
    fn has_server(&self, _: usize) -> bool {
        true
    }
    fn take_rate_token(&self, _: usize) -> bool {
        true
    }
    fn record_passed_over(&self, _: usize) {}
}

/// A table of `count` rules, of which the last one matches the request.
fn table(count: usize) -> RuleTable {
    let rule = |n: usize| {
        let last = n + 1 == count;
        let (host, path) =
            if last { (7, "/shop/cart/*".to_owned()) } else { (n % 50, format!("/p{n}/*")) };
        format!("{{ when = {{ host = \"h{host}.example\", path = \"{path}\" }}, pool = \"p\" }}")
    };
    let rules: Vec<String> = (0..count).map(rule).collect();
    let text = format!(
        "[service.s]\nlisten = \"127.0.0.1:80\"\nforward = \"http\"\npool = \"p\"\nrule = [{}]\n\
         [pool.p]\nservers = [\"10.0.0.1:80\"]\n",
        rules.join(",\n")
    );
    RuleTable::new(&load(&text, "speed.toml").unwrap().config.services["s"]).unwrap()
}

fn nanos(table: &RuleTable, count: usize) -> f64 {
    let bytes = b"GET /shop/cart/7?x=1 HTTP/1.1\r\nHost: h7.example\r\nUser-Agent: curl/8\r\nAccept: */*\r\n\r\n";
    let begun = Instant::now();
    for _ in 0..ROUNDS {
        let head = ParsedHead::new(black_box(bytes), 3, 4..20);
        let view = RuleContext {
            client: ([192, 0, 2, 1], 40_000).into(),
            sni: None,
            tos: None,
            head: Some(&head),
            unix_seconds: 0,
        };
        assert_eq!(black_box(table.find_rule(&view, &NoRuleState)), RuleMatch::Rule(count - 1));
    }
    begun.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
}

fn main() {
    let one = table(1);
    let many = table(3_000);
    // The fastest of several runs, because other load on the machine only adds time.
    let lowest = |table: &RuleTable, count| {
        (0..7).map(|_| nanos(table, count)).fold(f64::INFINITY, f64::min)
    };
    let one = lowest(&one, 1);
    let many = lowest(&many, 3_000);
    println!("1 rule: {one:.0} ns a request; 3,000 rules: {many:.0} ns; ratio {:.2}", many / one);
}
