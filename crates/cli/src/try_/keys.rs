//! The keyboard, read key by key, and the terminal as it was before.
//!
//! The terminal is given back when the guard goes, and also when the program panics. What keys mean is decided in
//! `show`.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crossterm::cursor::Show;
use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::queue;
use crossterm::terminal::{LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use tokio::sync::mpsc;

/// How often the reader looks whether it is still wanted.
const PATIENCE: Duration = Duration::from_millis(100);
/// Keys that wait; more are dropped, as nobody means that many.
const KEYS: usize = 16;

/// A key that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// `k`.
    Kill,
    /// `r`.
    Revive,
    /// `q`, Escape or Ctrl-C.
    Quit,
}

/// The keyboard while it is read key by key.
#[derive(Debug)]
pub struct Keyboard {
    keys: mpsc::Receiver<Key>,
    over: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

impl Keyboard {
    /// Takes the terminal.
    pub fn open() -> io::Result<Keyboard> {
        give_back_on_panic();
        enable_raw_mode()?;
        let (sender, keys) = mpsc::channel(KEYS);
        let over = Arc::new(AtomicBool::new(false));
        let mut keyboard = Keyboard { keys, over: over.clone(), reader: None };
        let reader = std::thread::Builder::new().name("keys".to_owned());
        keyboard.reader = Some(reader.spawn(move || read(&sender, &over))?);
        Ok(keyboard)
    }

    /// The next key. Never, once the keyboard is gone.
    pub async fn next(&mut self) -> Key {
        match self.keys.recv().await {
            Some(key) => key,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        // The terminal may be gone: then there is nothing to give back.
        let _ = disable_raw_mode();
    }
}

fn read(keys: &mpsc::Sender<Key>, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        match event::poll(PATIENCE)
            .and_then(|some| if some { event::read().map(Some) } else { Ok(None) })
        {
            Ok(Some(event)) => {
                if let Some(key) = meaning(&event) {
                    let _ = keys.try_send(key);
                }
            }
            Ok(None) => {}
            Err(_) => return,
        }
    }
}

fn meaning(event: &Event) -> Option<Key> {
    let Event::Key(key) = event else { return None };
    if key.kind == KeyEventKind::Release {
        return None;
    }
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Key::Quit),
        KeyCode::Char('k' | 'K') => Some(Key::Kill),
        KeyCode::Char('r' | 'R') => Some(Key::Revive),
        KeyCode::Char('q' | 'Q') | KeyCode::Esc => Some(Key::Quit),
        _ => None,
    }
}

/// A panic ends the program before any guard goes, where it is built to abort: the hook comes first.
fn give_back_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let _ = disable_raw_mode();
        let mut out = io::stdout();
        let _ = queue!(out, Show, LeaveAlternateScreen);
        let _ = out.flush();
        before(info);
    }));
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
            (plain(KeyCode::Char('k')), Some(Key::Kill)),
            (plain(KeyCode::Char('R')), Some(Key::Revive)),
            (plain(KeyCode::Esc), Some(Key::Quit)),
            (key(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Key::Quit)),
            (plain(KeyCode::Char('c')), None),
            (Event::Resize(1, 1), None),
        ];
        for (event, expected) in rows {
            assert_eq!(meaning(&event), expected, "{event:?}");
        }
    }
}
