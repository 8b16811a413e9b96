//! One probe under way over a socket: connecting, TLS, the dialogue, until there is an outcome.
//!
//! It is advanced when its socket is ready, and ended when its time is up; it waits for nothing itself.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use ::probe::dialogue::{DialogueStep, ProbeDialogue, ProbeResult};
use ::probe::probe_plan::ProbeTransport;
use model::config::SendProxyVersion;
use rustix::event::epoll::EventFlags;
use rustls::ClientConnection;
use wire::proxy_protocol::{self, ProxyVersion};

use super::probe_socket::{self, SocketProgress};
use super::target::{ProbeOutcome, ProbeTarget};
use crate::util::duration_text::format_duration;

/// Reads of one socket in one turn: a server that never stops sending does not stop the others.
const READS: usize = 16;

/// A probe under way.
pub(super) struct RunningProbe {
    socket: OwnedFd,
    transport: ProbeTransport,
    dialogue: Option<Box<dyn ProbeDialogue>>,
    tls: Option<Box<ClientConnection>>,
    /// The bytes to send, and how many have been sent.
    out: Vec<u8>,
    sent: usize,
    connected: bool,
    dialogue_started: bool,
    received: bool,
    /// A verdict from before anything was sent.
    early: Option<ProbeResult>,
    /// The evidence if the connection alone is the probe.
    description: &'static str,
    timeout: Duration,
}

impl RunningProbe {
    /// Opens the socket and begins.
    pub(super) fn start(
        target: &ProbeTarget,
        carrier: ProbeTransport,
        dialogue: Option<Box<dyn ProbeDialogue>>,
        tls: Option<Box<ClientConnection>>,
    ) -> Result<RunningProbe, ProbeOutcome> {
        let socket = probe_socket::open_socket(target, carrier)?;
        if carrier == ProbeTransport::Stream {
            probe_socket::reset_on_close(&socket);
        }
        Ok(RunningProbe {
            socket,
            transport: carrier,
            dialogue,
            description: if tls.is_some() { "tls handshake done" } else { "connected" },
            tls,
            out: announcement(target, carrier),
            sent: 0,
            connected: carrier != ProbeTransport::Stream,
            dialogue_started: false,
            received: false,
            early: None,
            timeout: target.timeout,
        })
    }

    /// Its socket, to be watched.
    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// The events that its socket waits for.
    pub(super) fn interest(&self) -> EventFlags {
        if self.connected && self.sent >= self.out.len() {
            EventFlags::IN
        } else {
            EventFlags::IN | EventFlags::OUT
        }
    }

