//! Whether a scraper takes its answer compressed, and compressing it. Pure.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Whether a value of Accept-Encoding takes gzip (RFC 9110 §12.5.3).
pub fn takes_gzip(accepted: &str) -> bool {
    let weight = |part: &str| -> Option<(String, bool)> {
        let mut words = part.split(';').map(str::trim);
        let coding = words.next().filter(|coding| !coding.is_empty())?.to_ascii_lowercase();
        let refused = words.filter_map(|word| word.split_once('=')).any(|(name, value)| {
            name.trim().eq_ignore_ascii_case("q") && value.trim().parse() == Ok(0.0_f32)
        });
        Some((coding, !refused))
    };
    let all: Vec<(String, bool)> = accepted.split(',').filter_map(weight).collect();
    let of = |names: &[&str]| {
        all.iter().find(|(coding, _)| names.contains(&coding.as_str())).map(|(_, takes)| *takes)
    };
    of(&["gzip", "x-gzip"]).or_else(|| of(&["*"])).unwrap_or(false)
}

/// The text as gzip: a scrape is mostly names, which the quickest level finds.
///
/// # Errors
/// There is no memory.
pub fn gzip(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut to = GzEncoder::new(Vec::with_capacity(text.len() / 8), Compression::fast());
    to.write_all(text)?;
    to.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn gzip_is_taken_where_it_is_not_refused() {
        for (accepted, takes) in [
            ("gzip", true),
            ("GZIP;q=0.5, deflate", true),
            ("deflate, x-gzip", true),
            ("*", true),
            ("br, *;q=0.1", true),
            ("gzip;q=0, *", false),
            ("gzip; q=0.000", false),
            ("identity", false),
            ("", false),
            ("gzipped", false),
            (", ;q=1,", false),
        ] {
            assert_eq!(takes_gzip(accepted), takes, "{accepted}");
        }
    }

    #[test]
    fn what_is_compressed_reads_the_same_and_is_smaller() {
        let text = "steelyard_requests_total{service=\"shop\"} 1\n".repeat(1_000);
        let small = gzip(text.as_bytes()).unwrap();
        let mut back = String::new();
        flate2::read::GzDecoder::new(&small[..]).read_to_string(&mut back).unwrap();
        assert!(back == text && small.len() * 10 < text.len());
    }
}
