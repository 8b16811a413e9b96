//! A server that is asked whether requests may pass, and a balancer that asks it.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::http::{ExpectedBody, HttpReader, ReceivedMessage};
use tests::e2e::recording_server::ScriptedServer;

/// In an answer after which the connection is closed.
const CLOSE: &[u8] = b"Connection: close";

/// Answers questions as a test says, and remembers them.
pub struct AskedServer {
    server: ScriptedServer,
    questions: Arc<Mutex<Vec<ReceivedMessage>>>,
}

impl AskedServer {
    /// `answer` writes the whole answer to a question. Without one the connection is closed.
    pub fn start(
        answer: impl Fn(&ReceivedMessage) -> Vec<u8> + Send + Sync + 'static,
    ) -> AskedServer {
        let questions = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&questions);
        let server = ScriptedServer::start(move |stream| {
            let mut reader = HttpReader::new(&stream);
            while let Ok(Some(mut question)) = reader.head() {
                reader.body(&mut question, ExpectedBody::AsDeclared).unwrap();
                let bytes = answer(&question);
                kept.lock().unwrap().push(question);
                let closes =
                    bytes.is_empty() || bytes.windows(CLOSE.len()).any(|part| part == CLOSE);
                if (&stream).write_all(&bytes).is_err() || closes {
                    return;
                }
            }
        });
        AskedServer { server, questions }
    }

    /// Knows users by the cookie `user`; nobody else may come in.
    pub fn of_users() -> AskedServer {
        AskedServer::start(|question| match user_of(question) {
            Some(user) => format!(
                "HTTP/1.1 200 OK\r\nX-User: {user}\r\nX-Secret: 1\r\nContent-Length: 2\r\n\r\nok"
            )
            .into_bytes(),
            None => {
                b"HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n".to_vec()
            }
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Connections so far.
    pub fn accepted(&self) -> usize {
        self.server.accepted()
    }

    pub fn questions(&self) -> Vec<ReceivedMessage> {
        self.questions.lock().unwrap().clone()
    }
}

/// Whom the cookies of a question name.
fn user_of(question: &ReceivedMessage) -> Option<String> {
    let cookies = question.field("cookie")?;
    let user = cookies.split([';', ',']).find_map(|pair| pair.trim().strip_prefix("user="))?;
    Some(user.to_owned())
}

/// A service whose requests these servers are asked about, with further keys of the object.
pub fn asking(server: SocketAddr, asked: &[SocketAddr], keys: &str) -> BalancerConfig {
    let asked: Vec<String> = asked.iter().map(|address| format!("\"{address}\"")).collect();
    BalancerConfig::http(&[server]).service("auth = \"sso\"\nhttp2 = \"always\"\n").with_tables(
        &format!(
            "[pool.sso]\nservers = [{}]\n[auth.sso]\nkind = \"request\"\npool = \"sso\"\n{keys}",
            asked.join(", ")
        ),
    )
}
