//! `two-balancers`: one transaction over a long path through balancers with small and large buffers, and through one whose
//! window scale is broken on the way; whose time it was is told from packets.
//!
//! Source: "A Tale of Two Load Balancers", the measurement of a SOAP transaction between North America and Germany.

mod beside;
mod case;
mod exchange;
mod judge;
mod seen;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use self::case::{Case, name as name_of};
use self::exchange::{Transaction, ask, serve};
pub use self::judge::ASKS;
use self::judge::report;
use self::seen::seen;
use super::balancer::Balancer;
use super::parameter::{Kind, Parameters, Spec};
use super::report::Report;
use super::stage::{Stage, StudyError, conclude};
use crate::line::{Course, Fault, Line, SERVER, Shape, Tap};

/// Its parameters.
pub const SPECS: &[Spec] = &[
    Spec {
        name: "delay",
        meaning: "one way between client and balancer; the round trip is twice that",
        kind: Kind::Time,
        full: "65ms",
        quick: "65ms",
        source: "65ms",
    },
    Spec {
        name: "rate",
        meaning: "of the path",
        kind: Kind::Rate,
        full: "100Mbit/s",
        quick: "100Mbit/s",
        source: "",
    },
    Spec {
        name: "request",
        meaning: "bytes of the request's body",
        kind: Kind::Size,
        full: "3KiB",
        quick: "3KiB",
        source: "3KiB",
    },
    Spec {
        name: "answer",
        meaning: "bytes of the answer's body",
        kind: Kind::Size,
        full: "1500kB",
        quick: "1500kB",
        source: "1500kB",
    },
    Spec {
        name: "think",
        meaning: "how long the server works",
        kind: Kind::Time,
        full: "8s",
        quick: "200ms",
        source: "8s",
    },
    Spec {
        name: "buffers",
        meaning: "the balancer's send buffers towards clients, one case each; the broken balancer has the first",
        kind: Kind::Buffers,
        full: "32KiB,262143B,auto",
        quick: "32KiB,262143B,auto",
        source: "32KiB,262143B,auto",
    },
    Spec {
        name: "receive-memory",
        meaning: "what the balancer's kernel gives a connection to receive into; its window is about half of it",
        kind: Kind::Size,
        full: "64KiB",
        quick: "64KiB",
        source: "64KiB",
    },
];

/// Where the balancer listens.
const PORT: u16 = 8_080;
/// How long a transaction may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// Carries it out.
pub fn run(stage: &Stage<'_>, parameters: &Parameters) -> Result<Report, StudyError> {
    let mut cases = Vec::new();
    let ended = all(stage, parameters, &mut cases);
    conclude(ended, (cases.len(), "cases"), || report(parameters, &cases))
}

/// Everything; false: stopped before its end.
fn all(
    stage: &Stage<'_>,
    parameters: &Parameters,
    cases: &mut Vec<Case>,
) -> Result<bool, StudyError> {
    let buffers = parameters.buffers("buffers");
    let first = buffers.first().copied().flatten();
    let plain = buffers.iter().map(|buffer| (*buffer, false));
    for (buffer, broken) in plain.chain([(first, true)]) {
        if stage.stops() {
            return Ok(false);
        }
        let (case, capture) = one(stage, parameters, buffer, broken)?;
        (stage.told)(&format!("{}: {:.2} s", case.name, case.seen.total));
        let name = format!("two-balancers {}", case.name);
        // It counts as measured also where its packets cannot be kept.
        cases.push(case);
        (stage.captured)(&name, &capture)?;
    }
    Ok(true)
}

/// A transaction through one balancer, with the packets of it.
fn one(
    stage: &Stage<'_>,
    parameters: &Parameters,
    buffer: Option<u64>,
    broken: bool,
) -> Result<(Case, Vec<u8>), StudyError> {
    let name = name_of(buffer, broken);
    let shape = Shape {
        delay: parameters.time("delay"),
        bits_per_second: parameters.rate("rate"),
        queue_bytes: QUEUE,
        ..Shape::default()
    };
    let fault = if broken { Fault::WindowScale } else { Fault::None };
    let back = Shape { fault, ..shape.clone() };
    let tap = Tap::default();
    let line = Line::lay(Course { tap: Some(tap.clone()), ..Course::new([shape, back]) })?;
    // The client has room for all of it, and the balancer's window is the study's.
    let memory = parameters.size("receive-memory");
    line.client.set(&[("net/ipv4/tcp_rmem", "4096 262144 16777216")])?;
    line.server.set(&[("net/ipv4/tcp_rmem", &format!("4096 {memory} {}", memory.max(6 << 20)))])?;
    let transaction = Transaction {
        request: parameters.size("request"),
        answer: parameters.size("answer"),
        think: parameters.time("think"),
        patience: PATIENCE,
    };
    let bound = line.server.within(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
    let (listener, stop) = (bound?, AtomicBool::new(false));
    let body = configuration(buffer, listener.local_addr()?);
    let to = SocketAddr::new(SERVER, PORT);
    let asked = std::thread::scope(|scope| {
        let served = scope.spawn(|| serve(&listener, transaction, &stop));
        let asked = Balancer::start(&line.server, stage.program, &body, &[]).map(|balancer| {
            let asked = line.client.within(|| ask(to, transaction));
            drop(balancer);
            asked
        });
        stop.store(true, Ordering::Relaxed);
        // What the server met, the client met as well.
        let _ = served.join();
        asked
    });
    let took = asked???;
    let capture = tap.take(&name);
    let seen = seen(&name, capture.as_slice())?;
    Ok((Case { name, buffer, broken, took: took.as_secs_f64(), seen }, capture))
}

/// Bytes that wait before the path.
const QUEUE: u64 = 4 << 20;

fn configuration(buffer: Option<u64>, server: SocketAddr) -> String {
    let buffer = buffer.map_or_else(|| "auto".to_owned(), |bytes| format!("{bytes}B"));
    format!(
        "workers = 1\n[service.shop]\nlisten = \"{SERVER}:{PORT}\"\nforward = \"http\"\npool = \"web\"\n\
         socket.send-buffer = \"{buffer}\"\n\
         [pool.web]\nservers = [\"{server}\"]\n"
    )
}
