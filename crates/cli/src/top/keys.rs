//! What events of the terminal mean here. What a key does is decided in `view`.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key, or what else the terminal tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// One screen up.
    PageUp,
    /// One screen down.
    PageDown,
    /// The first line.
    Home,
    /// The last line.
    End,
    /// Tab.
    Next,
    /// Tab with shift.
    Back,
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Erase,
    /// Ctrl-C.
    Interrupt,
    /// The terminal has another size.
    Resized,
    /// What is written.
    Letter(char),
}

/// What an event means.
pub fn meaning(event: &Event) -> Option<Key> {
    match event {
        Event::Resize(..) => Some(Key::Resized),
        Event::Key(key) if key.kind != KeyEventKind::Release => pressed(key),
        _ => None,
    }
}

fn pressed(key: &KeyEvent) -> Option<Key> {
    if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
        let interrupts = key.modifiers.contains(KeyModifiers::CONTROL)
            && matches!(key.code, KeyCode::Char('c' | 'C'));
        return interrupts.then_some(Key::Interrupt);
    }
    Some(match key.code {
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Tab | KeyCode::Right => Key::Next,
        KeyCode::BackTab | KeyCode::Left => Key::Back,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Erase,
        KeyCode::Char(letter) => Key::Letter(letter),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meanings() {
        let key = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
        let plain = |code| key(code, KeyModifiers::NONE);
        let rows = [
            (plain(KeyCode::Char('c')), Some(Key::Letter('c'))),
            (key(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Key::Interrupt)),
            (key(KeyCode::Char('d'), KeyModifiers::CONTROL), None),
            (key(KeyCode::Char('S'), KeyModifiers::SHIFT), Some(Key::Letter('S'))),
            (plain(KeyCode::Tab), Some(Key::Next)),
            (key(KeyCode::BackTab, KeyModifiers::SHIFT), Some(Key::Back)),
            (plain(KeyCode::Esc), Some(Key::Escape)),
            (Event::Resize(1, 1), Some(Key::Resized)),
            (Event::FocusGained, None),
        ];
        for (event, expected) in rows {
            assert_eq!(meaning(&event), expected, "{event:?}");
        }
    }
}
