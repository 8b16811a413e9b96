//! An agent: makes its part of a load for any leader with the token, and reports its counts.
//!
//! The load ends when the leader disconnects. It resolves no names and stores nothing.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::channel::{ChannelAcceptor, ChannelError, FleetChannel, FleetToken};
use super::protocol::{
    AgentMessage, AgentProgress, AgentSummary, LeaderMessage, MESSAGE_TIMEOUT, PROGRESS_INTERVAL,
    VERSION,
};
use crate::load::{LoadPlan, LoadRun};
use crate::machine::facts::{MachineFacts, forecast_limits, generator_limits};
use crate::machine::procfs::read_processor_counters;

/// Serves leaders until `stop`; `on_status` is called with the outcome of each.
///
/// # Errors
/// A certificate could not be created, or the listener is invalid.
pub fn serve_leaders(
    listener: &TcpListener,
    token: &FleetToken,
    facts: &MachineFacts,
    stop: &AtomicBool,
    on_status: &(dyn Fn(SocketAddr, &str) + Sync),
) -> Result<(), ChannelError> {
    let certified = ChannelAcceptor::new()?;
    listener.set_nonblocking(true)?;
    let busy = Mutex::new(());
    let open = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        while !stop.load(Ordering::Relaxed) {
            let (socket, from) = match listener.accept() {
                Ok(came) => came,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::park_timeout(LOOK_EVERY);
                    continue;
                }
                Err(_) => continue,
            };
            if open.load(Ordering::Relaxed) >= MOST_TALKS {
                on_status(from, "refused: too many talk to this agent");
                continue;
            }
            open.fetch_add(1, Ordering::Relaxed);
            let certified = &certified;
            let busy = &busy;
            let open = &open;
            scope.spawn(move || {
                match serve_leader(socket, certified, token, facts, busy, stop) {
                    Ok(answered) => on_status(from, &format!("done: {answered} answered")),
                    Err(error) => on_status(from, &format!("ended: {error}")),
                }
                open.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
    Ok(())
}

/// Serves one leader and returns the number of answered requests.
fn serve_leader(
    socket: TcpStream,
    certified: &ChannelAcceptor,
    token: &FleetToken,
    facts: &MachineFacts,
    busy: &Mutex<()>,
    stop: &AtomicBool,
) -> Result<u64, ChannelError> {
    socket.set_nonblocking(false)?;
    let mut channel = FleetChannel::accept(socket, certified, token)?;
    let LeaderMessage::Order { version, plan } = channel.expect_message(MESSAGE_TIMEOUT)? else {
        channel.send_message(&AgentMessage::Refused("an order is expected first".to_owned()))?;
        return Ok(0);
    };
    // Concurrent loads would limit each other.
    let Ok(_alone) = busy.try_lock() else {
        channel
            .send_message(&AgentMessage::Refused("it makes load for somebody else".to_owned()))?;
        return Ok(0);
    };
    let mut plan = *plan;
    let from = plan.sources.len();
    // The plan lists addresses of all agents; each agent uses its own.
    plan.sources.retain(|address| is_local_address(*address));
    let refused = match plan.check() {
        _ if version != VERSION => Some(format!("it speaks version {VERSION}, not {version}")),
        _ if from > 0 && plan.sources.is_empty() => Some(format!(
            "none of the {from} source addresses is one of its own: --from has to name some of each agent"
        )),
        Err(error) => Some(error.to_string()),
        Ok(()) => None,
    };
    if let Some(text) = refused {
        channel.send_message(&AgentMessage::Refused(text))?;
        return Ok(0);
    }
    let about =
        format!("{}, {}, {} × {}", facts.host, facts.kernel, facts.processors, facts.processor);
    channel.send_message(&AgentMessage::Ready { notes: forecast_limits(facts, &plan), about })?;
    match channel.expect_message(MESSAGE_TIMEOUT + MESSAGE_TIMEOUT)? {
        LeaderMessage::Go => run_load(&mut channel, plan, facts, stop),
        LeaderMessage::Stop | LeaderMessage::Order { .. } => Ok(0),
    }
}

/// Whether this machine has the address.
fn is_local_address(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

fn run_load(
    channel: &mut FleetChannel,
    plan: LoadPlan,
    facts: &MachineFacts,
    stop: &AtomicBool,
) -> Result<u64, ChannelError> {
    let before = read_processor_counters();
    let load = match LoadRun::start(plan.clone()) {
        Ok(load) => load,
        Err(error) => {
            channel.send_message(&AgentMessage::Refused(error.to_string()))?;
            return Ok(0);
        }
    };
    let mut tell = Instant::now() + PROGRESS_INTERVAL;
    let mut busiest = 0.0_f64;
    let mut last = 0.0;
    let mut last_cpu = load.cpu();
    while !load.is_finished() {
        // When the leader disconnects, the load is dropped, which ends it.
        if matches!(channel.receive_message(LOOK_EVERY)?, Some(LeaderMessage::Stop))
            || stop.load(Ordering::Relaxed)
        {
            load.stopper().stop();
        }
        if Instant::now() < tell {
            continue;
        }
        tell = Instant::now() + PROGRESS_INTERVAL;
        let report = load.report();
        if report.seconds - last >= 1.0 {
            let cpu = load.cpu();
            let spent = cpu.iter().zip(&last_cpu).map(|(now, then)| now.saturating_sub(*then));
            let most = spent.max().unwrap_or_default().as_secs_f64();
            busiest = busiest.max(most / (report.seconds - last));
            last = report.seconds;
            last_cpu = cpu;
        }
        let figures = AgentProgress { seconds: report.seconds, counts: report.counts() };
        channel.send_message(&AgentMessage::Figures(figures))?;
    }
    let cpu = load.cpu();
    let report = load.wait();
    let seconds = report.seconds.max(1e-9);
    let threads_busy: Vec<f64> = cpu.iter().map(|spent| spent.as_secs_f64() / seconds).collect();
    let done = AgentSummary {
        figures: AgentProgress { seconds: report.seconds, counts: report.counts() },
        broken_threads: report.broken_threads,
        notes: generator_limits(
            facts,
            &plan,
            &report,
            threads_busy.iter().copied().fold(busiest, f64::max),
        ),
        processors: read_processor_counters().since(&before, seconds),
        threads_busy,
    };
    channel.send_message(&AgentMessage::Done(done))?;
    Ok(report.answered)
}

/// Limit for concurrent connections to an agent.
const MOST_TALKS: usize = 16;
/// Short compared with the interval of reports.
const LOOK_EVERY: Duration = Duration::from_millis(20);
