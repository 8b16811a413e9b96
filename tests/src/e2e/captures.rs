//! Captures the packets between two hosts over an emulated long link, at both ends, with tcpdump.
//!
//! Headers and the first bytes of payload are recorded. Other modules interpret them.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use lab::link_emulation::{EmulatedLink, SERVER};
use lab::net::NetworkNamespace;
use rustix::net::sockopt::set_tcp_congestion;
use rustix::process::Signal;

use super::dir::TestDir;
use super::process::ChildProcess;
use super::tools;
use super::wait::{self, DEADLINE};

#[derive(Debug)]
pub struct RecordedCaptures {
    /// The capture at the client's end.
    pub client: PathBuf,
    /// The capture at the server's end.
    pub server: PathBuf,
    _dir: TestDir,
}

/// Records one connection from a client to a server at both ends of a link, until both sides have closed it. `control`
/// is the congestion control of both.
///
/// # Panics
/// A program or a host fails.
pub fn record(
    line: &EmulatedLink,
    control: &str,
    serve: impl FnOnce(TcpStream) + Send,
    ask: impl FnOnce(TcpStream) + Send,
) -> RecordedCaptures {
    let dir = TestDir::new();
    let listener = line.server.run_inside(|| TcpListener::bind((SERVER, 0)).unwrap()).unwrap();
    // A namespace may not allow this congestion control as its default. A root socket may use it, and accepted sockets
    // inherit it.
    set_tcp_congestion(&listener, control).unwrap();
    let address = listener.local_addr().unwrap();
    let files = [dir.join("client.pcap"), dir.join("server.pcap")];
    let hosts = [&line.client, &line.server];
    let recorders: Vec<ChildProcess> =
        hosts.iter().zip(&files).map(|(host, file)| begin(host, file, address.port())).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (stream, _) = listener.accept().unwrap();
            serve(with_deadlines(stream));
        });
        let asked = || {
            let stream = TcpStream::connect(address).unwrap();
            set_tcp_congestion(&stream, control).unwrap();
            ask(with_deadlines(stream));
        };
        line.client.run_inside(asked).unwrap();
    });
    for (recorder, file) in recorders.into_iter().zip(&files) {
        end(recorder, file, 1);
    }
    let [client, server] = files;
    RecordedCaptures { client, server, _dir: dir }
}

/// Begins to record the packets of this port on the host's `eth0`.
///
/// # Panics
/// tcpdump does not begin.
pub fn begin(host: &NetworkNamespace, file: &Path, port: u16) -> ChildProcess {
    let mut command = host.command(tools::program("tcpdump"));
    // Only the beginning of each packet is captured, so the kernel's buffer holds more packets than a test sends.
    command.args([
        "-i",
        "eth0",
        "-Z",
        "root",
        "-U",
        "--immediate-mode",
        "-s",
        "200",
        "-B",
        "16384",
    ]);
    command.arg("-w").arg(file).args(["tcp", "port", &port.to_string()]);
    let recorder = ChildProcess::start(command);
    wait::until("recording begins", || recorder.output().contains("listening on"));
    recorder
}

/// Ends a recording as soon as it shows that so many connections were closed in both directions.
///
/// # Panics
/// They are not closed, or the kernel dropped packets.
pub fn end(mut recorder: ChildProcess, file: &Path, connections: u64) {
    wait::until("the recording holds both ends of the talk", || fins(file) >= 2 * connections);
    recorder.signal(Signal::INT);
    recorder.wait();
    wait::until("what it counted", || recorder.output().contains("dropped by kernel"));
    let said = recorder.output();
    assert!(said.contains("\n0 packets dropped by kernel"), "{said}");
}

fn fins(file: &Path) -> u64 {
    use trace::analysis::{Analysis, AnalysisSettings};
    let mut analysis = Analysis::new(AnalysisSettings::default());
    let mut source = trace::report_builder::CaptureSource::default();
    let Ok(open) = std::fs::File::open(file) else { return 0 };
    if trace::ingest::ingest_capture(&mut analysis, &mut source, "tape", open, |_| ()).is_err() {
        return 0;
    }
    let found = analysis.finish();
    let sides = found.connections.iter().flat_map(|one| &one.conversation.directions);
    sides.map(|direction| direction.counts.fins.min(1)).sum()
}

fn with_deadlines(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.set_write_timeout(Some(DEADLINE)).unwrap();
    stream
}
