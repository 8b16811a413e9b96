//! The chunked transfer coding (RFC 9112 §7.1): a strict decoder that rewrites the body while it parses.
//!
//! Chunk boundaries are preserved. Sizes are written in one form, extensions are dropped, and trailers are filtered. So
//! the output of a whole body is never longer than its input. The decoder does not limit the body's length; the caller
//! may.

use super::defect::Defect;
use super::number;
use super::reserved::ReservedHeaders;
use super::trailer;

/// Most digits of a chunk size, leading zeros included.
/// Sixteen hex digits are 64 bits.
const SIZE_DIGITS: u8 = 16;
/// Most bytes of extensions in one chunk, the `;` included.
/// RFC 9112 §7.1.1 advises servers to limit them, and defines none.
const EXTENSION_BYTES: u32 = 256;
/// Most bytes of extensions in one body: many tiny chunks with long extensions cost more than the data they carry.
const EXTENSIONS_BYTES: u32 = 16 << 10;
/// Most bytes of all trailer lines together.
/// Trailers carry checksums and states, which are short.
const TRAILER_BYTES: usize = 8 << 10;
const TRAILER_LINES: u8 = 64;

const _: () = assert!(EXTENSION_BYTES < EXTENSIONS_BYTES);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkedOutput {
    /// Chunks in normal form, for a receiver that understands chunked coding.
    Chunked,
    /// Only the body's bytes; trailers are dropped.
    Unframed,
    /// Only the body's bytes; trailer lines are stored for [`ChunkedDecoder::take_trailers`].
    SeparateTrailers,
}

/// The result of one call to [`ChunkedDecoder::feed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkedProgress {
    /// Bytes of the input that belong to this body: all of the input unless `finished`.
    pub consumed: usize,
    pub finished: bool,
}

/// The state of one body.
#[derive(Debug)]
pub struct ChunkedDecoder {
    emit: ChunkedOutput,
    state: ChunkedState,
    /// While a chunk size is read: its value so far. Afterwards: the chunk's data bytes that are still to come.
    remaining: u64,
    /// Data bytes of all chunks whose size was read.
    announced: u64,
    digits: u8,
    extension: u32,
    extensions: u32,
    trailer_lines: u8,
    trailer_bytes: usize,
    /// The current, incomplete trailer line.
    line: Vec<u8>,
    /// The accepted trailer lines, each with its line end; at most `TRAILER_BYTES` bytes without the line ends.
    trailers: Vec<u8>,
    /// Trailer names to drop, in addition to the fixed list.
    reserved: Option<ReservedHeaders>,
    dropped: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChunkedState {
    Size,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    Trailer,
    TrailerLf,
    Done,
    Failed(Defect),
}

impl ChunkedDecoder {
    pub fn new(emit: ChunkedOutput) -> ChunkedDecoder {
        ChunkedDecoder {
            emit,
            state: ChunkedState::Size,
            remaining: 0,
            announced: 0,
            digits: 0,
            extension: 0,
            extensions: 0,
            trailer_lines: 0,
            trailer_bytes: 0,
            line: Vec::new(),
            trailers: Vec::new(),
            reserved: None,
            dropped: 0,
        }
    }

    /// Also drops trailers with these names.
    #[must_use]
    pub fn with_reserved(self, reserved: ReservedHeaders) -> ChunkedDecoder {
        ChunkedDecoder { reserved: Some(reserved), ..self }
    }

    /// Number of dropped trailer lines.
    pub fn dropped_trailers(&self) -> u8 {
        self.dropped
    }

    pub fn is_finished(&self) -> bool {
        self.state == ChunkedState::Done
    }

    /// Data bytes left in the current chunk; 0: framing comes next.
    pub fn remaining_data(&self) -> u64 {
        if self.state == ChunkedState::Data { self.remaining } else { 0 }
    }

    /// Data bytes of the chunks whose size was read so far: all of them once the body is complete. The last of these
    /// chunks may be incomplete.
    pub fn announced_bytes(&self) -> u64 {
        self.announced
    }

    /// The trailer lines of a body decoded with [`ChunkedOutput::SeparateTrailers`], each with its line end. Empty
    /// until the body is complete.
    pub fn take_trailers(&mut self) -> Vec<u8> {
        if self.is_finished() { std::mem::take(&mut self.trailers) } else { Vec::new() }
    }

