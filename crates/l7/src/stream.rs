//! A connection of a worker: reads and writes that never block, and waits with deadlines.
//!
//! It keeps no bytes of its own: whoever reads has the buffer. Under TLS (`sealed`) a session stands between it and
//! the socket. Dropping it closes the connection.

mod sealed;

use std::cell::{Cell, OnceCell};
use std::io;
use std::rc::Rc;
use std::task::Poll;

use model::moment::Moment;

use crate::rt::{Expired, Net, Readiness, Rt, Source};
use crate::seal::Sealed;

/// A connected (or connecting) socket.
pub struct Stream<N: Net> {
    rt: Rc<Rt<N>>,
    sock: N::Sock,
    source: Rc<Source>,
    token: u64,
    sealed: OnceCell<Box<Sealed>>,
    resetting: Cell<bool>,
}

/// What a read gave.
#[derive(Debug)]
pub enum Read {
    /// So many bytes.
    Data(usize),
    /// Nothing now.
    Later,
    /// The peer's end.
    End,
    /// The connection is broken.
    Failed(io::Error),
}

/// What a write took.
#[derive(Debug)]
pub enum Wrote {
    /// So many bytes, perhaps fewer than offered: then nothing more now.
    Bytes(usize),
    /// Nothing now.
    Later,
    /// The connection is broken.
    Failed(io::Error),
}

impl<N: Net> Stream<N> {
    /// Takes over a socket for the current task. `writable`: whether a write is worth a try at once.
    ///
    /// # Errors
    /// What registering it says: memory or limits of the kernel.
    pub fn new(rt: &Rc<Rt<N>>, sock: N::Sock, writable: bool) -> io::Result<Stream<N>> {
        let bits = if writable { Readiness::WRITE } else { 0 };
        let (source, token) = rt.register(&sock, bits)?;
        let rt = rt.clone();
        let (sealed, resetting) = (OnceCell::new(), Cell::new(false));
        Ok(Stream { rt, sock, source, token, sealed, resetting })
    }

    /// The socket.
    pub fn sock(&self) -> &N::Sock {
        &self.sock
    }

    /// Its readiness.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Gives it to the current task.
    pub fn mine(&self) {
        self.source.belong_to(self.rt.current());
    }

    /// Gives it to nobody: readiness is noted and wakes no task.
    pub fn nobodys(&self) {
        self.source.belong_to(None);
    }

