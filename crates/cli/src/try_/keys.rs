//! The meaning of keys in the demonstration. `script` decides what they do.

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};

/// A key that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemoKey {
    Kill,
    Revive,
    /// `q`, Escape or Ctrl-C.
    Quit,
}

/// The key that an event of the terminal stands for.
pub fn meaning(event: &Event) -> Option<DemoKey> {
    let Event::Key(key) = event else { return None };
    if key.kind == KeyEventKind::Release {
        return None;
    }
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(DemoKey::Quit),
        KeyCode::Char('k' | 'K') => Some(DemoKey::Kill),
        KeyCode::Char('r' | 'R') => Some(DemoKey::Revive),
        KeyCode::Char('q' | 'Q') | KeyCode::Esc => Some(DemoKey::Quit),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::KeyEvent;

    #[test]
    fn meanings() {
        let key = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
        let plain = |code| key(code, KeyModifiers::NONE);
        let rows = [
            (plain(KeyCode::Char('k')), Some(DemoKey::Kill)),
            (plain(KeyCode::Char('R')), Some(DemoKey::Revive)),
            (plain(KeyCode::Esc), Some(DemoKey::Quit)),
            (key(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(DemoKey::Quit)),
            (plain(KeyCode::Char('c')), None),
            (Event::Resize(1, 1), None),
        ];
        for (event, expected) in rows {
            assert_eq!(meaning(&event), expected, "{event:?}");
        }
    }
}
