//! Servers on Unix sockets whose behaviour a test scripts, as gunicorn or php-fpm listen.
//!
//! Each connection has a blocking thread with deadlines.

use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::http::{ExpectedBody, HttpReader};
use super::wait::DEADLINE;

/// A server on a Unix socket with a test's function as its connection handler. The socket disappears when it is dropped.
#[derive(Debug)]
pub struct UnixOrigin {
    path: PathBuf,
    accepted: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
}

impl UnixOrigin {
    /// Listens at `path`, and calls `serve` with each connection on a separate thread.
    pub fn start(path: PathBuf, serve: impl Fn(UnixStream) + Send + Sync + 'static) -> UnixOrigin {
        let listener = UnixListener::bind(&path).unwrap();
        UnixOrigin::accepting(path, listener, serve)
    }

    /// As `start`, with a socket that listens already.
    pub fn accepting(
        path: PathBuf,
        listener: UnixListener,
        serve: impl Fn(UnixStream) + Send + Sync + 'static,
    ) -> UnixOrigin {
        let server = UnixOrigin { path, accepted: Arc::default(), stop: Arc::default() };
        let accepted = server.accepted.clone();
        let stop = server.stop.clone();
        let serve = Arc::new(serve);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let stream = stream.unwrap();
                stream.set_read_timeout(Some(DEADLINE)).unwrap();
                stream.set_write_timeout(Some(DEADLINE)).unwrap();
                accepted.fetch_add(1, Ordering::Relaxed);
                let serve = serve.clone();
                std::thread::spawn(move || serve(stream));
            }
        });
        server
    }

    /// Answers every request with `200`, its own name and the request's `Host`, and keeps connections open.
    pub fn naming(path: PathBuf, name: &'static str) -> UnixOrigin {
        UnixOrigin::start(path, move |stream| answer_with_name(&stream, name))
    }

    /// As `address` of a server: `unix:/…`.
    pub fn address(&self) -> String {
        address(&self.path)
    }

    /// Connections that have been accepted.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::Relaxed)
    }
}

impl Drop for UnixOrigin {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes up `accept`, so that the thread sees the stop flag.
        let _ = UnixStream::connect(&self.path);
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A path as `address` of a server.
pub fn address(path: &Path) -> String {
    format!("unix:{}", path.display())
}

/// Answers each request of a connection with a name and the request's `Host`.
pub fn answer_with_name(stream: &UnixStream, name: &str) {
    let mut reader = HttpReader::new(stream);
    while let Ok(Some(mut request)) = reader.head() {
        if reader.body(&mut request, ExpectedBody::AsDeclared).is_err() {
            return;
        }
        let host = request.field("host").unwrap_or_default();
        let text = format!("{name} for {host}, {} bytes", request.body.len());
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", text.len());
        let mut stream = stream;
        if stream.write_all(format!("{head}{text}").as_bytes()).is_err() {
            return;
        }
    }
}