    /// Reads what is there.
    #[inline]
    pub fn try_read(&self, into: &mut [u8]) -> Read {
        if let Some(sealed) = self.sealed.get() {
            return self.read_sealed(sealed, into);
        }
        if !self.source.has(Readiness::READ) {
            return Read::Later;
        }
        match self.rt.net.read(&self.sock, into) {
            Ok(0) if into.is_empty() => Read::Later,
            Ok(0) => Read::End,
            Ok(n) => {
                if n < into.len() && !self.source.has(Readiness::END | Readiness::BROKEN) {
                    self.source.clear(Readiness::READ);
                }
                Read::Data(n)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.source.clear(Readiness::READ);
                Read::Later
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Read::Later,
            Err(error) => Read::Failed(error),
        }
    }

    /// Writes what it takes.
    #[inline]
    pub fn try_write(&self, from: &[u8]) -> Wrote {
        self.try_write_with(from, false)
    }

    /// Writes what it takes. `more`: bytes that follow at once may go out together with these.
    #[inline]
    pub fn try_write_with(&self, from: &[u8], more: bool) -> Wrote {
        if let Some(sealed) = self.sealed.get() {
            return self.write_sealed(sealed, from, more);
        }
        if !self.source.has(Readiness::WRITE) {
            return Wrote::Later;
        }
        self.wrote(from.len(), self.rt.net.write(&self.sock, from, more))
    }

    fn wrote(&self, offered: usize, result: io::Result<usize>) -> Wrote {
        match result {
            Ok(n) => {
                if n < offered {
                    self.source.clear(Readiness::WRITE);
                }
                Wrote::Bytes(n)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.source.clear(Readiness::WRITE);
                Wrote::Later
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Wrote::Later,
            Err(error) => Wrote::Failed(error),
        }
    }

    /// Moves bytes into a pipe. A short move says nothing about what is left, so only `WouldBlock` ends readiness.
    pub fn try_fill(&self, pipe: &N::Pipe, most: usize) -> Read {
        if !self.source.has(Readiness::READ) {
            return Read::Later;
        }
        match self.rt.net.fill(&self.sock, pipe, most) {
            Ok(0) => Read::End,
            Ok(n) => Read::Data(n),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.source.clear(Readiness::READ);
                Read::Later
            }
            Err(error) => Read::Failed(error),
        }
    }

    /// Moves bytes out of a pipe.
    pub fn try_pour(&self, pipe: &N::Pipe, most: usize, more: bool) -> Wrote {
        if !self.source.has(Readiness::WRITE) {
            return Wrote::Later;
        }
        // A short move says nothing about the receiver, so only `WouldBlock` ends readiness.
        self.wrote(0, self.rt.net.pour(pipe, &self.sock, most, more))
    }

    /// Sends our end; reading goes on.
    pub fn end(&self) {
        if let Some(sealed) = self.sealed.get() {
            return self.end_sealed(sealed);
        }
        // A failure means that the connection is broken already, which the next read will say.
        let _ = self.rt.net.end(&self.sock);
    }

    /// Closes with a reset.
    pub fn reset(self) {
        self.reset_on_drop();
    }

    /// Makes the coming close a reset.
    pub fn reset_on_drop(&self) {
        self.resetting.set(true);
        self.rt.net.reset_on_drop(&self.sock);
    }

    /// Whether a read may give something, the end included.
    pub fn may_read(&self) -> bool {
        self.source.has(Readiness::READ)
    }

    /// Whether the connection is open and silent. Readiness that is left over from a read that took all is
    /// cleared: bytes that nobody asked for must not pass for the next answer.
    pub fn settle(&self) -> bool {
        if self.source.has(Readiness::END | Readiness::BROKEN) {
            return false;
        }
        if let Some(sealed) = self.sealed.get() {
            return self.quiet_sealed(sealed);
        }
        if self.source.has(Readiness::READ) {
            if !self.rt.net.quiet(&self.sock) {
                return false;
            }
            self.source.clear(Readiness::READ);
        }
        true
    }

    /// Whether the connection is known to be broken.
    pub fn broken(&self) -> bool {
        self.source.has(Readiness::BROKEN)
    }

    /// Waits until a read may give something.
    ///
    /// # Errors
    /// `Expired` when `until` passes first.
    pub async fn readable(&self, until: Moment) -> Result<(), Expired> {
        std::future::poll_fn(|_| self.rt.poll_ready(&self.source, Readiness::READ, until)).await
    }

    /// Waits until a write may take something.
    ///
    /// # Errors
    /// `Expired` when `until` passes first.
    pub async fn writable(&self, until: Moment) -> Result<(), Expired> {
        std::future::poll_fn(|_| self.rt.poll_ready(&self.source, Readiness::WRITE, until)).await
    }

    /// Writes everything.
    ///
    /// # Errors
    /// `None` when `until` passes first, else what broke.
    pub async fn write_all(&self, mut from: &[u8], until: Moment) -> Result<(), Option<io::Error>> {
        while !from.is_empty() {
            match self.try_write(from) {
                Wrote::Bytes(n) => from = &from[n..],
                Wrote::Later => self.writable(until).await.map_err(|Expired| None)?,
                Wrote::Failed(error) => return Err(Some(error)),
            }
        }
        Ok(())
    }

    /// Waits for what a poll function says, with this stream's runtime.
    pub async fn until<T>(&self, mut poll: impl FnMut(&Rt<N>) -> Poll<T>) -> T {
        std::future::poll_fn(|_| poll(&self.rt)).await
    }
}

impl<N: Net> Drop for Stream<N> {
    fn drop(&mut self) {
        if let Some(sealed) = self.sealed.get() {
            self.part(sealed);
        }
        self.rt.forget(self.token);
    }
}
