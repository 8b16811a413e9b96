//! The TLS session to a syslog server (RFC 5425), over a socket that never blocks.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

use model::config::SyslogServer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use socket2::Socket;

use crate::tls::client_config::verifying_config;

/// A session whose handshake may still be going on.
#[derive(Debug)]
pub(super) struct SyslogTlsSession {
    session: ClientConnection,
}

impl SyslogTlsSession {
    /// Reads the authorities and begins the handshake.
    pub(super) fn open(server: &SyslogServer) -> io::Result<SyslogTlsSession> {
        let refused = |why: String| io::Error::new(ErrorKind::InvalidInput, why);
        let config: Arc<ClientConfig> =
            verifying_config(server.tls.ca.as_deref()).map_err(refused)?;
        let name = match &server.tls.name {
            Some(name) => ServerName::try_from(name.clone())
                .map_err(|_| refused(format!("`{name}` is no name of a server")))?,
            None => ServerName::IpAddress(server.address.ip().into()),
        };
        let session = ClientConnection::new(config, name).map_err(io::Error::other)?;
        Ok(SyslogTlsSession { session })
    }

    /// Sends what waits, and then takes this message; some of it may wait for the next call. `WouldBlock` when the
    /// server took nothing for a slice, and the message is not taken then.
    pub(super) fn send(
        &mut self,
        socket: &Socket,
        message: &[u8],
        slice: &Timespec,
    ) -> io::Result<()> {
        self.read_ready(socket)?;
        while self.session.is_handshaking() || self.session.wants_write() {
            self.advance(socket, slice)?;
        }
        self.session.writer().write_all(message)?;
        match self.session.write_tls(&mut &*socket) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            sent => sent.map(drop),
        }
    }

    /// Waits for what the session needs next and does it.
    fn advance(&mut self, socket: &Socket, slice: &Timespec) -> io::Result<()> {
        let is_sending = self.session.wants_write();
        let wanted = if is_sending { PollFlags::OUT } else { PollFlags::IN };
        let mut ready = [PollFd::new(socket, wanted)];
        if poll(&mut ready, Some(slice))? == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        if let Some(error) = socket.take_error()? {
            return Err(error);
        }
        if is_sending {
            match self.session.write_tls(&mut &*socket) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                sent => drop(sent?),
            }
        }
        self.read_ready(socket)
    }

    /// Reads what has come: parts of the handshake, tickets, or that the server has closed.
    fn read_ready(&mut self, socket: &Socket) -> io::Result<()> {
        loop {
            match self.session.read_tls(&mut &*socket) {
                Ok(0) => return Err(ErrorKind::BrokenPipe.into()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // Before the connection is established.
                Err(error) if error.kind() == ErrorKind::NotConnected => return Ok(()),
                Err(error) => return Err(error),
            }
            let state = self.session.process_new_packets();
            if let Err(trouble) = state {
                // The server learns why by an alert.
                let _ = self.session.write_tls(&mut &*socket);
                return Err(io::Error::new(ErrorKind::InvalidData, trouble));
            }
            // What a server says is of no meaning here, but it must not fill the session's buffer.
            let mut ignored = [0; 1_024];
            while matches!(self.session.reader().read(&mut ignored), Ok(1..)) {}
            if state.is_ok_and(|state| state.peer_has_closed()) {
                return Err(ErrorKind::BrokenPipe.into());
            }
        }
    }
}
