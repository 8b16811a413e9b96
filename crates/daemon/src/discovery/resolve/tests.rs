//! Look-ups in virtual time with a resolver that the test controls. The system's resolver is not used.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::observability::report::fixture;
use crate::state::handle::{ControlChannels, ControlCommand};
use crate::state::{ResolvedAddress, StateSnapshot};

use super::{LOOKUP_INTERVAL, MAX_INTERVAL, RETRY, interval, run_with};

const TEXT: &str = r#"
[service.shop]
listen = "127.0.0.1:8080"
forward = "http"
pool = "web"

[pool.web]
servers = [
  { name = "a", address = "one.example:81" },
  { name = "b", address = "one.example:82" },
  { name = "c", address = "127.0.0.1:83" },
]
"#;

/// A resolver with fixed answers that records its look-ups.
#[derive(Clone, Default)]
struct FakeResolver {
    answer: Arc<Mutex<Option<Vec<&'static str>>>>,
    asked: Arc<Mutex<Vec<Instant>>>,
}

struct ResolveRun {
    world: FakeResolver,
    orders: mpsc::Receiver<ControlCommand>,
    publish: watch::Sender<Arc<StateSnapshot>>,
    snapshot: StateSnapshot,
}

fn start() -> ResolveRun {
    let snapshot = fixture::state_snapshot(TEXT, 1);
    let ControlChannels { handle: control, commands: orders, snapshots: publish } =
        fixture::control(snapshot.clone());
    let world = FakeResolver::default();
    let answers = world.clone();
    tokio::spawn(run_with(control, move |name| {
        assert_eq!(name, "one.example");
        answers.asked.lock().unwrap().push(Instant::now());
        let answer = answers.answer.lock().unwrap().clone();
        async move {
            let answer = answer.ok_or_else(|| io::Error::other("no such name"))?;
            Ok(answer.into_iter().map(|ip| ip.parse::<IpAddr>().unwrap()).collect())
        }
    }));
    ResolveRun { world, orders, publish, snapshot }
}

impl ResolveRun {
    fn set(&self, answer: Option<&[&'static str]>) {
        *self.world.answer.lock().unwrap() = answer.map(<[_]>::to_vec);
    }

    /// Changes reported within some virtual time, applied as the daemon would.
    async fn news(&mut self, span: Duration) -> Vec<(&'static str, Result<String, String>)> {
        let end = Instant::now() + span;
        let mut out = Vec::new();
        while let Ok(Some(order)) = tokio::time::timeout_at(end, self.orders.recv()).await {
            let ControlCommand::Resolution(news) = order else { panic!("{order:?}") };
            let name =
                if self.snapshot.servers[&news.server].config.name == "a" { "a" } else { "b" };
            fixture::change(&mut self.snapshot, name, |facts| {
                facts.resolved = match &news.result {
                    Ok(address) => ResolvedAddress::Known((*address).into()),
                    Err(why) => ResolvedAddress::Failed(why.clone()),
                };
            });
            self.publish.send_replace(Arc::new(self.snapshot.clone()));
            out.push((name, news.result.map(|address| address.to_string())));
        }
        out.sort();
        out
    }
}

fn at(a: &str, b: &str) -> Vec<(&'static str, Result<String, String>)> {
    vec![("a", Ok(a.into())), ("b", Ok(b.into()))]
}

#[tokio::test(start_paused = true)]
async fn a_name_is_looked_up_once_for_all_its_servers_and_again_every_interval() {
    let mut run = start();
    run.set(Some(&["10.0.0.1", "10.0.0.2"]));
    assert_eq!(run.news(Duration::from_secs(1)).await, at("10.0.0.1:81", "10.0.0.1:82"));
    let first = run.world.asked.lock().unwrap().len();
    assert!(first <= 2, "{first}");
    assert!(run.news(Duration::from_secs(100)).await.is_empty());
    let asked = run.world.asked.lock().unwrap().clone();
    assert!((10..=12).contains(&asked.len()), "{}", asked.len());
    let gaps: Vec<_> = asked.windows(2).skip(1).map(|pair| pair[1] - pair[0]).collect();
    assert!(
        gaps.iter().all(|gap| gap.abs_diff(LOOKUP_INTERVAL) <= LOOKUP_INTERVAL / 19),
        "{gaps:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_address_stays_while_the_answer_contains_it_and_a_good_answer_outlives_failures() {
    let mut run = start();
    run.set(Some(&["10.0.0.1", "10.0.0.2"]));
    run.news(Duration::from_secs(1)).await;
    run.set(Some(&["10.0.0.2", "10.0.0.1"]));
    assert!(run.news(Duration::from_secs(30)).await.is_empty(), "rotation moves nobody");
    run.set(None);
    assert!(run.news(Duration::from_secs(300)).await.is_empty(), "the last good answer is kept");
    run.set(Some(&[]));
    assert!(run.news(Duration::from_secs(300)).await.is_empty());
    run.set(Some(&["10.0.0.9"]));
    assert_eq!(run.news(MAX_INTERVAL * 2).await, at("10.0.0.9:81", "10.0.0.9:82"));
}

#[tokio::test(start_paused = true)]
async fn a_name_that_does_not_resolve_says_so_once_and_recovers_by_itself() {
    let mut run = start();
    let news = run.news(Duration::from_secs(60)).await;
    let why = "'one.example' does not resolve: no such name".to_owned();
    assert_eq!(news, vec![("a", Err(why.clone())), ("b", Err(why))]);
    let asked = run.world.asked.lock().unwrap().len();
    assert!((8..=14).contains(&asked), "backs off: {asked}");
    run.set(Some(&["10.0.0.1"]));
    assert_eq!(run.news(LOOKUP_INTERVAL * 2).await, at("10.0.0.1:81", "10.0.0.1:82"));
}

#[test]
fn lookups_become_rarer_and_no_rarer_than_their_bounds() {
    let lost: Vec<_> = (1..7).map(|n| interval(n, true).as_secs()).collect();
    assert_eq!(lost, [1, 2, 4, 8, 10, 10]);
    let kept: Vec<_> = (0..5).map(|n| interval(n, false).as_secs()).collect();
    assert_eq!(kept, [10, 20, 40, 60, 60]);
    assert_eq!(
        (interval(u32::MAX, true), interval(u32::MAX, false)),
        (LOOKUP_INTERVAL, MAX_INTERVAL)
    );
    assert!(RETRY < LOOKUP_INTERVAL);
}
