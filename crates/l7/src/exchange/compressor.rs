//! Compresses a body while it is relayed: bytes in, chunks of the compressed form out.
//!
//! Memory is bounded by the coding: a window of 128 to 256 KiB and search tables of up to 2 MiB. Which responses are
//! compressed, and with which coding, is decided elsewhere.

use std::cell::{Cell, RefCell};
use std::io::{self, Write};
use std::rc::Rc;

use brotli::CompressorWriter;
use flate2::write::GzEncoder;
use model::config::ContentCoding;
use zstd::stream::raw::CParameter;

/// From 1 to 9: a common level for responses that are compressed on the fly.
const GZIP_LEVEL: u32 = 5;
/// From 0 to 11: a low level, since responses are compressed on the fly.
const BROTLI_QUALITY: u32 = 4;
/// Logarithm of the window size: 256 KiB.
/// The memory of a compressor grows with its window.
const BROTLI_WINDOW: u32 = 18;
/// Size of the library's output buffer in bytes.
/// One record of TLS.
const BROTLI_BUFFER: usize = 16 * 1024;
/// From 1 to 22.
/// The default of the zstd command and library.
const ZSTD_LEVEL: i32 = 3;
/// Logarithm of the window size: 128 KiB. Clients must support 8 MiB (RFC 9659).
const ZSTD_WINDOW: u32 = 17;

/// The output buffer of the libraries.
#[derive(Clone, Default)]
struct CompressedSink(Rc<RefCell<Vec<u8>>>);

impl Write for CompressedSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One of a worker's compression slots.
pub struct CompressionSlot(Rc<Cell<u32>>);

impl CompressionSlot {
    /// Takes a slot if fewer than `most` are in use.
    pub fn acquire(in_use: &Rc<Cell<u32>>, most: u32) -> Option<CompressionSlot> {
        let now = in_use.get();
        (now < most).then(|| {
            in_use.set(now + 1);
            CompressionSlot(in_use.clone())
        })
    }
}

impl Drop for CompressionSlot {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// The encoder of one coding.
enum BodyEncoder {
    Gzip(GzEncoder<CompressedSink>),
    Brotli(Box<CompressorWriter<CompressedSink>>),
    Zstd(zstd::stream::write::Encoder<'static, CompressedSink>),
}

/// Bytes of a body before and after its compression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompressedBytes {
    pub input: u64,
    pub output: u64,
}

/// The compression of one body.
pub struct BodyCompressor {
    encoder: BodyEncoder,
    sink: CompressedSink,
    /// Bytes were compressed since the last flush.
    unflushed: bool,
    bytes_in: u64,
    /// Bytes of output, in chunks.
    bytes_out: u64,
    _slot: CompressionSlot,
}

impl BodyCompressor {
    /// Starts the compression of a body.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn new(coding: ContentCoding, place: CompressionSlot) -> io::Result<BodyCompressor> {
        let sink = CompressedSink::default();
        let to = sink.clone();
        let form = match coding {
            ContentCoding::Gzip => {
                BodyEncoder::Gzip(GzEncoder::new(to, flate2::Compression::new(GZIP_LEVEL)))
            }
            ContentCoding::Br => {
                let quality = BROTLI_QUALITY;
                let window = BROTLI_WINDOW;
                BodyEncoder::Brotli(Box::new(CompressorWriter::new(
                    to,
                    BROTLI_BUFFER,
                    quality,
                    window,
                )))
            }
            ContentCoding::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(to, ZSTD_LEVEL)?;
                encoder.set_parameter(CParameter::WindowLog(ZSTD_WINDOW))?;
                BodyEncoder::Zstd(encoder)
            }
        };
        Ok(BodyCompressor {
            encoder: form,
            sink,
            unflushed: false,
            bytes_in: 0,
            bytes_out: 0,
            _slot: place,
        })
    }

    /// Compresses `bytes`, and appends the available output to `out` as a chunk.
    ///
    /// # Errors
    /// The library has failed; the body cannot be finished.
    pub fn compress(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.bytes_in += bytes.len() as u64;
        self.unflushed = true;
        self.writer().write_all(bytes)?;
        self.write_chunk(out);
        Ok(())
    }

    /// Appends all pending output, so that the client can decode every byte so far. False: nothing was pending.
    ///
    /// # Errors
    /// As `compress`.
    pub fn flush(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        if !std::mem::take(&mut self.unflushed) {
            return Ok(false);
        }
        self.writer().flush()?;
        self.write_chunk(out);
        Ok(true)
    }

    /// Appends the end of the body, with these trailer lines.
    ///
    /// # Errors
    /// As `compress`.
    pub fn finish(self, trailers: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let BodyCompressor { encoder: form, sink, .. } = self;
        match form {
            BodyEncoder::Gzip(encoder) => drop(encoder.finish()?),
            // Dropping the writer writes the end of the stream.
            BodyEncoder::Brotli(writer) => drop(writer),
            BodyEncoder::Zstd(encoder) => drop(encoder.finish()?),
        }
        append_chunk(&sink, out);
        out.extend_from_slice(b"0\r\n");
        out.extend_from_slice(trailers);
        out.extend_from_slice(b"\r\n");
        Ok(())
    }

    pub fn byte_counts(&self) -> CompressedBytes {
        CompressedBytes { input: self.bytes_in, output: self.bytes_out }
    }

    fn writer(&mut self) -> &mut dyn Write {
        match &mut self.encoder {
            BodyEncoder::Gzip(encoder) => encoder,
            BodyEncoder::Brotli(writer) => &mut **writer,
            BodyEncoder::Zstd(encoder) => encoder,
        }
    }

    fn write_chunk(&mut self, out: &mut Vec<u8>) {
        let before = out.len();
        append_chunk(&self.sink, out);
        self.bytes_out += (out.len() - before) as u64;
    }
}

