//! Whether an answer is compressed, and how: what the client takes, what the answer is, what was configured.
//!
//! Negotiation is that of RFC 9110 §12.5.3. It compresses nothing.

use crate::config::{CompressionConfig, ContentCoding};

/// Elements of Accept-Encoding that are looked at: no client needs more.
const ELEMENTS: usize = 32;

/// A whole weight, in thousandths.
const WHOLE: u16 = 1000;

/// What a request says of how its answer may be coded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptedEncodings {
    /// Weights of the codings in the order of `Coding::ALL`, thousandths.
    weights: [u16; 3],
    /// The weight of the answer as it is.
    identity: u16,
    no_transform: bool,
}

/// What matters of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseSummary<'a> {
    pub status: u16,
    /// It has a body.
    pub body: bool,
    /// The length of that, if it is known.
    pub length: Option<u64>,
    /// What its fields say.
    pub fields: EncodingFields<'a>,
}

/// What an answer's fields say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodingFields<'a> {
    /// Its media type with parameters; empty: none.
    pub media_type: &'a [u8],
    /// It is coded already.
    pub encoded: bool,
    /// It must stay as it is: `no-transform`, or a digest of its bytes.
    pub no_transform: bool,
    /// It is a part of something.
    pub partial: bool,
    /// Vary names Accept-Encoding, or everything.
    pub varies: bool,
    /// A strong validator (RFC 9110 §8.8.3), which other bytes must not bear.
    pub strong_tag: Option<&'a [u8]>,
}

/// Why an answer is left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressionSkip {
    /// It has no body, or is a part of something.
    NoBody,
    /// It is coded already.
    AlreadyEncoded,
    /// It must stay as it is.
    NoTransform,
    /// Its media type is none of those configured.
    MediaType,
    TooSmall,
    /// The client speaks HTTP/1.0: it could not tell a whole body from a cut one.
    Http10Client,
    /// The client does not take it, or prefers it as it is.
    NotAccepted,
}

impl CompressionSkip {
    /// Whether another request for the same thing might have been answered compressed, so that caches must be told.
    pub fn depends_on_client(self) -> bool {
        matches!(self, CompressionSkip::Http10Client | CompressionSkip::NotAccepted)
    }
}

impl AcceptedEncodings {
    /// What these values of Accept-Encoding and Cache-Control say.
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
                    let found = known
                        .find(|(coding, _)| plain.eq_ignore_ascii_case(coding.name().as_bytes()));
                    if let Some((_, slot)) = found {
                        *slot = Some(weight);
                    }
                }
            }
        }
        AcceptedEncodings {
            weights: named.map(|weight| weight.or(all).unwrap_or(0)),
            // Always acceptable, and the last choice, unless the client says otherwise.
            identity: identity.unwrap_or(0),
            no_transform: forbids_transform(cache),
        }
    }

    /// The coding that the client likes best of these, the first of equals.
    pub fn best_coding(&self, offered: &[ContentCoding]) -> Option<ContentCoding> {
        let mut best: Option<(u16, ContentCoding)> = None;
        for coding in offered {
            let weight =
                ContentCoding::ALL.iter().zip(self.weights).find(|(one, _)| *one == coding);
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
        let mut told = EncodingFields::default();
        for (name, value) in fields {
            let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
            match name.len() {
                4 if is("vary") => {
                    let named =
                        |one: &[u8]| one == b"*" || one.eq_ignore_ascii_case(b"accept-encoding");
                    told.varies |= elements(value).any(named);
                }
                4 if is("etag") => {
                    told.strong_tag = value.starts_with(b"\"").then_some(value);
                }
                6 if is("digest") => told.no_transform = true,
                11 if is("repr-digest") || is("content-md5") => told.no_transform = true,
                12 if is("content-type") => told.media_type = value,
                13 if is("cache-control") => {
                    told.no_transform |= forbids_transform(std::iter::once(value))
                }
                13 if is("content-range") => told.partial = true,
                14 if is("content-digest") => told.no_transform = true,
                16 if is("content-encoding") => {
                    told.encoded |=
                        elements(value).any(|one| !one.eq_ignore_ascii_case(b"identity"));
                }
                _ => {}
            }
        }
        told
    }
}

