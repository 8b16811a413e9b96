//! Where a setting comes from.

use super::source_text::SourceSpan;

/// The origin of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    Default,
    /// Depends on other settings; the text describes how.
    Derived(&'static str),
    /// Written in this table.
    Written(SourceSpan),
    Global(SourceSpan),
    /// Written in the server's pool.
    Pool(SourceSpan),
}

impl SettingOrigin {
    /// The place where it was written, if any.
    pub fn span(self) -> Option<SourceSpan> {
        match self {
            SettingOrigin::Written(place)
            | SettingOrigin::Global(place)
            | SettingOrigin::Pool(place) => Some(place),
            SettingOrigin::Default | SettingOrigin::Derived(_) => None,
        }
    }
}
