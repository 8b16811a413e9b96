//! Tables line by line: alignment, wrapping, colour, and the layout without room.

use super::*;

fn sample(state: &str) -> TextTable {
    let mut table = TextTable::new(&[left("NAME"), right("OPEN"), left("STATE")]);
    table.row(vec!["shop".into(), "12".into(), TextCell::with_lead("up", Colour::Good, state)]);
    table.row(vec!["a\nbb".into(), "1,234".into()]);
    table
}

#[test]
fn columns_align_and_no_line_ends_in_spaces() {
    let text = sample(" 3s: fine").render(60, Paint::fixed(false));
    assert_eq!(text, "NAME   OPEN  STATE\nshop     12  up 3s: fine\na     1,234\nbb\n");
}

#[test]
fn the_last_column_wraps_within_the_width() {
    let text = sample(" 3s: one two three four five six seven eight nine ten")
        .render(50, Paint::fixed(false));
    assert_eq!(
        text,
        "NAME   OPEN  STATE\n\
         shop     12  up 3s: one two three four five six\n\
        \x20            seven eight nine ten\n\
         a     1,234\n\
         bb\n"
    );
}

#[test]
fn without_room_the_last_column_goes_below() {
    let text = sample(" 3s: one two three four five six seven").render(40, Paint::fixed(false));
    assert_eq!(
        text,
        "NAME   OPEN\n    STATE\nshop     12\n    up 3s: one two three four five six\n    seven\na     1,234\nbb\n"
    );
}

#[test]
fn colours_do_not_move_columns() {
    let strip = |text: String| {
        let mut out = String::new();
        let mut parts = text.split("\x1b[");
        out.push_str(parts.next().unwrap());
        for part in parts {
            out.push_str(part.split_once('m').unwrap().1);
        }
        out
    };
    for width in [40, 50, 100] {
        let table = sample(" 3s: one two three four five six seven eight nine ten");
        let coloured = table.render(width, Paint::fixed(true));
        assert!(coloured.contains("\x1b[32mup\x1b[0m 3s"), "{coloured:?}");
        assert_eq!(strip(coloured), table.render(width, Paint::fixed(false)));
    }
}

#[test]
fn wrapping_keeps_every_letter_and_the_width() {
    for (text, width) in
        [("a bb ccc", 3), ("abcdefghij kl", 4), ("", 5), ("ééé ééé", 3), ("a b", 0)]
    {
        let lines = wrap(text, width);
        assert!(lines.iter().all(|line| line.chars().count() <= width.max(1)), "{lines:?}");
        let letters = |text: &str| text.replace(' ', "");
        assert_eq!(letters(&lines.concat()), letters(text));
    }
}

#[test]
fn a_table_without_rows_is_nothing() {
    assert_eq!(TextTable::new(&[left("A")]).render(80, Paint::fixed(false)), "");
    assert_eq!(TextTable::new(&[]).render(80, Paint::fixed(false)), "");
}
