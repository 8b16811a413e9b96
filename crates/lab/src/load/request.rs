//! Writes requests: their method, identifier and bytes.
//!
//! It sends nothing and stores no written request.

use super::plan::{ConnectionReuse, HttpPlan, LoadProtocol};
use super::request_mix::WeightedRotation;

/// Writes the requests of one thread.
#[derive(Debug)]
pub struct RequestWriter {
    kind: RequestSource,
    next: u64,
    stride: u64,
}

#[derive(Debug)]
enum RequestSource {
    Http {
        get: Vec<u8>,
        post: Vec<u8>,
        post_percent: u64,
        post_bytes: usize,
        first_id: Option<u64>,
    },
    Mix {
        wholes: Vec<Vec<u8>>,
        turns: WeightedRotation,
    },
    Echo {
        bytes: usize,
    },
}

impl RequestWriter {
    /// The writer of thread `thread` of `threads`.
    pub fn new(
        protocol: &LoadProtocol,
        persist: ConnectionReuse,
        thread: u64,
        threads: u64,
    ) -> RequestWriter {
        let kind = match protocol {
            LoadProtocol::Echo { bytes } => RequestSource::Echo { bytes: *bytes },
            LoadProtocol::Mix(mix) => RequestSource::Mix {
                wholes: mix.shots.iter().map(|shot| shot.http1(persist.says_close())).collect(),
                turns: WeightedRotation::new(mix.shots.iter().map(|shot| shot.weight)),
            },
            LoadProtocol::Http(http) => RequestSource::Http {
                get: head("GET", &http.target, http, persist, None),
                post: head("POST", &http.post_target, http, persist, Some(http.post_bytes)),
                post_percent: u64::from(http.post_percent),
                post_bytes: http.post_bytes,
                first_id: http.first_id,
            },
        };
        RequestWriter { kind, next: thread, stride: threads }
    }

    /// Appends the next request and returns its index in the mix; 0 without a mix.
    pub fn write(&mut self, out: &mut Vec<u8>) -> usize {
        let number = self.next;
        self.next += self.stride;
        match &self.kind {
            RequestSource::Mix { wholes, turns } => {
                let which = turns.pick(number);
                out.extend_from_slice(&wholes[which]);
                return which;
            }
            RequestSource::Echo { bytes } => {
                out.extend_from_slice(&number.to_be_bytes());
                out.resize(*bytes, b'.');
            }
            RequestSource::Http { get, post, post_percent, post_bytes, first_id } => {
                // 37 is coprime to 100, so every hundred requests hold exactly the share, evenly spread.
                let is_post = number.wrapping_mul(37) % 100 < *post_percent;
                out.extend_from_slice(if is_post { post } else { get });
                let id = first_id.map(|first| first.wrapping_add(number));
                if let Some(id) = id {
                    out.extend_from_slice(format!("x-lab-id: {id:016x}\r\n").as_bytes());
                }
                out.extend_from_slice(b"\r\n");
                if is_post {
                    let end = out.len() + post_bytes;
                    if let Some(id) = id {
                        out.extend_from_slice(format!("id={id:016x}\n").as_bytes());
                    }
                    out.resize(end, b'.');
                }
            }
        }
        0
    }
}

/// A request head without the empty line at its end.
fn head(
    method: &str,
    target: &str,
    http: &HttpPlan,
    persist: ConnectionReuse,
    body: Option<usize>,
) -> Vec<u8> {
    let mut head = format!("{method} {target} HTTP/1.1\r\nHost: {}\r\n", http.host);
    if persist.says_close() {
        head.push_str("Connection: close\r\n");
    }
    if let Some(bytes) = body {
        head.push_str(&format!("Content-Length: {bytes}\r\n"));
    }
    head.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mix_and_identifiers_are_exact() {
        let mut plan = HttpPlan::get("h", "/x");
        plan.post_percent = 30;
        plan.first_id = Some(0xa0);
        let mut requests =
            RequestWriter::new(&LoadProtocol::Http(plan), ConnectionReuse::PerRequest, 0, 1);
        let texts: Vec<String> = (0..100)
            .map(|_| {
                let mut out = Vec::new();
                requests.write(&mut out);
                String::from_utf8(out).unwrap()
            })
            .collect();
        assert_eq!(texts.iter().filter(|text| text.starts_with("POST /echo ")).count(), 30);
        assert_eq!(
            texts[1],
            "GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\nx-lab-id: 00000000000000a1\r\n\r\n"
        );
        let (head, body) = texts[0].split_once("\r\n\r\n").unwrap();
        assert!(head.contains("Content-Length: 64\r\n"), "{head}");
        assert!(body.starts_with("id=00000000000000a0\n") && body.len() == 64, "{body}");
    }

    #[test]
    fn echoes_are_numbered() {
        let mut requests =
            RequestWriter::new(&LoadProtocol::Echo { bytes: 12 }, ConnectionReuse::KeepAlive, 1, 2);
        let mut out = Vec::new();
        requests.write(&mut out);
        assert_eq!(out, b"\0\0\0\0\0\0\0\x01....");
    }
}
