//! A connection with all that is needed to draw it: its packets, both senders' views, transactions with every slice.

use crate::attribution::scale::ScaleOverrides;
use crate::attribution::{ConnectionAttribution, attribute_connection};
use crate::conversation::Conversation;

#[derive(Debug)]
pub struct ConnectionScene {
    pub conversation: Conversation,
    pub attribution: ConnectionAttribution,
    pub number: u32,
}

impl ConnectionScene {
    /// Analyses the connection in detail.
    pub fn from_conversation(
        conversation: Conversation,
        number: u32,
        wishes: &ScaleOverrides,
    ) -> ConnectionScene {
        let attribution = attribute_connection(&conversation, wishes, false, true);
        ConnectionScene { conversation, attribution, number }
    }
}
