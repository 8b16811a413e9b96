//! The TCP listener of the API, and TLS on it: a connection shakes hands when it is first read, so that nobody waits
//! for a client that does not.
//!
//! Which certificate is shown comes from outside; it knows no HTTP.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::{Accept, TlsAcceptor, server::TlsStream};

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
                Line::Shaking(Box::new(acceptor.accept(stream)))
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
    Shaking(Box<Accept<TcpStream>>),
    /// With TLS.
    Secure(Box<TlsStream<TcpStream>>),
}

impl Line {
    /// Goes on with the handshake until it is over.
    fn shake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Line::Shaking(accept) = self {
            let stream = ready!(Pin::new(accept.as_mut()).poll(cx))?;
            *self = Line::Secure(Box::new(stream));
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
            Line::Secure(stream) => Pin::new(stream.as_mut()).poll_read(cx, to),
            Line::Shaking(_) => Poll::Pending,
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
            Line::Secure(stream) => Pin::new(stream.as_mut()).poll_write(cx, from),
            Line::Shaking(_) => Poll::Pending,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Line::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Line::Secure(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
            // Nothing was written.
            Line::Shaking(_) => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Line::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Line::Secure(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
            Line::Shaking(_) => Poll::Ready(Ok(())),
        }
    }
}
