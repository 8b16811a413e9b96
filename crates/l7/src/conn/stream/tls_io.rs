//! A connection under TLS: the same reads and writes, with a session between them and the socket.
//!
//! Bytes that the session has accepted count as written only once the socket has accepted them, so that the writer sees
//! the same back-pressure as without TLS.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::task::Poll;

use model::monotonic_time::MonotonicTime;

use super::{ProxyStream, StreamBackend, StreamReadResult, StreamWriteResult, TlsContext};
use crate::accounting::gauges::GaugeHandle;
use crate::conn::tls_state::{INPUT_BYTES, MIN_READ_BYTES, TlsScratch, TlsState};
use crate::rt::{DeadlineError, NetDriver, Readiness};
use crate::tls::key_exchange;
use crate::tls::session::{MAX_PLAINTEXT, TlsSession};
use crate::tls::verified_client::{ClientIdentity, VerifiedClient};

impl<N: NetDriver> ProxyStream<N> {
    /// Starts TLS on the connection.
    pub fn start_tls(
        &self,
        session: TlsSession,
        scratch: Rc<RefCell<TlsScratch>>,
        census: GaugeHandle,
    ) {
        let sealed = TlsState::new(session, scratch, census);
        // TLS starts at most once per connection, so the cell is empty.
        let _ = self.tls.set(Box::new(sealed));
    }

    /// Removes TLS, to send a plaintext response to a client that does not use TLS.
    pub fn stop_tls(&mut self) {
        self.tls.take();
    }

    #[inline]
    pub fn is_tls(&self) -> bool {
        match &self.backend {
            StreamBackend::Socket(..) => self.tls.get().is_some(),
            StreamBackend::Multiplexed(stream) => stream.tls_context().is_some(),
        }
    }

