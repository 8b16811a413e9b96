//! Maps terminal events to keys. `view` decides what a key does.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key, or another event of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopKey {
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Next,
    Back,
    Enter,
    Escape,
    Erase,
    Interrupt,
    /// The terminal has another size.
    Resized,
    Letter(char),
}

/// The key that an event stands for.
pub fn meaning(event: &Event) -> Option<TopKey> {
    match event {
        Event::Resize(..) => Some(TopKey::Resized),
        Event::Key(key) if key.kind != KeyEventKind::Release => pressed(key),
        _ => None,
    }
}

fn pressed(key: &KeyEvent) -> Option<TopKey> {
    if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
        let interrupts = key.modifiers.contains(KeyModifiers::CONTROL)
            && matches!(key.code, KeyCode::Char('c' | 'C'));
        return interrupts.then_some(TopKey::Interrupt);
    }
    Some(match key.code {
        KeyCode::Up => TopKey::Up,
        KeyCode::Down => TopKey::Down,
        KeyCode::PageUp => TopKey::PageUp,
        KeyCode::PageDown => TopKey::PageDown,
        KeyCode::Home => TopKey::Home,
        KeyCode::End => TopKey::End,
        KeyCode::Tab | KeyCode::Right => TopKey::Next,
        KeyCode::BackTab | KeyCode::Left => TopKey::Back,
        KeyCode::Enter => TopKey::Enter,
        KeyCode::Esc => TopKey::Escape,
        KeyCode::Backspace => TopKey::Erase,
        KeyCode::Char(letter) => TopKey::Letter(letter),
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
            (plain(KeyCode::Char('c')), Some(TopKey::Letter('c'))),
            (key(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(TopKey::Interrupt)),
            (key(KeyCode::Char('d'), KeyModifiers::CONTROL), None),
            (key(KeyCode::Char('S'), KeyModifiers::SHIFT), Some(TopKey::Letter('S'))),
            (plain(KeyCode::Tab), Some(TopKey::Next)),
            (key(KeyCode::BackTab, KeyModifiers::SHIFT), Some(TopKey::Back)),
            (plain(KeyCode::Esc), Some(TopKey::Escape)),
            (Event::Resize(1, 1), Some(TopKey::Resized)),
            (Event::FocusGained, None),
        ];
        for (event, expected) in rows {
            assert_eq!(meaning(&event), expected, "{event:?}");
        }
    }
}
