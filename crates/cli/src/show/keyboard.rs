//! The keyboard, read key by key, in raw mode.
//!
//! The terminal is restored when the guard is dropped, also when the program panics. The caller interprets the keys.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crossterm::cursor::Show;
use crossterm::event::{self, Event};
use crossterm::queue;
use crossterm::terminal::{LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use tokio::sync::mpsc;

/// How often the reader looks whether it is still wanted.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long the reader's end is waited for. On a terminal that is gone it may read nothing for ever, and ends with the
/// process.
const END: Duration = Duration::from_secs(1);
/// Keys that wait; further ones are dropped. Bounds the queue, since nobody types that far ahead.
const KEYS: usize = 64;

/// The keyboard while it is read key by key.
#[derive(Debug)]
pub struct Keyboard<K> {
    keys: mpsc::Receiver<K>,
    stopped: Arc<AtomicBool>,
    reader: Option<KeyReader>,
}

/// The thread that reads keys.
#[derive(Debug)]
struct KeyReader {
    thread: JoinHandle<()>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

impl<K: Send + 'static> Keyboard<K> {
    /// Takes the terminal; events that mean nothing are passed over.
    pub fn open(meaning: fn(&Event) -> Option<K>) -> io::Result<Keyboard<K>> {
        restore_terminal_on_panic();
        enable_raw_mode()?;
        let (sender, keys) = mpsc::channel(KEYS);
        let over = Arc::new(AtomicBool::new(false));
        let mut keyboard = Keyboard { keys, stopped: over.clone(), reader: None };
        let (ending, ended) = channel();
        let thread = std::thread::Builder::new().name("keys".to_owned()).spawn(move || {
            read(&sender, &over, meaning);
            drop(ending);
        })?;
        keyboard.reader = Some(KeyReader { thread, ended });
        Ok(keyboard)
    }

    /// The next key. Never, once the keyboard is gone.
    pub async fn next(&mut self) -> K {
        match self.keys.recv().await {
            Some(key) => key,
            None => std::future::pending().await,
        }
    }
}

impl<K> Drop for Keyboard<K> {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(KeyReader { thread, ended }) = self.reader.take()
            && ended.recv_timeout(END) == Err(RecvTimeoutError::Disconnected)
        {
            // Fails only if the thread panicked, which the panic hook has shown.
            let _ = thread.join();
        }
        // The terminal may be gone: then there is nothing to give back.
        let _ = disable_raw_mode();
    }
}

fn read<K>(keys: &mpsc::Sender<K>, over: &AtomicBool, meaning: fn(&Event) -> Option<K>) {
    while !over.load(Ordering::Relaxed) {
        match event::poll(PATIENCE)
            .and_then(|some| if some { event::read().map(Some) } else { Ok(None) })
        {
            Ok(Some(event)) => {
                if let Some(key) = meaning(&event) {
                    // A full queue means that the screen is `KEYS` inputs behind; the user can repeat the key.
                    let _ = keys.try_send(key);
                }
            }
            Ok(None) => {}
            Err(_) => return,
        }
    }
}

/// A panic ends the program before any guard goes, where it is built to abort: the hook comes first.
fn restore_terminal_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        // The terminal may be gone; the panic's own message follows either way.
        let _ = disable_raw_mode();
        let mut out = io::stdout();
        let _ = queue!(out, Show, LeaveAlternateScreen);
        let _ = out.flush();
        before(info);
    }));
}
