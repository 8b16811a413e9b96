//! Every violation of grammar or framing that the codec detects: a closed list with names and status codes.
//!
//! Each value is one rule, so a counter per value shows an operator which rule rejected a message. A defect does not
//! record the sender: the caller knows whether the message was a request or a response.

macro_rules! defects {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:literal;)*) => {
        /// An HTTP rule that a message violated. The discriminant is the index in [`Defect::ALL`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
        #[error("{}", self.name())]
        #[repr(u8)]
        pub enum Defect { $($(#[$doc])* $name,)* }

        impl Defect {
            /// Every defect, in the order of the discriminants.
            pub const ALL: &'static [Defect] = &[$(Defect::$name,)*];
            /// The number of defects; at most 64, so that a set of them fits into one 64-bit word.
            pub const COUNT: usize = Self::ALL.len();

            /// The name in logs, metrics and the API (kebab-case).
            pub const fn name(self) -> &'static str {
                match self { $(Defect::$name => $text,)* }
            }

            /// The status code for a client whose request had this defect. For a server's response, every defect
            /// results in a 502.
            pub const fn status(self) -> u16 {
                match self { $(Defect::$name => $status,)* }
            }
        }
    };
}

defects! {
    /// More than two empty lines before the request line (RFC 9112 §2.2 asks to ignore at least one).
    LeadingLines = "leading-lines", 400;
    /// The first byte starts a TLS handshake: a TLS client on a plaintext port.
    TlsHello = "tls-hello", 400;
    /// The HTTP/2 connection preface (RFC 9113 §3.4) on an HTTP/1 port.
    Http2Preface = "http2-preface", 505;
    /// A request line without a version: HTTP/0.9.
    Http09 = "http09", 505;
    /// Spaces, tabs or line ends at a wrong place in the request line (RFC 9112 §3).
    RequestLine = "request-line", 400;
    /// The method is not a token, or it is a known method in other letter case, which servers interpret differently
    /// (RFC 9110 §9.1).
    BadMethod = "bad-method", 400;
    /// The method is longer than 32 bytes (RFC 9112 §3 suggests 501).
    MethodTooLong = "method-too-long", 501;
    /// The version is not `HTTP/` in upper case with digits. A space inside the target looks the same.
    BadVersion = "bad-version", 400;
    /// A version other than 1.0 and 1.1.
    VersionUnsupported = "version-unsupported", 505;
    /// A control or non-ASCII byte in the request target.
    TargetByte = "target-byte", 400;
    /// A `#` in the request target: fragments are never sent (RFC 9112 §3.2).
    TargetFragment = "target-fragment", 400;
    /// The target is not in origin-form or absolute-form, or, for OPTIONS, asterisk-form (RFC 9112 §3.2).
    TargetForm = "target-form", 400;
    /// An absolute-form target whose scheme is neither `http` nor `https`.
    TargetScheme = "target-scheme", 400;
    /// User information in the authority of an absolute-form target (RFC 9110 §4.2.4).
    TargetUserinfo = "target-userinfo", 400;
    /// The authority of an absolute-form target is not `host[:port]`.
    TargetAuthority = "target-authority", 400;
    /// The target exceeds its limit.
    TargetTooLong = "target-too-long", 414;
    /// CONNECT: the balancer is not a forward proxy.
    ConnectRefused = "connect-refused", 501;
    /// The head exceeds its limit in bytes.
    HeadTooLarge = "head-too-large", 431;
    /// The head has more fields than its limit.
    TooManyFields = "too-many-fields", 431;
    /// A line that ends with a bare LF.
    BareLf = "bare-lf", 400;
    /// A CR without a following LF.
    BareCr = "bare-cr", 400;
    /// A line of the header section that starts with a space or tab: obsolete line folding (RFC 9112 §5.2).
    ObsFold = "obs-fold", 400;
    /// A space or tab in a field name or before its colon (RFC 9112 §5.1).
    SpaceBeforeColon = "space-before-colon", 400;
    /// A field line without a colon.
    NoColon = "no-colon", 400;
    /// A field name that is empty or not a token.
    BadName = "bad-name", 400;
    /// A control byte in a field value. In TRACE and OPTIONS also a Max-Forwards that is not a single decimal number
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
    /// Transfer-Encoding is not a list of tokens without parameters.
    BadCoding = "bad-coding", 400;
    /// A transfer coding before `chunked` that is not supported.
    CodingUnknown = "coding-unknown", 501;
    /// `chunked` is not the last transfer coding (RFC 9112 §6.3).
    CodingNotFinal = "coding-not-final", 400;
    /// `chunked` more than once (RFC 9112 §7.1).
    CodingRepeated = "coding-repeated", 400;
    /// Transfer-Encoding in an HTTP/1.0 message (RFC 9112 §6.1).
    CodingInOldVersion = "coding-in-old-version", 400;
    /// Connection is not a list of tokens.
    BadConnection = "bad-connection", 400;
    /// Connection names a framing, Host or forwarding field, whose removal would bypass a protection, or any field of a
    /// request whose fields are compared.
    ConnectionProtected = "connection-protected", 400;
    /// An expectation other than `100-continue` (RFC 9110 §10.1.1).
    ExpectUnknown = "expect-unknown", 417;
    /// Upgrade is repeated, or not a list of protocols.
    BadUpgrade = "bad-upgrade", 400;
    /// An HTTP/2 or HTTP/3 request that asks for a tunnel and has a Content-Length.
    UpgradeWithBody = "upgrade-with-body", 400;
    /// Bytes that follow an upgrade request and its body before the server accepted the upgrade. The exchange raises
    /// this defect.
    EarlyUpgradeData = "early-upgrade-data", 400;
    /// TRACE with a body (RFC 9110 §9.3.8).
    TraceWithBody = "trace-with-body", 400;
    /// A chunk size that is not a hexadecimal number.
    BadChunkSize = "bad-chunk-size", 400;
    /// A chunk size of more than 16 digits or above 2^63 − 1.
    ChunkSizeOverflow = "chunk-size-overflow", 400;
    /// A control byte, bare CR or bare LF in a chunk extension.
    BadChunkExtension = "bad-chunk-extension", 400;
    /// Chunk extensions exceed 256 bytes in one chunk or 16 KiB in one body.
    ChunkExtensionTooLong = "chunk-extension-too-long", 400;
    /// Chunk data is not followed by CRLF.
    BadChunkEnd = "bad-chunk-end", 400;
    /// A trailer line that is not a field line.
    BadTrailer = "bad-trailer", 400;
    /// Trailers exceed 8 KiB or 64 lines.
    TrailersTooLarge = "trailers-too-large", 431;
    /// The status line is malformed.
    BadStatusLine = "bad-status-line", 400;
    /// A status below 100.
    BadStatus = "bad-status", 400;
    /// 101 in response to a request without an upgrade, or without an Upgrade field.
    UnaskedSwitch = "unasked-switch", 400;
    /// A malformed head that no more specific rule describes.
    Malformed = "malformed", 400;
    /// An HTTP/1 hop-by-hop field in HTTP/2 (RFC 9113 §8.2.2).
    HopByHop = "hop-by-hop", 400;
    /// A required HTTP/2 pseudo-header field is missing (RFC 9113 §8.3.1).
    PseudoMissing = "pseudo-missing", 400;
    /// `:authority` and Host have different values (RFC 9113 §8.3.1).
    AuthorityMismatch = "authority-mismatch", 400;
    /// The body's length differs from Content-Length (RFC 9113 §8.1.1).
    LengthMismatch = "length-mismatch", 400;
    /// An HTTP/2 request that the HTTP/2 library rejected: a field name in upper case, a forbidden byte, a wrong
    /// length, or a pseudo-header field that is repeated, unknown or misplaced.
    Http2Malformed = "http2-malformed", 400;
    /// A frame that violated the HTTP/2 protocol of its connection or stream (RFC 9113 §5, §6).
    Http2Protocol = "http2-protocol", 400;
    /// A frame, stream or head that violated HTTP/3 (RFC 9114, RFC 9204): a misplaced or truncated frame, or a head
    /// that cannot be decoded. Also a pseudo-header field that is repeated, unknown or misplaced.
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
