//! Lines of a stream that end with LF or CR LF; bounded.

/// Bytes of a line at most.
/// Far above the 512 bytes of RFC 5321 §4.5.3.1.5; a server without line ends must not fill the memory.
const LINE_BYTES: usize = 4_096;
/// Bytes of the whole dialogue at most.
/// Sixteen lines of the longest kind.
const TALK_BYTES: usize = 64 * 1_024;

/// Received bytes of an incomplete line.
#[derive(Debug, Default)]
pub struct LineBuffer {
    partial_line: Vec<u8>,
    total: usize,
}

/// The peer sends too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineLimit {
    #[error("a line of the answer exceeds {LINE_BYTES} bytes")]
    Line,
    #[error("the answers exceed {TALK_BYTES} bytes")]
    Total,
}

impl LineBuffer {
    /// Passes every whole line, without its end, to `each` until that returns a result.
    ///
    /// # Errors
    /// A line or the whole is too long.
    pub fn feed<T>(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, LineLimit> {
        self.total = self.total.saturating_add(bytes.len());
        if self.total > TALK_BYTES {
            return Err(LineLimit::Total);
        }
        for part in bytes.split_inclusive(|b| *b == b'\n') {
            if self.partial_line.len() + part.len() > LINE_BYTES {
                return Err(LineLimit::Line);
            }
            self.partial_line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.partial_line);
                let line = line.strip_suffix(b"\n").unwrap_or(&line);
                if let Some(result) = each(line.strip_suffix(b"\r").unwrap_or(line)) {
                    return Ok(Some(result));
                }
            }
        }
        Ok(None)
    }

    pub fn partial_line(&self) -> &[u8] {
        &self.partial_line
    }
}
