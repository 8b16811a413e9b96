//! Every offence against grammar or framing that the codec knows: a closed list with names and statuses.
//!
//! One value is one rule, so that a counter per value tells an operator what was refused. It does not say who sent it:
//! the caller knows whether the message was a request or an answer.

macro_rules! defects {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:literal;)*) => {
        /// A rule of HTTP that a message broke. The discriminant is the index in [`Defect::ALL`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
        #[error("{}", self.name())]
        #[repr(u8)]
        pub enum Defect { $($(#[$doc])* $name,)* }

        impl Defect {
            /// Every defect, in the order of its discriminant.
            pub const ALL: &'static [Defect] = &[$(Defect::$name,)*];
            /// How many there are; the statistics have room for 80.
            pub const COUNT: usize = Self::ALL.len();

            /// Its name in logs, metrics and the API (kebab-case).
            pub const fn name(self) -> &'static str {
                match self { $(Defect::$name => $text,)* }
            }

            /// The status that a client gets when its request had this defect. An answer of a server that has one
            /// becomes a 502, whichever defect it was.
            pub const fn status(self) -> u16 {
                match self { $(Defect::$name => $status,)* }
            }
        }
    };
}

defects! {
    /// More than two empty lines before the request line (RFC 9112 §2.2 asks to ignore at least one).
    LeadingLines = "leading-lines", 400;
    /// The first byte begins a TLS handshake: a TLS client on a plaintext port.
    TlsHello = "tls-hello", 400;
    /// The HTTP/2 connection preface (RFC 9113 §3.4) on a port that speaks HTTP/1.
    Http2Preface = "http2-preface", 505;
    /// A request line without a version: HTTP/0.9.
    Http09 = "http09", 505;
    /// Blanks, tabs or line ends in the wrong place of the request line (RFC 9112 §3).
    RequestLine = "request-line", 400;
    /// The method is not a token, or a known one in other letters, which servers read in two ways (RFC 9110 §9.1).
    BadMethod = "bad-method", 400;
    /// The method is longer than 32 bytes (RFC 9112 §3 suggests 501).
    MethodTooLong = "method-too-long", 501;
    /// The version is not `HTTP/` with digits in upper case; a blank inside the target looks the same.
    BadVersion = "bad-version", 400;
    /// A version that is neither 1.0 nor 1.1.
    VersionUnsupported = "version-unsupported", 505;
    /// A control or non-ASCII byte in the request target.
    TargetByte = "target-byte", 400;
    /// A `#` in the request target: fragments are never sent (RFC 9112 §3.2).
    TargetFragment = "target-fragment", 400;
    /// The target is none of origin-form, absolute-form and, for OPTIONS, asterisk-form (RFC 9112 §3.2).
    TargetForm = "target-form", 400;
    /// An absolute-form target whose scheme is neither `http` nor `https`.
    TargetScheme = "target-scheme", 400;
    /// User information in the authority of an absolute-form target (RFC 9110 §4.2.4).
    TargetUserinfo = "target-userinfo", 400;
    /// The authority of an absolute-form target is not `host[:port]`.
    TargetAuthority = "target-authority", 400;
    /// The target exceeds its limit.
    TargetTooLong = "target-too-long", 414;
    /// CONNECT: this is no forward proxy.
    ConnectRefused = "connect-refused", 501;
    /// The head exceeds its limit in bytes.
    HeadTooLarge = "head-too-large", 431;
    /// The head has more fields than its limit.
    TooManyFields = "too-many-fields", 431;
    /// A line that ends with LF alone.
    BareLf = "bare-lf", 400;
    /// A CR that no LF follows.
    BareCr = "bare-cr", 400;
    /// A line of the header section that begins with a blank: obsolete line folding (RFC 9112 §5.2).
    ObsFold = "obs-fold", 400;
    /// A blank in a field name or before its colon (RFC 9112 §5.1).
    SpaceBeforeColon = "space-before-colon", 400;
    /// A field line without a colon.
    NoColon = "no-colon", 400;
    /// A field name that is empty or no token.
    BadName = "bad-name", 400;
    /// A control byte in a field value; in TRACE and OPTIONS also a Max-Forwards that is no single decimal number
    /// (RFC 9110 §7.6.2).
    BadValue = "bad-value", 400;
    /// A character other than letters, digits and `-` in a field name, at a service that refuses such names. Raised by the
    /// exchange.
    UnusualName = "unusual-name", 400;
    /// A field such as `Content_Length` that becomes a protected name where `-` and other signs are taken for the same.
    AliasField = "alias-field", 400;
    /// HTTP/1.1 without a Host field (RFC 9112 §3.2).
    HostMissing = "host-missing", 400;
    /// More than one Host field.
    HostRepeated = "host-repeated", 400;
    /// Host is not `host[:port]`. Stricter than RFC 3986: no sub-delimiters, and not empty.
    BadHost = "bad-host", 400;
    /// Both Content-Length and Transfer-Encoding (RFC 9112 §6.1).
    LengthAndCoding = "length-and-coding", 400;
    /// Several Content-Length values, even equal ones.
    LengthRepeated = "length-repeated", 400;
    /// Content-Length is not a plain decimal number.
    BadLength = "bad-length", 400;
    /// Content-Length exceeds 2^63 − 1.
    LengthOverflow = "length-overflow", 400;
    /// Transfer-Encoding is not a list of plain tokens.
    BadCoding = "bad-coding", 400;
    /// A transfer coding before `chunked` that is not known here.
    CodingUnknown = "coding-unknown", 501;
    /// `chunked` is not the last transfer coding (RFC 9112 §6.3).
    CodingNotFinal = "coding-not-final", 400;
    /// `chunked` more than once (RFC 9112 §7.1).
    CodingRepeated = "coding-repeated", 400;
    /// Transfer-Encoding in an HTTP/1.0 message (RFC 9112 §6.1).
    CodingInOldVersion = "coding-in-old-version", 400;
    /// Connection is not a list of tokens.
    BadConnection = "bad-connection", 400;
    /// Connection names a framing, Host or forwarding field, which would strip a protection on the way.
    ConnectionProtected = "connection-protected", 400;
    /// An expectation other than `100-continue` (RFC 9110 §10.1.1).
    ExpectUnknown = "expect-unknown", 417;
    /// Upgrade is repeated, or not a list of protocols.
    BadUpgrade = "bad-upgrade", 400;
    /// A request over HTTP/2 or HTTP/3 that asks for a tunnel and announces a body's length.
    UpgradeWithBody = "upgrade-with-body", 400;
    /// Bytes after a request that asked for an upgrade and after its body, before the upgrade was agreed. Raised by the
    /// exchange.
    EarlyUpgradeData = "early-upgrade-data", 400;
    /// TRACE with a body (RFC 9110 §9.3.8).
    TraceWithBody = "trace-with-body", 400;
    /// A chunk size that is no plain hexadecimal number.
    BadChunkSize = "bad-chunk-size", 400;
    /// A chunk size of more than 16 digits or above 2^63 − 1.
    ChunkSizeOverflow = "chunk-size-overflow", 400;
    /// A control byte, bare CR or bare LF in a chunk extension.
    BadChunkExtension = "bad-chunk-extension", 400;
    /// Chunk extensions exceed 256 bytes in one chunk or 16 KiB in one body.
    ChunkExtensionTooLong = "chunk-extension-too-long", 400;
    /// Chunk data is not followed by CRLF.
    BadChunkEnd = "bad-chunk-end", 400;
    /// A trailer line that is no field line.
    BadTrailer = "bad-trailer", 400;
    /// Trailers exceed 8 KiB or 64 lines.
    TrailersTooLarge = "trailers-too-large", 431;
    /// The status line is malformed.
    BadStatusLine = "bad-status-line", 400;
    /// A status below 100.
    BadStatus = "bad-status", 400;
    /// 101 to a request that asked for no upgrade, or without an Upgrade field.
    UnaskedSwitch = "unasked-switch", 400;
    /// A head that no finer rule names.
    Malformed = "malformed", 400;
    /// A field that holds for one hop of HTTP/1, in HTTP/2 (RFC 9113 §8.2.2).
    HopByHop = "hop-by-hop", 400;
    /// A pseudo-header field of HTTP/2 that is missing (RFC 9113 §8.3.1).
    PseudoMissing = "pseudo-missing", 400;
    /// `:authority` and Host name two things (RFC 9113 §8.3.1).
    AuthorityMismatch = "authority-mismatch", 400;
    /// The body's bytes are not as many as Content-Length says (RFC 9113 §8.1.1).
    LengthMismatch = "length-mismatch", 400;
    /// A request in HTTP/2 that its library refused before anybody saw it: a field name in upper case, a forbidden byte,
    /// a pseudo-header field that is repeated, unknown or out of place, or a length that does not hold.
    Http2Malformed = "http2-malformed", 400;
    /// A frame of HTTP/2 that broke the protocol of its connection or stream (RFC 9113 §5, §6).
    Http2Protocol = "http2-protocol", 400;
    /// A frame, a stream or a head of HTTP/3 that broke its protocol (RFC 9114, RFC 9204): a pseudo-header field that is
    /// repeated, unknown or out of place, a frame where it may not be or that is not whole, a head that cannot be decoded.
    Http3Protocol = "http3-protocol", 400;
}

const _: () = assert!(Defect::COUNT <= 80);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_the_discriminant_and_names_are_unique_kebab_case() {
        let mut names = std::collections::BTreeSet::new();
        for (at, defect) in Defect::ALL.iter().enumerate() {
            assert_eq!(*defect as usize, at);
            assert!(
                defect
                    .name()
                    .bytes()
                    .all(|b| b == b'-' || b.is_ascii_lowercase() || b.is_ascii_digit())
            );
            assert!(names.insert(defect.name()));
            assert!((400..=505).contains(&defect.status()));
        }
    }
}
