//! One probe under way over a socket: connecting, TLS, the dialogue, until there is an outcome.
//!
//! It is advanced when its socket is ready, and ended when its time is up; it waits for nothing itself.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use ::probe::dialogue::{Dialogue, Step, Verdict};
use ::probe::plan::Carrier;
use model::config::SendProxy;
use rustix::event::epoll::EventFlags;
use rustls::ClientConnection;
use wire::proxy::{self, Version};

use super::target::{Outcome, Target, time};
use super::wires::{self, Tried};

/// Reads of one socket in one turn: a server that never stops sending does not stop the others.
const READS: usize = 16;

/// A probe under way.
pub(super) struct Flight {
    socket: OwnedFd,
    carrier: Carrier,
    dialogue: Option<Box<dyn Dialogue>>,
    tls: Option<Box<ClientConnection>>,
    /// What is to be sent, and how much of it was.
    out: Vec<u8>,
    sent: usize,
    connected: bool,
    begun: bool,
    heard: bool,
    /// A verdict from before anything was sent.
    early: Option<Verdict>,
    /// What is seen when the connection alone is the probe.
    seen: &'static str,
    timeout: Duration,
}

impl Flight {
    /// Opens the socket and begins.
    pub(super) fn begin(
        target: &Target,
        carrier: Carrier,
        dialogue: Option<Box<dyn Dialogue>>,
        tls: Option<Box<ClientConnection>>,
    ) -> Result<Flight, Outcome> {
        let socket = wires::open(target, carrier)?;
        if carrier == Carrier::Stream {
            wires::reset_on_close(&socket);
        }
        Ok(Flight {
            socket,
            carrier,
            dialogue,
            seen: if tls.is_some() { "tls handshake done" } else { "connected" },
            tls,
            out: announcement(target, carrier),
            sent: 0,
            connected: carrier != Carrier::Stream,
            begun: false,
            heard: false,
            early: None,
            timeout: target.timeout,
        })
    }

    /// Its socket, to be watched.
    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// What its socket is watched for.
    pub(super) fn interest(&self) -> EventFlags {
        if self.connected && self.sent >= self.out.len() {
            EventFlags::IN
        } else {
            EventFlags::IN | EventFlags::OUT
        }
    }

