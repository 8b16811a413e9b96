//! Notices of ICMP: which connection they are about.

use super::Analysis;
use crate::conversation::ConnectionNotice;
use crate::link::{NonTcpFrame, UnreachableNotice};
use crate::packet::{TcpOptions, TcpPacket};
use crate::progress::PacketMoment;

impl Analysis {
    /// Notes that a packet of a connection could not be delivered. Notices about others are counted as unread.
    #[cold]
    pub(super) fn add_notice(&mut self, notice: &UnreachableNotice, time_ns: i64, number: u32) {
        let UnreachableNotice { source, destination, path, .. } = *notice;
        let quoted = TcpPacket {
            time_ns,
            number,
            source,
            destination,
            path,
            ip_id: None,
            ttl: 0,
            seq: 0,
            ack: 0,
            flags: 0,
            window: 0,
            checksum: 0,
            options: TcpOptions::default(),
            length: 0,
            payload: &[],
        };
        let passes = self.settings.filter.accepts_ends(time_ns, source, destination);
        let found = self.table.find(&quoted).or_else(|| self.table.find_any_path(&quoted));
        let place = found.filter(|_| passes).map(|place| place as usize);
        let Some(known) = place.and_then(|place| self.connections.get_mut(place)) else {
            return self.count_skipped(NonTcpFrame::NotTcp(notice.protocol()));
        };
        let moment = PacketMoment { time_ns, number };
        let noted = ConnectionNotice { notice: *notice, moment };
        known.conversation.notice.get_or_insert_with(|| Box::new(noted));
    }
}
