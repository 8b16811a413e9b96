//! Measures what the balancer's work costs on this machine: a balancer, a server and clients of our own on loopback.
//!
//! Only the processor time of the balancer's workers counts, which the kernel keeps for each thread. Loopback has no
//! network card: a real one adds interrupts and takes offloaded work away.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use daemon::embed::Embedded;
use daemon::workers_time;
use lab::load::{Closer, HttpPlan, Load, Persist, Plan, Protocol};
use lab::origin::{Kind, Options, Origin};
use lab::port::Reserved;
use model::capacity::demand::Cost;
use tokio::time::{interval, timeout};

use crate::ask::wait;
use crate::end::{Failure, sentence};

/// Measures; `quiet`: says nothing meanwhile.
pub fn measure(quiet: bool) -> Result<Cost, Failure> {
    wait(async {
        let origin = Origin::start(Options::new("calibrate", Kind::Http { body: SMALL }))
            .map_err(|error| unusable("a server", &error))?;
        let port = Reserved::new(IpAddr::V4(Ipv4Addr::LOCALHOST))
            .map_err(|error| unusable("a port", &error))?;
        let text = format!(
            "[global]\naccess-log = \"off\"\nworkers = 1\n[service.web]\nlisten = \"{}\"\nforward = \"http\"\npool = \"web\"\n\
             [pool.web]\ninitial = \"up\"\n[[pool.web.servers]]\nname = \"a\"\naddress = \"{}\"\n",
            port.address(),
            origin.address()
        );
        let daemon =
            Embedded::start(&text).await.map_err(|error| unusable("a balancer", &error))?;
        let small = format!("/bytes/{SMALL}");
        let large = format!("/bytes/{LARGE}");
        let rows = [
            (&small, Persist::KeepAlive),
            // Whoever closes it: the worker has one wakeup more of a client that does.
            (&small, Persist::ClosedBy(Closer::Client)),
            (&large, Persist::KeepAlive),
        ];
        let mut costs = Vec::new();
        for (at, (target, persist)) in rows.into_iter().enumerate() {
            if !quiet {
                crate::end::note(&format!("measuring {} of {} …\n", at + 1, 3));
            }
            let mut plan = Plan::new(
                port.address(),
                Protocol::Http(HttpPlan::get("calibrate", target)),
                CONNECTIONS,
            );
            plan.persist = persist;
            plan.sources = SOURCES.map(|last| Ipv4Addr::new(127, 0, 0, last).into()).collect();
            // The first run warms up; of the others the median counts, since a busy machine disturbs single ones.
            each(&plan, WARM).await?;
            let mut found = [0.0; RUNS];
            for one in &mut found {
                *one = each(&plan, TIME).await?;
            }
            found.sort_by(f64::total_cmp);
            costs.push(found[RUNS / 2]);
        }
        daemon.stop(Duration::from_secs(1)).await;
        let [request_us, whole_us, large_us] = costs.as_slice() else {
            return Err(Failure::Unusable("the calibration was cut short".to_owned()));
        };
        let kibibytes = (LARGE - SMALL) as f64 / 1024.0;
        Ok(Cost {
            request_us: *request_us,
            connection_us: (whole_us - request_us).max(0.0),
            kibibyte_us: ((large_us - request_us) / kibibytes).max(0.0),
        })
    })
}

/// Microseconds of the workers' time for each request of a run.
async fn each(plan: &Plan, time: Duration) -> Result<f64, Failure> {
    let mut plan = plan.clone();
    plan.time = Some(time);
    let before = workers_time::nanos().unwrap_or(0);
    let load = Load::start(plan).map_err(|error| unusable("the load", &error))?;
    let mut tick = interval(Duration::from_millis(10));
    let over = async {
        while !load.is_finished() {
            tick.tick().await;
        }
    };
    timeout(time + PATIENCE, over)
        .await
        .map_err(|_| Failure::Unusable("the load of the calibration does not end".to_owned()))?;
    let spent = workers_time::nanos().unwrap_or(0).saturating_sub(before);
    let report = load.wait();
    if report.answered == 0 || report.failed > report.answered / 100 {
        return Err(Failure::Unusable(format!(
            "the calibration failed: {} answered, {:?}",
            report.answered, report.failed_by_cause
        )));
    }
    if spent == 0 {
        let text = "the kernel keeps no processor time of threads (/proc/self/task/*/schedstat): use --cost";
        return Err(Failure::Unusable(text.to_owned()));
    }
    Ok(spent as f64 / 1e3 / report.answered as f64)
}

fn unusable(what: &str, error: &dyn std::error::Error) -> Failure {
    Failure::Unusable(format!("{what} for the calibration could not be had: {}", sentence(error)))
}

const SMALL: u64 = 128;
const LARGE: u64 = 64 * 1024;
const CONNECTIONS: usize = 32;
/// Last bytes of the clients' addresses: one has too few ports for all connections of the runs, while they are in TIME_WAIT.
const SOURCES: std::ops::Range<u8> = 2..10;
const WARM: Duration = Duration::from_millis(400);
const TIME: Duration = Duration::from_millis(700);
const RUNS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(12);
