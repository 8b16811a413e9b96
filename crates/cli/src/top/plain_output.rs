//! A snapshot as text that is printed once: every view, or one. Pure; it knows no screen (`frame` does).

use super::rows;
use super::sheet::Sheet;
use super::snapshot::TopSnapshot;
use super::summary::{self, HeadroomSummary};
use super::tab::Tab;
use crate::show::error_cell::severity_colour;
use crate::show::paint::{Colour, Paint};
use crate::show::plain::plain;
use crate::show::table::TextTable;

/// Everything, or one view, once.
pub fn render_all(
    snapshot: &TopSnapshot,
    only: Option<Tab>,
    columns: usize,
    paint: Paint,
) -> String {
    let HeadroomSummary { text, scarce } = summary::headroom(snapshot);
    let room = if scarce { paint.text(Colour::Doubt, &text) } else { text };
    let mut out = format!("{}\n{room}\n", summary::title(snapshot));
    for alarm in summary::alarms(snapshot) {
        let text = plain(&summary::alarm_text(alarm, snapshot.status.now_unix_ms));
        out.push_str(&format!("{}\n", paint.text(severity_colour(alarm.severity), &text)));
    }
    for warning in &snapshot.status.warnings {
        out.push_str(&format!("{} {}\n", paint.text(Colour::Doubt, "warning:"), plain(warning)));
    }
    for tab in only.map_or_else(|| snapshot.tabs(), |tab| vec![tab]) {
        let sheet = rows::sheet(tab, snapshot);
        out.push('\n');
        if sheet.rows.is_empty() {
            out.push_str(&format!("{}\n", tab.empty()));
        }
        for line in render(&sheet, paint) {
            out.push_str(&format!("{}\n", truncate_line(&line, columns)));
        }
    }
    out
}

/// Headings and rows, a line each, as wide as they are.
fn render(sheet: &Sheet, paint: Paint) -> Vec<String> {
    let mut table = TextTable::new(sheet.columns);
    for row in &sheet.rows {
        table.row(row.fields.iter().map(|field| field.cell.clone()).collect());
    }
    table.render(usize::MAX, paint).lines().map(str::to_owned).collect()
}

/// At most so many columns of a line; its colours take none, and end with it.
fn truncate_line(line: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut filled = 0;
    let mut escape = false;
    let mut coloured = false;
    for letter in line.chars() {
        if !escape && letter != '\x1b' {
            if filled == columns {
                if coloured {
                    out.push_str(PLAIN);
                }
                return out;
            }
            filled += 1;
        }
        out.push(letter);
        let ended = escape && letter == 'm';
        escape = letter == '\x1b' || escape && !ended;
        if ended {
            coloured = !out.ends_with(PLAIN);
        }
    }
    out
}

/// The escape sequence that ends a colour.
const PLAIN: &str = "\x1b[0m";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::fixture::snapshot;

    #[test]
    fn one_frame_has_every_view_or_the_requested_one() {
        let of = snapshot(&[("a", 1200.0)]);
        let text = render_all(&of, None, usize::MAX, Paint::fixed(false));
        let title = "steelyard 0.1.0 generation 7, up 5h2m: 1,200 requests/s, 0.50 errors/s (<0.1 %), p50 850 us, \
                     p99 1.2 ms, 0 in flight, over 1s\nheadroom: descriptors 12 of 1,024; resident 0 B\n";
        assert!(text.starts_with(title), "{text}");
        for part in ["SERVICE ", "shop ", "SERVER ", "web/a ", "server-refused ", "a server\n"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let text = render_all(&of, Some(Tab::Causes), usize::MAX, Paint::fixed(false));
        assert!(text.contains("server-refused") && !text.contains("web/a"), "{text}");
        let text = render_all(&of, Some(Tab::Packets), usize::MAX, Paint::fixed(false));
        assert!(text.ends_with("\nno service forwards packets\n"), "{text}");
    }

    #[test]
    fn lines_are_cut_and_their_colours_end() {
        let rows = [
            ("abc", 2, "ab"),
            ("abc", 3, "abc"),
            ("\x1b[31mabc\x1b[0m", 2, "\x1b[31mab\x1b[0m"),
            ("\x1b[31ma\x1b[0mbc", 2, "\x1b[31ma\x1b[0mb"),
        ];
        for (line, columns, expected) in rows {
            assert_eq!(truncate_line(line, columns), expected, "{line:?}");
        }
    }
}
