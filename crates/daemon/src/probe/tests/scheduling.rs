//! When which server is probed, and what is reported: virtual time, no sockets.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use model::id::ServerId;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::control::handle::Order;
use crate::control::{Judgement, Picture, Verdict};
use crate::probe::check::{Outcome, Target};
use crate::probe::{Observer, prober};
use crate::report::fixture;

const TEXT: &str = r#"
[service.shop]
listen = "127.0.0.1:8080"
forward = "http"
pool = "web"

[pool.web]
probe = { tcp = true, every = "2s", doubt = "250ms", rise = 2, fall = 3, jitter = 10 }
servers = [
  { name = "a", address = "127.0.0.1:1001" },
  { name = "b", address = "127.0.0.1:1002" },
]
"#;

/// What servers answer and when they were asked.
#[derive(Clone, Default)]
struct World {
    down: Arc<Mutex<HashMap<u16, Outcome>>>,
    asked: Arc<Mutex<Vec<(u16, Instant)>>>,
    under_way: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    takes: Duration,
}

impl World {
    async fn answer(self, target: Target) -> Outcome {
        let port = target.address.port();
        self.asked.lock().unwrap().push((port, Instant::now()));
        let now = self.under_way.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
        tokio::time::sleep(self.takes).await;
        self.under_way.fetch_sub(1, Ordering::Relaxed);
        let down = self.down.lock().unwrap().get(&port).cloned();
        down.unwrap_or(Outcome::Seen { what: "connected".into(), took: Duration::from_millis(1) })
    }

    fn set(&self, port: u16, outcome: Option<&str>) {
        let mut down = self.down.lock().unwrap();
        match outcome {
            Some(why) => down.insert(port, Outcome::Failed(why.into())),
            None => down.remove(&port),
        };
    }

    fn asked(&self, port: u16) -> Vec<Instant> {
        self.asked
            .lock()
            .unwrap()
            .iter()
            .filter(|(asked, _)| *asked == port)
            .map(|(_, at)| *at)
            .collect()
    }
}

struct Run {
    world: World,
    orders: mpsc::Receiver<Order>,
    publish: watch::Sender<Arc<Picture>>,
    observer: Observer,
    board: Arc<crate::probe::board::Board>,
    counts: Arc<crate::probe::counts::ProbeCounts>,
}

fn start(picture: Picture) -> Run {
    start_with(picture, 100, Duration::from_millis(1))
}

fn start_with(picture: Picture, at_once: usize, takes: Duration) -> Run {
    let (control, orders, publish) = fixture::control(picture);
    let (prober, observer) = prober();
    let (board, counts) = (prober.board.clone(), prober.counts.clone());
    let world = World { takes, ..World::default() };
    let answers = world.clone();
    tokio::spawn(prober.run_with(control, at_once, move |target| answers.clone().answer(target)));
    Run { world, orders, publish, observer, board, counts }
}

impl Run {
    async fn verdict(&mut self) -> Verdict {
        loop {
            match self.orders.recv().await.unwrap() {
                Order::Verdict(verdict) => return verdict,
                _ => continue,
            }
        }
    }

    /// The verdicts of some virtual time.
    async fn verdicts(&mut self, span: Duration) -> Vec<(u32, Judgement)> {
        let end = Instant::now() + span;
        let mut out = Vec::new();
        while let Ok(verdict) = tokio::time::timeout_at(end, self.verdict()).await {
            out.push((verdict.server.0, verdict.health));
        }
        out
    }
}

#[tokio::test(start_paused = true)]
async fn servers_rise_are_probed_at_their_interval_and_fall() {
    let mut run = start(fixture::picture(TEXT, 1));
    let first = run.verdicts(Duration::from_secs(1)).await;
    assert_eq!(first.len(), 2, "{first:?}");
    assert!(first.iter().all(|(_, health)| *health == Judgement::Up));
    run.verdicts(Duration::from_secs(20)).await;
    let asked = run.world.asked(1001);
    let gaps: Vec<_> = asked.windows(2).skip(3).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.len() >= 6, "{gaps:?}");
    let (least, most) = (Duration::from_millis(1790), Duration::from_millis(2010));
    assert!(gaps.iter().all(|gap| (least..most).contains(gap)), "{gaps:?}");
    assert!(gaps.iter().any(|gap| gap != &gaps[0]), "jitter");

    run.world.set(1001, Some("connection refused"));
    let verdict = run.verdict().await;
    assert_eq!((verdict.server, verdict.health), (ServerId(0), Judgement::Down));
    assert_eq!(verdict.reason, "connection refused");
    let fell: Vec<_> = run.world.asked(1001).into_iter().rev().take(3).collect();
    assert!(fell[0] - fell[2] <= Duration::from_millis(510), "in doubt it is asked more often");
    assert_eq!(run.board.read(ServerId(0)).unwrap().text, "connection refused");

    run.world.set(1001, None);
    let back = run.verdicts(Duration::from_secs(3)).await;
    assert_eq!(back.last(), Some(&(0, Judgement::Up)));
    assert!(
        run.counts.read().passed > 10 && run.counts.read().failed == 3,
        "{:?}",
        run.counts.read()
    );
}