    /// Continues the probe without blocking. `None`: more is to come. `buffer` is for reading.
    pub(super) fn advance(&mut self, buffer: &mut [u8]) -> Option<ProbeOutcome> {
        if !self.connected {
            match self.handle_connected() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(probe_socket::classify_connect_error(&error)),
            }
        }
        match self.advance_plain(buffer) {
            Ok(step) => step,
            Err(error) => Some(self.connection_failed(&error)),
        }
    }

    /// Its time is up.
    pub(super) fn time_out(&self) -> ProbeOutcome {
        let step = match (&self.dialogue, &self.tls) {
            _ if !self.connected => "connection",
            (_, Some(tls)) if tls.is_handshaking() => "TLS handshake",
            (Some(dialogue), _) => dialogue.awaited(),
            (None, _) => "answer",
        };
        ProbeOutcome::Failed(format!("no {step} within {}", format_duration(self.timeout)))
    }

    /// The socket is connected, as far as that is known without blocking. Sending shows connect errors as well.
    fn handle_connected(&mut self) -> io::Result<bool> {
        if self.tls.is_none() && self.dialogue.is_some() {
            if let Some(DialogueStep::Done(verdict)) = self.send_opening() {
                self.early = Some(verdict);
                return Ok(true);
            }
            if !self.out.is_empty() {
                self.connected = self.flush()?;
                return Ok(self.connected);
            }
        }
        self.connected = probe_socket::is_connected(&self.socket)?;
        Ok(self.connected)
    }

    fn send_opening(&mut self) -> Option<DialogueStep> {
        if std::mem::replace(&mut self.dialogue_started, true) {
            return None;
        }
        let mut out = Vec::new();
        let step = self.dialogue.as_mut().map(|dialogue| dialogue.start(&mut out));
        self.out.append(&mut out);
        step
    }

    fn advance_plain(&mut self, buffer: &mut [u8]) -> io::Result<Option<ProbeOutcome>> {
        if self.tls.is_some() {
            return self.advance_tls(buffer);
        }
        if self.dialogue.is_none() {
            self.flush()?;
            return Ok(Some(self.outcome(Ok(self.description.to_owned()))));
        }
        let early = match self.send_opening() {
            Some(DialogueStep::Done(verdict)) => Some(verdict),
            _ => self.early.take(),
        };
        if let Some(verdict) = early {
            return Ok(Some(self.outcome(verdict)));
        }
        self.flush()?;
        for _ in 0..READS {
            match probe_socket::receive(&self.socket, buffer)? {
                SocketProgress::WouldBlock => return Ok(None),
                SocketProgress::Eof if self.transport == ProbeTransport::Stream => {
                    return Ok(self.handle_eof());
                }
                tried => {
                    let bytes =
                        if let SocketProgress::Moved(n) = tried { &buffer[..n] } else { &[] };
                    self.received = true;
                    let mut out = Vec::new();
                    let Some(dialogue) = &mut self.dialogue else { return Ok(None) };
                    let step = dialogue.receive(bytes, &mut out);
                    self.out.append(&mut out);
                    self.flush()?;
                    if let DialogueStep::Done(verdict) = step {
                        return Ok(Some(self.outcome(verdict)));
                    }
                }
            }
        }
        // More is waiting: level-triggered readiness brings us back.
        Ok(None)
    }

    fn advance_tls(&mut self, buffer: &mut [u8]) -> io::Result<Option<ProbeOutcome>> {
        self.flush_secure()?;
        for _ in 0..READS {
            let (mut bytes, ended) = match probe_socket::receive(&self.socket, buffer)? {
                SocketProgress::WouldBlock => return Ok(None),
                SocketProgress::Eof => (&buffer[..0], true),
                SocketProgress::Moved(moved) => (&buffer[..moved], false),
            };
            self.received |= !ended;
            while !bytes.is_empty() {
                let Some(tls) = &mut self.tls else { return Ok(None) };
                tls.read_tls(&mut bytes)?;
                let state = match tls.process_new_packets() {
                    Ok(state) => state,
                    Err(error) => {
                        // Sends the TLS alert as far as possible. The probe has failed already, so errors do not
                        // matter.
                        let _ = self.flush_secure();
                        return Ok(Some(ProbeOutcome::Failed(format!("tls: {error}"))));
                    }
                };
                if let Some(outcome) = self.advance_dialogue(state.plaintext_bytes_to_read())? {
                    // The outcome is decided; these bytes only end the dialogue in order.
                    let _ = self.flush_secure();
                    return Ok(Some(outcome));
                }
                self.flush_secure()?;
            }
            if ended {
                return Ok(self.handle_eof());
            }
        }
        Ok(None)
    }

    /// The handshake may be over, and the dialogue may begin or go on.
    fn advance_dialogue(&mut self, available: usize) -> io::Result<Option<ProbeOutcome>> {
        let Some(tls) = &mut self.tls else { return Ok(None) };
        if tls.is_handshaking() {
            return Ok(None);
        }
        let Some(dialogue) = &mut self.dialogue else {
            return Ok(Some(self.outcome(Ok(self.description.to_owned()))));
        };
        let mut out = Vec::new();
        let mut step = DialogueStep::Wait;
        if !std::mem::replace(&mut self.dialogue_started, true) {
            step = dialogue.start(&mut out);
        }
        if available > 0 && step == DialogueStep::Wait {
            let mut bytes = vec![0; available];
            io::Read::read_exact(&mut tls.reader(), &mut bytes)?;
            step = dialogue.receive(&bytes, &mut out);
        }
        io::Write::write_all(&mut tls.writer(), &out)?;
        match step {
            DialogueStep::Wait => Ok(None),
            DialogueStep::Done(verdict) => Ok(Some(self.outcome(verdict))),
        }
    }

    /// Encrypted bytes that wait, then all of them.
    fn flush_secure(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            while tls.wants_write() {
                tls.write_tls(&mut self.out)?;
            }
        }
        self.flush().map(|_| ())
    }

    /// Sends pending bytes; returns whether all of them were sent.
    fn flush(&mut self) -> io::Result<bool> {
        while self.sent < self.out.len() {
            match probe_socket::send(&self.socket, &self.out[self.sent..])? {
                SocketProgress::Moved(moved) => self.sent += moved,
                SocketProgress::Eof | SocketProgress::WouldBlock => return Ok(false),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(true)
    }

    fn handle_eof(&mut self) -> Option<ProbeOutcome> {
        if self.tls.as_ref().is_some_and(|tls| tls.is_handshaking()) {
            return Some(ProbeOutcome::Failed("closed in the TLS handshake".to_owned()));
        }
        let verdict = self.dialogue.as_mut().map(|dialogue| dialogue.handle_close());
        verdict.map(|verdict| self.outcome(verdict))
    }

    fn outcome(&self, verdict: ProbeResult) -> ProbeOutcome {
        match verdict {
            Ok(evidence) => ProbeOutcome::Passed(evidence),
            Err(why) => ProbeOutcome::Failed(why),
        }
    }

    fn connection_failed(&mut self, error: &io::Error) -> ProbeOutcome {
        let datagram = self.transport != ProbeTransport::Stream;
        ProbeOutcome::Failed(match error.kind() {
            io::ErrorKind::ConnectionRefused if datagram => "the port is closed".to_owned(),
            io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe if !self.received => {
                "reset without an answer".to_owned()
            }
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                // The bytes received so far may be a complete response: a server may reset where it should close.
                match self.dialogue.as_mut().map(|dialogue| dialogue.handle_close()) {
                    Some(Ok(evidence)) => return ProbeOutcome::Passed(evidence),
                    _ => "reset in the middle of the answer".to_owned(),
                }
            }
            _ => format!("no answer: {error}"),
        })
    }
}