    /// Decodes the next bytes and appends the output to `out`.
    ///
    /// After an error, the output so far is the start of a body that never ends: the receiver's connection must close.
    ///
    /// # Errors
    ///
    /// The first violated rule; every later call returns the same error.
    pub fn feed(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<ChunkedProgress, Defect> {
        let mut at = 0;
        while at < input.len() && self.state != ChunkedState::Done {
            let rest = &input[at..];
            match self.step(rest, out) {
                Ok(taken) => at += taken,
                Err(defect) => {
                    self.state = ChunkedState::Failed(defect);
                    return Err(defect);
                }
            }
        }
        Ok(ChunkedProgress { consumed: at, finished: self.state == ChunkedState::Done })
    }

    /// Consumes at least one byte of `rest`, which is not empty.
    fn step(&mut self, rest: &[u8], out: &mut Vec<u8>) -> Result<usize, Defect> {
        let byte = rest[0];
        match self.state {
            ChunkedState::Data => return Ok(self.data(rest, out)),
            ChunkedState::Trailer => return self.trailer(rest),
            ChunkedState::Size => self.size(byte)?,
            ChunkedState::Extension => return self.extension(rest),
            ChunkedState::SizeLf if byte == b'\n' => self.sized(out),
            ChunkedState::SizeLf => return Err(Defect::BareCr),
            ChunkedState::DataCr if byte == b'\r' => self.state = ChunkedState::DataLf,
            ChunkedState::DataLf if byte == b'\n' => {
                self.write_framing(b"\r\n", out);
                self.next_size();
            }
            ChunkedState::DataCr | ChunkedState::DataLf => return Err(Defect::BadChunkEnd),
            ChunkedState::TrailerLf if byte == b'\n' => self.trailer_line(out)?,
            ChunkedState::TrailerLf => return Err(Defect::BareCr),
            ChunkedState::Done => return Ok(0),
            ChunkedState::Failed(defect) => return Err(defect),
        }
        Ok(1)
    }

    fn next_size(&mut self) {
        self.state = ChunkedState::Size;
        self.remaining = 0;
        self.digits = 0;
        self.extension = 0;
    }

    fn size(&mut self, byte: u8) -> Result<(), Defect> {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            b'\r' | b';' if self.digits == 0 => return Err(Defect::BadChunkSize),
            b'\r' => {
                self.state = ChunkedState::SizeLf;
                return Ok(());
            }
            b';' => {
                self.state = ChunkedState::Extension;
                return self.count_extension(1);
            }
            b'\n' => return Err(Defect::BareLf),
            _ => return Err(Defect::BadChunkSize),
        };
        if self.digits == SIZE_DIGITS || self.remaining > (i64::MAX as u64) >> 4 {
            return Err(Defect::ChunkSizeOverflow);
        }
        self.digits += 1;
        self.remaining = self.remaining << 4 | u64::from(digit);
        Ok(())
    }

    fn extension(&mut self, rest: &[u8]) -> Result<usize, Defect> {
        match rest[0] {
            b'\r' => self.state = ChunkedState::SizeLf,
            byte if super::token::is_value_byte(byte) => self.count_extension(1)?,
            _ => return Err(Defect::BadChunkExtension),
        }
        Ok(1)
    }

    fn count_extension(&mut self, bytes: u32) -> Result<(), Defect> {
        self.extension += bytes;
        self.extensions += bytes;
        if self.extension > EXTENSION_BYTES || self.extensions > EXTENSIONS_BYTES {
            return Err(Defect::ChunkExtensionTooLong);
        }
        Ok(())
    }

    fn sized(&mut self, out: &mut Vec<u8>) {
        self.announced = self.announced.saturating_add(self.remaining);
        if self.emit == ChunkedOutput::Chunked {
            number::hexadecimal(self.remaining, out);
            out.extend_from_slice(b"\r\n");
        }
        self.state = if self.remaining == 0 { ChunkedState::Trailer } else { ChunkedState::Data };
    }

    fn data(&mut self, rest: &[u8], out: &mut Vec<u8>) -> usize {
        let taken = usize::try_from(self.remaining).map_or(rest.len(), |left| left.min(rest.len()));
        out.extend_from_slice(&rest[..taken]);
        self.remaining -= taken as u64;
        if self.remaining == 0 {
            self.state = ChunkedState::DataCr;
        }
        taken
    }

    fn trailer(&mut self, rest: &[u8]) -> Result<usize, Defect> {
        let end = memchr::memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
        self.trailer_bytes += end;
        if self.trailer_bytes > TRAILER_BYTES {
            return Err(Defect::TrailersTooLarge);
        }
        self.line.extend_from_slice(&rest[..end]);
        match rest.get(end) {
            None => Ok(end),
            Some(b'\r') => {
                self.state = ChunkedState::TrailerLf;
                Ok(end + 1)
            }
            Some(_) => Err(Defect::BareLf),
        }
    }

    fn trailer_line(&mut self, out: &mut Vec<u8>) -> Result<(), Defect> {
        if self.line.is_empty() {
            self.write_framing(b"\r\n", out);
            self.state = ChunkedState::Done;
            return Ok(());
        }
        if self.trailer_lines == TRAILER_LINES {
            return Err(Defect::TrailersTooLarge);
        }
        self.trailer_lines += 1;
        if trailer::may_pass(&self.line, self.reserved.as_ref())? {
            let to = match self.emit {
                ChunkedOutput::Chunked => Some(out),
                ChunkedOutput::SeparateTrailers => Some(&mut self.trailers),
                ChunkedOutput::Unframed => None,
            };
            if let Some(to) = to {
                to.extend_from_slice(&self.line);
                to.extend_from_slice(b"\r\n");
            }
        } else {
            self.dropped += 1;
        }
        self.line.clear();
        self.state = ChunkedState::Trailer;
        Ok(())
    }

    fn write_framing(&self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.emit == ChunkedOutput::Chunked {
            out.extend_from_slice(bytes);
        }
    }
}