#[tokio::test(start_paused = true)]
async fn what_stays_the_same_is_reported_once() {
    let mut run = start(fixture::picture(TEXT, 1));
    run.world.set(1002, Some("connection refused"));
    let verdicts = run.verdicts(Duration::from_secs(120)).await;
    assert_eq!(verdicts.iter().filter(|(server, _)| *server == 0).count(), 1, "{verdicts:?}");
    assert_eq!(verdicts.iter().filter(|(server, _)| *server == 1).count(), 1, "{verdicts:?}");
    run.world.set(1002, Some("no connection within 1 s"));
    assert_eq!(run.verdict().await.reason, "no connection within 1 s", "another reason is news");
}

#[tokio::test(start_paused = true)]
async fn a_clients_failed_connection_asks_for_a_probe_at_once() {
    let mut run = start(fixture::picture(TEXT, 1));
    run.verdicts(Duration::from_secs(5)).await;
    run.world.set(1001, Some("connection refused"));
    let (before, begin) = (run.world.asked(1001).len(), Instant::now());
    run.observer.connect_failed(ServerId(0), "connection refused".into());
    assert_eq!(run.verdict().await.health, Judgement::Down);
    assert!(begin.elapsed() < Duration::from_millis(1100), "{:?}", begin.elapsed());
    assert!(run.world.asked(1001).len() > before);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stays_keeps_its_judgement_and_one_that_goes_is_left_alone() {
    let mut run = start(fixture::picture(TEXT, 1));
    run.verdicts(Duration::from_secs(5)).await;
    let mut picture = fixture::picture(&TEXT.replace("2s", "10s"), 1);
    let gone = ServerId(1);
    picture.servers.remove(&gone);
    run.publish.send_replace(Arc::new(picture));
    let asked = run.world.asked(1002).len();
    let verdicts = run.verdicts(Duration::from_secs(60)).await;
    assert!(
        verdicts.iter().all(|(server, health)| (*server, *health) == (0, Judgement::Up)),
        "{verdicts:?}"
    );
    assert_eq!(run.world.asked(1002).len(), asked);
    assert!(run.board.read(gone).is_none());
    let gaps = run.world.asked(1001);
    let last: Vec<_> = gaps.windows(2).rev().take(3).map(|pair| pair[1] - pair[0]).collect();
    assert!(
        last.iter().all(|gap| *gap >= Duration::from_millis(8990)),
        "the new interval: {last:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_was_judged_before_a_restart_stands_until_there_is_evidence_against_it() {
    let mut picture = fixture::picture(TEXT, 1);
    fixture::change(&mut picture, "a", |facts| {
        facts.judged.evidence = true;
        facts.judged.health = Judgement::Up;
        facts.judged.reason = "connected in 1.0 ms".into();
    });
    let mut run = start(picture);
    run.world.set(1001, Some("connection refused"));
    run.world.set(1002, Some("connection refused"));
    let verdicts = run.verdicts(Duration::from_millis(260)).await;
    assert!(!verdicts.contains(&(0, Judgement::Down)), "one failure of three: {verdicts:?}");
    let verdicts = run.verdicts(Duration::from_secs(2)).await;
    assert!(verdicts.contains(&(0, Judgement::Down)), "{verdicts:?}");
}

#[tokio::test(start_paused = true)]
async fn our_own_want_is_no_evidence() {
    let mut run = start(fixture::picture(TEXT, 1));
    run.verdicts(Duration::from_secs(5)).await;
    run.world
        .down
        .lock()
        .unwrap()
        .insert(1001, Outcome::Ours("cannot probe: too many open files".into()));
    assert!(run.verdicts(Duration::from_secs(60)).await.is_empty());
    assert!(run.counts.read().not_made > 20, "it is tried again");
}

#[tokio::test(start_paused = true)]
async fn many_servers_are_probed_with_bounded_work_and_lateness_is_counted() {
    let servers: String = (1..=200u32)
        .map(|n| format!("{{ name = \"s{n}\", address = \"127.0.0.{n}:80\" }},\n"))
        .collect();
    let (head, _) = TEXT.split_once("servers = [").unwrap();
    let picture = fixture::picture(&format!("{head}servers = [\n{servers}]\n"), 1);
    // 200 probes of 20 ms, 8 at a time: half a second, though the first are wanted within a quarter.
    let mut run = start_with(picture, 8, Duration::from_millis(20));
    let first = run.verdicts(Duration::from_millis(600)).await;
    assert_eq!(first.len(), 200);
    assert_eq!(run.world.most.load(Ordering::Relaxed), 8);
    assert!(run.counts.read().late > 0);
}

#[tokio::test(start_paused = true)]
async fn reports_beyond_the_queue_are_dropped_and_counted() {
    let (prober, observer) = prober();
    for _ in 0..10_000 {
        observer.connect_succeeded(ServerId(0));
    }
    assert_eq!(prober.counts.read().observations_dropped, 10_000 - 4_096);
}
