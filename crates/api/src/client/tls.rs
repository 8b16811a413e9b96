//! Common parts of connections with and without TLS, and the errors of TLS. It opens no connection.

use std::error::Error;
use std::io;

use files::plain_error::plain_error_text;
use tokio::io::{AsyncRead, AsyncWrite};

/// A connection of either kind.
pub(super) trait ApiStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ApiStream for T {}

/// The error of TLS, if TLS failed.
pub(super) fn tls_error(error: &(dyn Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(trouble) = error.downcast_ref::<rustls::Error>() {
            return Some(describe_tls_error(trouble));
        }
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(trouble) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return Some(describe_tls_error(trouble));
        }
        next = error.source();
    }
    None
}

fn describe_tls_error(trouble: &rustls::Error) -> String {
    match trouble {
        rustls::Error::AlertReceived(_) => plain_error_text(format!(
            "the daemon refused the connection ({trouble}); is our certificate signed by one of its client-authorities?"
        )),
        other => plain_error_text(other.to_string()),
    }
}