/// How an answer is to be coded. `old`: its client speaks HTTP/1.0.
///
/// # Errors
/// Why it is left as it is.
pub fn choose_coding(
    config: &CompressionConfig,
    asked: &AcceptedEncodings,
    answer: &ResponseSummary<'_>,
    old: bool,
) -> Result<ContentCoding, CompressionSkip> {
    let ResponseSummary { status, body, fields: told, .. } = answer;
    if !body || told.partial || matches!(*status, ..200 | 204 | 206 | 304) {
        return Err(CompressionSkip::NoBody);
    }
    check_content(config, asked, answer, old)
}

/// How the content would be coded that an answer to HEAD, or a 304, leaves out: their fields are those of the whole
/// answer (RFC 9110 §9.3.2, §15.4.5). A 304 without a media type is taken for one that would be.
///
/// # Errors
/// Why it would be left as it is.
pub fn choose_coding_for_stripped(
    config: &CompressionConfig,
    asked: &AcceptedEncodings,
    answer: &ResponseSummary<'_>,
    old: bool,
) -> Result<ContentCoding, CompressionSkip> {
    let ResponseSummary { status, body, length, fields: told } = answer;
    if *body || told.partial || matches!(*status, ..200 | 204 | 206) {
        return Err(CompressionSkip::NoBody);
    }
    let media = match (*status, told.media_type) {
        (304, b"") => config.types.first().map_or(&b""[..], |first| first.as_bytes()),
        (_, media) => media,
    };
    // A 304's length, where it has one, may be that of nothing.
    let length = length.filter(|_| *status != 304);
    let whole = ResponseSummary {
        length,
        fields: EncodingFields { media_type: media, ..*told },
        ..*answer
    };
    check_content(config, asked, &whole, old)
}

fn check_content(
    config: &CompressionConfig,
    asked: &AcceptedEncodings,
    answer: &ResponseSummary<'_>,
    old: bool,
) -> Result<ContentCoding, CompressionSkip> {
    let ResponseSummary { length, fields: told, .. } = answer;
    if told.encoded {
        return Err(CompressionSkip::AlreadyEncoded);
    }
    if told.no_transform || asked.no_transform {
        return Err(CompressionSkip::NoTransform);
    }
    if !matches_media_type(&config.types, told.media_type) {
        return Err(CompressionSkip::MediaType);
    }
    if length.is_some_and(|length| length < config.min) {
        return Err(CompressionSkip::TooSmall);
    }
    if old {
        return Err(CompressionSkip::Http10Client);
    }
    asked.best_coding(&config.codings).ok_or(CompressionSkip::NotAccepted)
}

/// Whether a media type is one of these.
fn matches_media_type(types: &[String], media: &[u8]) -> bool {
    let bare = media.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    types.iter().map(String::as_bytes).any(|wanted| match wanted.strip_suffix(b"*") {
        Some(start) => bare.get(..start.len()).is_some_and(|it| it.eq_ignore_ascii_case(start)),
        None => bare.eq_ignore_ascii_case(wanted),
    })
}

fn forbids_transform<'a>(mut cache: impl Iterator<Item = &'a [u8]>) -> bool {
    cache.any(|value| elements(value).any(|one| one.eq_ignore_ascii_case(b"no-transform")))
}

fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|one| !one.is_empty())
}

/// An element and its weight. One that cannot be read is none that is accepted.
fn parse_weighted(element: &[u8]) -> (&[u8], u16) {
    let mut parts = element.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    let name = parts.next().unwrap_or_default();
    let weight = parts.next().map_or(Some(WHOLE), |part| match part {
        [b'q' | b'Q', b'=', number @ ..] => parse_weight(number),
        _ => None,
    });
    (name, weight.unwrap_or(0))
}

/// A weight (RFC 9110 §12.4.2): at most three digits behind the point, at most one.
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
    let padded = digits.iter().chain(b"000").take(3);
    let part = padded.fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    match (whole, part) {
        (b'0', part) => Some(part),
        (b'1', 0) => Some(WHOLE),
        _ => None,
    }
}
