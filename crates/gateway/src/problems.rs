//! Problems with objects: the file, the object, the field, what was found and what was expected.

use std::fmt;

use serde::Serialize;

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ObjectProblem {
    /// Empty if it came from no file.
    pub file: String,
    /// `KIND NAMESPACE/NAME`; empty if the whole file is meant.
    pub object: String,
    /// The path of the field, such as `spec.rules[0].filters`; empty if the whole object is meant.
    pub field: String,
    /// What was found, as part of a sentence.
    pub message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub expected: String,
}

impl ObjectProblem {
    pub fn new(file: &str, object: &str, field: &str, message: String) -> ObjectProblem {
        let [file, object, field] = [file, object, field].map(str::to_owned);
        ObjectProblem { file, object, field, message, expected: String::new() }
    }

    pub fn with_expected(mut self, expected: &str) -> ObjectProblem {
        self.expected = expected.to_owned();
        self
    }
}

impl fmt::Display for ObjectProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in [&self.file, &self.object, &self.field] {
            if !part.is_empty() {
                write!(f, "{part}: ")?;
            }
        }
        f.write_str(&self.message)?;
        if !self.expected.is_empty() {
            write!(f, "; expected {}", self.expected)?;
        }
        Ok(())
    }
}
