//! Measures the cost of the balancer's work on this machine: with a balancer, a server and clients on loopback.
//!
//! Only the processor time of the balancer's workers counts, which the kernel accounts for each thread. Loopback has no
//! network card: a real one adds interrupts and takes offloaded work away.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use daemon::embed::EmbeddedDaemon;
use daemon::worker_cpu_time;
use lab::load::{ClosingSide, ConnectionReuse, HttpPlan, LoadPlan, LoadProtocol, LoadRun};
use lab::origin::{OriginKind, OriginOptions, TestOrigin};
use lab::port::ReservedPort;
use model::capacity::demand::ProcessingCost;
use tokio::time::{interval, timeout};

use crate::common_args::block_on;
use crate::outcome::{CommandError, sentence};

/// Measures; `quiet`: without progress.
pub fn measure_cost(quiet: bool) -> Result<ProcessingCost, CommandError> {
    block_on(async {
        let origin =
            TestOrigin::start(OriginOptions::new("calibrate", OriginKind::Http { body: SMALL }))
                .map_err(|error| calibration_failure("a server", &error))?;
        let port = ReservedPort::new(IpAddr::V4(Ipv4Addr::LOCALHOST))
            .map_err(|error| calibration_failure("a port", &error))?;
        let text = format!(
            "[global]\naccess-log = \"off\"\nworkers = 1\n[service.web]\nlisten = \"{}\"\nforward = \"http\"\npool = \"web\"\n\
             [pool.web]\ninitial = \"up\"\n[[pool.web.servers]]\nname = \"a\"\naddress = \"{}\"\n",
            port.address(),
            origin.address()
        );
        let daemon = EmbeddedDaemon::start(&text)
            .await
            .map_err(|error| calibration_failure("a balancer", &error))?;
        let small = format!("/bytes/{SMALL}");
        let large = format!("/bytes/{LARGE}");
        let rows = [
            (&small, ConnectionReuse::KeepAlive),
            // The side that closes matters: a client that closes costs the worker one more wakeup.
            (&small, ConnectionReuse::ClosedBy(ClosingSide::Client)),
            (&large, ConnectionReuse::KeepAlive),
        ];
        let mut costs = Vec::new();
        for (at, (target, persist)) in rows.into_iter().enumerate() {
            if !quiet {
                crate::outcome::print_note(&format!("measuring {} of {} …\n", at + 1, 3));
            }
            let mut plan = LoadPlan::new(
                port.address(),
                LoadProtocol::Http(HttpPlan::get("calibrate", target)),
                CONNECTIONS,
            );
            plan.persist = persist;
            plan.sources = SOURCES.map(|last| Ipv4Addr::new(127, 0, 0, last).into()).collect();
            // The first run warms up; of the others the median counts, since a busy machine disturbs single ones.
            time_per_request(&plan, WARM).await?;
            let mut found = [0.0; RUNS];
            for one in &mut found {
                *one = time_per_request(&plan, TIME).await?;
            }
            found.sort_by(f64::total_cmp);
            costs.push(found[RUNS / 2]);
        }
        // A second: no connection is left that matters.
        daemon.stop(Duration::from_secs(1)).await;
        let [request_us, whole_us, large_us] = costs.as_slice() else {
            return Err(CommandError::Unusable("the calibration was cut short".to_owned()));
        };
        let kibibytes = (LARGE - SMALL) as f64 / 1024.0;
        Ok(ProcessingCost {
            request_us: *request_us,
            connection_us: (whole_us - request_us).max(0.0),
            kibibyte_us: ((large_us - request_us) / kibibytes).max(0.0),
        })
    })
}

/// Microseconds of the workers' time for each request of a run.
async fn time_per_request(plan: &LoadPlan, time: Duration) -> Result<f64, CommandError> {
    let mut plan = plan.clone();
    plan.time = Some(time);
    let before = worker_cpu_time::worker_cpu_nanos().unwrap_or(0);
    let load = LoadRun::start(plan).map_err(|error| calibration_failure("the load", &error))?;
    // Short against a run, which ends this much late at most.
    let mut tick = interval(Duration::from_millis(10));
    let over = async {
        while !load.is_finished() {
            tick.tick().await;
        }
    };
    timeout(time + PATIENCE, over).await.map_err(|_| {
        CommandError::Unusable("the load of the calibration does not end".to_owned())
    })?;
    let spent = worker_cpu_time::worker_cpu_nanos().unwrap_or(0).saturating_sub(before);
    let report = load.wait();
    if report.answered == 0 || report.failed > report.answered / 100 {
        return Err(CommandError::Unusable(format!(
            "the calibration failed: {} requests answered, {} failed ({})",
            report.answered,
            report.failed,
            report.failed_by_cause.keys().copied().collect::<Vec<_>>().join(", ")
        )));
    }
    if spent == 0 {
        let text = "the kernel keeps no processor time of threads (/proc/self/task/*/schedstat): use --cost";
        return Err(CommandError::Unusable(text.to_owned()));
    }
    Ok(spent as f64 / 1e3 / report.answered as f64)
}

fn calibration_failure(part: &str, error: &dyn std::error::Error) -> CommandError {
    CommandError::Unusable(format!(
        "{part} for the calibration could not be had: {}",
        sentence(error)
    ))
}

/// Bytes of an answer whose cost is that of a request alone.
const SMALL: u64 = 128;
/// Bytes of an answer whose cost is mostly that of its bytes.
const LARGE: u64 = 64 * 1024;
/// Enough to keep one worker busy, few enough not to measure waiting.
const CONNECTIONS: usize = 32;
/// Last bytes of the clients' addresses: one has too few ports for all connections of the runs, while they are in TIME_WAIT.
const SOURCES: std::ops::Range<u8> = 2..10;
/// Until connections stand and caches are warm; it is not counted.
const WARM: Duration = Duration::from_millis(400);
/// Of one counted run: all runs together are short enough to wait for.
const TIME: Duration = Duration::from_millis(700);
/// The median of them counts, so that one disturbed run has no part in it.
/// Three is the least number with a median that is not an extreme.
const RUNS: usize = 3;
/// Beyond the time of a run: a machine that is this much slower cannot be calibrated.
const PATIENCE: Duration = Duration::from_secs(12);
