//! Lines with columns that can be sorted and filtered. Pure; it knows nothing about their content.

use std::cmp::Ordering;

use api::types::ErrorCounts;

use crate::show::error_cell::share_cell;
use crate::show::paint::Colour;
use crate::show::table::{TableColumn, TextCell};
use crate::show::unit::{bytes, count, micros, rate};

/// The sort order of a sheet.
#[derive(Clone, Debug, PartialEq)]
enum SortValue {
    /// From a to z.
    Text(String),
    Number(f64),
}

/// The content of one column of a line.
#[derive(Clone, Debug)]
pub struct SheetCell {
    pub cell: TextCell,
    value: SortValue,
}

impl SheetCell {
    /// Words, on one line.
    pub fn text(text: &str) -> SheetCell {
        let line = text.replace('\n', " ");
        SheetCell { cell: line.as_str().into(), value: SortValue::Text(line) }
    }

    /// Words with a colour.
    pub fn coloured(text: &str, colour: Colour) -> SheetCell {
        let line = text.replace('\n', " ");
        SheetCell { cell: TextCell::coloured(line.as_str(), colour), value: SortValue::Text(line) }
    }

    /// A number that is shown as another text.
    pub fn number_as(text: String, number: f64) -> SheetCell {
        SheetCell { cell: text.into(), value: SortValue::Number(number) }
    }

    pub fn count(number: impl Into<u64>) -> SheetCell {
        let number = number.into();
        SheetCell::number_as(count(number), number as f64)
    }

    pub fn rate(per_second: f64) -> SheetCell {
        SheetCell::number_as(rate(per_second), per_second)
    }

    /// A rate of failures: coloured unless zero.
    pub fn bad_rate(per_second: f64) -> SheetCell {
        let text = rate(per_second);
        let cell = match text.as_str() {
            "0" => text.into(),
            _ => TextCell::coloured(text, Colour::Bad),
        };
        SheetCell { cell, value: SortValue::Number(per_second) }
    }

    /// A share of errors; absent ones come last.
    pub fn share(errors: Option<&ErrorCounts>) -> SheetCell {
        let errors = errors.copied().unwrap_or_default();
        let value = SortValue::Number(errors.percent.unwrap_or(-1.0));
        SheetCell { cell: share_cell(&errors), value }
    }

    pub fn bytes(per_second: f64) -> SheetCell {
        SheetCell::number_as(bytes(per_second.max(0.0).round() as u64), per_second)
    }

    /// A time; absent ones come last.
    pub fn time(micros_or_none: Option<u64>) -> SheetCell {
        let text = micros_or_none.map_or_else(|| "-".to_owned(), micros);
        SheetCell::number_as(text, micros_or_none.map_or(-1.0, |time| time as f64))
    }
}

#[derive(Clone, Debug)]
pub struct SheetRow {
    /// The object of the line; unique within the sheet.
    pub id: String,
    /// One for each column.
    pub fields: Vec<SheetCell>,
    /// The server that commands would go to.
    pub server: Option<RowServer>,
}

/// A server by the names of its pool and itself.
#[derive(Clone, Debug)]
pub struct RowServer {
    pub pool: String,
    pub name: String,
}

#[derive(Clone, Debug)]
pub struct Sheet {
    pub columns: &'static [TableColumn],
    pub rows: Vec<SheetRow>,
}

impl Sheet {
    /// Keeps lines that contain these letters, whatever their case.
    pub fn filter(&mut self, letters: &str) {
        let letters = letters.to_lowercase();
        self.rows.retain(|row| row.id.to_lowercase().contains(&letters));
    }

    /// By a column, or as configured; equal lines stay in their order.
    pub fn sort(&mut self, column: Option<usize>) {
        let Some(column) = column else { return };
        self.rows.sort_by(|a, b| match (a.fields.get(column), b.fields.get(column)) {
            (Some(a), Some(b)) => compare_values(&a.value, &b.value),
            _ => Ordering::Equal,
        });
    }
}

fn compare_values(a: &SortValue, b: &SortValue) -> Ordering {
    match (a, b) {
        (SortValue::Number(a), SortValue::Number(b)) => b.total_cmp(a),
        (SortValue::Text(a), SortValue::Text(b)) => a.cmp(b),
        (SortValue::Number(_), SortValue::Text(_)) => Ordering::Less,
        (SortValue::Text(_), SortValue::Number(_)) => Ordering::Greater,
    }
}
