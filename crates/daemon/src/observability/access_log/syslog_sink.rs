//! The socket to a syslog server: each line is one message. Nothing here waits for longer than one slice.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::SystemTime;

use files::regular_file::read_text;
use model::config::{SyslogServer, SyslogTransport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use socket2::{Domain, Socket, Type};

use super::syslog_message::{SyslogOrigin, counted};
use super::syslog_tls::SyslogTlsSession;

/// The most bytes of the name of this machine: `HOST_NAME_MAX` of Linux is 64.
const HOST_BYTES: u64 = 256;

#[derive(Debug)]
pub(super) struct SyslogSink {
    socket: Socket,
    transport: SyslogTransport,
    /// Only for `SyslogTransport::Tls`.
    session: Option<Box<SyslogTlsSession>>,
    origin: SyslogOrigin,
    /// The rest of a message of which the server took a part: it must come first, or the lengths are none.
    unsent: Vec<u8>,
}

impl SyslogSink {
    /// Begins to connect. A server over TCP that is not there shows with the first line.
    pub(super) fn open(server: &SyslogServer) -> io::Result<SyslogSink> {
        let form = match server.transport {
            SyslogTransport::Udp => Type::DGRAM,
            SyslogTransport::Tcp | SyslogTransport::Tls => Type::STREAM,
        };
        let is_tls = server.transport == SyslogTransport::Tls;
        let session = is_tls.then(|| SyslogTlsSession::open(server).map(Box::new)).transpose()?;
        let socket = Socket::new(Domain::for_address(server.address), form, None)?;
        socket.set_nonblocking(true)?;
        match socket.connect(&server.address.into()) {
            Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => {
                return Err(error);
            }
            _ => {}
        }
        // Without /proc messages have no host.
        let host =
            read_text(Path::new("/proc/sys/kernel/hostname"), HOST_BYTES).unwrap_or_default();
        let origin = SyslogOrigin::new(host.trim_end(), std::process::id());
        Ok(SyslogSink { socket, transport: server.transport, session, origin, unsent: Vec::new() })
    }

    /// Sends the first of these lines; how many bytes of them that is. `WouldBlock` when the server took nothing for a
    /// slice: that line is lost, or arrives with what is sent later.
    pub(super) fn write(&mut self, lines: &[u8], slice: &Timespec) -> io::Result<usize> {
        let end = lines.iter().position(|byte| *byte == b'\n');
        let message = self.origin.message(&lines[..end.unwrap_or(lines.len())], SystemTime::now());
        let taken = end.map_or(lines.len(), |end| end + 1);
        if let Some(session) = &mut self.session {
            session.send(&self.socket, &counted(&message), slice)?;
            return Ok(taken);
        }
        self.wait_writable(slice)?;
        match self.transport {
            SyslogTransport::Udp => {
                self.socket.send(&message)?;
            }
            SyslogTransport::Tcp | SyslogTransport::Tls => {
                self.send_unsent()?;
                self.unsent = counted(&message);
                self.send_unsent()?;
            }
        }
        Ok(taken)
    }

    fn send_unsent(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            let sent =
                rustix::net::send(&self.socket, &self.unsent, rustix::net::SendFlags::NOSIGNAL)?;
            self.unsent.drain(..sent);
        }
        Ok(())
    }

    fn wait_writable(&self, slice: &Timespec) -> io::Result<()> {
        let wanted = PollFlags::OUT | PollFlags::RDHUP;
        let mut ready = [PollFd::new(&self.socket, wanted)];
        if poll(&mut ready, Some(slice))? == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        if self.transport == SyslogTransport::Tcp
            && ready[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR)
        {
            // What is sent to a server that has closed would be lost without a word.
            return Err(self.socket.take_error()?.unwrap_or_else(|| ErrorKind::BrokenPipe.into()));
        }
        Ok(())
    }
}
