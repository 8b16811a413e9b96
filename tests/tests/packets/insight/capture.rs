//! A capture beside the balancer, and tshark's counts of it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use lab::net::{NetworkNamespace, find, run_command};
use rustix::process::Signal;
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::wait;

/// A running capture, at the far end of one of the middle host's links.
pub struct CableCapture {
    tcpdump: ChildProcess,
    file: PathBuf,
}

/// Whether the tools are installed. Reports a skip otherwise.
pub fn have_tools() -> bool {
    let missing: Vec<&str> =
        ["tshark", "tcpdump"].into_iter().filter(|tool| !find(tool).is_file()).collect();
    if !missing.is_empty() {
        tests::skip::skip(&format!("not installed: {}", missing.join(" ")));
    }
    missing.is_empty()
}

impl CableCapture {
    /// Starts a capture. `link` is `front` or `back`.
    pub fn begin(between: &NetworkNamespace, link: &str, dir: &TestDir) -> CableCapture {
        let file = dir.join(&format!("{link}.pcap"));
        let mut command = between.command(find("tcpdump"));
        command
            .args([
                "-i",
                link,
                "-s",
                "120",
                "-U",
                "--immediate-mode",
                "-B",
                "65536",
                "-Z",
                "root",
                "-w",
            ])
            .arg(&file);
        command.args(["tcp", "or", "proto", "4"]);
        let tcpdump = ChildProcess::start(command);
        wait::until("tcpdump listens", || tcpdump.output().contains("listening on"));
        CableCapture { tcpdump, file }
    }

    /// Ends the capture once no more packets arrive. Returns the file.
    pub fn end(mut self) -> PathBuf {
        let mut size = 0;
        let mut same = 0;
        wait::until("the capture is whole", || {
            let now = std::fs::metadata(&self.file).map_or(0, |file| file.len());
            same = if now == size { same + 1 } else { 0 };
            size = now;
            std::thread::park_timeout(Duration::from_millis(20));
            same > 25
        });
        self.tcpdump.signal(Signal::INT);
        self.tcpdump.wait();
        self.file
    }
}

/// The values of a field in the frames that match a filter.
pub fn fields(file: &Path, filter: &str, field: &str) -> Vec<String> {
    let mut tshark = Command::new(find("tshark"));
    tshark.args(["-n", "-o", "tcp.desegment_tcp_streams:FALSE", "--disable-protocol", "http"]);
    tshark.arg("-r").arg(file).args(["-Y", filter, "-T", "fields", "-e", field]);
    let said = run_command(&mut tshark).unwrap();
    said.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// The number of frames that match a filter.
pub fn count(file: &Path, filter: &str) -> u64 {
    fields(file, filter, "frame.number").len() as u64
}

/// Packets with a repeated sequence number, as tshark classifies them: retransmitted or out of order.
pub const REPAIRS: &str = "(tcp.analysis.retransmission || tcp.analysis.fast_retransmission || \
     tcp.analysis.spurious_retransmission || tcp.analysis.out_of_order)";
