//! ORCA load reports (xDS `data/orca/v3`): as JSON, as the text of the response field `endpoint-load-metrics`, or as
//! the protobuf message in base64 that the same field may carry.
//!
//! Only the fields that this product uses are read; their use in load balancing is decided elsewhere.

use serde::Deserialize;

/// The longest report: bounds the work for a hostile or broken server.
pub const MAX_REPORT_BYTES: usize = 16 * 1_024;
/// The response field with a report.
pub const HEADER_NAME: &str = "endpoint-load-metrics";

/// The values of a report; absent means unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct OrcaReport {
    /// Share of its processors in use; it may exceed 1 if the server may use more than it reserved.
    #[serde(alias = "cpuUtilization")]
    pub cpu_utilization: f64,
    /// The share of its memory in use.
    #[serde(alias = "memUtilization")]
    pub mem_utilization: f64,
    /// The application's own value; if present, it alone counts.
    #[serde(alias = "applicationUtilization")]
    pub application_utilization: f64,
}

/// Why a report cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrcaError {
    #[error("the load report is longer than {MAX_REPORT_BYTES} bytes")]
    TooLong,
    #[error("the load report is none")]
    Malformed,
    /// The report has none of the values that are used.
    #[error("the load report says nothing of utilisation")]
    Empty,
}

impl OrcaReport {
    /// The value that counts: the application's own, otherwise the processors'; `None`: neither is present.
    pub fn utilization(&self) -> Option<f64> {
        let given = |value: f64| (value > 0.0 || value.is_nan()).then_some(value);
        given(self.application_utilization)
            .or(given(self.cpu_utilization))
            .or(given(self.mem_utilization).map(|_| 0.0))
    }
}

/// Parses a report in any of its forms: the value of a field, or a body.
///
/// # Errors
///
/// See `OrcaError`.
pub fn parse(text: &[u8]) -> Result<OrcaReport, OrcaError> {
    if text.len() > MAX_REPORT_BYTES {
        return Err(OrcaError::TooLong);
    }
    let text = std::str::from_utf8(text).map_err(|_| OrcaError::Malformed)?.trim();
    let (form, rest) = text.split_once(' ').unwrap_or((text, ""));
    match form {
        "JSON" => json(rest),
        "TEXT" => pairs(rest),
        "BIN" => {
            base64(rest.trim().as_bytes()).as_deref().and_then(message).ok_or(OrcaError::Malformed)
        }
        _ if text.starts_with('{') => json(text),
        _ => pairs(text),
    }
}

fn json(text: &str) -> Result<OrcaReport, OrcaError> {
    serde_json::from_str(text.trim()).map_err(|_| OrcaError::Malformed)
}

/// `cpu_utilization=0.3, mem_utilization=0.8`; other names are skipped.
fn pairs(text: &str) -> Result<OrcaReport, OrcaError> {
    let mut orca = OrcaReport::default();
    let mut any = false;
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or(OrcaError::Malformed)?;
        let value: f64 = value.trim().parse().map_err(|_| OrcaError::Malformed)?;
        match name.trim() {
            "cpu_utilization" | "cpu" => orca.cpu_utilization = value,
            "mem_utilization" | "mem" => orca.mem_utilization = value,
            "application_utilization" => orca.application_utilization = value,
            _ => continue,
        }
        any = true;
    }
    if any { Ok(orca) } else { Err(OrcaError::Empty) }
}

/// The message OrcaLoadReport: fields 1, 2 and 9 are doubles.
fn message(mut bytes: &[u8]) -> Option<OrcaReport> {
    let mut orca = OrcaReport::default();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        match (key & 7, key >> 3) {
            (0, _) => drop(varint(&mut bytes)?),
            (1, field) => {
                let (value, rest) = bytes.split_first_chunk::<8>()?;
                bytes = rest;
                let value = f64::from_le_bytes(*value);
                match field {
                    1 => orca.cpu_utilization = value,
                    2 => orca.mem_utilization = value,
                    9 => orca.application_utilization = value,
                    _ => {}
                }
            }
            (2, _) => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                bytes = bytes.get(length..)?;
            }
            (5, _) => bytes = bytes.get(4..)?,
            _ => return None,
        }
    }
    Some(orca)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Base64 (RFC 4648 §4), padded or not.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.strip_suffix(b"==").or(text.strip_suffix(b"=")).unwrap_or(text);
    let mut out = Vec::with_capacity(text.len());
    let mut bits = 0u32;
    let mut held = 0u32;
    for byte in text {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_form_is_understood() {
        let value = |text: &str| parse(text.as_bytes()).map(|orca| orca.utilization());
        assert_eq!(value("TEXT cpu_utilization=0.3, mem_utilization=0.8"), Ok(Some(0.3)));
        assert_eq!(value("TEXT cpu_utilization=0.3,application_utilization=0.9"), Ok(Some(0.9)));
        assert_eq!(value("cpu=0.25"), Ok(Some(0.25)));
        assert_eq!(
            value("JSON {\"cpu_utilization\": 0.5, \"named_metrics\": {\"x\": 1}}"),
            Ok(Some(0.5))
        );
        assert_eq!(value("{\"applicationUtilization\": 1.5}"), Ok(Some(1.5)));
        assert_eq!(value("{}"), Ok(None));
        // Field 1, 0.5; an unknown map beside it.
        assert_eq!(value("BIN CQAAAAAAAOA/IgMKAXg="), Ok(Some(0.5)));
        assert_eq!(value("TEXT rps_fractional=3"), Err(OrcaError::Empty));
        assert_eq!(value("TEXT cpu"), Err(OrcaError::Malformed));
        assert_eq!(value("BIN !"), Err(OrcaError::Malformed));
        assert_eq!(parse(&[b'x'; MAX_REPORT_BYTES + 1]), Err(OrcaError::TooLong));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), form in 0usize..4) {
            let head: &[u8] = [&b"BIN "[..], b"TEXT ", b"JSON ", b""][form];
            let _ = parse(&[head, &bytes].concat());
            let _ = message(&bytes);
        }
    }
}
