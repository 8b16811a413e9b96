//! What probing thousands of servers costs: `cargo run --profile prove -p daemon --example probe_cost -- [tcp|http] [SERVERS]`.
//!
//! A whole daemon in this process probes that many addresses of the loopback every 2 s; a child process answers. Printed
//! are the processor time of this process, probes a second, and how late a probe began at most. Servers are not real
//! ones and the network is the loopback: the cost is the prober's and the kernel's.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use daemon::embed::Embedded;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// What is measured, after servers have risen.
const MEASURED: Duration = Duration::from_secs(20);
/// For servers to rise.
const RISING: Duration = Duration::from_secs(8);
/// Threads of the child that answer.
const THREADS: usize = 2;

type Failure = Box<dyn std::error::Error>;

#[expect(clippy::print_stdout, reason = "printing is what it is for")]
fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let kind = arguments.first().map_or("http", String::as_str);
    if kind == "answer" {
        return answer(arguments.get(1).is_some_and(|kind| kind == "http"));
    }
    let servers: u32 = arguments.get(1).map_or(Ok(10_000), |count| count.parse())?;
    let limit = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: limit, maximum: limit })?;
    let mut child = Answering::start(kind)?;
    // A port that was free a moment ago: the daemon wants a service, and nobody uses it.
    let front = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let text = config(kind, servers, front, child.port()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let daemon = Embedded::start(&text).await?;
        tokio::time::sleep(RISING).await;
        let (before, cpu, begun) = (daemon.probes(), processor(), Instant::now());
        tokio::time::sleep(MEASURED).await;
        let (after, used, wall) = (daemon.probes(), processor() - cpu, begun.elapsed());
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
         [pool.p]\nprobe = {{ {probe}, every = \"2s\" }}\nservers = [\n{servers}]\n"
    )
}

/// The child that answers, gone with this.
struct Answering(Child);

impl Answering {
    fn start(kind: &str) -> Result<Answering, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        Ok(Answering(command.args(["answer", kind]).stdout(Stdio::piped()).spawn()?))
    }

    fn port(&mut self) -> Result<u16, Failure> {
        let mut line = [0; 5];
        self.0.stdout.as_mut().ok_or("no port")?.read_exact(&mut line)?;
        Ok(std::str::from_utf8(&line)?.trim().parse()?)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Answers every connection until it is killed.
#[expect(clippy::print_stdout, reason = "the parent reads the port")]
fn answer(http: bool) -> Result<(), Failure> {
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
