//! Descriptors that a worker keeps back, so that a client can be told when there are no others.
//!
//! While a worker has given its own up, or waits to have them again, they are free for anybody in the process: the
//! others must then admit nobody, or nobody could be told any more. It refuses no client itself.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use model::live::Shared;

use crate::rt::Net;

/// One worker's.
pub struct Spare<N: Net> {
    kept: RefCell<Option<N::Pipe>>,
    given_up: Cell<bool>,
    missing: Arc<Shared>,
}

impl<N: Net> Spare<N> {
    /// Keeps some back; `missing` counts the workers that have given theirs up.
    pub fn new(net: &N, missing: Arc<Shared>) -> Spare<N> {
        Spare { kept: RefCell::new(net.pipe()), given_up: Cell::new(false), missing }
    }

    /// Whether some worker has given its own up: whoever came in took what is to be kept back.
    pub fn is_missing(&self) -> bool {
        self.missing.get() > 0
    }

    /// Gives them up.
    pub fn give_up(&self) {
        if self.kept.borrow().is_some() && !self.given_up.replace(true) {
            self.missing.up();
        }
        *self.kept.borrow_mut() = None;
    }

    /// Keeps some back again, if there are any and they were given up.
    pub fn regain(&self, net: &N) {
        if !self.given_up.get() {
            return;
        }
        if let Some(pipe) = net.pipe() {
            *self.kept.borrow_mut() = Some(pipe);
            self.given_up.set(false);
            self.missing.down();
        }
    }
}
