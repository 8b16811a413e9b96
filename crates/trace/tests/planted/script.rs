//! Connections written packet by packet, for what goes wrong with them.

use crate::capture::{ACK, FIN, MS, PlantedPacket, RST, SYN};

/// A connection that is being written; sequence numbers follow from what was sent.
#[derive(Clone, Debug)]
pub struct ScriptedConnection {
    pub packets: Vec<PlantedPacket>,
    number: u16,
    /// Milliseconds since the capture began.
    pub now_ms: i64,
    next: [u32; 2],
    acked: [u32; 2],
    windows: [u16; 2],
    ids: [u16; 2],
}

/// One way between the ends, milliseconds; the capture is at the client.
pub const ONE_WAY_MS: i64 = 10;

impl ScriptedConnection {
    pub fn begin(number: u16, at_ms: i64) -> ScriptedConnection {
        let next = [1_000 + u32::from(number) * 7_919, 9_000 + u32::from(number) * 104_729];
        ScriptedConnection {
            packets: Vec::new(),
            number,
            now_ms: at_ms,
            next,
            acked: [0; 2],
            windows: [512; 2],
            ids: [100, 7_000],
        }
    }

    /// With a finished handshake.
    pub fn open(number: u16, at_ms: i64) -> ScriptedConnection {
        let mut one = ScriptedConnection::begin(number, at_ms);
        one.handshake();
        one
    }

    pub fn handshake(&mut self) -> &mut ScriptedConnection {
        self.client(SYN, b"").wait(2 * ONE_WAY_MS).server(SYN | ACK, b"").client(ACK, b"")
    }

    pub fn wait(&mut self, ms: i64) -> &mut ScriptedConnection {
        self.now_ms += ms;
        self
    }

    pub fn client(&mut self, flags: u8, payload: &[u8]) -> &mut ScriptedConnection {
        self.send(true, flags, payload)
    }

    pub fn server(&mut self, flags: u8, payload: &[u8]) -> &mut ScriptedConnection {
        self.send(false, flags, payload)
    }

    /// The window field from here on.
    pub fn window(&mut self, is_client: bool, window: u16) -> &mut ScriptedConnection {
        self.windows[usize::from(!is_client)] = window;
        self
    }

    /// Sends the last packet of a side that carried something once more.
    pub fn repeat(&mut self, is_client: bool) -> &mut ScriptedConnection {
        let carries = |packet: &&PlantedPacket| {
            packet.is_from_client == is_client
                && (!packet.payload.is_empty() || packet.flags & (SYN | FIN) != 0)
        };
        let mut again = self.packets.iter().rev().find(carries).unwrap().clone();
        again.time_ns = self.now_ms * MS;
        again.ip_id = self.next_id(is_client);
        self.packets.push(again);
        self
    }

    /// A probe of a closed window or a quiet connection.
    pub fn probe(&mut self, is_client: bool) -> &mut ScriptedConnection {
        self.next[usize::from(!is_client)] -= 1;
        self.send(is_client, ACK, b"");
        self.next[usize::from(!is_client)] += 1;
        self
    }

    /// A packet of a side that is lost before the capture.
    pub fn lose(&mut self, is_client: bool) -> &mut ScriptedConnection {
        self.next_id(is_client);
        self
    }

    fn next_id(&mut self, is_client: bool) -> u16 {
        let id = &mut self.ids[usize::from(!is_client)];
        *id += 1;
        *id
    }

    fn send(&mut self, is_client: bool, flags: u8, payload: &[u8]) -> &mut ScriptedConnection {
        let here = usize::from(!is_client);
        let there = 1 - here;
        let ip_id = self.next_id(is_client);
        if flags & ACK != 0 {
            self.acked[here] = self.next[there];
        }
        self.packets.push(PlantedPacket {
            time_ns: self.now_ms * MS + self.packets.len() as i64 * 1_000,
            connection: self.number,
            is_from_client: is_client,
            seq: self.next[here],
            ack: if flags & ACK != 0 { self.acked[here] } else { 0 },
            flags,
            window: self.windows[here],
            scale: (flags & SYN != 0).then_some(7),
            ip_id,
            ttl: 64,
            vlan: None,
            stamps: None,
            payload: payload.to_vec(),
        });
        let counts = payload.len() as u32 + u32::from(flags & (SYN | FIN) != 0);
        if flags & RST == 0 {
            self.next[here] += counts;
        }
        self
    }

    /// A request and its answer after so many milliseconds.
    pub fn exchange(&mut self, think_ms: i64) -> &mut ScriptedConnection {
        self.ask().wait(2 * ONE_WAY_MS).server(ACK, b"").wait(think_ms);
        self.answer(200, 200).client(ACK, b"")
    }

    pub fn ask(&mut self) -> &mut ScriptedConnection {
        self.client(ACK, b"GET /orders HTTP/1.1\r\nHost: shop.example\r\n\r\n")
    }

    /// An answer of `sent` bytes whose head announces `announced`.
    pub fn answer(&mut self, announced: usize, sent: usize) -> &mut ScriptedConnection {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {announced}\r\n\r\n");
        let mut whole = head.into_bytes();
        whole.resize(whole.len() + sent, b'x');
        for part in whole.chunks(1_460) {
            self.server(ACK, part);
        }
        self
    }

    /// A request that makes a tunnel of the connection.
    pub fn upgrade(&mut self) -> &mut ScriptedConnection {
        self.client(
            ACK,
            b"GET /feed HTTP/1.1\r\nHost: shop.example\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        );
        self.wait(2 * ONE_WAY_MS).server(
            ACK,
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        )
    }

    /// Hellos of TLS.
    pub fn hello(&mut self) -> &mut ScriptedConnection {
        self.client(ACK, &record(22, 1, 200)).wait(2 * ONE_WAY_MS);
        self.server(ACK, &record(22, 2, 900)).wait(5)
    }

    /// The handshake of TLS 1.3.
    pub fn sealed_hello(&mut self) -> &mut ScriptedConnection {
        self.hello().records(false, 600, 605).wait(20).records(true, 53, 58)
    }

    /// The first `sent` bytes of records of application data with so many bytes.
    pub fn records(
        &mut self,
        is_client: bool,
        bytes: usize,
        sent: usize,
    ) -> &mut ScriptedConnection {
        let mut whole = Vec::new();
        let mut left = bytes;
        while left > 0 {
            let one = left.min(16_384);
            whole.extend(record(23, 0, one));
            left -= one;
        }
        whole.truncate(sent);
        for part in whole.chunks(1_460) {
            self.send(is_client, ACK, part);
        }
        self
    }

    pub fn close(&mut self) -> &mut ScriptedConnection {
        self.client(FIN | ACK, b"").wait(2 * ONE_WAY_MS).server(FIN | ACK, b"").client(ACK, b"")
    }
}

/// A record of TLS with so many bytes behind its header.
fn record(kind: u8, first: u8, bytes: usize) -> Vec<u8> {
    let mut out = vec![kind, 3, 3];
    out.extend((bytes as u16).to_be_bytes());
    out.push(first);
    out.resize(5 + bytes, b'x');
    out
}
