//! The TCP listener of the API, with TLS: a connection performs its handshake at its first read, so a slow client
//! delays no other client.
//!
//! Which certificate is shown, and whose of clients are taken, comes from outside; it knows no HTTP.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use l7::client_certificate::certificate_claims;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::{Accept, TlsAcceptor, server::TlsStream};

/// The names in the certificate that a client has shown, once it has: the handshake has verified it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ClientCertificateNames(Arc<OnceLock<Vec<String>>>);

impl ClientCertificateNames {
    /// The names of the client's certificate; `None`: the client sent none.
    pub(super) fn names(&self) -> Option<&[String]> {
        self.0.get().map(Vec::as_slice)
    }
}

/// The current TLS configuration, which changes when the certificate is replaced.
pub(super) type TlsConfigReceiver = watch::Receiver<Arc<ServerConfig>>;

#[derive(Debug)]
pub(super) struct TlsListener {
    listener: TcpListener,
    tls_config: Option<TlsConfigReceiver>,
}

impl TlsListener {
    pub(super) fn new(listener: TcpListener, shown: Option<TlsConfigReceiver>) -> TlsListener {
        TlsListener { listener, tls_config: shown }
    }
}

impl axum::serve::Listener for TlsListener {
    type Io = ApiConnection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (ApiConnection, SocketAddr) {
        let (stream, from) = axum::serve::Listener::accept(&mut self.listener).await;
        // Small answers and frames are not to wait for each other; without it they are only later.
        let _ = stream.set_nodelay(true);
        let line = match &self.tls_config {
            None => ApiConnection::Plain(stream),
            Some(shown) => {
                let acceptor = TlsAcceptor::from(Arc::clone(&shown.borrow()));
                ApiConnection::Handshaking(
                    Box::new(acceptor.accept(stream)),
                    ClientCertificateNames::default(),
                )
            }
        };
        (line, from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

pub(super) enum ApiConnection {
    Plain(TcpStream),
    /// Before its handshake is over.
    Handshaking(Box<Accept<TcpStream>>, ClientCertificateNames),
    Tls(Box<TlsStream<TcpStream>>, ClientCertificateNames),
}

impl ApiConnection {
    /// The names of the client's certificate, known after the handshake.
    pub(super) fn certificate_names(&self) -> ClientCertificateNames {
        match self {
            ApiConnection::Plain(_) => ClientCertificateNames::default(),
            ApiConnection::Handshaking(_, papers) | ApiConnection::Tls(_, papers) => papers.clone(),
        }
    }

    /// Continues the handshake until it is complete.
    fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let ApiConnection::Handshaking(accept, papers) = self {
            let stream = ready!(Pin::new(accept.as_mut()).poll(cx))?;
            let papers = std::mem::take(papers);
            if let Some(own) = stream.get_ref().1.peer_certificates().and_then(<[_]>::first) {
                // Set only here, once a handshake, so it cannot be set already.
                let _ = papers.0.set(certificate_claims(own));
            }
            *self = ApiConnection::Tls(Box::new(stream), papers);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for ApiConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_handshake(cx))?;
        match &mut *self {
            ApiConnection::Plain(stream) => Pin::new(stream).poll_read(cx, to),
            ApiConnection::Tls(stream, _) => Pin::new(stream.as_mut()).poll_read(cx, to),
            ApiConnection::Handshaking(..) => Poll::Pending,
        }
    }
}

impl AsyncWrite for ApiConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_handshake(cx))?;
        match &mut *self {
            ApiConnection::Plain(stream) => Pin::new(stream).poll_write(cx, from),
            ApiConnection::Tls(stream, _) => Pin::new(stream.as_mut()).poll_write(cx, from),
            ApiConnection::Handshaking(..) => Poll::Pending,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            ApiConnection::Plain(stream) => Pin::new(stream).poll_flush(cx),
            ApiConnection::Tls(stream, _) => Pin::new(stream.as_mut()).poll_flush(cx),
            // Nothing was written.
            ApiConnection::Handshaking(..) => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            ApiConnection::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            ApiConnection::Tls(stream, _) => Pin::new(stream.as_mut()).poll_shutdown(cx),
            ApiConnection::Handshaking(..) => Poll::Ready(Ok(())),
        }
    }
}
