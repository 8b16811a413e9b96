//! `two-balancers`: one transaction over a long path through balancers with small and large buffers, and through one
//! whose window scale a device breaks. The packets show which side the time was spent on.
//!
//! Source: "A Tale of Two Load Balancers", the measurement of a SOAP transaction between North America and Germany.

mod analysis;
mod case;
mod exchange;
mod source_comparison;
mod transaction_trace;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use self::analysis::QUESTION;
use self::analysis::build_report;
use self::case::{TransactionCase, case_name as name_of};
use self::exchange::{TransactionSpec, run_transaction, serve_transactions};
use self::transaction_trace::read_trace;
use super::balancer::StudyBalancer;
use super::context::{StudyContext, StudyError, finish_study};
use super::parameter::{ParameterKind, ParameterSpec, Parameters};
use super::report::StudyReport;
use crate::link_emulation::{EmulatedLink, LinkFault, LinkSettings, LinkShape, LinkTap, SERVER};
use crate::net::SysctlSetting;

pub const SPECS: &[ParameterSpec] = &[
    ParameterSpec {
        name: "delay",
        meaning: "one way between client and balancer; the round trip is twice that",
        kind: ParameterKind::Time,
        full: "65ms",
        quick: "65ms",
        source: "65ms",
    },
    ParameterSpec {
        name: "rate",
        meaning: "of the path",
        kind: ParameterKind::Rate,
        full: "100Mbit/s",
        quick: "100Mbit/s",
        source: "",
    },
    ParameterSpec {
        name: "request",
        meaning: "bytes of the request's body",
        kind: ParameterKind::Size,
        full: "3KiB",
        quick: "3KiB",
        source: "3KiB",
    },
    ParameterSpec {
        name: "answer",
        meaning: "bytes of the answer's body",
        kind: ParameterKind::Size,
        full: "1500kB",
        quick: "1500kB",
        source: "1500kB",
    },
    ParameterSpec {
        name: "think",
        meaning: "how long the server works",
        kind: ParameterKind::Time,
        full: "8s",
        quick: "200ms",
        source: "8s",
    },
    ParameterSpec {
        name: "buffers",
        meaning: "the balancer's send buffers towards clients, one case each; the broken balancer has the first",
        kind: ParameterKind::Buffers,
        full: "32KiB,262143B,auto",
        quick: "32KiB,262143B,auto",
        source: "32KiB,262143B,auto",
    },
    ParameterSpec {
        name: "receive-memory",
        meaning: "what the balancer's kernel gives a connection to receive into; its window is about half of it",
        kind: ParameterKind::Size,
        full: "64KiB",
        quick: "64KiB",
        source: "64KiB",
    },
];

/// The balancer's port.
const PORT: u16 = 8_080;
/// Time limit for a transaction.
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(300);

pub fn run(stage: &StudyContext<'_>, parameters: &Parameters) -> Result<StudyReport, StudyError> {
    let mut cases = Vec::new();
    let ended = measure_all(stage, parameters, &mut cases);
    finish_study(ended, cases.len(), "cases", || build_report(parameters, &cases))
}

/// Measures all cases. Returns false when the study was stopped early.
fn measure_all(
    stage: &StudyContext<'_>,
    parameters: &Parameters,
    cases: &mut Vec<TransactionCase>,
) -> Result<bool, StudyError> {
    let buffers = parameters.buffers("buffers");
    let first = buffers.first().copied().flatten();
    let plain = buffers.iter().map(|buffer| (*buffer, false));
    for (buffer, broken) in plain.chain([(first, true)]) {
        if stage.is_stopped() {
            return Ok(false);
        }
        let (case, capture) = measure_case(stage, parameters, buffer, broken)?;
        (stage.log)(&format!("{}: {:.2} s", case.name, case.trace.total));
        let name = format!("two-balancers {}", case.name);
        // The case counts as measured even if its capture cannot be stored.
        cases.push(case);
        (stage.captured)(&name, &capture)?;
    }
    Ok(true)
}

/// Measures a transaction through one balancer and captures its packets.
fn measure_case(
    stage: &StudyContext<'_>,
    parameters: &Parameters,
    buffer: Option<u64>,
    broken: bool,
) -> Result<(TransactionCase, Vec<u8>), StudyError> {
    let name = name_of(buffer, broken);
    let shape = LinkShape {
        delay: parameters.time("delay"),
        bits_per_second: parameters.rate("rate"),
        queue_bytes: QUEUE,
        ..LinkShape::default()
    };
    let fault = if broken { LinkFault::WindowScale } else { LinkFault::None };
    let back = LinkShape { fault, ..shape.clone() };
    let tap = LinkTap::default();
    let line = EmulatedLink::open_with(LinkSettings {
        tap: Some(tap.clone()),
        ..LinkSettings::new([shape, back])
    })?;
    // The client's receive buffer must not be the limit; the balancer has the source study's receive window.
    let memory = parameters.size("receive-memory");
    line.client.write_sysctls(&[SysctlSetting {
        path: "net/ipv4/tcp_rmem",
        value: "4096 262144 16777216",
    }])?;
    line.server.write_sysctls(&[SysctlSetting {
        path: "net/ipv4/tcp_rmem",
        value: &format!("4096 {memory} {}", memory.max(6 << 20)),
    }])?;
    let transaction = TransactionSpec {
        request: parameters.size("request"),
        answer: parameters.size("answer"),
        think: parameters.time("think"),
        timeout: TRANSACTION_TIMEOUT,
    };
    let bound = line.server.run_inside(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
    let listener = bound?;
    let stop = AtomicBool::new(false);
    let body = configuration(buffer, listener.local_addr()?);
    let to = SocketAddr::new(SERVER, PORT);
    let transaction_result = std::thread::scope(|scope| {
        let served = scope.spawn(|| serve_transactions(&listener, transaction, &stop));
        let transaction_result =
            StudyBalancer::start(&line.server, stage.program, &body, &[]).map(|balancer| {
                let transaction_result =
                    line.client.run_inside(|| run_transaction(to, transaction));
                drop(balancer);
                transaction_result
            });
        stop.store(true, Ordering::Relaxed);
        // An error of the server makes the client's transaction fail too, and that error is returned.
        let _ = served.join();
        transaction_result
    });
    let took = transaction_result???;
    let capture = tap.take_capture(&name);
    let seen = read_trace(&name, capture.as_slice())?;
    Ok((TransactionCase { name, buffer, broken, took: took.as_secs_f64(), trace: seen }, capture))
}

/// Bytes queued before the path.
const QUEUE: u64 = 4 << 20;

fn configuration(buffer: Option<u64>, server: SocketAddr) -> String {
    let buffer = buffer.map_or_else(|| "auto".to_owned(), |bytes| format!("{bytes}B"));
    format!(
        "workers = 1\n[service.shop]\nlisten = \"{SERVER}:{PORT}\"\nforward = \"http\"\npool = \"web\"\n\
         socket.send-buffer = \"{buffer}\"\n\
         [pool.web]\nservers = [\"{server}\"]\n"
    )
}
