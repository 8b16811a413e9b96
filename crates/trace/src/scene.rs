//! A connection with all that is needed to draw it: its packets, both senders' views, transactions with every slice.

use crate::conversation::Conversation;
use crate::judge::scale::Wishes;
use crate::judge::{Judged, judge};

/// The connection.
#[derive(Debug)]
pub struct Scene {
    /// Its packets.
    pub conversation: Conversation,
    /// What was found.
    pub judged: Judged,
    /// Its number.
    pub number: u32,
}

impl Scene {
    /// Judges it in detail.
    pub fn of(conversation: Conversation, number: u32, wishes: &Wishes) -> Scene {
        let judged = judge(&conversation, wishes, false, true);
        Scene { conversation, judged, number }
    }
}
