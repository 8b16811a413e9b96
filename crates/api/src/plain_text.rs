//! Reasons and problems leave the daemon in plain words: they often quote an error of the system or of a library.

use files::plain_error::plain_error_text;
use serde::{Serialize, Serializer};

/// A text of a response that may quote an error.
pub trait QuotedError {
    /// Writes the text in plain words.
    ///
    /// # Errors
    /// Those of the serializer.
    fn write_plain<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error>;
}

impl QuotedError for String {
    fn write_plain<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&plain_error_text(self.as_str()))
    }
}

impl QuotedError for Option<String> {
    fn write_plain<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.as_deref().map(plain_error_text).serialize(to)
    }
}

impl QuotedError for Vec<String> {
    fn write_plain<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter().map(|text| plain_error_text(text.as_str())))
    }
}

/// For `serialize_with`.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<T: QuotedError, S: Serializer>(text: &T, to: S) -> Result<S::Ok, S::Error> {
    text.write_plain(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct QuotingStatus {
        #[serde(serialize_with = "serialize")]
        reason: String,
        #[serde(serialize_with = "serialize")]
        problem: Option<String>,
        #[serde(serialize_with = "serialize", skip_serializing_if = "Option::is_none")]
        absent: Option<String>,
        #[serde(serialize_with = "serialize")]
        warnings: Vec<String>,
    }

    #[test]
    fn texts_of_libraries_are_written_in_plain_words() {
        let raw = "cannot read a: No such file or directory (os error 2)".to_owned();
        let status = QuotingStatus {
            reason: raw.clone(),
            problem: Some(raw.clone()),
            absent: None,
            warnings: vec![raw],
        };
        let plain = "cannot read a: No such file or directory: check the path";
        let expected =
            format!(r#"{{"reason":"{plain}","problem":"{plain}","warnings":["{plain}"]}}"#);
        assert_eq!(serde_json::to_string(&status).unwrap(), expected);
    }
}
