//! The connections of an analysis that are drawn. It draws nothing itself.

use super::{Analysis, AnalysisSettings};
use crate::ledger::AnalysedConnection;
use crate::scene::ConnectionScene;

impl Analysis {
    /// The data to draw the connection with this number. `None` if there is no such connection.
    pub fn scene(mut self, number: u32) -> Option<ConnectionScene> {
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        if place >= self.connections.len() {
            return None;
        }
        let AnalysedConnection { conversation, .. } = self.connections.swap_remove(place);
        Some(ConnectionScene::from_conversation(conversation, number, &self.settings.wishes))
    }

    /// The data to draw the connections that the settings name, in that order; those that are not there are left out.
    pub fn scenes(&self) -> Vec<ConnectionScene> {
        let AnalysisSettings { only, beside, wishes, .. } = &self.settings;
        let mut scenes = Vec::new();
        for number in only.iter().chain(beside) {
            let place = usize::try_from(*number).ok().and_then(|number| number.checked_sub(1));
            let Some(one) = place.and_then(|place| self.connections.get(place)) else {
                continue;
            };
            let conversation = one.conversation.clone();
            scenes.push(ConnectionScene::from_conversation(conversation, *number, wishes));
        }
        scenes
    }
}
