//! What probing thousands of servers costs: `cargo run --profile prove -p daemon --example probe_cost -- [tcp|http|floor] [SERVERS]`.
//!
//! A whole daemon in this process probes that many addresses of the loopback every 2 s; a child process answers. Printed
//! are the processor time of this process, probes a second, and how late a probe began at most. Servers are not real
//! ones and the network is the loopback: the cost is the prober's and the kernel's, that of the answering side's packets
//! included. `floor` makes the system calls of as many `http` probes alone: no timers, no judging, no daemon.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use daemon::embed::EmbeddedDaemon;
use rustix::event::{Timespec, epoll};
use rustix::net;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// The measured period, after servers have come up.
const MEASURED: Duration = Duration::from_secs(20);
/// For servers to rise.
const RISING: Duration = Duration::from_secs(8);
/// Threads of the child that answer.
const THREADS: usize = 2;

type ExampleFailure = Box<dyn std::error::Error>;

#[expect(clippy::print_stdout, reason = "printing is what it is for")]
fn main() -> Result<(), ExampleFailure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let kind = arguments.first().map_or("http", String::as_str);
    if kind == "answer" {
        return answer(arguments.get(1).is_some_and(|kind| kind == "http"));
    }
    let servers: u32 = arguments.get(1).map_or(Ok(10_000), |count| count.parse())?;
    let limit = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: limit, maximum: limit })?;
    let mut child = ResponderProcess::start(if kind == "floor" { "http" } else { kind })?;
    if kind == "floor" {
        return floor(servers, child.port()?);
    }
    // A port that was free a moment ago: the daemon needs a service, which gets no traffic.
    let front = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let text = config(kind, servers, front, child.port()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let daemon = EmbeddedDaemon::start(&text).await?;
        tokio::time::sleep(RISING).await;
        let before = daemon.probes();
let cpu = processor();
let begun = Instant::now();
        tokio::time::sleep(MEASURED).await;
        let after = daemon.probes();
let used = processor() - cpu;
let wall = begun.elapsed();
        let probes = after.passed - before.passed;
        println!("probe: {kind}, {servers} servers every 2 s, {:.1} s", wall.as_secs_f64());
        println!("processor: {:.3} cores", used.as_secs_f64() / wall.as_secs_f64());
        println!("probes: {:.0} a second, {} failed, {} not made", probes as f64 / wall.as_secs_f64(),
            after.failed - before.failed, after.not_made - before.not_made);
        println!("latest start: {} us after its moment, since the start of the daemon; {} later than 100 ms",
            after.latest_us, after.late - before.late);
        daemon.stop(Duration::from_secs(1)).await;
        Ok(())
    })
}

/// The calls of as many probes by HTTP as are due in the measured time, every turn its share, and nothing else.
#[expect(clippy::print_stdout, reason = "printing is what it is for")]
fn floor(servers: u32, port: u16) -> Result<(), ExampleFailure> {
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut open: HashMap<u64, OwnedFd> = HashMap::new();
    let mut begun = 0u32;
    let mut answered = 0u32;
    let mut buffer = [0u8; 4096];
    let mut events = Vec::with_capacity(512);
    let start = Instant::now();
    let cpu = processor();
    while start.elapsed() < MEASURED {
        let due = (start.elapsed().as_secs_f64() / 2.0 * f64::from(servers)) as u32;
        while begun < due {
            let socket = net::socket_with(
                net::AddressFamily::INET,
                net::SocketType::STREAM,
                net::SocketFlags::NONBLOCK | net::SocketFlags::CLOEXEC,
                None,
            )?;
            let n = begun % servers;
            let octet = |part: u32| u8::try_from(part).unwrap_or_default();
            let ip = [127, octet(1 + n / 62_500), octet(n / 250 % 250), octet(1 + n % 250)];
            let _ = net::connect(&socket, &SocketAddr::from((ip, port)));
            net::sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
            let _ = net::send(
                &socket,
                b"GET /healthz HTTP/1.1\r\nhost: 127.1.1.1\r\nconnection: close\r\n\r\n",
                net::SendFlags::NOSIGNAL,
            );
            epoll::add(
                &poll,
                &socket,
                epoll::EventData::new_u64(u64::from(begun)),
                epoll::EventFlags::IN,
            )?;
            open.insert(u64::from(begun), socket);
            begun += 1;
        }
        let turn = Timespec { tv_sec: 0, tv_nsec: 4_000_000 };
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), Some(&turn))?;
        for event in &events {
            let Some(socket) = open.remove(&event.data.u64()) else { continue };
            let read = net::recv(&socket, &mut buffer[..], net::RecvFlags::DONTWAIT);
            answered += u32::from(matches!(read, Ok((1.., _))));
        }
    }
    let used = processor() - cpu;
    let wall = start.elapsed().as_secs_f64();
    println!("floor: the system calls of {servers} servers probed every 2 s, {wall:.1} s");
    println!("processor: {:.3} cores", used.as_secs_f64() / wall);
    println!("probes: {:.0} a second", f64::from(answered) / wall);
    Ok(())
}

/// Processor time of this process, user and system.
fn processor() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

fn config(kind: &str, servers: u32, front: u16, port: u16) -> String {
    let probe = if kind == "http" { "http = \"/healthz\"" } else { "tcp = true" };
    let address =
        |n: u32| format!("\"127.{}.{}.{}:{port}\",\n", 1 + n / 62_500, n / 250 % 250, 1 + n % 250);
    let servers: String = (0..servers).map(address).collect();
    format!(
        "[global]\naccess-log = \"off\"\n[service.s]\nlisten = \"127.0.0.1:{front}\"\nforward = \"http\"\npool = \"p\"\n\
         [pool.p]\nprobe = {{ {probe}, interval = \"2s\" }}\nservers = [\n{servers}]\n"
    )
}

/// The child that answers, gone with this.
struct ResponderProcess(Child);

impl ResponderProcess {
    fn start(kind: &str) -> Result<ResponderProcess, ExampleFailure> {
        let mut command = Command::new(std::env::current_exe()?);
        Ok(ResponderProcess(command.args(["answer", kind]).stdout(Stdio::piped()).spawn()?))
    }

    fn port(&mut self) -> Result<u16, ExampleFailure> {
        let mut line = [0; 5];
        self.0.stdout.as_mut().ok_or("no port")?.read_exact(&mut line)?;
        Ok(std::str::from_utf8(&line)?.trim().parse()?)
    }
}

impl Drop for ResponderProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Answers every connection until it is killed.
#[expect(clippy::print_stdout, reason = "the parent reads the port")]
fn answer(http: bool) -> Result<(), ExampleFailure> {
    let listener = TcpListener::bind("0.0.0.0:0")?;
    println!("{:5}", listener.local_addr()?.port());
    std::io::stdout().flush()?;
    let serve = move |stream: TcpStream| {
        if http {
            let mut stream = stream;
            let mut request = [0; 1024];
            if matches!(stream.read(&mut request), Ok(1..)) {
                let _ = stream.write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok",
                );
            }
        }
    };
    let threads: Vec<_> = (0..THREADS)
        .map(|_| listener.try_clone())
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .map(|listener| std::thread::spawn(move || listener.incoming().flatten().for_each(serve)))
        .collect();
    threads.into_iter().for_each(|thread| drop(thread.join()));
    Ok(())
}
