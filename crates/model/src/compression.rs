//! Whether a response is compressed, and with which coding: by the client's Accept-Encoding, the response and the
//! configuration.
//!
//! Negotiation follows RFC 9110 §12.5.3. Nothing is compressed here.

use crate::config::{CompressionConfig, ContentCoding};

/// Limit for parsed elements of Accept-Encoding: bounds the work for hostile headers; no client needs more.
const ELEMENTS: usize = 32;

/// The weight 1, in thousandths.
const WHOLE: u16 = 1000;

/// The content codings that a client accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptedEncodings {
    /// Weights of the codings in the order of `ContentCoding::ALL`, thousandths.
    weights: [u16; 3],
    /// The weight of the uncompressed response.
    identity: u16,
    no_transform: bool,
}

/// The parts of a response on which compression depends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseSummary<'a> {
    pub status: u16,
    pub body: bool,
    /// The length of the body, if known.
    pub length: Option<u64>,
    pub fields: EncodingFields<'a>,
}

/// Facts from the fields of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodingFields<'a> {
    /// The media type with parameters; empty: none.
    pub media_type: &'a [u8],
    /// The response has a content coding already.
    pub encoded: bool,
    /// The bytes must not change: `no-transform`, or a digest of them.
    pub no_transform: bool,
    pub partial: bool,
    /// Vary names Accept-Encoding, or everything.
    pub varies: bool,
    /// A strong validator (RFC 9110 §8.8.3), which changed bytes must not have.
    pub strong_tag: Option<&'a [u8]>,
}

/// Why a response is not compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressionSkip {
    /// No body, or a partial response.
    NoBody,
    /// The response has a content coding already.
    AlreadyEncoded,
    /// The bytes must not change.
    NoTransform,
    /// The media type is not among those configured.
    MediaType,
    TooSmall,
    /// An HTTP/1.0 client could not tell a complete body from a truncated one.
    Http10Client,
    /// The client does not accept it, or prefers the uncompressed response.
    NotAccepted,
}

impl CompressionSkip {
    /// Whether another client might get the same response compressed, so that caches need a Vary field.
    pub fn depends_on_client(self) -> bool {
        matches!(self, CompressionSkip::Http10Client | CompressionSkip::NotAccepted)
    }
}

impl AcceptedEncodings {
    /// From the values of Accept-Encoding and Cache-Control.
    pub fn parse_headers<'a>(
        accept: impl Iterator<Item = &'a [u8]>,
        cache: impl Iterator<Item = &'a [u8]>,
    ) -> AcceptedEncodings {
        let mut named = [None; 3];
        let mut all = None;
        let mut identity = None;
        for element in accept.flat_map(elements).take(ELEMENTS) {
            let (name, weight) = parse_weighted(element);
            match name {
                b"*" => all = Some(weight),
                name if name.eq_ignore_ascii_case(b"identity") => identity = Some(weight),
                name => {
                    let plain = if name.eq_ignore_ascii_case(b"x-gzip") { b"gzip" } else { name };
                    let known = ContentCoding::ALL.iter();
                    let mut known = known.zip(&mut named);
                    let known_coding = known
                        .find(|(coding, _)| plain.eq_ignore_ascii_case(coding.name().as_bytes()));
                    if let Some((_, slot)) = known_coding {
                        *slot = Some(weight);
                    }
                }
            }
        }
        AcceptedEncodings {
            weights: named.map(|weight| weight.or(all).unwrap_or(0)),
            // Acceptable with the lowest preference, unless the client specifies otherwise.
            identity: identity.unwrap_or(0),
            no_transform: forbids_transform(cache),
        }
    }

    /// The offered coding with the highest weight, the first of equals.
    pub fn best_coding(&self, offered: &[ContentCoding]) -> Option<ContentCoding> {
        let mut best: Option<(u16, ContentCoding)> = None;
        for coding in offered {
            let weight =
                ContentCoding::ALL.iter().zip(self.weights).find(|(known, _)| *known == coding);
            let weight = weight.map_or(0, |(_, weight)| weight);
            if weight > 0 && best.is_none_or(|(most, _)| weight > most) {
                best = Some((weight, *coding));
            }
        }
        best.filter(|(weight, _)| *weight >= self.identity).map(|(_, coding)| coding)
    }
}

impl<'a> EncodingFields<'a> {
    pub fn from_fields(fields: impl Iterator<Item = (&'a str, &'a [u8])>) -> EncodingFields<'a> {
        let mut facts = EncodingFields::default();
        for (name, value) in fields {
            let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
            match name.len() {
                4 if is("vary") => {
                    let named = |element: &[u8]| {
                        element == b"*" || element.eq_ignore_ascii_case(b"accept-encoding")
                    };
                    facts.varies |= elements(value).any(named);
                }
                4 if is("etag") => {
                    facts.strong_tag = value.starts_with(b"\"").then_some(value);
                }
                6 if is("digest") => facts.no_transform = true,
                11 if is("repr-digest") || is("content-md5") => facts.no_transform = true,
                12 if is("content-type") => facts.media_type = value,
                13 if is("cache-control") => {
                    facts.no_transform |= forbids_transform(std::iter::once(value))
                }
                13 if is("content-range") => facts.partial = true,
                14 if is("content-digest") => facts.no_transform = true,
                16 if is("content-encoding") => {
                    facts.encoded |=
                        elements(value).any(|coding| !coding.eq_ignore_ascii_case(b"identity"));
                }
                _ => {}
            }
        }
        facts
    }
}

