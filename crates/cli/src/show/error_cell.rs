//! Errors in a table's cell: how many, and their share, coloured by how grave it is.

use api::types::{AlarmSeverity, ErrorCounts};
use model::exchange_error::ErrorLevel;

use super::paint::Colour;
use super::table::TextCell;
use super::unit::count;

/// The colour of a share; `None`: it is ordinary.
pub fn share_colour(errors: &ErrorCounts) -> Option<Colour> {
    Some(match ErrorLevel::of_percent(errors.percent?)? {
        ErrorLevel::Red => Colour::Bad,
        ErrorLevel::Amber => Colour::Doubt,
    })
}

/// The share as text: `12.5 %`; `-` if nothing ended.
pub fn share_text(errors: &ErrorCounts) -> String {
    match errors.percent {
        None => "-".to_owned(),
        Some(percent) if percent > 0.0 && percent < 0.05 => "<0.1 %".to_owned(),
        Some(percent) if percent > 0.0 && percent < 99.95 => format!("{percent:.1} %"),
        Some(percent) => format!("{percent:.0} %"),
    }
}

pub fn share_cell(errors: &ErrorCounts) -> TextCell {
    let text = share_text(errors);
    match share_colour(errors) {
        Some(colour) => TextCell::coloured(text, colour),
        None => text.into(),
    }
}

/// All errors since the start, and their share while there are some: `7, 10.0 %`.
pub fn error_cell(errors: &ErrorCounts) -> TextCell {
    let total = count(errors.errors.total);
    if !errors.percent.is_some_and(|percent| percent > 0.0) {
        return total.into();
    }
    let text = format!("{total}, {}", share_text(errors));
    match share_colour(errors) {
        Some(colour) => TextCell::coloured(text, colour),
        None => text.into(),
    }
}

pub fn severity_colour(severity: AlarmSeverity) -> Colour {
    match severity {
        AlarmSeverity::Error => Colour::Bad,
        AlarmSeverity::Warning => Colour::Doubt,
        AlarmSeverity::Notice => Colour::Quiet,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_texts_with_the_colour_of_their_level() {
        let rows = [
            (None, "-", None),
            (Some(0.0), "0 %", None),
            (Some(0.001), "<0.1 %", None),
            (Some(0.5), "0.5 %", None),
            (Some(1.5), "1.5 %", Some(Colour::Doubt)),
            (Some(40.0), "40.0 %", Some(Colour::Bad)),
            (Some(99.99), "100 %", Some(Colour::Bad)),
        ];
        for (percent, text, colour) in rows {
            let errors = ErrorCounts { percent, ..ErrorCounts::default() };
            assert_eq!(share_text(&errors), text, "{percent:?}");
            assert_eq!(share_colour(&errors), colour, "{percent:?}");
            let cell = error_cell(&errors);
            let want =
                if percent.is_some_and(|it| it > 0.0) { format!("0, {text}") } else { "0".into() };
            assert_eq!(format!("{}{}", cell.parts().lead, cell.parts().rest), want, "{percent:?}");
        }
    }
}