/// The PROXY protocol header of a probe's connection: LOCAL or UNKNOWN, because no client is behind a probe.
fn announcement(target: &ProbeTarget, carrier: ProbeTransport) -> Vec<u8> {
    let mut out = Vec::new();
    let version = target.proxy_header.filter(|_| carrier == ProbeTransport::Stream);
    if let Some(version) = version {
        let version = match version {
            SendProxyVersion::V1 => ProxyVersion::V1,
            SendProxyVersion::V2 => ProxyVersion::V2,
        };
        proxy_protocol::write_header(version, None, &mut out);
    }
    out
}

/// A TLS connection for a target.
pub(super) fn new_tls_connection(
    config: Arc<rustls::ClientConfig>,
    target: &ProbeTarget,
) -> Result<Box<ClientConnection>, ProbeOutcome> {
    let tls = target.plan.tls.as_ref();
    let name = tls.and_then(|tls| tls.name.as_deref()).unwrap_or(&target.server_name);
    let name = rustls::pki_types::ServerName::try_from(name.trim_end_matches('.').to_owned())
        .map_err(|error| {
            ProbeOutcome::NotMade(format!("cannot probe: tls name {name}: {error}"))
        })?;
    ClientConnection::new(config, name)
        .map(Box::new)
        .map_err(|error| ProbeOutcome::NotMade(format!("cannot probe: tls: {error}")))
}
