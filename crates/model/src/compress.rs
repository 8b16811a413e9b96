//! Whether an answer is compressed, and how: what the client takes, what the answer is, what was configured.
//!
//! Negotiation is that of RFC 9110 §12.5.3. It compresses nothing.

use crate::config::{Coding, Compress};

/// Elements of Accept-Encoding that are looked at: no client needs more.
const ELEMENTS: usize = 32;

/// A whole weight, in thousandths.
const WHOLE: u16 = 1000;

/// What a request says of how its answer may be coded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Weights of the codings in the order of `Coding::ALL`, thousandths.
    weights: [u16; 3],
    /// The weight of the answer as it is.
    identity: u16,
    /// `Cache-Control: no-transform`.
    no_transform: bool,
}

/// What matters of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer<'a> {
    /// The status.
    pub status: u16,
    /// It has a body.
    pub body: bool,
    /// The length of that, if it is known.
    pub length: Option<u64>,
    /// What its fields say.
    pub told: Told<'a>,
}

/// What an answer's fields say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told<'a> {
    /// Its media type with parameters; empty: none.
    pub media: &'a [u8],
    /// It is coded already.
    pub coded: bool,
    /// It must stay as it is: `no-transform`, or a digest of its bytes.
    pub kept: bool,
    /// It is a part of something.
    pub part: bool,
    /// Vary names Accept-Encoding, or everything.
    pub varies: bool,
    /// A strong validator (RFC 9110 §8.8.3), which other bytes must not bear.
    pub strong_tag: Option<&'a [u8]>,
}

/// Why an answer is left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// It has no body, or is a part of something.
    Bodiless,
    /// It is coded already.
    Coded,
    /// It must stay as it is.
    Kept,
    /// Its media type is none of those configured.
    Type,
    /// It is small.
    Small,
    /// The client speaks HTTP/1.0: it could not tell a whole body from a cut one.
    Old,
    /// The client does not take it, or prefers it as it is.
    Client,
}

impl Skipped {
    /// Whether another request for the same thing might have been answered compressed, so that caches must be told.
    pub fn depends_on_client(self) -> bool {
        matches!(self, Skipped::Old | Skipped::Client)
    }
}

impl Asked {
    /// What these values of Accept-Encoding and Cache-Control say.
    pub fn read<'a>(
        accept: impl Iterator<Item = &'a [u8]>,
        cache: impl Iterator<Item = &'a [u8]>,
    ) -> Asked {
        let (mut named, mut all, mut identity) = ([None; 3], None, None);
        for element in accept.flat_map(elements).take(ELEMENTS) {
            let (name, weight) = weighted(element);
            match name {
                b"*" => all = Some(weight),
                name if name.eq_ignore_ascii_case(b"identity") => identity = Some(weight),
                name => {
                    let plain = if name.eq_ignore_ascii_case(b"x-gzip") { b"gzip" } else { name };
                    let known = Coding::ALL.iter();
                    let mut known = known.zip(&mut named);
                    let found = known
                        .find(|(coding, _)| plain.eq_ignore_ascii_case(coding.name().as_bytes()));
                    if let Some((_, slot)) = found {
                        *slot = Some(weight);
                    }
                }
            }
        }
        Asked {
            weights: named.map(|weight| weight.or(all).unwrap_or(0)),
            // Always acceptable, and the last choice, unless the client says otherwise.
            identity: identity.unwrap_or(0),
            no_transform: forbids(cache),
        }
    }

    /// The coding that the client likes best of these, the first of equals.
    pub fn best(&self, offered: &[Coding]) -> Option<Coding> {
        let mut best: Option<(u16, Coding)> = None;
        for coding in offered {
            let weight = Coding::ALL.iter().zip(self.weights).find(|(one, _)| *one == coding);
            let weight = weight.map_or(0, |(_, weight)| weight);
            if weight > 0 && best.is_none_or(|(most, _)| weight > most) {
                best = Some((weight, *coding));
            }
        }
        best.filter(|(weight, _)| *weight >= self.identity).map(|(_, coding)| coding)
    }
}

