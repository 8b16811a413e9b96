//! The readings of a request's path that conditions compare, by a service's settings.

use std::borrow::Cow;

use super::index::lookup_form;
use crate::config::{Condition, PathCase, PathNormalization, ServiceConfig};
use crate::path::{PathReadings, possible_readings};
use crate::request_head::ParsedHead;

#[derive(Debug)]
pub struct PathReadingPolicy {
    /// Some condition reads paths.
    is_used: bool,
    normalization: PathNormalization,
    case: PathCase,
}

impl PathReadingPolicy {
    /// For conditions of a service.
    pub fn new<'c>(
        service: &ServiceConfig,
        mut conditions: impl Iterator<Item = &'c Condition>,
    ) -> PathReadingPolicy {
        let reads_path = |condition: &Condition| {
            matches!(condition, Condition::Path(_) | Condition::PathRegex(_))
        };
        PathReadingPolicy {
            is_used: conditions.any(|condition| condition.contains(&reads_path)),
            normalization: service.path_normalization,
            case: service.path_case,
        }
    }

    /// Whether letter case counts.
    pub fn case(&self) -> PathCase {
        self.case
    }

    /// The possible readings, as far as conditions read the path.
    pub fn readings(&self, head: &ParsedHead<'_>) -> PathReadings {
        let examined = self.is_used && self.normalization != PathNormalization::Raw;
        if !examined || head.path_is_plain() {
            return PathReadings::One;
        }
        possible_readings(head.raw_path())
    }

    /// The path that conditions compare if there is one reading.
    pub fn comparison_path<'v>(&self, head: &'v ParsedHead<'_>) -> Cow<'v, [u8]> {
        let path = match self.normalization {
            PathNormalization::Raw => head.raw_path(),
            _ => head.path(),
        };
        match self.case {
            PathCase::Exact => Cow::Borrowed(path),
            PathCase::Ignore => Cow::Owned(lookup_form(path.to_vec(), PathCase::Ignore)),
        }
    }

    /// Every path that conditions compare; `None`: there are more than are examined.
    pub fn comparison_paths<'v>(&self, head: &'v ParsedHead<'_>) -> Option<Vec<Cow<'v, [u8]>>> {
        match self.readings(head) {
            PathReadings::One => Some(vec![self.comparison_path(head)]),
            PathReadings::Several(paths) => {
                let each = paths.into_iter().map(|path| Cow::Owned(lookup_form(path, self.case)));
                Some(each.collect())
            }
            PathReadings::TooMany => None,
        }
    }
}