/// Chooses the coding of a response. `old`: its client uses HTTP/1.0.
///
/// # Errors
///
/// Why the response is not compressed.
pub fn choose_coding(
    config: &CompressionConfig,
    accepted: &AcceptedEncodings,
    answer: &ResponseSummary<'_>,
    old: bool,
) -> Result<ContentCoding, CompressionSkip> {
    let ResponseSummary { status, body, fields, .. } = answer;
    if !body || fields.partial || matches!(*status, ..200 | 204 | 206 | 304) {
        return Err(CompressionSkip::NoBody);
    }
    check_content(config, accepted, answer, old)
}

/// The coding of the content that a response to HEAD, or a 304, leaves out: their fields are those of the whole
/// response (RFC 9110 §9.3.2, §15.4.5). A 304 without a media type counts as compressible.
///
/// # Errors
///
/// Why the response would not be compressed.
pub fn choose_coding_for_stripped(
    config: &CompressionConfig,
    accepted: &AcceptedEncodings,
    answer: &ResponseSummary<'_>,
    old: bool,
) -> Result<ContentCoding, CompressionSkip> {
    let ResponseSummary { status, body, length, fields } = answer;
    if *body || fields.partial || matches!(*status, ..200 | 204 | 206) {
        return Err(CompressionSkip::NoBody);
    }
    let media = match (*status, fields.media_type) {
        (304, b"") => config.types.first().map_or(&b""[..], |first| first.as_bytes()),
        (_, media) => media,
    };
    // The length of a 304 may be that of its empty body.
    let length = length.filter(|_| *status != 304);
    let whole = ResponseSummary {
        length,
        fields: EncodingFields { media_type: media, ..*fields },
        ..*answer
    };
    check_content(config, accepted, &whole, old)
}

fn check_content(
    config: &CompressionConfig,
    accepted: &AcceptedEncodings,
    answer: &ResponseSummary<'_>,
    old: bool,
) -> Result<ContentCoding, CompressionSkip> {
    let ResponseSummary { length, fields, .. } = answer;
    if fields.encoded {
        return Err(CompressionSkip::AlreadyEncoded);
    }
    if fields.no_transform || accepted.no_transform {
        return Err(CompressionSkip::NoTransform);
    }
    if !matches_media_type(&config.types, fields.media_type) {
        return Err(CompressionSkip::MediaType);
    }
    if length.is_some_and(|length| length < config.min) {
        return Err(CompressionSkip::TooSmall);
    }
    if old {
        return Err(CompressionSkip::Http10Client);
    }
    accepted.best_coding(&config.codings).ok_or(CompressionSkip::NotAccepted)
}

/// Whether a media type matches one of these.
fn matches_media_type(types: &[String], media: &[u8]) -> bool {
    let bare = media.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    types.iter().map(String::as_bytes).any(|wanted| match wanted.strip_suffix(b"*") {
        Some(start) => {
            bare.get(..start.len()).is_some_and(|prefix| prefix.eq_ignore_ascii_case(start))
        }
        None => bare.eq_ignore_ascii_case(wanted),
    })
}

fn forbids_transform<'a>(mut cache: impl Iterator<Item = &'a [u8]>) -> bool {
    cache.any(|value| elements(value).any(|element| element.eq_ignore_ascii_case(b"no-transform")))
}

fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|element| !element.is_empty())
}

/// An element and its weight. An unreadable weight counts as 0: not accepted.
fn parse_weighted(element: &[u8]) -> (&[u8], u16) {
    let mut parts = element.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    let name = parts.next().unwrap_or_default();
    let weight = parts.next().map_or(Some(WHOLE), |part| match part {
        [b'q' | b'Q', b'=', number @ ..] => parse_weight(number),
        _ => None,
    });
    (name, weight.unwrap_or(0))
}

/// A weight (RFC 9110 §12.4.2): at most three digits after the point, at most 1.
fn parse_weight(number: &[u8]) -> Option<u16> {
    let (whole, rest) = number.split_first()?;
    let digits = match rest {
        [] => rest,
        [b'.', digits @ ..] if digits.len() <= 3 => digits,
        _ => return None,
    };
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // A quality value has at most three decimals (RFC 9110 §12.4.2), so thousandths are exact.
    let padded = digits.iter().chain(b"000").take(3);
    let part = padded.fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    match (whole, part) {
        (b'0', part) => Some(part),
        (b'1', 0) => Some(WHOLE),
        _ => None,
    }
}
