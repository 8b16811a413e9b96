//! A server of a JWK Set that answers as a test wants, and remembers what it was asked.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tests::e2e::http::{HttpReader, ReceivedMessage};
use tests::e2e::recording_server::ScriptedServer;

pub struct KeyServer {
    server: ScriptedServer,
    script: Arc<Mutex<KeyServerScript>>,
}

struct KeyServerScript {
    /// The bytes of each answer, then it closes; `None`: it never answers.
    answer: Option<Vec<u8>>,
    requests: Vec<ReceivedMessage>,
}

impl KeyServer {
    /// Without an answer.
    pub fn start() -> KeyServer {
        let script = KeyServerScript { answer: None, requests: Vec::new() };
        let script = Arc::new(Mutex::new(script));
        let shared = Arc::clone(&script);
        let server = ScriptedServer::start(move |mut stream| {
            let Ok(Some(request)) = HttpReader::new(&stream).head() else { return };
            let answer = {
                let mut script = shared.lock().unwrap();
                script.requests.push(request);
                script.answer.clone()
            };
            match answer {
                // Whoever has heard enough closes.
                Some(answer) => drop(stream.write_all(&answer)),
                None => drop(stream.read(&mut [0])),
            }
        });
        KeyServer { server, script }
    }

    /// With this set.
    pub fn with_set(set: &str) -> KeyServer {
        let server = KeyServer::start();
        server.answer_set(set);
        server
    }

    pub fn answer_set(&self, set: &str) {
        self.answer_with("200 OK", "ETag: \"1\"\r\n", set);
    }

    pub fn answer_with(&self, status: &str, fields: &str, body: &str) {
        let length = body.len();
        self.answer_bytes(&format!(
            "HTTP/1.1 {status}\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
        ));
    }

    /// Empty: it closes without an answer.
    pub fn answer_bytes(&self, bytes: &str) {
        self.script.lock().unwrap().answer = Some(bytes.as_bytes().to_vec());
    }

    pub fn requests(&self) -> Vec<ReceivedMessage> {
        self.script.lock().unwrap().requests.clone()
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub fn url(&self) -> String {
        format!("http://{}/keys?v=1", self.address())
    }
}
