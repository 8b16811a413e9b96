//! Screens of many sizes, as the library's terminal for tests has them.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell as BufferCell;
use ratatui::style::{Color, Modifier};

use super::*;
use crate::expect::expect;
use crate::top::fixture::snapshot;
use crate::top::keys::TopKey;
use crate::top::tab::Tab;

const SECOND: Duration = Duration::from_secs(1);

fn view(tab: Tab, of: &[(&str, f64)]) -> TopView {
    TopView::new(snapshot(of), SECOND, Some(tab), Duration::ZERO)
}

/// The content of a screen of this size.
fn drawn(view: &mut TopView, size: (u16, u16), now: Duration, paint: Paint) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    terminal.draw(|frame| draw(frame, view, now, paint)).unwrap();
    terminal.backend().clone()
}

/// Without colours; no line ends in spaces.
fn plainly(view: &mut TopView, size: (u16, u16), now: Duration) -> String {
    let backend = drawn(view, size, now, Paint::fixed(false));
    let cells = &backend.buffer().content;
    let bare = |cell: &BufferCell| cell.fg == Color::Reset && cell.modifier.is_empty();
    assert!(cells.iter().all(bare), "{cells:?}");
    let line = |cells: &[BufferCell]| {
        let line: String = cells.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned() + "\n"
    };
    cells.chunks(usize::from(size.0)).map(line).collect()
}

fn thousand(tab: Tab) -> TopView {
    let names: Vec<String> = (0..1000).map(|number| format!("s{number:03}")).collect();
    view(tab, &names.iter().map(|name| (name.as_str(), 1.0)).collect::<Vec<_>>())
}

/// Two services and some snapshots, with a limit that is nearly reached.
fn busy() -> TopView {
    let look = |rate: f64| {
        let mut look = snapshot(&[("a", rate), ("b", 0.25), ("long-name-of-a-server", rate / 3.0)]);
        let mut quiet = look.status.services[0].clone();
        quiet.name = "warehouse".to_owned();
        look.status.services.push(quiet);
        look.status.pools[0].servers[0].max_connections = Some(5);
        look.status.warnings = vec!["a limit is near".to_owned(), "another".to_owned()];
        look
    };
    let mut view = TopView::new(look(10.0), SECOND, Some(Tab::Servers), Duration::ZERO);
    for second in 0..40 {
        view.update_snapshot(look(f64::from(second * 37 % 100) * 12.0), Duration::ZERO);
    }
    view
}

#[test]
fn screens() {
    let keys = |keys: &[TopKey]| {
        let mut view = busy();
        keys.iter().for_each(|key| drop(view.handle_key(*key)));
        view
    };
    let down = [TopKey::Down];
    let rows = [
        ("top-80x24.txt", keys(&down), (80, 24)),
        ("top-200x50.txt", keys(&down), (200, 50)),
        ("top-low-100x14.txt", keys(&down), (100, 14)),
        ("top-question-80x24.txt", keys(&[TopKey::Down, TopKey::Letter('d')]), (80, 24)),
        ("top-help-80x24.txt", keys(&[TopKey::Letter('?')]), (80, 24)),
        ("top-thousand-80x24.txt", thousand(Tab::Servers), (80, 24)),
    ];
    for (file, mut view, size) in rows {
        let text = plainly(&mut view, size, SECOND);
        expect(file, &text);
        assert_eq!(text.lines().last(), Some(HINT), "{file}");
    }
}

#[test]
fn colours_show_health_and_selection() {
    let size = (120, 24);
    let backend = drawn(&mut busy(), size, SECOND, Paint::fixed(true));
    let text = plainly(&mut busy(), size, SECOND);
    let style = |line: &str, word: &str| {
        let row = text.lines().position(|text| text.contains(line)).unwrap();
        let at = text.lines().nth(row).unwrap().split(word).next().unwrap().chars().count();
        backend.buffer()[(u16::try_from(at).unwrap(), u16::try_from(row).unwrap())].style()
    };
    assert_eq!(style("web/b ", "up").fg, Some(Color::Green));
    assert_eq!(style("80%", "█").fg, Some(Color::Red));
    assert_eq!(style("warning:", "warning").fg, Some(Color::Yellow));
    assert!(style("> web/a", "web/a").add_modifier.contains(Modifier::REVERSED));
    assert!(!style("web/b ", "web/b").add_modifier.contains(Modifier::REVERSED));
}

