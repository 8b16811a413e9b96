//! Where access lines go: opens the target and writes to it without ever waiting for longer than one slice.
//!
//! It knows nothing of queues or counters.

use std::fs::File;
use std::io::{self, Write};

use model::config::AccessLogTarget;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;

use super::syslog_sink::SyslogSink;

/// When `poll` reports a pipe as writable, it has room for this much (POSIX PIPE_BUF on Linux).
const PIECE: usize = 4096;
/// How long one write may wait for room.
const SLICE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

#[derive(Debug)]
pub(super) enum AccessLogSink {
    File(FileSink),
    Syslog(SyslogSink),
}

/// A file, a pipe or a terminal.
#[derive(Debug)]
pub(super) struct FileSink {
    file: File,
    regular: bool,
}

impl AccessLogSink {
    /// Opens; `None` is `off`.
    pub(super) fn open(target: &AccessLogTarget) -> io::Result<Option<AccessLogSink>> {
        let fd = match target {
            AccessLogTarget::Off => return Ok(None),
            AccessLogTarget::Stderr => rustix::io::fcntl_dupfd_cloexec(io::stderr(), 3)?,
            AccessLogTarget::Stdout => rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3)?,
            AccessLogTarget::File(path) => files::create::append_log(path, 0o640)?.into(),
            AccessLogTarget::Syslog(server) => {
                return Ok(Some(AccessLogSink::Syslog(SyslogSink::open(server)?)));
            }
        };
        let regular =
            FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) == FileType::RegularFile;
        Ok(Some(AccessLogSink::File(FileSink { file: File::from(fd), regular })))
    }

    /// Writes a part of `lines`; `WouldBlock` when the target took nothing for a slice of 20 ms.
    pub(super) fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        match self {
            AccessLogSink::File(sink) => sink.write(lines),
            AccessLogSink::Syslog(sink) => sink.write(lines, &SLICE),
        }
    }
}

impl FileSink {
    /// Other programs may share standard error, so it is not made non-blocking. It is polled first and gets no more
    /// than fits.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.regular {
            return self.file.write(bytes);
        }
        let mut ready = [PollFd::new(&self.file, PollFlags::OUT)];
        if poll(&mut ready, Some(&SLICE))? == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.file.write(&bytes[..bytes.len().min(PIECE)])
    }
}