    /// Does what can be done now. `None`: more has to come. `buffer` is for reading.
    pub(super) fn advance(&mut self, buffer: &mut [u8]) -> Option<Outcome> {
        if !self.connected {
            match self.establish() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(wires::refused(&error)),
            }
        }
        match self.talk(buffer) {
            Ok(step) => step,
            Err(error) => Some(self.broken(&error)),
        }
    }

    /// Its time is up.
    pub(super) fn late(&self) -> Outcome {
        let what = match (&self.dialogue, &self.tls) {
            _ if !self.connected => "connection",
            (_, Some(tls)) if tls.is_handshaking() => "TLS handshake",
            (Some(dialogue), _) => dialogue.awaits(),
            (None, _) => "answer",
        };
        Outcome::Failed(format!("no {what} within {}", time(self.timeout)))
    }

    /// Connected, as far as can be told without waiting. Whoever has something to say says it: that tells as well.
    fn establish(&mut self) -> io::Result<bool> {
        if self.tls.is_none() && self.dialogue.is_some() {
            if let Some(Step::Done(verdict)) = self.say_first() {
                self.early = Some(verdict);
                return Ok(true);
            }
            if !self.out.is_empty() {
                self.connected = self.flush()?;
                return Ok(self.connected);
            }
        }
        self.connected = wires::connected(&self.socket)?;
        Ok(self.connected)
    }

    fn say_first(&mut self) -> Option<Step> {
        if std::mem::replace(&mut self.begun, true) {
            return None;
        }
        let mut out = Vec::new();
        let step = self.dialogue.as_mut().map(|dialogue| dialogue.begin(&mut out));
        self.out.append(&mut out);
        step
    }

    fn talk(&mut self, buffer: &mut [u8]) -> io::Result<Option<Outcome>> {
        if self.tls.is_some() {
            return self.talk_secure(buffer);
        }
        if self.dialogue.is_none() {
            self.flush()?;
            return Ok(Some(self.outcome(Ok(self.seen.to_owned()))));
        }
        let early = match self.say_first() {
            Some(Step::Done(verdict)) => Some(verdict),
            _ => self.early.take(),
        };
        if let Some(verdict) = early {
            return Ok(Some(self.outcome(verdict)));
        }
        self.flush()?;
        for _ in 0..READS {
            match wires::receive(&self.socket, buffer)? {
                Tried::Later => return Ok(None),
                Tried::Ended if self.carrier == Carrier::Stream => return Ok(self.ended()),
                tried => {
                    let bytes = if let Tried::Moved(n) = tried { &buffer[..n] } else { &[] };
                    self.heard = true;
                    let mut out = Vec::new();
                    let Some(dialogue) = &mut self.dialogue else { return Ok(None) };
                    let step = dialogue.take(bytes, &mut out);
                    self.out.append(&mut out);
                    self.flush()?;
                    if let Step::Done(verdict) = step {
                        return Ok(Some(self.outcome(verdict)));
                    }
                }
            }
        }
        // More is waiting: level-triggered readiness brings us back.
        Ok(None)
    }

    fn talk_secure(&mut self, buffer: &mut [u8]) -> io::Result<Option<Outcome>> {
        self.flush_secure()?;
        for _ in 0..READS {
            let (mut bytes, ended) = match wires::receive(&self.socket, buffer)? {
                Tried::Later => return Ok(None),
                Tried::Ended => (&buffer[..0], true),
                Tried::Moved(moved) => (&buffer[..moved], false),
            };
            self.heard |= !ended;
            while !bytes.is_empty() {
                let Some(tls) = &mut self.tls else { return Ok(None) };
                tls.read_tls(&mut bytes)?;
                let state = match tls.process_new_packets() {
                    Ok(state) => state,
                    Err(error) => {
                        // The alert that says why goes out as far as it can.
                        let _ = self.flush_secure();
                        return Ok(Some(Outcome::Failed(format!("tls: {error}"))));
                    }
                };
                if let Some(outcome) = self.plaintext(state.plaintext_bytes_to_read())? {
                    let _ = self.flush_secure();
                    return Ok(Some(outcome));
                }
                self.flush_secure()?;
            }
            if ended {
                return Ok(self.ended());
            }
        }
        Ok(None)
    }

    /// The handshake may be over, and the dialogue may begin or go on.
    fn plaintext(&mut self, available: usize) -> io::Result<Option<Outcome>> {
        let Some(tls) = &mut self.tls else { return Ok(None) };
        if tls.is_handshaking() {
            return Ok(None);
        }
        let Some(dialogue) = &mut self.dialogue else {
            return Ok(Some(self.outcome(Ok(self.seen.to_owned()))));
        };
        let mut out = Vec::new();
        let mut step = Step::Wait;
        if !std::mem::replace(&mut self.begun, true) {
            step = dialogue.begin(&mut out);
        }
        if available > 0 && step == Step::Wait {
            let mut bytes = vec![0; available];
            io::Read::read_exact(&mut tls.reader(), &mut bytes)?;
            step = dialogue.take(&bytes, &mut out);
        }
        io::Write::write_all(&mut tls.writer(), &out)?;
        match step {
            Step::Wait => Ok(None),
            Step::Done(verdict) => Ok(Some(self.outcome(verdict))),
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

    /// Sends what waits; whether all of it went.
    fn flush(&mut self) -> io::Result<bool> {
        while self.sent < self.out.len() {
            match wires::send(&self.socket, &self.out[self.sent..])? {
                Tried::Moved(moved) => self.sent += moved,
                Tried::Ended | Tried::Later => return Ok(false),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(true)
    }

    fn ended(&mut self) -> Option<Outcome> {
        if self.tls.as_ref().is_some_and(|tls| tls.is_handshaking()) {
            return Some(Outcome::Failed("closed in the TLS handshake".to_owned()));
        }
        let verdict = self.dialogue.as_mut().map(|dialogue| dialogue.end());
        verdict.map(|verdict| self.outcome(verdict))
    }

    fn outcome(&self, verdict: Verdict) -> Outcome {
        match verdict {
            Ok(what) => Outcome::Seen(what),
            Err(why) => Outcome::Failed(why),
        }
    }

    fn broken(&mut self, error: &io::Error) -> Outcome {
        let datagram = self.carrier != Carrier::Stream;
        Outcome::Failed(match error.kind() {
            io::ErrorKind::ConnectionRefused if datagram => "the port is closed".to_owned(),
            io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe if !self.heard => {
                "reset without an answer".to_owned()
            }
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                // What had come may have been enough: a server may reset where it should close.
                match self.dialogue.as_mut().map(|dialogue| dialogue.end()) {
                    Some(Ok(what)) => return Outcome::Seen(what),
                    _ => "reset in the middle of the answer".to_owned(),
                }
            }
            _ => format!("no answer: {error}"),
        })
    }
}

/// What a connection begins with where servers expect a header of the PROXY protocol: nobody stands behind a probe.
fn announcement(target: &Target, carrier: Carrier) -> Vec<u8> {
    let mut out = Vec::new();
    let version = target.announce.filter(|_| carrier == Carrier::Stream);
    if let Some(version) = version {
        let version = match version {
            SendProxy::V1 => Version::One,
            SendProxy::V2 => Version::Two,
        };
        proxy::write(version, None, &mut out);
    }
    out
}

/// A TLS connection for a target.
pub(super) fn secured(
    config: Arc<rustls::ClientConfig>,
    target: &Target,
) -> Result<Box<ClientConnection>, Outcome> {
    let tls = target.prepared.tls.as_ref();
    let name = tls.and_then(|tls| tls.name.as_deref()).unwrap_or(&target.bare);
    let name = rustls::pki_types::ServerName::try_from(name.trim_end_matches('.').to_owned())
        .map_err(|error| Outcome::Ours(format!("cannot probe: tls name {name}: {error}")))?;
    ClientConnection::new(config, name)
        .map(Box::new)
        .map_err(|error| Outcome::Ours(format!("cannot probe: tls: {error}")))
}
