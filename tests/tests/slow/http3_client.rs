//! A client of HTTP/3 from another library, in a process of its own.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::json;
use tests::e2e::target::tool;

use super::exchange_route::PacedRequest;

/// A running client; each request has its own connection.
pub struct PacedHttp3Client {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// By so much the window of a slow reader grows, in bytes.
const WINDOW: usize = 64 * 1024;

impl PacedHttp3Client {
    /// Starts the client in the caller's network namespace.
    pub fn start(authority: &Path, name: &str) -> PacedHttp3Client {
        let mut command = Command::new(tool("quic/bin/python3"));
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slow/http3_client.py"));
        command.arg(authority).arg(name);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let orders = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().unwrap());
        PacedHttp3Client { child, orders, answers }
    }

    /// The number of bytes of the answer's body.
    pub fn ask(&mut self, front: SocketAddr, request: &PacedRequest<'_>) -> usize {
        let order = json!({
            "host": front.ip().to_string(),
            "port": front.port(),
            "target": request.target,
            "upload": request.upload,
            "piece": request.send_piece,
            "send_pause": request.send_pause.as_secs_f64(),
            "read_pause": request.read_pause.as_secs_f64(),
            "window": WINDOW,
        });
        writeln!(self.orders.as_mut().unwrap(), "{order}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line.trim().parse().unwrap_or_else(|_| panic!("the client of HTTP/3 has said {line:?}"))
    }
}

impl Drop for PacedHttp3Client {
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ = self.child.wait();
    }
}
