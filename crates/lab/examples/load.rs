//! A command-line load generator.
//!
//! `load TARGET [-c CONNECTIONS] [-d SECONDS] [-n REQUESTS] [-t THREADS] [--rate PER_SECOND] [--path PATH]
//! [--no-keepalive] [--echo BYTES] [--post PERCENT] [--think MS] [--timeout MS] [--json]`. TARGET is an address such as
//! `127.0.0.1:8080`. Exit code 1 when a request failed, 2 for a plan that cannot be carried out. An interrupt ends the
//! run early; its figures are printed as well.

use std::process::ExitCode;
use std::time::Duration;

use lab::load::{
    ConnectionReuse, HttpPlan, LoadModel, LoadPlan, LoadProtocol, LoadReport, LoadRun,
};

fn main() -> ExitCode {
    match run() {
        Ok((report, json)) => {
            print(&report, json);
            ExitCode::from(u8::from(report.failed > 0))
        }
        Err(error) => {
            eprintln!("load: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(LoadReport, bool), Box<dyn std::error::Error>> {
    let (plan, json) = plan()?;
    let load = LoadRun::start(plan)?;
    let stopper = load.stopper();
    std::thread::spawn(move || -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(tokio::signal::ctrl_c())?;
        stopper.stop();
        Ok(())
    });
    Ok((load.wait(), json))
}

fn plan() -> Result<(LoadPlan, bool), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let target = arguments.next().ok_or("usage: load TARGET [options]")?;
    let mut http = HttpPlan::get(&target, "/");
    let mut plan = LoadPlan::new(target.parse()?, LoadProtocol::Echo { bytes: 8 }, 64);
    plan.time = Some(Duration::from_secs(10));
    let mut connections = 64;
    let mut think = Duration::ZERO;
    let mut rate = None;
    let mut echo = None;
    let mut json = false;
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "-c" => connections = value()?.parse()?,
            "-d" => plan.time = Some(Duration::try_from_secs_f64(value()?.parse()?)?),
            "-n" => plan.requests = Some(value()?.parse()?),
            "-t" => plan.threads = value()?.parse()?,
            "--rate" => rate = Some(value()?.parse()?),
            "--path" => http.target = value()?,
            "--no-keepalive" => plan.persist = ConnectionReuse::PerRequest,
            "--echo" => echo = Some(value()?.parse()?),
            "--post" => http.post_percent = value()?.parse()?,
            "--think" => think = Duration::from_millis(value()?.parse()?),
            "--timeout" => plan.timeout = Duration::from_millis(value()?.parse()?),
            "--json" => json = true,
            _ => return Err(format!("unknown argument {argument}").into()),
        }
    }
    plan.protocol = echo.map_or(LoadProtocol::Http(http), |bytes| LoadProtocol::Echo { bytes });
    plan.pace = match rate {
        Some(per_second) => LoadModel::Open { per_second, connections },
        None => LoadModel::Closed { connections, think },
    };
    plan.grace = plan.timeout.min(Duration::from_secs(1));
    Ok((plan, json))
}

#[expect(clippy::print_stdout, reason = "the report is what the program is for")]
fn print(report: &LoadReport, json: bool) {
    if json {
        println!("{}", serde_json::json!(report));
        return;
    }
    let latency = &report.latency;
    println!(
        "{} answered, {} failed, {} in flight in {:.2} s: {:.0} a second",
        report.answered,
        report.failed,
        report.in_flight,
        report.seconds,
        report.answered_per_second
    );
    println!(
        "latency: p50 {:.0} us, p90 {:.0} us, p99 {:.0} us, p99.9 {:.0} us, longest {:.0} us",
        latency.p50_us, latency.p90_us, latency.p99_us, latency.p999_us, latency.max_us
    );
    println!("{} connections, {} bytes in", report.connects, report.bytes_in);
    for (cause, count) in &report.failed_by_cause {
        println!("failed: {cause}: {count}");
    }
}