impl<'a> Told<'a> {
    /// Gathers them.
    pub fn gather(fields: impl Iterator<Item = (&'a str, &'a [u8])>) -> Told<'a> {
        let mut told = Told::default();
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
                6 if is("digest") => told.kept = true,
                11 if is("repr-digest") || is("content-md5") => told.kept = true,
                12 if is("content-type") => told.media = value,
                13 if is("cache-control") => told.kept |= forbids(std::iter::once(value)),
                13 if is("content-range") => told.part = true,
                14 if is("content-digest") => told.kept = true,
                16 if is("content-encoding") => {
                    told.coded |= elements(value).any(|one| !one.eq_ignore_ascii_case(b"identity"));
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
pub fn judge(
    config: &Compress,
    asked: &Asked,
    answer: &Answer<'_>,
    old: bool,
) -> Result<Coding, Skipped> {
    let Answer { status, body, told, .. } = answer;
    if !body || told.part || matches!(*status, ..200 | 204 | 206 | 304) {
        return Err(Skipped::Bodiless);
    }
    judge_content(config, asked, answer, old)
}

/// How the content would be coded that an answer to HEAD, or a 304, leaves out: their fields are those of the whole
/// answer (RFC 9110 §9.3.2, §15.4.5). A 304 without a media type is taken for one that would be.
///
/// # Errors
/// Why it would be left as it is.
pub fn judge_left_out(
    config: &Compress,
    asked: &Asked,
    answer: &Answer<'_>,
    old: bool,
) -> Result<Coding, Skipped> {
    let Answer { status, body, length, told } = answer;
    if *body || told.part || matches!(*status, ..200 | 204 | 206) {
        return Err(Skipped::Bodiless);
    }
    let media = match (*status, told.media) {
        (304, b"") => config.types.first().map_or(&b""[..], |first| first.as_bytes()),
        (_, media) => media,
    };
    // A 304's length, where it has one, may be that of nothing.
    let length = length.filter(|_| *status != 304);
    let whole = Answer { length, told: Told { media, ..*told }, ..*answer };
    judge_content(config, asked, &whole, old)
}

fn judge_content(
    config: &Compress,
    asked: &Asked,
    answer: &Answer<'_>,
    old: bool,
) -> Result<Coding, Skipped> {
    let Answer { length, told, .. } = answer;
    if told.coded {
        return Err(Skipped::Coded);
    }
    if told.kept || asked.no_transform {
        return Err(Skipped::Kept);
    }
    if !fits(&config.types, told.media) {
        return Err(Skipped::Type);
    }
    if length.is_some_and(|length| length < config.min) {
        return Err(Skipped::Small);
    }
    if old {
        return Err(Skipped::Old);
    }
    asked.best(&config.codings).ok_or(Skipped::Client)
}

/// Whether a media type is one of these.
fn fits(types: &[String], media: &[u8]) -> bool {
    let bare = media.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    types.iter().map(String::as_bytes).any(|wanted| match wanted.strip_suffix(b"*") {
        Some(start) => bare.get(..start.len()).is_some_and(|it| it.eq_ignore_ascii_case(start)),
        None => bare.eq_ignore_ascii_case(wanted),
    })
}

fn forbids<'a>(mut cache: impl Iterator<Item = &'a [u8]>) -> bool {
    cache.any(|value| elements(value).any(|one| one.eq_ignore_ascii_case(b"no-transform")))
}

fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|one| !one.is_empty())
}

/// An element and its weight. One that cannot be read is none that is accepted.
fn weighted(element: &[u8]) -> (&[u8], u16) {
    let mut parts = element.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    let name = parts.next().unwrap_or_default();
    let weight = parts.next().map_or(Some(WHOLE), |part| match part {
        [b'q' | b'Q', b'=', number @ ..] => thousandths(number),
        _ => None,
    });
    (name, weight.unwrap_or(0))
}

/// A weight (RFC 9110 §12.4.2): at most three digits behind the point, at most one.
fn thousandths(number: &[u8]) -> Option<u16> {
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