/// Moves the output to `out` as one chunk; an empty chunk would end the body.
fn append_chunk(sink: &CompressedSink, out: &mut Vec<u8>) {
    let mut bytes = sink.0.borrow_mut();
    if bytes.is_empty() {
        return;
    }
    out.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
    out.append(&mut bytes);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use proptest::prelude::*;
    use wire::http1::{ChunkedDecoder, ChunkedOutput};

    use super::*;

    fn compressor(coding: ContentCoding) -> BodyCompressor {
        let in_use = Rc::default();
        BodyCompressor::new(coding, CompressionSlot::acquire(&in_use, 1).unwrap()).unwrap()
    }

    /// The compressed bytes in these chunks, and whether the body has ended.
    fn plain(chunks: &[u8]) -> (Vec<u8>, bool) {
        let mut decoder = ChunkedDecoder::new(ChunkedOutput::Unframed);
        let mut out = Vec::new();
        let fed = decoder.feed(chunks, &mut out).unwrap();
        (out, fed.finished)
    }

    /// Decodes as much of the body as the start of its compressed form allows.
    fn read(coding: ContentCoding, coded: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut reader: Box<dyn Read> = match coding {
            ContentCoding::Gzip => Box::new(flate2::read::GzDecoder::new(coded)),
            ContentCoding::Br => Box::new(brotli::Decompressor::new(coded, 4096)),
            ContentCoding::Zstd => Box::new(zstd::stream::read::Decoder::new(coded).unwrap()),
        };
        let mut piece = [0; 997];
        while let Ok(n @ 1..) = reader.read(&mut piece) {
            out.extend_from_slice(&piece[..n]);
        }
        out
    }

    #[test]
    fn what_was_flushed_can_be_read_although_more_comes() {
        for coding in ContentCoding::ALL {
            let mut compressor = compressor(coding);
            let mut out = Vec::new();
            let mut said = Vec::new();
            for at in 0..20 {
                let event = format!("data: {at}\n\n");
                said.extend_from_slice(event.as_bytes());
                compressor.compress(event.as_bytes(), &mut out).unwrap();
                assert!(compressor.flush(&mut out).unwrap(), "{coding:?}");
                assert!(!compressor.flush(&mut out).unwrap(), "{coding:?}: nothing new");
                let (coded, ended) = plain(&out);
                assert!(!ended);
                assert_eq!(read(coding, &coded), said, "{coding:?} after event {at}");
            }
            compressor.finish(b"x: y\r\n", &mut out).unwrap();
            let (coded, ended) = plain(&out);
            assert!(ended && out.ends_with(b"0\r\nx: y\r\n\r\n"));
            assert_eq!(read(coding, &coded), said);
        }
    }

    #[test]
    fn a_text_becomes_small_and_a_place_is_given_back() {
        let in_use = Rc::new(Cell::new(0));
        let text = "the quick brown fox jumps over the lazy dog\n".repeat(5_000);
        for coding in ContentCoding::ALL {
            let mut compressor =
                BodyCompressor::new(coding, CompressionSlot::acquire(&in_use, 1).unwrap()).unwrap();
            assert!(CompressionSlot::acquire(&in_use, 1).is_none(), "the only one is taken");
            let mut out = Vec::new();
            for piece in text.as_bytes().chunks(48 * 1024) {
                compressor.compress(piece, &mut out).unwrap();
            }
            assert_eq!(compressor.byte_counts().input, text.len() as u64);
            compressor.finish(b"", &mut out).unwrap();
            assert!(out.len() < text.len() / 20, "{coding:?}: {} of {}", out.len(), text.len());
            assert_eq!(in_use.get(), 0);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn whatever_comes_in_comes_out(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3000), 0..6),
            flushes in prop::collection::vec(any::<bool>(), 6),
        ) {
            for coding in ContentCoding::ALL {
                let (mut compressor, mut out) = (compressor(coding), Vec::new());
                for (piece, flush) in pieces.iter().zip(&flushes) {
                    compressor.compress(piece, &mut out).unwrap();
                    if *flush {
                        compressor.flush(&mut out).unwrap();
                    }
                }
                compressor.finish(b"", &mut out).unwrap();
                let (coded, ended) = plain(&out);
                prop_assert!(ended);
                prop_assert_eq!(read(coding, &coded), pieces.concat(), "{:?}", coding);
            }
        }
    }
}