    /// The scheme of what is asked for on it.
    pub fn scheme(&self) -> &'static str {
        if self.is_tls() { "https" } else { "http" }
    }

    /// Whether its bytes are those of its socket, so that the kernel may move them.
    #[inline]
    pub fn is_plain(&self) -> bool {
        matches!(self.backend, StreamBackend::Socket(..)) && self.tls.get().is_none()
    }

    /// Calls `look` with the TLS session, if there is one.
    pub fn with_session<T>(&self, look: impl FnOnce(&TlsSession) -> T) -> Option<T> {
        self.tls.get().map(|sealed| look(&sealed.session.borrow()))
    }

    /// Whether ALPN selected HTTP/2 (RFC 7301, RFC 9113 §3.2); `None`: no TLS.
    pub fn negotiated_http2(&self) -> Option<bool> {
        self.with_session(|session| session.common().alpn_protocol() == Some(b"h2"))
    }

    /// The server name (SNI) that the client requested, lower case.
    pub fn server_name(&self) -> Option<String> {
        if let StreamBackend::Multiplexed(stream) = &self.backend {
            return stream.tls_context()?.name.clone();
        }
        self.with_session(|session| session.observation().name.as_deref().map(str::to_owned))
            .flatten()
    }

    /// Identifies the TLS session over all connections that resume it.
    pub fn tls_session(&self) -> Option<u64> {
        if let StreamBackend::Multiplexed(stream) = &self.backend {
            return stream.tls_context()?.session;
        }
        self.with_session(|session| session.observation().lineage).flatten()
    }

    /// The key exchange group; `None`: no TLS of its own, or a resumption without key exchange.
    pub fn tls_group(&self) -> Option<&'static str> {
        self.with_session(|session| key_exchange::key_exchange_group(session.common())).flatten()
    }

    /// The version of TLS that the client speaks; `None`: no TLS.
    pub fn tls_version(&self) -> Option<&'static str> {
        if let StreamBackend::Multiplexed(stream) = &self.backend {
            return stream.tls_context()?.version;
        }
        self.with_session(|session| key_exchange::protocol_version(session.common())).flatten()
    }

    /// Bytes written to the socket of a connection under TLS.
    pub fn written(&self) -> Option<u64> {
        self.tls.get().map(|sealed| sealed.written.get())
    }

    /// Field lines that describe the client's certificate; empty: none.
    pub fn identity(&self) -> &[u8] {
        if let StreamBackend::Multiplexed(stream) = &self.backend {
            return stream.tls_context().map_or(&[], |tls| tls.identity.as_slice());
        }
        let identity = self.tls.get().and_then(|sealed| sealed.identity.get());
        identity.map_or(&[], Vec::as_slice)
    }

    /// The TLS properties of the connection, for the streams that it will carry.
    pub fn tls_context(&self) -> Option<TlsContext> {
        self.is_tls().then(|| TlsContext {
            identity: self.identity().to_vec(),
            verified_client: self.verified_client(),
            name: self.server_name(),
            session: self.tls_session(),
            version: self.tls_version(),
        })
    }

    /// Remembers what the client has proven.
    pub fn identify(&self, client: ClientIdentity) {
        if let Some(sealed) = self.tls.get() {
            let _ = sealed.identity.set(client.lines);
            if let Some(certificate) = client.certificate {
                let _ = sealed.verified_client.set(certificate);
            }
        }
    }

    /// The client's certificate, for another verification; `None`: the client sent none.
    pub fn verified_client(&self) -> Option<Rc<VerifiedClient>> {
        match &self.backend {
            StreamBackend::Multiplexed(stream) => stream.tls_context()?.verified_client.clone(),
            StreamBackend::Socket(..) => self.tls.get()?.verified_client.get().cloned(),
        }
    }

    /// Performs the TLS handshake. `Ok`: the handshake has ended, and the session holds its success or failure.
    ///
    /// # Errors
    /// [`DeadlineError`] when `until` passes or `stopped` returns true first.
    pub async fn handshake(
        &self,
        until: MonotonicTime,
        stopped: impl Fn() -> bool,
    ) -> Result<(), DeadlineError> {
        let (Some(sealed), StreamBackend::Socket(sock, _)) = (self.tls.get(), &self.backend) else {
            return Ok(());
        };
        loop {
            let got = self.read_tls(sealed, sock, &mut []);
            let (over, unsent) = {
                let session = sealed.session.borrow();
                let over = session.established() || session.failure().is_some();
                (over, !session.unsent().is_empty())
            };
            if over || !matches!(got, StreamReadResult::WouldBlock) {
                return Ok(());
            }
            let bits = if unsent { Readiness::READ | Readiness::WRITE } else { Readiness::READ };
            std::future::poll_fn(|_| match stopped() {
                true => Poll::Ready(Err(DeadlineError)),
                false => self.rt.poll_ready(&self.source, bits, until),
            })
            .await?;
        }
    }

    /// Sends close_notify and waits until it is sent; does nothing without TLS.
    pub async fn finish(&self, until: MonotonicTime) {
        let (Some(sealed), StreamBackend::Socket(sock, _)) = (self.tls.get(), &self.backend) else {
            return;
        };
        sealed.session.borrow_mut().close();
        loop {
            let flushed = self.flush(sealed, sock, &mut sealed.session.borrow_mut());
            if !matches!(flushed, StreamWriteResult::WouldBlock)
                || self.writable(until).await.is_err()
            {
                return;
            }
        }
    }

    pub(super) fn read_tls(
        &self,
        sealed: &TlsState,
        sock: &N::Sock,
        into: &mut [u8],
    ) -> StreamReadResult {
        let session = &mut *sealed.session.borrow_mut();
        if !session.unsent().is_empty() {
            // Sends an alert or the end of a handshake. If the connection is broken, the read reports it.
            let _ = self.flush(sealed, sock, session);
        }
        let read = self.read_records(sealed, sock, session, into);
        if session.has_reader_event() {
            self.source.set(Readiness::READ);
        }
        sealed.report_buffered(session);
        read
    }

    fn read_records(
        &self,
        sealed: &TlsState,
        sock: &N::Sock,
        session: &mut TlsSession,
        into: &mut [u8],
    ) -> StreamReadResult {
        let mut scratch = sealed.scratch.borrow_mut();
        loop {
            if session.has_plain() {
                return StreamReadResult::Data(session.take_plain(into));
            }
            if let Some(error) = session.failure() {
                return StreamReadResult::Failed(io::Error::new(
                    io::ErrorKind::InvalidData,
                    error.clone(),
                ));
            }
            if session.peer_closed() {
                return StreamReadResult::End;
            }
            if !self.source.has(Readiness::READ) {
                return StreamReadResult::WouldBlock;
            }
            let at = session.begin(&mut scratch.input);
            // Plaintext is never longer than its ciphertext, so the result fits into `into`, except for a last record.
            let most = into.len().clamp(MIN_READ_BYTES, INPUT_BYTES / 2);
            let room = scratch.input.len().min(at + most);
            match self.rt.net.read(sock, &mut scratch.input[at..room]) {
                // RFC 9112 §9.8 lets a server accept a client that closes without close_notify. From a server, such a
                // close may hide a truncated response.
                Ok(0) if session.towards_client() => return StreamReadResult::End,
                Ok(0) => return StreamReadResult::Failed(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => {
                    self.acknowledge(sock);
                    if at + n < room && !self.source.has(Readiness::END | Readiness::BROKEN) {
                        self.source.clear(Readiness::READ);
                    }
                    let given = session.feed(&mut scratch.input[..at + n], into);
                    if !session.unsent().is_empty() {
                        // Bytes that the socket does not take stay in the session; a broken socket shows at the next
                        // read or write.
                        let _ = self.flush(sealed, sock, session);
                    }
                    if given > 0 {
                        return StreamReadResult::Data(given);
                    }
                    if into.is_empty() && session.established() {
                        return if session.has_reader_event() {
                            StreamReadResult::Data(0)
                        } else {
                            StreamReadResult::WouldBlock
                        };
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.source.clear(Readiness::READ);
                    return StreamReadResult::WouldBlock;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return StreamReadResult::Failed(error),
            }
        }
    }

    pub(super) fn write_tls(
        &self,
        sealed: &TlsState,
        sock: &N::Sock,
        from: &[u8],
        more: bool,
    ) -> StreamWriteResult {
        let session = &mut *sealed.session.borrow_mut();
        if !session.unsent().is_empty() {
            match self.flush(sealed, sock, session) {
                StreamWriteResult::Bytes(_) => {}
                other => return other,
            }
        }
        let owed = session.take_unreported_plain();
        if owed > 0 {
            return StreamWriteResult::Bytes(owed.min(from.len()));
        }
        if from.is_empty() {
            return StreamWriteResult::Bytes(0);
        }
        if !self.source.has(Readiness::WRITE) {
            return StreamWriteResult::WouldBlock;
        }
        let take = from.len().min(MAX_PLAINTEXT);
        let mut scratch = sealed.scratch.borrow_mut();
        let length = match session.seal(&from[..take], &mut scratch.output) {
            Ok(length) => length,
            Err(error) => return StreamWriteResult::Failed(io::Error::other(error)),
        };
        let cipher = &scratch.output[..length];
        let wrote = match self.send(sealed, sock, cipher, more) {
            Ok(n) if n == length => StreamWriteResult::Bytes(take),
            Ok(n) => {
                session.keep_unsent(&cipher[n..], take);
                StreamWriteResult::WouldBlock
            }
            Err(error) => StreamWriteResult::Failed(error),
        };
        sealed.report_buffered(session);
        wrote
    }

    /// Sends unsent ciphertext; `Bytes`: nothing is left.
    fn flush(
        &self,
        sealed: &TlsState,
        sock: &N::Sock,
        session: &mut TlsSession,
    ) -> StreamWriteResult {
        while !session.unsent().is_empty() {
            if !self.source.has(Readiness::WRITE) {
                return StreamWriteResult::WouldBlock;
            }
            match self.send(sealed, sock, session.unsent(), false) {
                Ok(n) => session.sent(n),
                Err(error) => return StreamWriteResult::Failed(error),
            }
        }
        sealed.report_buffered(session);
        if session.closing() {
            // Everything before the end of the sending direction is sent, so the socket may be half-closed.
            let _ = self.rt.net.end(sock);
        }
        StreamWriteResult::Bytes(0)
    }

    /// Writes ciphertext to the socket. Fewer bytes than offered: the socket accepts no more now.
    fn send(
        &self,
        sealed: &TlsState,
        sock: &N::Sock,
        cipher: &[u8],
        more: bool,
    ) -> io::Result<usize> {
        loop {
            match self.rt.net.write(sock, cipher, more) {
                Ok(n) => {
                    sealed.written.set(sealed.written.get() + n as u64);
                    if n < cipher.len() {
                        self.source.clear(Readiness::WRITE);
                    }
                    return Ok(n);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.source.clear(Readiness::WRITE);
                    return Ok(0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends close_notify: the sending direction ends under TLS.
    pub(super) fn end_tls(&self, sealed: &TlsState, sock: &N::Sock) {
        let mut session = sealed.session.borrow_mut();
        if session.established() && session.failure().is_none() {
            session.close();
            // If the socket accepts nothing now, the next read or write sends it.
            let _ = self.flush(sealed, sock, &mut session);
        } else {
            // A shutdown fails only when the peer has already closed or reset the connection.
            let _ = self.rt.net.end(sock);
        }
    }

    /// Whether no application data or end has arrived.
    pub(super) fn is_tls_quiet(&self, sealed: &TlsState, sock: &N::Sock) -> bool {
        // Session tickets and other post-handshake messages are processed here too.
        matches!(self.read_tls(sealed, sock, &mut []), StreamReadResult::WouldBlock)
            && !self.source.has(Readiness::READ | Readiness::END | Readiness::BROKEN)
    }

    /// Sends close_notify, if the socket accepts it at once.
    pub(super) fn send_close_notify(&self, sealed: &TlsState, sock: &N::Sock) {
        let mut session = sealed.session.borrow_mut();
        if !session.closing() && session.unsent().is_empty() && !self.resetting.get() {
            session.close();
            let word = session.unsent();
            if !word.is_empty() && self.source.has(Readiness::WRITE) {
                // An alert that is lost changes nothing: the connection closes next.
                let _ = self.rt.net.write(sock, word, false);
            }
        }
    }
}
