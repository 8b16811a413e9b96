//! Common parts of tests that play the daemon on a control socket. It reads and writes nothing itself.

use std::path::PathBuf;

use crate::place::SocketDir;

/// The control socket of a place.
pub fn socket(place: &SocketDir) -> PathBuf {
    place.path().join("control.sock")
}

/// The request, once its head and as much body as it announces have been seen.
pub fn whole(seen: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(seen).into_owned();
    let head = text.find("\r\n\r\n")?;
    let lower = text.to_ascii_lowercase();
    let announced = lower.split("content-length: ").nth(1);
    let length = announced.and_then(|rest| rest.split("\r\n").next()?.parse().ok());
    (seen.len() >= head + 4 + length.unwrap_or(0usize)).then_some(text)
}
