//! The TCP listener of the API, and TLS on it: a connection shakes hands when it is first read, so that nobody waits
//! for a client that does not.
//!
//! Which certificate is shown, and whose of clients are taken, comes from outside; it knows no HTTP.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use l7::proof::claims;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::{Accept, TlsAcceptor, server::TlsStream};

/// The names in the certificate that a client has shown, once it has: the handshake has verified it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Papers(Arc<OnceLock<Vec<String>>>);

impl Papers {
    /// Those names; `None`: no certificate was shown.
    pub(super) fn claims(&self) -> Option<&[String]> {
        self.0.get().map(Vec::as_slice)
    }
}

/// What is shown to clients, as it is now.
pub(super) type Shown = watch::Receiver<Arc<ServerConfig>>;

/// The listener.
#[derive(Debug)]
pub(super) struct Door {
    listener: TcpListener,
    /// `None`: without TLS.
    shown: Option<Shown>,
}

impl Door {
    pub(super) fn new(listener: TcpListener, shown: Option<Shown>) -> Door {
        Door { listener, shown }
    }
}

impl axum::serve::Listener for Door {
    type Io = Line;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Line, SocketAddr) {
        let (stream, from) = axum::serve::Listener::accept(&mut self.listener).await;
        // Small answers and frames are not to wait for each other; without it they are only later.
        let _ = stream.set_nodelay(true);
        let line = match &self.shown {
            None => Line::Plain(stream),
            Some(shown) => {
                let acceptor = TlsAcceptor::from(Arc::clone(&shown.borrow()));
                Line::Shaking(Box::new(acceptor.accept(stream)), Papers::default())
            }
        };
        (line, from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection.
pub(super) enum Line {
    /// Without TLS.
    Plain(TcpStream),
    /// Before its handshake is over.
    Shaking(Box<Accept<TcpStream>>, Papers),
    /// With TLS.
    Secure(Box<TlsStream<TcpStream>>, Papers),
}

impl Line {
    /// What a client shows, now or later.
    pub(super) fn papers(&self) -> Papers {
        match self {
            Line::Plain(_) => Papers::default(),
            Line::Shaking(_, papers) | Line::Secure(_, papers) => papers.clone(),
        }
    }

    /// Goes on with the handshake until it is over.
    fn shake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Line::Shaking(accept, papers) = self {
            let stream = ready!(Pin::new(accept.as_mut()).poll(cx))?;
            let papers = std::mem::take(papers);
            if let Some(own) = stream.get_ref().1.peer_certificates().and_then(<[_]>::first) {
                // Nobody else fills it.
                let _ = papers.0.set(claims(own));
            }
            *self = Line::Secure(Box::new(stream), papers);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.shake(cx))?;
        match &mut *self {
            Line::Plain(stream) => Pin::new(stream).poll_read(cx, to),
            Line::Secure(stream, _) => Pin::new(stream.as_mut()).poll_read(cx, to),
            Line::Shaking(..) => Poll::Pending,
        }
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.shake(cx))?;
        match &mut *self {
            Line::Plain(stream) => Pin::new(stream).poll_write(cx, from),
            Line::Secure(stream, _) => Pin::new(stream.as_mut()).poll_write(cx, from),
            Line::Shaking(..) => Poll::Pending,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Line::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Line::Secure(stream, _) => Pin::new(stream.as_mut()).poll_flush(cx),
            // Nothing was written.
            Line::Shaking(..) => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Line::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Line::Secure(stream, _) => Pin::new(stream.as_mut()).poll_shutdown(cx),
            Line::Shaking(..) => Poll::Ready(Ok(())),
        }
    }
}