#[test]
fn every_size_is_drawn() {
    for tab in [Tab::Services, Tab::Servers, Tab::Causes] {
        for mut view in [thousand(tab), view(tab, &[])] {
            for key in [TopKey::End, TopKey::Letter('d'), TopKey::Letter('n'), TopKey::Letter('?')]
            {
                view.handle_key(key);
                for size in [(1, 1), (10, 5), (39, 12), (20, 20), (80, 24), (300, 100)] {
                    drawn(&mut view, size, 9 * SECOND, Paint::fixed(true));
                }
            }
        }
    }
}

#[test]
fn the_chosen_of_a_thousand_is_on_the_screen_and_no_line_is_left_empty() {
    let mut view = thousand(Tab::Servers);
    plainly(&mut view, (80, 24), SECOND);
    view.handle_key(TopKey::End);
    let text = plainly(&mut view, (80, 24), SECOND);
    assert!(text.contains("\n> web/s999 "), "{text}");
    assert!(text.contains("-1000 of 1000 "), "{text}");
    assert!(!text.contains("web/s001"), "{text}");
    // More room shows more lines before it.
    let text = plainly(&mut view, (80, 40), SECOND);
    let shown = text.lines().filter(|line| line.contains("web/s")).count();
    assert!(text.contains("web/s999") && shown > 25, "{text}");
    view.handle_key(TopKey::Home);
    assert!(plainly(&mut view, (80, 24), SECOND).contains("\n> web/s000 "));
}

#[test]
fn wide_letters_keep_columns_apart() {
    let mut view = view(Tab::Servers, &[("日本", 1.0), ("b", 2.0)]);
    let backend = drawn(&mut view, (80, 14), SECOND, Paint::fixed(false));
    let column = |row: u16| (0..80).find(|at| backend.buffer()[(*at, row)].symbol() == "u");
    let lines: Vec<u16> = (6..14).filter(|row| column(*row).is_some_and(|at| at < 14)).collect();
    let places: Vec<_> = lines.iter().map(|row| column(*row)).collect();
    assert!(places.windows(2).all(|two| two[0] == two[1]) && places.len() >= 2, "{backend}");
}

#[test]
fn nothing_up_and_nothing_configured_are_reported() {
    let text = plainly(&mut view(Tab::Services, &[]), (120, 24), SECOND);
    assert!(text.contains("> shop     down"), "{text}");
    assert!(text.contains("no server is available"), "{text}");
    let text = plainly(&mut view(Tab::Servers, &[]), (120, 24), SECOND);
    assert!(text.contains("no pool has a server"), "{text}");
    let mut filtered = view(Tab::Servers, &[("a", 1.0)]);
    for letter in "/zzz".chars() {
        filtered.handle_key(TopKey::Letter(letter));
    }
    let text = plainly(&mut filtered, (120, 24), SECOND);
    assert!(text.contains("the filter leaves nothing") && text.contains("filter: zzz_"), "{text}");
}

#[test]
fn a_silent_daemon_is_reported_above_the_last_snapshot() {
    let mut view = view(Tab::Servers, &[("a", 1.0)]);
    view.record_failure("no daemon at /run/sock\x1b[2J: is it running?");
    let text = plainly(&mut view, (60, 24), 3 * SECOND);
    let expected =
        "the daemon has not answered for 3 s: no daemon at\n/run/sock\u{fffd}[2J: is it running?\n";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("> web/a"), "{text}");
}

#[test]
fn the_help_names_every_key() {
    let mut view = view(Tab::Services, &[("a", 1.0)]);
    view.handle_key(TopKey::Letter('?'));
    let text = plainly(&mut view, (80, 24), SECOND);
    for line in HELP.lines() {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn eighty_columns_have_room_for_the_reason() {
    for tab in [Tab::Services, Tab::Servers] {
        let sheet = crate::top::rows::sheet(tab, &snapshot(&[("a", 1.0), ("b", 200.0)]));
        let shown = shown_columns(&sheet, 80);
        let titles: Vec<&str> = shown.iter().map(|column| sheet.columns[*column].title).collect();
        assert_eq!(titles.last(), Some(&"WHY"));
        assert!(titles.contains(&"STATE") && titles.contains(&"ERR/S"), "{titles:?}");
        let used: u16 =
            shown[..shown.len() - 1].iter().map(|column| wanted_width(&sheet, *column) + GAP).sum();
        assert!(80 - used - mark_width() >= LAST_MIN, "{titles:?}");
        assert_eq!(shown_columns(&sheet, 300).len(), sheet.columns.len(), "where there is room");
    }
}
