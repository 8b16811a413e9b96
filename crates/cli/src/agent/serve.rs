//! Samples the machine's load, and serves it to clients. Of HTTP it parses the first line only.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::args::AgentArgs;
use super::sample::{
    ProcessorTime, cpu_share, memory_share, parse_processor_time, run_queue_share,
};
use super::table::MachineLoad;
use crate::outcome::{CommandError, CommandOutcome, print_json};

/// Connections at a time to each of the two ports; more wait to be accepted.
/// A balancer has one connection at a time here; 64 serve a fleet of balancers.
const CONNECTIONS: usize = 64;
/// For a request to come.
/// The request is one short line; a client that needs longer holds one of the places.
const REQUEST: Duration = Duration::from_secs(2);
/// Bytes of a request.
/// As one buffer of nginx's large_client_header_buffers.
const REQUEST_BYTES: usize = 8 * 1024;

type SharedLoad = Arc<Mutex<MachineLoad>>;

/// The form that one of the ports serves.
#[derive(Clone, Copy)]
enum AgentProtocol {
    Line,
    Http,
}

/// Serves until it is killed, or looks once.
pub async fn run(args: AgentArgs) -> Result<CommandOutcome, CommandError> {
    let table = SharedLoad::default();
    if args.once {
        let before = sample_load(&args, &table, ProcessorTime::default()).await;
        tokio::time::sleep(args.every).await;
        sample_load(&args, &table, before).await;
        print_json(&current_load(&table))?;
        return Ok(CommandOutcome::Done);
    }
    let line = listen(args.line).await?;
    let http = listen(args.http).await?;
    tokio::spawn(accept(line, AgentProtocol::Line, Arc::clone(&table)));
    tokio::spawn(accept(http, AgentProtocol::Http, Arc::clone(&table)));
    let mut before = ProcessorTime::default();
    loop {
        before = sample_load(&args, &table, before).await;
        tokio::time::sleep(args.every).await;
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, CommandError> {
    let unusable = |error| CommandError::Unusable(format!("cannot listen on {address}: {error}"));
    TcpListener::bind(address).await.map_err(unusable)
}

/// Looks at everything once.
async fn sample_load(args: &AgentArgs, table: &SharedLoad, before: ProcessorTime) -> ProcessorTime {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let now = parse_processor_time(&text("/proc/stat")).unwrap_or(before);
    let mut new = MachineLoad {
        cpu: if before == ProcessorTime::default() { None } else { cpu_share(before, now) },
        memory: memory_share(&text("/proc/meminfo")),
        run_queue: run_queue_share(&text("/proc/loadavg"), now.count),
        ..MachineLoad::default()
    };
    for script in &args.script {
        new.scripts.insert(script.name.clone(), script.run().await);
    }
    new.combine_load(&args.count);
    *table.lock().unwrap_or_else(PoisonError::into_inner) = new;
    now
}

fn current_load(table: &SharedLoad) -> MachineLoad {
    table.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

async fn accept(listener: TcpListener, port: AgentProtocol, table: SharedLoad) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Most likely no descriptor was free: one is again soon.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let table = current_load(&table);
        tokio::spawn(async move {
            serve_connection(stream, port, &table).await;
            drop(permit);
        });
    }
}

async fn serve_connection(mut stream: TcpStream, port: AgentProtocol, table: &MachineLoad) {
    match port {
        AgentProtocol::Line => {
            write_response(&mut stream, table.agent_check_line().as_bytes()).await
        }
        AgentProtocol::Http => {
            let Ok(Some(head)) = timeout(REQUEST, read_request_head(&mut stream)).await else {
                return;
            };
            write_response(&mut stream, http_response(&head, table).as_bytes()).await;
        }
    }
}

/// A request's head; `None`: it is too long, or the peer has gone.
async fn read_request_head(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|four| four == b"\r\n\r\n") {
        let mut part = [0; 1024];
        let read = stream.read(&mut part).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&part[..read]);
        if bytes.len() > REQUEST_BYTES {
            return None;
        }
    }
    Some(bytes)
}

fn http_response(head: &[u8], table: &MachineLoad) -> String {
    let line = String::from_utf8_lossy(head.split(|b| *b == b'\r').next().unwrap_or_default())
        .into_owned();
    let mut words = line.split(' ');
    let method = words.next().unwrap_or_default();
    let path = words.next().unwrap_or_default();
    let (status, kind, body) = match (method, path.split('?').next().unwrap_or_default()) {
        ("GET" | "HEAD", "/") => {
            let json = serde_json::to_string(table).unwrap_or_default();
            ("200 OK", "application/json", format!("{json}\n"))
        }
        ("GET" | "HEAD", "/orca") => ("200 OK", "application/json", table.orca_report()),
        ("GET" | "HEAD", "/line") => ("200 OK", "text/plain", table.agent_check_line()),
        ("GET" | "HEAD", _) => {
            ("404 Not Found", "text/plain", "there are /, /orca and /line\n".to_owned())
        }
        _ => ("405 Method Not Allowed", "text/plain", "GET alone\n".to_owned()),
    };
    let length = body.len();
    let body = if method == "HEAD" { String::new() } else { body };
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// Writes as much as fits within a short timeout; a peer that does not read is dropped.
async fn write_response(stream: &mut TcpStream, text: &[u8]) {
    // A client that does not read, or that has gone, learns nothing; the next one is served.
    let _ = timeout(REQUEST, async {
        stream.write_all(text).await?;
        stream.shutdown().await
    })
    .await;
}
